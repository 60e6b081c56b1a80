//! Cells of a tree hold the particles that they should.

use fmm::data::particles::Particles;
use fmm::data::random::{Distribution, generate};
use fmm::tree::*;

fn check(particles: &Particles, leaf: usize) -> Tree {
    let tree = Tree::build(particles.columns(), leaf);
    let mut seen: Vec<u32> = tree.sources.order.clone();
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(0..particles.len() as u32), "the order is a permutation");
    for (k, cell) in tree.cells.iter().enumerate() {
        let (centre, half) = (cell.centre(), 0.5 * cell.edge());
        for i in cell.sources() {
            assert!((0..3).all(|a| (tree.sources.unit[a][i] - centre[a]).abs() <= half), "inside its cell");
        }
        assert!(tree.levels[cell.level as usize].contains(&k));
        if cell.is_leaf() {
            assert!(cell.count as usize <= leaf || cell.level == MAX_LEVEL);
        } else {
            assert!(cell.count as usize > leaf);
            let children = &tree.cells[cell.child_range()];
            assert!(children.iter().all(|c| c.parent as usize == k && c.count > 0));
            assert_eq!(children.iter().map(|c| c.count).sum::<u32>(), cell.count);
            assert!(children.windows(2).all(|w| w[0].octant() < w[1].octant()));
        }
    }
    let covered: u32 = tree.leaves.iter().map(|k| tree.cells[*k as usize].count).sum();
    assert_eq!(covered as usize, particles.len());
    tree
}

#[test]
fn cells_hold_their_particles() {
    for (_, d) in Distribution::ALL {
        for (n, leaf) in [(0, 8), (1, 8), (2, 1), (3000, 16)] {
            check(&generate(n, d, d.default_charge(), 1), leaf);
        }
    }
}

#[test]
fn one_point_makes_a_leaf_at_the_deepest_level() {
    let mut p = Particles::default();
    (0..40).for_each(|_| p.push([0.3, 0.3, 0.3], 1.0));
    assert_eq!(check(&p, 8).levels.len() as u32, MAX_LEVEL + 1);
    p.push([0.9, 0.1, 0.2], 1.0);
    assert_eq!(check(&p, 8).levels.len() as u32, MAX_LEVEL + 1);
}
