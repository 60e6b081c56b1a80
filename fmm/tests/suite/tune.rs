//! Searches for a wanted error: how they go on, and what they leave.

use fmm::data::random::{Charge, Distribution, generate};
use fmm::expansion::basis::Basis;
use fmm::octree::FmmOptions;
use fmm::octree::Plan;
use fmm::octree::Precision;
use fmm::octree::native::NativeP2p;
use fmm::octree::tune::cost::Costs;
use fmm::octree::tune::*;
use fmm::stages::Executor;

/// Where f32 does not reach a wanted error, P2P elsewhere takes f64 as the CPU does, unless it has formats of its own.
#[test]
fn a_gpu_goes_on_in_f64_where_f32_does_not_reach() {
    let particles = generate(500, Distribution::Uniform, Charge::Random, 5);
    let free = |precision| Free { theta: true, precision, leaf: true, enlarge: false };
    let within = |free, executors: &mut [&mut dyn Executor<Plan>]| {
        let costs = Costs::default();
        let problem = Problem {
            geometry: particles.columns().into(),
            sets: vec![particles.q[..].into()],
            hessian: false,
            p2p: None,
            near: None,
            seed: 5,
            is_promise: true,
            free,
            costs: &costs,
        };
        let options = FmmOptions { basis: Basis::Solid, leaf: 40, precision: Precision::F32, ..FmmOptions::default() };
        within(1e-8, &problem, &start(&options, 1e-8), executors, &mut |_, _, _| {})
    };
    for executors in [&mut [] as &mut [&mut dyn Executor<Plan>], &mut [&mut NativeP2p(None)]] {
        let found = within(free(true), executors).expect("f64 does");
        assert_eq!(found.plan.options.precision, Precision::F64);
        assert!(found.errors[0].gradient_rel_l2.is_some_and(|e| e <= 1e-8));
        let refused = within(free(false), executors).err().expect("f32 does not").to_string();
        assert!(refused.contains("f32 limits it; take --precision f64"), "{refused}");
    }
    let refused =
        within(free(true), &mut [&mut NativeP2p(Some(Precision::F32))]).err().expect("formats stay").to_string();
    assert!(refused.contains("the number formats of the P2P kernel limit it"), "{refused}");
}

/// A near field that was kept leaves no trace: neither where the lists of P2P are the same for all orders nor where they change.
#[test]
fn a_search_gives_the_bits_of_its_plan() {
    for (distribution, hessian) in [(Distribution::Uniform, false), (Distribution::Plummer, true)] {
        let particles = generate(4000, distribution, Charge::Random, 5);
        let (charges, twice) = (&particles.q[..], particles.q.iter().map(|q| 2.0 * q).collect::<Vec<_>>());
        let costs = Costs::default();
        let problem = Problem {
            geometry: particles.columns().into(),
            sets: vec![charges.into(), twice[..].into()],
            hessian,
            p2p: None,
            near: None,
            seed: 5,
            is_promise: true,
            free: Free { theta: true, precision: true, leaf: false, enlarge: false },
            costs: &costs,
        };
        let options = FmmOptions { basis: Basis::Solid, leaf: 20, ..FmmOptions::default() };
        let Tuned { plan, solution, .. } =
            within(1e-5, &problem, &start(&options, 1e-2), &mut [], &mut |_, _, _| {}).expect("f64 does");
        let again = plan.solve_all(&problem.sets, hessian, &mut [], &mut |_, _, _| {}).expect("it ran before");
        assert_eq!(solution.fields, again.fields);
        assert_eq!(solution.stats.pairs, again.stats.pairs);
        assert!(solution.stats.seconds.p2p > 0.0 && solution.stats.seconds.total > solution.stats.seconds.p2p);
    }
}
