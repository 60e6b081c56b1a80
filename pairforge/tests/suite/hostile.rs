//! Particles whose coordinates, distances, charges or softening lengths leave the range of f32 or f64 on the way: what
//! comes back is finite and right, or an error, on every backend and in every precision.

use crate::truth::{Sum, sums};
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::measure;
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmError, FmmOptions, Plan, Precision, Solution};
use pairforge::backends::{self, find};
use pg2::graph::Graph;
use pipelines::octree::offload::Pipelines;
use std::sync::LazyLock;

static P2P: LazyLock<Graph> = LazyLock::new(|| {
    let text = pg2::kernels::find("p2p").expect("a shipped kernel").text;
    pg2::compile("p2p", text).expect("the kernel compiles").graph
});
static M2L: LazyLock<Graph> = LazyLock::new(|| {
    let text = pg2::gen_m2l(ORDER as u32).expect("a possible order");
    pg2::compile("m2l", &text).expect("the kernel compiles").graph
});

const ORDER: usize = 4;

fn particles(list: &[([f64; 3], f64)]) -> Particles {
    let mut p = Particles::default();
    list.iter().for_each(|(x, q)| p.push(*x, *q));
    p
}

fn on_axis(list: &[f64]) -> Particles {
    particles(&list.iter().map(|x| ([*x, 0.0, 0.0], 1.0)).collect::<Vec<_>>())
}

fn cloud(n: usize, seed: u64) -> Particles {
    generate(n, Distribution::Uniform, Charge::Positive, seed)
}

fn scaled(p: Particles, length: f64, charge: f64) -> Particles {
    let by = |column: Vec<f64>, factor: f64| column.into_iter().map(|x| x * factor).collect();
    Particles { x: by(p.x, length), y: by(p.y, length), z: by(p.z, length), q: by(p.q, charge) }
}

fn with(mut p: Particles, list: &[([f64; 3], f64)]) -> Particles {
    list.iter().for_each(|(x, q)| p.push(*x, *q));
    p
}

/// A cloud with a partner for each particle at a distance.
fn pairs(n: usize, distance: f64) -> Particles {
    let (mut p, directions) = (cloud(n, 3), cloud(n, 4));
    for k in 0..n {
        let d = directions.position(k).map(|x| x - 0.5);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let at: [f64; 3] = std::array::from_fn(|a| p.position(k)[a] + d[a] * distance / length);
        p.push(at, 0.5 + directions.q[k]);
    }
    p
}

/// Particles on the 12^3 places whose coordinates are the f64 that follow 1, as far as `n` goes.
fn next_to_one(n: usize) -> Particles {
    let at = |k: usize| 1.0 + (k % 12) as f64 * f64::EPSILON;
    particles(&(0..n).map(|k| ([at(k), at(k / 12), at(k / 144)], 1.0 + (k % 3) as f64)).collect::<Vec<_>>())
}

struct Case {
    name: &'static str,
    particles: Particles,
    eps: f64,
    leaf: usize,
    /// The error that the expansions may have, as a part of the sum of magnitudes.
    method: f64,
}

fn case(name: &'static str, particles: Particles) -> Case {
    Case { name, particles, eps: 0.0, leaf: 16, method: 2e-2 }
}

