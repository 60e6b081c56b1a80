//! Pairs of particles so close that integer coordinates do not hold their difference well enough (RULES H5).

use crate::tree::{MAX_LEVEL, Tree, morton};
use rayon::prelude::*;
use std::ops::Range;

/// Pairs at up to this distance in steps of the integer coordinates are computed on the CPU: beyond it, the rounding of
/// coordinates changes a distance by less than one part in 150.
pub const STEPS: i64 = 256;

/// The close pairs of some particles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Close {
    /// Pairs of particles at different places.
    pub pairs: u64,
    /// The sorted particles in them, ascending.
    pub targets: Vec<usize>,
}

/// Finds all close pairs.
pub fn find(tree: &Tree) -> Close {
    let partners: Vec<u32> = (0..tree.len()).into_par_iter().map(|k| partners(tree, k)).collect();
    Close {
        pairs: partners.iter().map(|n| *n as u64).sum::<u64>() / 2,
        targets: (0..tree.len()).filter(|k| partners[*k] > 0).collect(),
    }
}

/// How many particles are close to particle `k`.
fn partners(tree: &Tree, k: usize) -> u32 {
    let own = tree.grid[k];
    // Along each axis the cells of the deepest level that the distance reaches: one or two of them.
    let step = 31 - MAX_LEVEL;
    let cell = |a: usize, by: i64| ((own[a] as i64 + by).clamp(-(1 << 30), (1 << 30) - 1) >> step << step) as i32;
    let low: [i32; 3] = std::array::from_fn(|a| cell(a, -STEPS));
    let high: [i32; 3] = std::array::from_fn(|a| cell(a, STEPS));
    let mut count = 0;
    for corner in 0..8 {
        let is_high = |a: usize| corner >> a & 1 == 1;
        if (0..3).any(|a| is_high(a) && high[a] == low[a]) {
            continue;
        }
        let key = morton(&std::array::from_fn(|a| if is_high(a) { high[a] } else { low[a] }));
        count += particles_of(tree, key, k).filter(|j| is_close(tree, k, *j)).count() as u32;
    }
    count
}

/// The particles in the cell of a Morton key on the deepest level; `k` is near them in order if it is one of them.
fn particles_of(tree: &Tree, key: u64, k: usize) -> Range<usize> {
    let grid = &tree.grid;
    if morton(&grid[k]) == key {
        let before = grid[..k].iter().rev().take_while(|g| morton(g) == key).count();
        let after = grid[k..].iter().take_while(|g| morton(g) == key).count();
        return k - before..k + after;
    }
    let first = grid.partition_point(|g| morton(g) < key);
    let count = grid[first..].iter().take_while(|g| morton(g) == key).count();
    first..first + count
}

fn is_close(tree: &Tree, i: usize, j: usize) -> bool {
    let d: [i64; 3] = std::array::from_fn(|a| tree.grid[i][a] as i64 - tree.grid[j][a] as i64);
    // The square of a difference of whole boxes would not fit.
    if d.iter().any(|d| d.abs() > STEPS) {
        return false;
    }
    let square = d.iter().map(|d| d * d).sum::<i64>();
    square <= STEPS * STEPS && (square > 0 || tree.position(i) != tree.position(j))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;
    use crate::data::random::{Charge, Distribution, generate};

    /// Every pair, one after the other.
    fn plain(tree: &Tree) -> Close {
        let n = tree.len();
        let of = |i: usize| (0..n).filter(|j| is_close(tree, i, *j)).count() as u64;
        Close { pairs: (0..n).map(of).sum::<u64>() / 2, targets: (0..n).filter(|i| of(*i) > 0).collect() }
    }

    #[test]
    fn pairs_across_cells_are_found() {
        // Clouds about corners of cells of every size, as wide as the distance asked for, and twins.
        let cloud = generate(300, Distribution::Uniform, Charge::Random, 3);
        let mut p = Particles::default();
        p.push([-0.5; 3], 1.0);
        p.push([0.5; 3], 1.0);
        for k in 0..cloud.len() {
            let centre = [0.0, 0.25, 0.125 + 2f64.powi(-20), -0.5, 0.4999][k % 5];
            p.push(cloud.position(k).map(|x| (centre + (x - 0.5) * 1.5e-6).clamp(-0.5, 0.5)), 1.0);
        }
        for k in 0..20 {
            p.push(p.position(k * 7), 1.0);
        }
        let tree = Tree::build(&p, 8);
        let found = find(&tree);
        assert_eq!(found, plain(&tree));
        assert!(found.pairs > 100 && found.targets.len() > 50, "{} {}", found.pairs, found.targets.len());
    }

    #[test]
    fn twins_are_no_pairs() {
        let mut p = Particles::default();
        (0..9).for_each(|_| p.push([0.25; 3], 1.0));
        p.push([0.25, 0.25, 0.25 + 1e-12], 1.0);
        p.push([1.0; 3], 1.0);
        assert_eq!(find(&Tree::build(&p, 4)).pairs, 9);
    }
}
