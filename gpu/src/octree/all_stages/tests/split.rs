//! The runs that split an error by its causes, by the kernels compiled for the host, beside the CPU's.

use super::super::split::with_other_far;
use super::*;
use crate::cuda::octree::Fields as Summed;
use fmm::octree::budget::{self, Budget, Fields, Seen};

/// The split of the error of a run in f32.
fn split(particles: &Particles, tree: TreeKind, order: usize) -> Budget {
    let (devices, (kernel, units)) = ([HostDevice::default()], units());
    let options = FmmOptions { order, precision: Precision::F32, basis: Basis::Solid, ..FmmOptions::default() };
    let (sets, wanted) = ([particles.q[..].into()], Wanted::default());
    let geometry = particles.columns().into();
    let task = Task { name: "host", geometry, sets: &sets, options: &options, wanted, leaf: Some(4) };
    let team = Team::alone(&devices);
    let mut single = GpuFmm::<f32, HostDevice>::new(&devices, &kernel, order, units).expect("it compiles");
    let mut double = GpuFmm::<f64, HostDevice>::new(&devices, &kernel, order, units).expect("it compiles");
    (single.tree, double.tree, double.prices) = (tree, tree, single.prices);
    let taken = "it is fit";
    let found = task.run(&team, &mut single).expect("there is room").expect(taken).solutions();
    (single.fields, double.fields) = (Summed::Far, Summed::Far);
    let far = task.run(&team, &mut single).expect("there is room").expect(taken).fields.remove(0);
    let far_in_f64 = task.run(&team, &mut double).expect("there is room").expect(taken).fields.remove(0);
    double.fields = Summed::All;
    let in_f64 = task.run(&team, &mut double).expect("there is room").expect(taken).fields.remove(0);
    let without_p2p = with_other_far(&in_f64, &far_in_f64, &far);
    let targets = error::sample(particles.len(), 100, 1);
    let direct = Direct { geometry, sources: sets[0], eps: 0.0, hessian: false };
    let reference: Vec<_> = direct.at(&targets).iter().map(|all| [all[0], all[1], all[2], all[3]]).collect();
    let edge = error::edge(geometry, None);
    let seen = Seen { field: &found.fields[0], targets: &targets, reference: &reference, edge };
    budget::of(&seen, &Fields { on_grid: None, without_p2p, in_f64, is_direct: false })
}

#[test]
#[ignore = "a proof in depth"]
fn errors_are_those_of_the_expansions_and_the_formats_add_what_f32_rounds() {
    if !on_host::is_there() {
        return;
    }
    for (tree, distribution) in
        [(TreeKind::OneDepth, Distribution::Uniform), (TreeKind::Adaptive, Distribution::Plummer)]
    {
        let particles = generate(500, distribution, Charge::Positive, 1);
        let parts = split(&particles, tree, 2).potential;
        // Of two trees, fields put together would be off by whole parts of the near field.
        let is_rounding = |x: f64| x > 1e-9 && x < 2e-6;
        assert!(is_rounding(parts.p2p) && is_rounding(parts.m2l), "{tree:?}: {parts:?}");
        assert!((parts.truncation / parts.total - 1.0).abs() < 1e-2 && parts.total > 1e-5, "{tree:?}: {parts:?}");
    }
}