/// The table.
fn cases() -> Vec<Case> {
    let soft = |name, particles, eps| Case { eps, leaf: 1000, method: 1e-3, ..case(name, particles) };
    let tiny = f64::from_bits(1);
    let all_scales = on_axis(&(0..150).map(|k| 2f64.powi(-k)).collect::<Vec<_>>());
    vec![
        case("no particle", Particles::default()),
        case("one", on_axis(&[7.0])),
        case("one, huge", on_axis(&[1e308])),
        case("one, subnormal", on_axis(&[tiny])),
        case("two", on_axis(&[3.0, 4.0])),
        case("two, 1e-150 apart", on_axis(&[0.0, 1e-150])),
        case("all in one point", particles(&[([0.3, 0.4, 0.5], 1.0); 60])),
        case("all in one huge point", particles(&[([1e307, -1e308, 0.0], 1.0); 60])),
        case("all in one tiny point", particles(&[([1e-307, tiny, 0.0], 1.0); 60])),
        case("zeros of both signs", particles(&[([0.0, -0.0, 0.0], 1.0), ([-0.0, 0.0, -0.0], 2.0), ([1.0; 3], 1.0)])),
        case("collinear", on_axis(&(0..300).map(|k| k as f64 * 1e-3).collect::<Vec<_>>())),
        Case { leaf: 1000, method: 1e-3, ..case("collinear, at all scales", all_scales.clone()) },
        // Nearly all charges lie in one corner of their cells.
        Case { method: 0.2, ..case("collinear, at all scales, with cells", all_scales) },
        case("1e-8 apart", pairs(150, 1e-8)),
        // Just beyond the 256 steps of integer coordinates: their rounding is felt.
        case("1e-7 apart", pairs(150, 1.3e-7)),
        case("1e-6 apart", pairs(150, 1.1e-6)),
        case("1e-3 apart", pairs(150, 1e-3)),
        case("1e-15 beside 1", on_axis(&[-1.0, 1.0, 0.0, 1e-15])),
        case("1e-110 apart", on_axis(&[-1.0, 1.0, 0.0, 1e-110])),
        case("1e-150 apart", on_axis(&[-1.0, 1.0, 0.0, 1e-150, -2e-150])),
        case("an outlier at 1e15", with(cloud(200, 5), &[([1e15, 0.0, 0.0], 1.0)])),
        case("an outlier at 1e104", with(cloud(200, 5), &[([1e104, 0.0, 0.0], 1.0)])),
        case("an outlier at 1e300", with(cloud(60, 5), &[([0.0, -1e300, 0.0], -1.0)])),
        case("two outliers at 1.7e308", with(cloud(60, 5), &[([1.7e308; 3], 1.0), ([-1.7e308; 3], 1.0)])),
        case("an outlier alone is charged", with(scaled(cloud(60, 5), 1.0, 0.0), &[([1e104, 1.0, 0.0], 1.0)])),
        case("subnormal once scaled", on_axis(&[1e-150, 2e-150, 3e-150, 1e180])),
        case("huge", scaled(cloud(300, 6), 1.7e308, 1.0)),
        case("huge, about 0", with(Particles::default(), &[([-1e308; 3], 1.0), ([1e308; 3], 1.0), ([0.0; 3], 1.0)])),
        case("tiny", scaled(cloud(300, 6), 1e-150, 1.0)),
        case("subnormal coordinates, tiny charges", scaled(cloud(300, 6), 1e-310, 1e-320)),
        case("next to 1", next_to_one(400)),
        case("next to 1e300", scaled(next_to_one(400), 1e300, 1.0)),
        case("charges of 1e300", scaled(cloud(300, 6), 1.0, 1e300)),
        case("charges of 1e-300", scaled(cloud(300, 6), 1.0, 1e-300)),
        case("no charges", scaled(cloud(300, 6), 1.0, 0.0)),
        soft("eps of 1e155", cloud(60, 7), 1e155),
        soft("eps of 1e300 in a huge box", scaled(cloud(60, 7), 1e299, 1.0), 1e300),
        soft("eps of 1e200", cloud(60, 7), 1e200),
        soft("eps of 1e-200", cloud(60, 7), 1e-200),
        soft("eps of 20 boxes", cloud(60, 7), 20.0),
        soft("eps of 1e-12 beside pairs", pairs(60, 1e-12), 1e-12),
        soft("eps of 1e-160 beside pairs", on_axis(&[0.0, 1e-160, 1.0]), 1e-140),
        soft("eps of 1e-9", pairs(60, 1e-3), 1e-9),
    ]
}

#[derive(Clone, Copy, Debug)]
enum How {
    Native(Precision, Basis),
    Emulator,
}

fn solve(case: &Case, how: How) -> Result<Solution, FmmError> {
    let mut options = FmmOptions { order: ORDER, leaf: case.leaf, eps: case.eps, ..FmmOptions::default() };
    let mut progress = |_: &'static str, _: usize, _: usize| {};
    match how {
        How::Native(precision, basis) => {
            (options.precision, options.basis) = (precision, basis);
            Plan::new(case.particles.columns(), &options)?.solve(&case.particles.q, &mut [], &mut progress)
        }
        How::Emulator => {
            let mut backend = (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default());
            let mut pipelines = Pipelines::new(&mut *backend, &P2P, Some(&M2L));
            Plan::new(case.particles.columns(), &options)?.solve(
                &case.particles.q,
                &mut [&mut pipelines],
                &mut progress,
            )
        }
    }
}

