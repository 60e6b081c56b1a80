//! Every pair of a source and a target is covered exactly once by the interaction lists.

use fmm::data::particles::Particles;
use fmm::data::problem::Geometry;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::tree::Tree;
use fmm::tree::lists::*;

/// Adds one for every particle pair that a list covers.
fn coverage(tree: &Tree, lists: &Lists, near2: u64) -> Vec<u8> {
    let (n, targets) = (tree.len(), tree.targets().len());
    let mut seen = vec![0u8; n * targets];
    let mut cover = |t: std::ops::Range<usize>, s: std::ops::Range<usize>| {
        assert!(!t.is_empty() && !s.is_empty(), "no cell in a list is without sources or targets");
        for i in t {
            s.clone().for_each(|j| seen[i * n + j] += 1);
        }
    };
    for (k, cell) in tree.cells.iter().enumerate() {
        for s in &lists.u[k] {
            cover(cell.targets(), s.0 as usize..(s.0 + s.1) as usize);
        }
        for s in lists.w[k].iter().chain(&lists.x[k]) {
            cover(cell.targets(), tree.cells[*s as usize].sources());
        }
        for s in &lists.v[k] {
            for t in cell.child_range().filter(|t| tree.cells[*t].targets > 0) {
                for s in tree.cells[*s as usize].child_range().filter(|s| tree.cells[*s].count > 0) {
                    let (a, b) = (tree.cells[t].at, tree.cells[s].at);
                    if !is_near([0, 1, 2].map(|k| a[k] as i64 - b[k] as i64), near2) {
                        cover(tree.cells[t].targets(), tree.cells[s].sources());
                    }
                }
            }
        }
    }
    seen
}

fn check(what: &str, particles: &Particles, leaf: usize, theta: f64, above: usize) {
    check_geometry(what, particles.columns().into(), leaf, theta, above);
}

fn check_geometry(what: &str, geometry: Geometry, leaf: usize, theta: f64, above: usize) {
    let tree = Tree::over(geometry, leaf);
    let options = ListOptions { near2: near2(theta), m2p_above: above, p2l_above: above };
    let seen = coverage(&tree, &build(&tree, &options), options.near2);
    assert!(seen.iter().all(|c| *c == 1), "{what} leaf {leaf} theta {theta} above {above}");
}

#[test]
fn every_source_meets_every_target_exactly_once() {
    for (name, d) in Distribution::ALL {
        let some = |n: usize, seed: u64| generate(n, d, Charge::Random, seed);
        // Clouds in one place and clouds beside each other.
        let beside = |p: Particles| Particles { x: p.x.iter().map(|x| x + 0.7).collect(), ..p };
        let pairs = [
            (some(400, 5), some(300, 6)),
            (some(600, 5), beside(some(9, 7))),
            (some(9, 5), beside(some(600, 7))),
            (some(400, 5), some(0, 6)),
            (some(0, 5), some(400, 6)),
            (some(0, 5), some(0, 6)),
        ];
        for (sources, targets) in &pairs {
            let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
            for leaf in [1, 7, 40] {
                for theta in [0.5, 0.3] {
                    for above in [0, 20, 10000] {
                        check_geometry(name, geometry, leaf, theta, above);
                    }
                }
            }
        }
    }
}

#[test]
fn every_pair_is_covered_exactly_once() {
    for (name, d) in Distribution::ALL {
        let particles = generate(400, d, Charge::Random, 5);
        for leaf in [1, 7, 40] {
            for theta in [0.5, 0.3, 0.15, 0.02, 1e-200] {
                for above in [0, 20, 10000] {
                    check(name, &particles, leaf, theta, above);
                }
            }
        }
    }
}

#[test]
fn odd_clouds_are_covered_exactly_once() {
    for n in [0, 1, 2, 3] {
        check("few", &generate(n, Distribution::Uniform, Charge::Random, 2), 1, 0.5, 0);
    }
    let mut p = generate(60, Distribution::Uniform, Charge::Random, 2);
    (0..100).for_each(|_| p.push([0.25, 0.5, 0.75], 1.0));
    (0..100).for_each(|k| p.push([0.9 + 1e-7 * k as f64, 0.9, 0.9], 1.0));
    for above in [0, 15] {
        check("clumps", &p, 4, 0.5, above);
    }
}

#[test]
fn an_inner_cell_of_a_full_tree_sees_189_cells() {
    let mut p = Particles::default();
    for k in 0..4096 {
        let at = |b: i32| ((k >> b & 15) as f64 + 0.5) / 16.0;
        p.push([at(0), at(4), at(8)], 1.0);
    }
    let tree = Tree::build(p.columns(), 1);
    assert_eq!([0.5, 1.0 / 3.0, 0.3, 0.25].map(near2), [4, 9, 12, 16]);
    let options = ListOptions { near2: near2(0.5), m2p_above: 0, p2l_above: 0 };
    let lists = build(&tree, &options);
    assert_eq!(options.near2, 4);
    let t = (tree.levels[4].clone()).find(|k| tree.cells[*k].at == [7, 7, 7]).expect("the tree is full");
    let far = lists.v[tree.cells[t].parent as usize].iter().flat_map(|s| tree.cells[*s as usize].child_range());
    let offset = |s: usize| [0, 1, 2].map(|k| tree.cells[t].at[k] as i64 - tree.cells[s].at[k] as i64);
    assert_eq!(far.filter(|s| !is_near(offset(*s), 4)).count(), 189);
    assert_eq!(lists.u[t].iter().map(|s| s.1).sum::<u32>(), 27);
}
