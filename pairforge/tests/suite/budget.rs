//! The split of an error by its causes.

use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::sample;
use fmm::direct::summation;
use fmm::expansion::basis::Basis;
use fmm::octree::budget::{Budget, Cause, Parts, Run, Seen, fields, of};
use fmm::octree::executor::Executor;
use fmm::octree::{FmmOptions, Plan, Precision};
use pairforge::backends::{BackendOptions, find};
use pg2::graph::Graph;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;

fn compile(text: &str) -> Graph {
    pg2::compile("kernel", text).expect("the kernel compiles").graph
}

/// The budget of a run with kernels on the emulator, or natively.
fn budget(options: &FmmOptions, p2p: Option<&Graph>, m2l: Option<&Graph>) -> Budget {
    budget_of(&generate(3000, Distribution::Uniform, Charge::Positive, 4), options, p2p, m2l)
}

fn budget_of(p: &Particles, options: &FmmOptions, p2p: Option<&Graph>, m2l: Option<&Graph>) -> Budget {
    let plan = Plan::for_kernel(p.columns(), options, p2p.map(of_graph)).expect("good options");
    let targets = sample(p.len(), 300, 2);
    let reference = match options.basis {
        Basis::Chebyshev => {
            pipelines::octree::offload::direct(&plan, &p.q, p2p.expect("its kernel"), &targets, &mut |_, _, _| {})
                .expect("it can be summed")
        }
        _ => summation::reference(p, &targets, 0.0),
    };
    let mut backend = (find("emulator").expect("a backend").0.open)(&BackendOptions::default());
    let mut pipelines = p2p.map(|p2p| Pipelines::new(&mut *backend, p2p, m2l));
    let mut executors: Vec<&mut dyn Executor<Plan>> =
        pipelines.iter_mut().map(|p| p as &mut dyn Executor<Plan>).collect();
    let progress = &mut |_: &'static str, _, _| {};
    let field = plan.solve(&p.q, &mut executors, progress).expect("it runs").field;
    let run = Run { plan: &plan, geometry: p.columns().into(), sources: p.q[..].into(), p2p: p2p.map(of_graph) };
    let fields = fields(&run, &mut executors, progress).expect("it runs again");
    of(&Seen { field: &field, targets: &targets, reference: &reference, edge: 1.0 }, &fields)
}

/// The parts are what they should be: no side of a figure is longer than all others together.
fn check_parts(p: &Parts) {
    let parts = [p.truncation, p.rounding, p.grid, p.p2p, p.m2l];
    let sum: f64 = parts.iter().sum();
    assert!(p.total <= sum * (1.0 + 1e-9) && parts.iter().all(|part| *part <= p.total + sum - part + 1e-15), "{p:?}");
}

/// Errors that do not know of each other add up as squares. (Potentials of positive charges are all off to one side.)
fn check_sum(p: &Parts) {
    check_parts(p);
    let parts = [p.truncation, p.rounding, p.grid, p.p2p, p.m2l];
    let sum = parts.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((sum / p.total - 1.0).abs() < 0.2, "{sum} {p:?}");
    assert!(p.next < p.total * 1.2 && p.next > 0.4 * p.total, "{p:?}");
}

#[test]
fn the_stage_with_few_bits_is_found() {
    let p2p = pg2::kernels::find("p2p").expect("shipped").text;
    let m2l = pg2::gen_m2l(4).expect("a possible order");
    let narrow = |text: &str, from: &str, to: &str| compile(&text.replace(from, to));
    let options = FmmOptions { order: 4, leaf: 40, ..FmmOptions::default() };
    let wide = budget(&options, Some(&compile(p2p)), Some(&compile(&m2l)));
    let few = budget(&options, Some(&narrow(p2p, "float25.16", "float15.6")), Some(&compile(&m2l)));
    let far = budget(&options, Some(&compile(p2p)), Some(&narrow(&m2l, "float25.16", "float14.5")));
    println!("{wide:?}\n{few:?}\n{far:?}");
    for (budget, largest) in [(&wide, Cause::Truncation), (&few, Cause::P2p), (&far, Cause::M2l)] {
        let gradient = budget.gradient.expect("a gradient");
        assert!(budget.samples == 300 && gradient.largest == Some(largest), "{largest:?} {gradient:?}");
        check_sum(&gradient);
        check_parts(&budget.potential);
    }
    let [wide, few, far] = [wide, few, far].map(|b| b.gradient.expect("a gradient"));
    // Truncation does not know of formats, nor a stage of another's.
    let is_same = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    assert!(is_same(few.truncation, wide.truncation) && is_same(far.truncation, wide.truncation));
    assert!(is_same(few.m2l, wide.m2l) && is_same(far.p2p, wide.p2p), "{few:?} {far:?} {wide:?}");
    // Ten bits fewer.
    assert!(few.p2p > 200.0 * wide.p2p && few.p2p < 5000.0 * wide.p2p, "{few:?} {wide:?}");
}