/// Errors in units of the sum of magnitudes; a kernel's outputs have steps besides.
fn check(case: &Case, how: How, found: &Solution, truth: &[(usize, [Sum; 4])]) {
    let name = format!("{} by {how:?}", case.name);
    let gradient = found.field.gradient.as_ref().expect("all give it");
    let columns = [&found.field.potential, &gradient[0], &gradient[1], &gradient[2]];
    assert!(columns.iter().all(|c| c.iter().all(|x| x.is_finite())), "{name}");
    // The largest of all targets, which steps of outputs are counted from.
    let most = |a: usize| truth.iter().map(|(_, t)| t[a].size).fold(0.0, f64::max);
    for (k, truth) in truth {
        let k = *k;
        let sizes = [truth[0].size, truth[1].size.max(truth[2].size).max(truth[3].size)];
        for a in 0..4 {
            let step = match how {
                How::Native(..) => 0.0,
                How::Emulator if a == 0 => 1e-6 * most(0),
                How::Emulator => 1e-6 * most(1).max(most(2)).max(most(3)),
            };
            // Where the reference lies below the normal numbers of f64, so may the result.
            let bound = case.method * sizes[(a > 0) as usize] + step + f64::MIN_POSITIVE;
            let off = (columns[a][k] - truth[a].value).abs();
            assert!(off <= bound, "{name}: {a} of particle {k} is {:e}, not {:e}", columns[a][k], truth[a].value);
        }
    }
}

#[test]
fn hostile_particles_are_right_everywhere() {
    let mut hows = vec![How::Emulator];
    for precision in [Precision::F32, Precision::F64] {
        hows.extend([Basis::Cartesian, Basis::Solid].map(|basis| How::Native(precision, basis)));
    }
    for case in testkit::some(cases(), 8) {
        let truth = sums(&case.particles, case.eps);
        for how in &hows {
            let found = solve(&case, *how).unwrap_or_else(|e| panic!("{} by {how:?}: {e}", case.name));
            check(&case, *how, &found, &truth);
            let e = measure(&case.particles, &found.field, 1000, 1, case.eps);
            let all = [Some(e.potential_rel_l2), e.gradient_rel_l2, e.gradient_median, e.gradient_p99];
            assert!(all.iter().all(|e| e.is_some_and(|e| e.is_finite())), "{} by {how:?}: {e:?}", case.name);
        }
    }
}

#[test]
fn the_simulated_verilog_gives_the_bits_of_the_emulator() {
    if !testkit::require("verilator") {
        return;
    }
    // The engine of the conformance suite of backends, so that one build serves both.
    let engine =
        backends::BackendOptions { pipelines: 8, groups: 1, jmem_words: 4096, ..backends::BackendOptions::default() };
    let [mut emulator, mut cycle] = ["emulator", "cycle"].map(|name| (find(name).expect("a backend").0.open)(&engine));
    for case in cases() {
        let options = FmmOptions { order: ORDER, leaf: case.leaf, eps: case.eps, ..FmmOptions::default() };
        let plan = Plan::new(case.particles.columns(), &options).expect("good options");
        let [emulated, simulated] = [&mut emulator, &mut cycle].map(|backend| {
            let mut pipelines = Pipelines::new(&mut **backend, &P2P, None);
            plan.solve(&case.particles.q, &mut [&mut pipelines], &mut |_, _, _| {})
                .unwrap_or_else(|e| panic!("{}: {e}", case.name))
        });
        let bits = |s: &Solution| {
            let columns = s.field.gradient.iter().flatten().chain([&s.field.potential]);
            columns.flat_map(|c| c.iter().map(|x| x.to_bits())).collect::<Vec<u64>>()
        };
        assert_eq!(bits(&simulated), bits(&emulated), "{}", case.name);
        let counts = |s: &Solution| (s.stats.recomputed, s.stats.close_pairs, s.stats.streamed, s.stats.flags.clone());
        assert_eq!(counts(&simulated), counts(&emulated), "{}", case.name);
    }
}

#[test]
fn the_reference_is_the_truth() {
    for case in cases() {
        let all: Vec<usize> = (0..case.particles.len()).collect();
        let found = fmm::direct::summation::reference(&case.particles, &all, case.eps);
        for (k, truth) in sums(&case.particles, case.eps) {
            for a in 0..4 {
                let bound = 1e-13 * truth[a].size + 2f64.powi(-1072);
                let (found, truth) = (found[k][a], truth[a].value);
                let off = (found - truth).abs();
                assert!(off <= bound, "{}: {a} of particle {k} is {found:e}, not {truth:e}", case.name);
            }
        }
    }
}

