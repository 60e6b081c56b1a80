//! Sums over bodies that a right integration keeps: energies, momentum and angular momentum. They are added in an order that depends on
//! nothing but the number of bodies, and is that of GPUs too.

use crate::data::particles::Columns;
use crate::parallel::prelude::*;

/// Bodies as columns of one length.
#[derive(Clone, Copy)]
pub struct Bodies<'a> {
    pub mass: &'a [f64],
    pub position: Columns<'a>,
    pub velocity: Columns<'a>,
    /// The sum of m / r over all others.
    pub potential: &'a [f64],
}

/// Bodies whose terms are added up as one.
pub const BLOCK: usize = 4096;

/// Partial sums of a block: body k of it goes to sum k modulo this.
pub const LANES: usize = 128;

/// The number of sums: kinetic and potential energy, momentum, and angular momentum about the origin.
pub const SUMS: usize = 8;

/// The sums over all bodies.
pub fn sums(bodies: &Bodies) -> [f64; SUMS] {
    let count = bodies.mass.len().div_ceil(BLOCK);
    let parts: Vec<[f64; SUMS]> = (0..count).into_par_iter().map(|block| part(bodies, block)).collect();
    total(&parts)
}

/// The sum of what blocks give, in their order.
pub fn total(parts: &[[f64; SUMS]]) -> [f64; SUMS] {
    let mut sums = [0.0; SUMS];
    parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
    sums
}

/// The sums over a block of bodies.
fn part(bodies: &Bodies, block: usize) -> [f64; SUMS] {
    let (Bodies { mass, position: [x, y, z], velocity: [u, v, w], potential }, first) = (bodies, block * BLOCK);
    let mut lanes = [[0.0; SUMS]; LANES];
    for k in first..mass.len().min(first + BLOCK) {
        let (m, x, y, z, u, v, w) = (mass[k], x[k], y[k], z[k], u[k], v[k], w[k]);
        let kinetic = 0.5 * m * (u * u + v * v + w * w);
        let angular = [m * (y * w - z * v), m * (z * u - x * w), m * (x * v - y * u)];
        let own = [kinetic, -0.5 * m * potential[k], m * u, m * v, m * w, angular[0], angular[1], angular[2]];
        lanes[k % LANES].iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    }
    total(&lanes)
}
