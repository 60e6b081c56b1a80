//! Close pairs against a look at every pair.

use fmm::data::particles::Particles;
use fmm::data::periodic::Periodic;
use fmm::data::problem::Geometry;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::close::*;
use fmm::parallel::prelude::*;
use fmm::tree::Tree;

/// All sources and, along periodic axes, their images beside the box.
fn all(finder: &Finder) -> Vec<(usize, [i32; 3])> {
    let along = |a: usize| if finder.axes[a] { -1..=1 } else { 0..=0 };
    let mut all = Vec::new();
    for x in along(0) {
        for y in along(1) {
            all.extend(along(2).flat_map(|z| (0..finder.tree.len()).map(move |j| (j, [x, y, z]))));
        }
    }
    // Others are far beyond reach.
    let is_beside = |x: i64| x.abs() < (1 << 30) + (1 << 14);
    let grid = &finder.tree.sources.grid;
    all.retain(|(j, shift)| (0..3).all(|a| is_beside(grid[*j][a] as i64 + ((shift[a] as i64) << 31))));
    all
}

/// Every pair, one after the other.
fn plain(finder: &Finder) -> Close {
    let (n, all) = (finder.tree.targets().len(), all(finder));
    let of = |i: usize| all.iter().filter(|source| finder.is_close(i, **source)).count() as u64;
    let of: Vec<u64> = (0..n).into_par_iter().map(of).collect();
    Close { pairs: of.iter().sum::<u64>(), targets: (0..n).filter(|i| of[*i] > 0).collect() }
}

/// Some targets' partners, one after the other.
fn check_partners(finder: &Finder) {
    let mut all = all(finder);
    all.sort_unstable();
    for i in (0..finder.tree.targets().len()).step_by(7) {
        let mut partners = finder.partners(i, all.len()).expect("no more than all");
        partners.sort_unstable();
        assert!(partners.iter().copied().eq(all.iter().copied().filter(|j| finder.is_close(i, *j))), "{i}");
        let fewer = partners.len().checked_sub(1);
        assert!(fewer.is_none_or(|fewer| finder.partners(i, fewer).is_none()));
    }
}

fn found(p: &Particles) -> (Tree, Close) {
    let tree = Tree::build(p.columns(), 8);
    let close = Finder::new(&tree).find();
    (tree, close)
}

/// Particles with 0 and 1 at the ends of the box, so that its size is known.
fn in_box() -> Particles {
    let mut p = Particles::default();
    p.push([-0.5; 3], 1.0);
    p.push([0.5; 3], 1.0);
    p
}

#[test]
fn pairs_across_cells_are_found() {
    // Clouds about corners of cells of every size, as wide as the distance asked for, and coincident ones. Few of them are looked
    // at pair by pair, many in clusters.
    for (n, wide) in [(150, 1.5e-6), (300, 1.5e-6), (2000, 1.5e-6), (2000, 3e-7), (1500, 1e-8)] {
        let cloud = generate(n, Distribution::Uniform, Charge::Random, 3);
        let mut p = in_box();
        for k in 0..cloud.len() {
            let centre = [0.0, 0.25, 0.125 + 2f64.powi(-20), -0.5, 0.4999][k % 5];
            p.push(cloud.position(k).map(|x| (centre + (x - 0.5) * wide).clamp(-0.5, 0.5)), 1.0);
        }
        for k in 0..20 {
            p.push(p.position(k * 2), 1.0);
        }
        let (tree, close) = found(&p);
        let finder = Finder::new(&tree);
        assert_eq!(close, plain(&finder), "{n} {wide}");
        check_partners(&finder);
        assert!(close.pairs > 5 && close.targets.len() > 5, "{} {}", close.pairs, close.targets.len());
        // Every third one a target, some of them at the places of sources, the others sources.
        let (mut sources, mut targets) = (in_box(), Particles::default());
        for k in 0..p.len() {
            if k % 3 == 0 {
                targets.push(p.position(k), 1.0);
            }
            if k % 3 != 0 || k % 33 == 0 {
                sources.push(p.position(k), 1.0);
            }
        }
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let tree = Tree::over(geometry, 8);
        let close = Finder::new(&tree).find();
        let finder = Finder::new(&tree);
        assert_eq!(close, plain(&finder), "{n} {wide}");
        check_partners(&finder);
        assert!(close.pairs > 5 && close.targets.len() > 5, "{} {}", close.pairs, close.targets.len());
    }
}

