//! Both directions at once against one after the other.

use fmm::arith::vector::Vectors;
use fmm::data::Force;
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::p2p::tasks::*;
use fmm::direct::p2p::{Again, Limits, Near, Out};
use fmm::tree::Tree;
use fmm::tree::charges::Charges;
use fmm::tree::lists::{self, ListOptions, Lists};
use std::collections::HashSet;
use testkit::Random;

/// Particles of a distribution with some more at their places and close to them, also across the faces of cells.
fn particles(n: usize, distribution: Distribution) -> Particles {
    let mut p = generate(n, distribution, Charge::Random, 7);
    for k in 0..n / 20 {
        let at = p.position(k);
        p.push(at, 1.0);
        p.push(at.map(|x| x * (1.0 + 1e-9)), 1.0);
        let d = 1e-2 * 0.8f64.powi(k as i32 % 40);
        p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 - d } else { at[a] }), 1.0);
        p.push(std::array::from_fn(|a| if a <= k % 3 { 0.5 + d } else { at[a] }), 1.0);
    }
    p
}

/// Charges of one magnitude within a factor of two, some of them negative. Of odd seeds, some are 0 or far smaller.
fn charges(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let sizes = |k: usize| match k {
        _ if seed.is_multiple_of(2) => 1.0,
        _ if k % 601 == 20 => 0.0,
        _ if k % 701 == 30 => 1e-12,
        _ => 1.0,
    };
    let mut one = |k| sizes(k) * (0.5 + 0.5 * random.unit()) * if random.unit() < 0.4 { -1.0 } else { 1.0 };
    (0..n).map(&mut one).collect()
}

fn run<T: Vectors>(near: &Near, is_mutual: bool) -> (Vec<Vec<Force>>, Vec<Again>) {
    let mut force = vec![vec![[0.0; 4]; near.tree.len()]; near.charges.len()];
    let out = force.iter_mut().map(|force| Out { force, hessian: &mut [] }).collect();
    let again = if is_mutual { all::<T>(near, &pairs(near), out) } else { near.one_way::<T>(out) };
    (force, again)
}

fn built(p: &Particles, leaf: usize, above: usize) -> (Tree, Lists) {
    let tree = Tree::build(p.columns(), leaf);
    let options = ListOptions { near2: 4, m2p_above: above, p2l_above: above };
    let lists = lists::build(&tree, &options);
    assert!(lists.is_mutual);
    (tree, lists)
}

fn check<T: Vectors>(p: &Particles, leaf: usize, above: usize, eps: f64, sets: u64) {
    let (tree, lists) = built(p, leaf, above);
    let columns: Vec<Vec<f64>> = (0..sets).map(|set| charges(p.len(), set)).collect();
    let all: Vec<Charges> = columns.iter().map(|q| Charges::new(&tree, &q[..])).collect();
    let near = Near { tree: &tree, lists: &lists, charges: all.iter().collect(), eps, hessian: false };
    let (found, again) = run::<T>(&near, true);
    let (wanted, again_wanted) = run::<T>(&near, false);
    let ones = Charges::new(&tree, &vec![1.0; p.len()][..]);
    let (sizes, _) = run::<f64>(&Near::new(&tree, &lists, &ones, eps), false);
    // The rounding of coordinates in a leaf's unit; a sum of q / r^2 is at most the square of one of 1 / r.
    let bound = if size_of::<T>() == 8 { 1e-13 } else { 2f64.powi(-24) / Limits::of::<T>().distance };
    for ((found, wanted), set) in found.iter().zip(&wanted).zip(0..) {
        for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let size = sizes[0][k][0];
            for a in 0..4 {
                let error = (found[a] - wanted[a]).abs();
                let bound = bound * if a == 0 { size } else { size * size };
                assert!(error <= bound, "leaf {leaf} above {above} set {set} {k} {a}: {} {}", found[a], wanted[a]);
            }
        }
    }
    for (again, wanted) in again.iter().zip(&again_wanted) {
        assert_eq!((again.targets, again.pairs), (wanted.targets, wanted.pairs), "leaf {leaf} above {above}");
        assert!(again.wide.iter().map(|w| w.0).eq(wanted.wide.iter().map(|w| w.0)));
    }
}

