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

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// The exponentials of an order at a point, as they are summed: half of the angles, twice the real part.
    fn waves(nodes: &[Node], [x, y, z]: [f64; 3]) -> f64 {
        let of_node = |node: &Node| {
            let angle = |j: usize| 2.0 * PI * (j as f64 + 0.5) / node.around as f64;
            let one = |j: usize| (node.lambda * (x * angle(j).cos() + y * angle(j).sin())).cos();
            node.factor() * (-node.lambda * z).exp() * (0..node.around / 2).map(one).sum::<f64>()
        };
        nodes.iter().map(of_node).sum()
    }

    /// The largest error of an order up to a distance across.
    fn largest(order: usize, across: f64) -> f64 {
        let (nodes, mut largest) = (nodes(order), 0.0f64);
        for z in [1.0, 1.1, 1.4, 2.0, 3.0, 4.0] {
            for rho in (0..=30).map(|k| across * k as f64 / 30.0) {
                for angle in [0.0, 0.3, 0.7].map(|part: f64| part * PI / 2.0) {
                    let at = [rho * angle.cos(), rho * angle.sin(), z];
                    largest = largest.max((waves(&nodes, at) - 1.0 / z.hypot(rho)).abs());
                }
            }
        }
        largest
    }

    #[test]
    fn exponentials_have_the_error_that_an_order_is_said_to_need() {
        for order in [13, 15, 18, 21, 24, 27, 30] {
            let [near, all] = [ACROSS, 4.0 * 2f64.sqrt()].map(|across| largest(order, across));
            println!("order {order}: {near:.2e} up to {ACROSS}, {all:.2e} everywhere, {:.2e} wanted", error_of(order));
            // The quadrature itself, and as much by too few angles.
            assert!(near <= 2.0 * error_of(order), "{order}: {near:e}");
            // Between corners of the nearest cells an order leaves out far more, which falls as slowly.
            assert!(all <= 0.003 * 0.77f64.powi(order as i32), "{order}: {all:e}");
        }
        let fall = (largest(30, ACROSS) / largest(13, ACROSS)).powf(1.0 / 17.0);
        assert!((0.5..0.62).contains(&fall), "{fall}");
    }
}
