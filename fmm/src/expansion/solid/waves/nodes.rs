//! Quadratures of the plane waves.
//!
//! `1/r = int_0^inf exp(-l z) J_0(l rho) dl`, and the mean of `exp(i l rho cos a)` over the angle a is `J_0(l rho)`. Particles of cells that
//! M2L is between, with theta 1/2, are z = 1 to 4 edges apart along one axis, and rho = 0 to 4 sqrt(2) across.

use super::table::TABLE;

/// Distances across up to which angles are enough, and those of a particle from the axis of its cell. Few pairs are farther apart
/// across, and what their waves then have too much is small beside what an order leaves out.
const ACROSS: f64 = 4.6;
const IN_CELL: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// A node of the integral over l.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub lambda: f64,
    pub weight: f64,
    /// Angles of the whole circle, a multiple of 4.
    pub around: usize,
    /// The highest m of the terms that matter.
    pub modes: usize,
}

impl Node {
    /// The factor of half of its exponentials, which stand for all, in a sum.
    pub fn factor(&self) -> f64 {
        2.0 * self.weight / self.around as f64
    }
}

/// The error of potentials, in units of a charge and an edge, that an order needs of plane waves: measured, so that the gradient of random
/// charges has at most 1.1 times the error that the order leaves.
fn error_of(order: usize) -> f64 {
    0.0015 * 0.56f64.powi(order as i32)
}

/// The nodes for an order, those with the most modes first.
pub fn nodes(order: usize) -> Vec<Node> {
    within(error_of(order), order)
}

/// The nodes for an error and terms up to an order, those with the most modes first. The smallest error is that of the longest table.
pub fn within(error: f64, order: usize) -> Vec<Node> {
    let (own, table) = TABLE.iter().find(|t| t.0 <= error).or(TABLE.last()).expect("there are tables");
    let most = error.max(*own);
    let node = |[lambda, weight]: &[f64; 2]| {
        let (lambda, weight) = (*lambda, *weight);
        let falls = |n: usize, rho: f64| weight * (-lambda).exp() * bessel(n, lambda * rho) <= most;
        let around = (4..).step_by(4).find(|n| falls(*n, ACROSS)).expect("Bessel functions fall with their order");
        let modes = (0..order).find(|m| falls(m + 1, IN_CELL)).unwrap_or(order);
        Node { lambda, weight, around, modes }
    };
    let mut nodes: Vec<Node> = table.iter().map(node).collect();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.modes));
    nodes
}

/// Kapteyn's bound of the Bessel function of an order at places up to `x`.
fn bessel(order: usize, x: f64) -> f64 {
    let (n, z) = (order as f64, x / order as f64);
    if z >= 1.0 {
        return 1.0;
    }
    let root = (1.0 - z * z).sqrt();
    (z * root.exp() / (1.0 + root)).powf(n)
}