#[test]
fn both_directions_at_once_give_the_sums_of_one_after_the_other() {
    for (_, distribution) in Distribution::ALL {
        for (n, leaf, above, sets) in
            [(1, 4, 0, 1), (2, 1, 0, 2), (40, 1, 6, 1), (300, 2, 0, 3), (900, 7, 30, 1), (2000, 40, 8, 5)]
        {
            let p = particles(n, distribution);
            check::<f64>(&p, leaf, above, 0.0, sets);
            check::<f32>(&p, leaf, above, 1e-3, sets);
        }
    }
    check::<f32>(&particles(6000, Distribution::Uniform), 29, 0, 0.0, 1);
    check::<f64>(&particles(6000, Distribution::Plummer), 29, 20, 0.0, 2);
}

#[test]
fn leaves_full_of_coincident_particles_have_the_sums_of_one_direction() {
    let mut p = generate(200, Distribution::Uniform, Charge::Random, 3);
    for k in 0..3000 {
        // In two points, a cell's face apart, and in one with distances of 1e-110 about it.
        let d = [1e-3, -1e-3, (k % 7) as f64 * 1e-110][k % 3];
        p.push([0.5 + d, 0.25, if k % 3 == 2 { d } else { 0.25 }], 1.0);
    }
    check::<f64>(&p, 16, 0, 0.0, 2);
    check::<f32>(&p, 16, 0, 0.0, 1);
}

#[test]
fn sums_depend_neither_on_threads_nor_on_tasks_together_nor_on_other_sets() {
    let p = particles(6000, Distribution::Normal);
    let (tree, lists) = built(&p, 24, 10);
    let columns: Vec<Vec<f64>> = (0..3).map(|set| charges(p.len(), set)).collect();
    let all: Vec<Charges> = columns.iter().map(|q| Charges::new(&tree, &q[..])).collect();
    let near = Near { tree: &tree, lists: &lists, charges: all.iter().collect(), eps: 0.0, hessian: false };
    let pairs_of_leaves = pairs(&near);
    let mut cutter = Cutter::new(pairs_of_leaves.iter().sum());
    let tasks: HashSet<u32> = pairs_of_leaves.iter().map(|pairs| cutter.next(*pairs)).collect();
    assert!(tasks.len() > 3, "several tasks");
    let (wanted, _) = run::<f32>(&near, true);
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        assert!(pool.install(|| run::<f32>(&near, true)).0 == wanted, "{threads} threads");
    }
    for together in [1, 2, 3] {
        let mut force = vec![vec![[0.0; 4]; near.tree.len()]; near.charges.len()];
        let out = force.iter_mut().map(|force| Out { force, hessian: &mut [] }).collect();
        in_parts::<f32>(&near, &pairs(&near), out, together);
        assert!(force == wanted, "{together} tasks at a time");
    }
    for (charges, wanted) in all.iter().zip(&wanted) {
        let alone = Near::new(&tree, &lists, charges, 0.0);
        assert!(run::<f32>(&alone, true).0[0] == *wanted);
    }
}

#[test]
#[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
fn forces_of_all_particles_cancel() {
    let p = particles(4000, Distribution::Sphere);
    let (tree, lists) = built(&p, 12, 0);
    let charges = Charges::new(&tree, &charges(p.len(), 1)[..]);
    let (force, _) = run::<f64>(&Near::new(&tree, &lists, &charges, 1e-3), true);
    for a in 1..4 {
        let one = |k: usize| charges.scaled[k] * force[0][k][a];
        let (sum, size) = (0..p.len()).fold((0.0, 0.0), |s, k| (s.0 + one(k), s.1 + one(k).abs()));
        assert!(sum.abs() < 1e-13 * size, "{sum} {size}");
    }
}
