//! Energy, momentum and angular momentum, which a right integration keeps.

use super::Observed;
use fmm::parallel::prelude::*;

/// Sums over all bodies at one time. They do not depend on the number of threads.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Conserved {
    pub time: f64,
    pub kinetic: f64,
    pub potential: f64,
    pub momentum: [f64; 3],
    /// About the origin.
    pub angular: [f64; 3],
}

/// Bodies whose terms are added up as one.
const BLOCK: usize = 4096;

impl Conserved {
    pub const COLUMNS: [&'static str; 9] = ["time", "kinetic", "potential", "px", "py", "pz", "lx", "ly", "lz"];

    pub fn of(observed: &Observed) -> Conserved {
        let count = observed.bodies.len().div_ceil(BLOCK);
        let parts: Vec<[f64; 8]> = (0..count).into_par_iter().map(|block| part(observed, block)).collect();
        let mut sums = [0.0; 8];
        parts.iter().for_each(|part| sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        let [kinetic, potential, px, py, pz, lx, ly, lz] = sums;
        Conserved { time: observed.time, kinetic, potential, momentum: [px, py, pz], angular: [lx, ly, lz] }
    }

    pub fn energy(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// The numbers of [`Conserved::COLUMNS`].
    pub fn row(&self) -> [f64; 9] {
        let ([px, py, pz], [lx, ly, lz]) = (self.momentum, self.angular);
        [self.time, self.kinetic, self.potential, px, py, pz, lx, ly, lz]
    }

    pub fn from_row([time, kinetic, potential, px, py, pz, lx, ly, lz]: [f64; 9]) -> Conserved {
        Conserved { time, kinetic, potential, momentum: [px, py, pz], angular: [lx, ly, lz] }
    }
}

/// The sums of a block of bodies.
fn part(observed: &Observed, block: usize) -> [f64; 8] {
    let bodies = observed.bodies;
    let ([x, y, z], [u, v, w]) = (&bodies.position, &bodies.velocity);
    let mut sums = [0.0; 8];
    for k in block * BLOCK..bodies.len().min((block + 1) * BLOCK) {
        let (m, x, y, z, u, v, w) = (bodies.mass[k], x[k], y[k], z[k], u[k], v[k], w[k]);
        let kinetic = 0.5 * m * (u * u + v * v + w * w);
        let angular = [m * (y * w - z * v), m * (z * u - x * w), m * (x * v - y * u)];
        let own = [kinetic, -0.5 * m * observed.potential[k], m * u, m * v, m * w, angular[0], angular[1], angular[2]];
        sums.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
    }
    sums
}