/// The total that is promised is the one that is had once the bits are spent.
#[test]
fn every_promise_of_a_budget_is_kept_when_its_bits_are_spent() {
    let (p2p, m2l) = (pg2::kernels::find("p2p").expect("shipped").text, pg2::gen_m2l(4).expect("a possible order"));
    let with = |text: &str, format: &str| compile(&text.replace("float25.16", format));
    let options = FmmOptions { order: 4, leaf: 40, ..FmmOptions::default() };
    // Without close pairs, of which one alone would rule the error and its rounding be chance.
    let mut apart = generate(1728, Distribution::Uniform, Charge::Positive, 4);
    for k in 0..1728 {
        for (x, place) in [&mut apart.x, &mut apart.y, &mut apart.z].into_iter().zip([k / 144, k / 12 % 12, k % 12]) {
            x[k] = (place as f64 + 0.4 * x[k]) / 12.0;
        }
    }
    let judged = |p: &str, m: &str, order: usize| {
        let m2l = pg2::gen_m2l(order as u32).expect("a possible order");
        let options = FmmOptions { order, ..options.clone() };
        *budget_of(&apart, &options, Some(&with(p2p, p)), Some(&with(&m2l, m))).judged()
    };
    let changes = [
        (("float15.6", "float25.16", 4), ("float16.7", "float25.16", 4), Cause::P2p, 0.2),
        (("float25.16", "float16.7", 6), ("float25.16", "float17.8", 6), Cause::M2l, 0.2),
        (("float25.16", "float25.16", 4), ("float25.16", "float25.16", 5), Cause::Truncation, 0.5),
    ];
    for (before, after, cause, near) in testkit::some(changes, 2) {
        let [few, more] = [before, after].map(|(p, m, order)| judged(p, m, order));
        println!("{few:?}\n{more:?}");
        assert!(few.largest == Some(cause) && (more.total / few.next - 1.0).abs() < near, "{few:?} {more:?}");
    }
    // Pairs so close that the grid tells their difference to four digits: no bit of a kernel helps, native code does.
    let mut close = generate(800, Distribution::Uniform, Charge::Positive, 4);
    for k in (0..800).step_by(2) {
        (close.x[k + 1], close.y[k + 1], close.z[k + 1]) = (close.x[k] + 3e-6, close.y[k], close.z[k] - 2e-6);
    }
    let of =
        |p2p: Option<&Graph>| *budget_of(&close, &options, p2p, p2p.is_some().then(|| compile(&m2l)).as_ref()).judged();
    let [few, more, native] = [of(Some(&with(p2p, "float25.16"))), of(Some(&with(p2p, "float26.17"))), of(None)];
    println!("{few:?}\n{more:?}\n{native:?}");
    assert!(few.largest == Some(Cause::Grid) && more.largest == Some(Cause::Grid) && more.total > 0.9 * few.total);
    assert!(native.total < 1.1 * few.next + 1e-12 && few.next < 0.1 * few.total, "{few:?} {native:?}");
}

#[test]
fn direct_sums_have_no_truncation_and_a_lone_particle_no_error() {
    let p2p = compile(pg2::kernels::find("p2p").expect("shipped").text);
    let options = FmmOptions { order: 2, leaf: 4000, ..FmmOptions::default() };
    let [native, kernel] = [None, Some(&p2p)].map(|p2p| *budget(&options, p2p, None).judged());
    assert!(native.largest == Some(Cause::Rounding) && native.rounding < 1e-12 && native.next == native.total);
    assert!(kernel.largest == Some(Cause::P2p) && kernel.truncation == 0.0 && kernel.rounding < 1e-12, "{kernel:?}");
    let one = generate(1, Distribution::Uniform, Charge::Positive, 4);
    for p2p in [None, Some(&p2p)] {
        let none = *budget_of(&one, &options, p2p, None).judged();
        assert_eq!((none.largest, none.total, none.next), (None, 0.0, 0.0));
    }
}

#[test]
fn native_f32_is_compared_with_f64() {
    let of = |order, precision| {
        let options = FmmOptions { order, leaf: 40, basis: Basis::Solid, precision, ..FmmOptions::default() };
        budget(&options, None, None).gradient.expect("a gradient")
    };
    let rough = of(5, Precision::F32);
    assert!(
        rough.largest == Some(Cause::Truncation) && rough.p2p < 1e-6 && rough.p2p > 0.0 && rough.m2l > 0.0,
        "{rough:?}"
    );
    let fine = of(22, Precision::F32);
    assert!(fine.largest != Some(Cause::Truncation) && fine.truncation < 1e-8, "{fine:?}");
    check_sum(&fine);
    let double = of(5, Precision::F64);
    assert_eq!((double.p2p, double.m2l, double.total), (0.0, 0.0, double.truncation));
    assert_eq!(double.truncation, rough.truncation);
}

#[test]
fn a_kernel_that_is_not_1_over_r_is_what_it_means() {
    let yukawa = pg2::kernels::find("p2p").expect("shipped").text.replace("pg_pow(r2, -1, 2)", "pg_inv(r2)");
    let yukawa = compile(&yukawa.replace("mr * (inr * inr)", "2 * mr * inr"));
    let options = FmmOptions { order: 6, leaf: 60, basis: Basis::Chebyshev, ..FmmOptions::default() };
    let parts = budget(&options, Some(&yukawa), None);
    assert!(parts.potential.p2p > 1e-7 && parts.potential.p2p < 1e-4 && parts.potential.m2l == 0.0, "{parts:?}");
    check_parts(&parts.potential);
}
