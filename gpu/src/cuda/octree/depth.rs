//! How deep a tree is to be: by the particles of a leaf, and by what the stages cost.

use super::NEAR2;
use super::text::{Basis, MOST_NARROW};
use fmm::tree::lists::{is_near, reach};
use pg2::backend::cuda::p2p::Real;

/// The deepest tree: 8^8 leaves.
pub const DEEPEST: u32 = 8;

/// The least depth at which leaves have at most `leaf` particles in the mean.
pub fn depth_for(n: usize, leaf: usize) -> u32 {
    (0..DEEPEST).find(|depth| n as u64 <= (leaf as u64).saturating_mul(1 << (3 * depth))).unwrap_or(DEEPEST)
}

/// The costs that depth and leaves are chosen by: terms of an expansion, the times of a pair of P2P and of a product of M2L, in ns on one
/// H200 (see docs/results/gpu.md), and what cells are near.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prices {
    terms: f64,
    pair: f64,
    product: f64,
    near2: u64,
    /// Cells near a cell, with itself.
    pub near: f64,
}

/// The time of a pair of a kernel that is expanded as it is, beside that of 1/r: as a power and an exponential take.
const PAIR_OF_ANY: f64 = 2.0;

impl Prices {
    pub fn new(basis: Basis, order: usize, real: Real) -> Prices {
        let (pair, product) = match (real, order > MOST_NARROW) {
            (Real::F32, false) => (0.7e-3, 4e-5),
            (Real::F32, true) => (0.7e-3, 5e-5),
            (Real::F64, false) => (1.8e-3, 7e-5),
            (Real::F64, true) => (1.8e-3, 4e-5),
        };
        let pair = if basis == Basis::Chebyshev { PAIR_OF_ANY * pair } else { pair };
        Prices { terms: basis.terms(order) as f64, pair, product, near2: NEAR2, near: 27.0 }
    }

    /// The same for cells that are near below `near2`.
    pub fn with_near2(self, near2: u64) -> Prices {
        // Where there are images of all cells, one has all of them.
        Prices { near2, near: near_pairs(0, near2, [true; 3]) as f64, ..self }
    }

    /// Cells in the list of a cell: children of cells near its parent, less those near itself.
    fn listed(&self) -> f64 {
        7.0 * self.near
    }

    /// The particles of a cell up to which P2P takes less time than M2P or P2L.
    pub fn worth(&self) -> usize {
        16 + self.terms as usize
    }
}

/// The particles of a leaf at most that cost least where leaves are split by their own particles. A leaf of s particles has 27 s pairs of
/// P2P for each, and 189 of M2L; those of a tree have a quarter of the most in the mean.
pub fn best_of_any(prices: Prices) -> usize {
    let Prices { terms, pair, product, near, .. } = prices;
    (4.0 * terms * (prices.listed() * product / (near * pair)).sqrt()) as usize
}

/// About how long the stages take, in ns on one H200.
pub fn cost(pairs: f64, depth: u32, prices: Prices) -> f64 {
    let Prices { terms, pair, product, .. } = prices;
    let cells = 8f64.powi(depth as i32);
    let far = if depth >= 2 { 10.0 + prices.listed() * terms * terms * product } else { 0.0 };
    pairs * pair + cells * (6.0 + far)
}

/// The leaf size at which uniform particles cost least.
pub fn best_leaf(n: usize, prices: Prices) -> usize {
    let of_depth = |depth: &u32| {
        let side = 2f64.powi(*depth as i32);
        let near = near_pairs(*depth, prices.near2, [false; 3]) as f64 / side.powi(3);
        cost(n as f64 * n as f64 / side.powi(3) * near, *depth, prices)
    };
    let best = (0..=DEEPEST).min_by(|a, b| of_depth(a).total_cmp(&of_depth(b))).unwrap_or(0);
    n.div_ceil(1 << (3 * best)).max(1)
}

/// Pairs of near cells of a level, each with itself too. Along axes that are set, there are images of cells. Every run asks for this many
/// times before it starts a kernel: plain loops cost least.
fn near_pairs(level: u32, near2: u64, periodic: [bool; 3]) -> u64 {
    let side = 1i64 << level;
    let along = |d: i64, is_periodic: bool| if is_periodic { side } else { (side - d.abs()).max(0) } as u64;
    let (most, mut pairs) = (reach(near2), 0);
    for x in -most..=most {
        for y in -most..=most {
            let row = along(x, periodic[0]) * along(y, periodic[1]);
            for z in -most..=most {
                if is_near([x, y, z], near2) {
                    pairs += row * along(z, periodic[2]);
                }
            }
        }
    }
    pairs
}

/// Pairs of cells that M2L goes over in a tree of one depth: on each level, pairs whose parents are near, less those that are
/// near themselves. Along axes that are set, there are images of cells too.
pub fn m2l_pairs(depth: u32, near2: u64, periodic: [bool; 3]) -> u64 {
    let near = |level: u32| near_pairs(level, near2, periodic);
    (1..=depth.min(DEEPEST)).map(|level| 64 * near(level - 1) - near(level)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn harmonics(order: usize) -> Prices {
        Prices::new(Basis::Harmonics, order, Real::F32)
    }

    #[test]
    fn a_tree_is_as_deep_as_its_leaves_are_small() {
        assert_eq!([0, 1, 64, 65, 512, 513].map(|n| depth_for(n, 64)), [0, 0, 0, 1, 1, 2]);
        assert_eq!([(1_000_000, 64), (16_000_000, 64), (16_000_000, 8)].map(|(n, leaf)| depth_for(n, leaf)), [5, 6, 7]);
        assert_eq!(depth_for(1 << 30, best_leaf(1 << 30, harmonics(8))), 8);
        assert_eq!((depth_for(2_000_000_000, 1), depth_for(1000, usize::MAX)), (DEEPEST, 0));
    }

    #[test]
    fn the_best_leaf_gives_its_own_depth() {
        for n in [1, 31, 1000, 30_000, 1_000_000, 16_000_000] {
            let leaf = best_leaf(n, harmonics(5));
            let depth = depth_for(n, leaf);
            assert!(leaf.saturating_mul(1 << (3 * depth)) >= n && (depth == 0 || leaf << (3 * (depth - 1)) < n), "{n}");
        }
        assert_eq!([1_000_000, 16_000_000].map(|n| depth_for(n, best_leaf(n, harmonics(5)))), [5, 6]);
        assert_eq!(best_leaf(100, harmonics(5)), 100, "a hundred particles need no cells");
    }
}