#[test]
fn what_was_computed_again_is_counted() {
    let count = |case: &Case, how: How| {
        let stats = solve(case, how).expect("it runs").stats;
        (stats.recomputed, stats.close_pairs)
    };
    let [single, double] = [Precision::F32, Precision::F64].map(|p| How::Native(p, Basis::Cartesian));
    let near = case("1e-7 apart", pairs(150, 1e-7));
    assert_eq!([single, double, How::Emulator].map(|how| count(&near, how)), [(300, 150), (0, 0), (0, 150)]);
    // Beyond 2^47 the kernel's gradient saturates, and so that of nearly all targets. The largest charge counts as 1/2 to 1.
    let near = case("1e-8 apart", pairs(150, 1e-8));
    let p = &near.particles;
    // The grid changes a distance by up to a tenth.
    let saturates = |k: usize, more: f64| {
        let other = (k + 150) % 300;
        let d: [f64; 3] = std::array::from_fn(|a| p.position(other)[a] - p.position(k)[a]);
        let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        d.iter().any(|d| (0.5 * p.q[other] * d / r.powi(3)).abs() * more > 2f64.powi(47))
    };
    let [least, most] = [0.8, 1.25].map(|more| (0..300).filter(|k| saturates(*k, more)).count() as u64);
    assert_eq!([single, double].map(|how| count(&near, how)), [(300, 150), (0, 0)]);
    let (again, close) = count(&near, How::Emulator);
    assert!(close == 150 && (least..=most).contains(&again) && most < 300, "{again} of {least} to {most}");
    let apart = case("1e-3 apart", on_axis(&[0.0, 1e-3, 1.0]));
    assert_eq!([double, How::Emulator].map(|how| count(&apart, how)), [(0, 0); 2]);
    let nearer = case("1e-110 apart", on_axis(&[-1.0, 1.0, 0.0, 1e-110]));
    assert_eq!([single, double, How::Emulator].map(|how| count(&nearer, how)), [(2, 1); 3]);
}

#[test]
fn what_f64_cannot_hold_is_refused() {
    let mixed = case("", particles(&[([0.0; 3], 1e300), ([1.0; 3], 1e-300), ([2.0; 3], 1.0)]));
    let cases = [
        (case("", on_axis(&[0.0, 1e-170])), "gradient at particle 0"),
        (case("", on_axis(&[1.0, 0.0, f64::from_bits(1)])), "potential at particle 1"),
        (case("", particles(&[([0.0; 3], 1e300), ([1e-10, 0.0, 0.0], 1e300)])), "at particle 0"),
        (case("", scaled(cloud(300, 6), 1e-300, 1e300)), "beyond 1.8e308"),
        (mixed, "lost beside"),
    ];
    for (case, part) in cases {
        for how in
            [How::Native(Precision::F32, Basis::Solid), How::Native(Precision::F64, Basis::Cartesian), How::Emulator]
        {
            let error = solve(&case, how).expect_err("f64 does not hold the truth");
            assert!(matches!(&error, FmmError::Range(text) if text.contains(part)), "{part}: {error}");
        }
    }
}

/// A leaf whose targets are all close to another one is the CPU's alone.
#[test]
fn what_is_computed_again_for_sure_is_not_sent() {
    let streamed = |p: Particles| {
        let stats = solve(&case("", p), How::Emulator).expect("it runs").stats;
        (stats.streamed.p2p, stats.recomputed)
    };
    let crowd = with(scaled(cloud(300, 3), 1e-8, 1.0), &[([1.0; 3], 1.0)]);
    // The engine counts the group of eight lanes that the last target is in.
    let (pairs, again) = streamed(crowd.clone());
    assert!(again == 300 && pairs <= 8 * 301, "{pairs} {again}");
    // One more target in the leaf that is close to none, and the leaf is sent.
    let (pairs, again) = streamed(with(crowd, &[([3e-7; 3], 1.0)]));
    assert!(again >= 300 && pairs > 300 * 300, "{pairs} {again}");
}

/// A kernel of the potential alone has no gradient that could be too large.
#[test]
fn a_potential_alone_may_be_huge() {
    let text = pg2::kernels::find("p2p_paper").expect("a shipped kernel").text;
    let paper = pg2::compile("p2p_paper", text).expect("the kernel compiles").graph;
    let mut backend = (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default());
    let mut pipelines = Pipelines::new(&mut *backend, &paper, None);
    let p = on_axis(&[0.0, 1e-200, 1.0]);
    let plan = Plan::new(p.columns(), &FmmOptions::default()).expect("good options");
    let found = plan.solve(&p.q, &mut [&mut pipelines], &mut |_, _, _| {}).expect("1e200 is a number").field;
    assert!((found.potential[0] / 1e200 - 1.0).abs() < 1e-12 && found.gradient.is_none(), "{:?}", found.potential);
}