#[test]
fn pairs_across_a_periodic_face_are_found() {
    // Clouds about a face, an edge and a corner of the box, and points on them; twice as far as in a free space.
    let places = [[0.5, 0.2, 0.3], [0.5, -0.5, 0.1], [0.5, 0.5, -0.5], [0.25, 0.2, 0.3]];
    for (n, wide) in [(100, 6e-7), (400, 1.5e-6), (300, 1e-8)] {
        let cloud = generate(n, Distribution::Uniform, Charge::Random, 3);
        for axes in [[true; 3], [true, false, true], [false, true, false]] {
            let periodic = Periodic { length: 1.0, axes };
            let mut all = Particles::default();
            (0..4).for_each(|k| all.push(places[k], 1.0));
            for k in 0..n {
                let at = cloud.position(k);
                let at = [0, 1, 2].map(|a| places[k % 4][a] + (at[a] - 0.5) * wide);
                // The box is as long along the other axes.
                all.push([0, 1, 2].map(|a| if axes[a] { at[a] } else { at[a].clamp(-0.5, 0.5) }), 1.0);
            }
            (0..20).for_each(|k| all.push(all.position(k * 3), 1.0));
            let wrapped = |every: &dyn Fn(usize) -> bool| {
                let mut p = Particles::default();
                for k in (0..all.len()).filter(|k| every(*k)) {
                    let at = all.position(k);
                    p.push([0, 1, 2].map(|a| periodic.wrap(a, at[a])), 1.0);
                }
                p
            };
            let (whole, targets, sources) =
                (wrapped(&|_| true), wrapped(&|k| k % 3 == 0), wrapped(&|k| k % 3 != 0 || k % 33 == 0));
            let apart = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
            for geometry in [whole.columns().into(), apart] {
                let tree = Tree::with_period(geometry, 8, Some(&periodic));
                for steps in [STEPS, 2 * STEPS, 8 * STEPS] {
                    let finder = Finder::periodic(&tree, axes, steps);
                    let close = finder.find();
                    assert_eq!(close, plain(&finder), "{n} {wide} {axes:?} {steps}");
                    check_partners(&finder);
                    // Some lie on different sides of a face.
                    let inside = Finder::periodic(&tree, [false; 3], steps).find();
                    let is_more = close.pairs > inside.pairs && inside.pairs > 5;
                    assert!(is_more || steps < 8 * STEPS, "{n} {wide} {axes:?} {steps}");
                }
            }
        }
    }
}

#[test]
fn coincident_are_no_pairs() {
    let mut p = Particles::default();
    (0..9).for_each(|_| p.push([0.25; 3], 1.0));
    p.push([0.25, 0.25, 0.25 + 1e-12], 1.0);
    p.push([1.0; 3], 1.0);
    assert_eq!(found(&p).1.pairs, 2 * 9);
    // More of them, some on the same point of the grid at other places and some beside it.
    (0..3000).for_each(|_| p.push([0.25; 3], 1.0));
    let close = found(&p).1;
    assert_eq!((close.pairs, close.targets.len()), (2 * 3009, 3010));
    p.push([0.25, 0.25, 0.25 + 1e-8], 1.0);
    let close = found(&p).1;
    assert_eq!((close.pairs, close.targets.len()), (2 * (3009 + 3010), 3011));
}

/// Close pairs and their particles of a lattice of `edge`^3 places in one cell, `spacing` steps apart.
fn lattice(edge: i64, spacing: f64) -> (i64, i64) {
    let mut p = in_box();
    for k in 0..edge.pow(3) {
        let at = [k / (edge * edge), k / edge % edge, k % edge];
        p.push(at.map(|x| (x + 1) as f64 * spacing * 2f64.powi(-31)), 1.0);
    }
    let close = found(&p).1;
    (close.pairs as i64 / 2, close.targets.len() as i64)
}

#[test]
fn very_many_particles_in_one_cell_are_counted_at_once() {
    // 2e10 pairs cannot be looked at one after the other: all in one point, and all within reach of each other.
    let n = 58i64.pow(3);
    assert_eq!(lattice(58, 0.0), (0, 0));
    assert_eq!(lattice(58, 2.0), (n * (n - 1) / 2, n));
    // Within reach are 8 places of the lattice.
    let mut pairs = 0;
    for v in (0..17 * 17 * 17).map(|k| [k / 289 - 8, k / 17 % 17 - 8, k % 17 - 8i64]) {
        if v != [0; 3] && v.iter().map(|x| x * x).sum::<i64>() <= 64 {
            pairs += v.iter().map(|x| 40 - x.abs()).product::<i64>();
        }
    }
    assert_eq!(lattice(40, 32.0), (pairs / 2, 64_000));
}
