//! Problems beside charges at their own places: targets apart, several sets of charges, dipoles and Hessians.

mod operators;

use fmm::data::particles::{Columns, Field, Particles};
use fmm::data::periodic::Periodic;
use fmm::data::problem::{Geometry, Sources};
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::summation::Direct;
use fmm::expansion::PAIRS;
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmError, FmmOptions, Plan, Precision, Solutions};
use pairforge::backends::{self, find};
use pipelines::octree::offload::Pipelines;

/// The six columns of moments and what they are used for: p, and random numbers in [-1, 1).
fn moments(n: usize, seed: u64) -> [Vec<f64>; 3] {
    [0, 1, 2].map(|a| generate(n, Distribution::Uniform, Charge::Random, seed + a).q)
}

fn columns(of: &[Vec<f64>; 3]) -> Columns<'_> {
    [&of[0], &of[1], &of[2]]
}

fn solve(plan: &Plan, sources: &[Sources], hessian: bool) -> Result<Solutions, FmmError> {
    plan.solve_all(sources, hessian, &mut [], &mut |_, _, _| {})
}

fn charges(q: &[f64]) -> Sources<'_> {
    q.into()
}

/// The columns of a field, Hessian included where there is one.
fn all(field: &Field) -> Vec<&[f64]> {
    let gradient = field.gradient.iter().flatten();
    [&field.potential].into_iter().chain(gradient).chain(field.hessian.iter().flatten()).map(|c| &c[..]).collect()
}

fn bits(field: &Field) -> Vec<u64> {
    all(field).into_iter().flatten().map(|x| x.to_bits()).collect()
}

/// Relative L2 differences of the potentials and of the gradients of two fields.
fn differences(a: &Field, b: &Field) -> [f64; 2] {
    let (a, b) = (all(a), all(b));
    [0..1, 1..4].map(|columns| {
        let (a, b) = (a[columns.clone()].iter().copied().flatten(), b[columns].iter().copied().flatten());
        let (off, size) = a.zip(b).fold((0.0, 0.0), |s, (a, b)| (s.0 + (a - b).powi(2), s.1 + b.powi(2)));
        f64::sqrt(off / size)
    })
}

/// Relative L2 errors of potential, gradient and Hessian at all targets.
fn errors(field: &Field, direct: &Direct) -> [f64; 3] {
    let wanted = direct.at(&(0..direct.targets()[0].len()).collect::<Vec<_>>());
    let found = all(field);
    let error = |columns: std::ops::Range<usize>| {
        let (mut off, mut size) = (0.0, 0.0);
        for a in columns.filter(|a| *a < found.len()) {
            for (found, wanted) in found[a].iter().zip(&wanted) {
                off += (found - wanted[a]).powi(2);
                size += wanted[a].powi(2);
            }
        }
        if off == 0.0 { 0.0 } else { (off / size).sqrt() }
    };
    [error(0..1), error(1..4), error(4..10)]
}

/// Every native way.
fn native(order: usize, leaf: usize) -> Vec<FmmOptions> {
    let of = |basis, precision| FmmOptions { order, leaf, basis, precision, ..FmmOptions::default() };
    let bases = [Basis::Cartesian, Basis::Solid];
    bases.into_iter().flat_map(|basis| [Precision::F32, Precision::F64].map(|p| of(basis, p))).collect()
}

/// Potential, gradient and second derivatives at `x` of a charge and a dipole at the origin.
fn exact(x: [f64; 3], q: f64, p: [f64; 3], eps: f64) -> [f64; 10] {
    let r2: f64 = x.iter().map(|x| x * x).sum::<f64>() + eps * eps;
    let r = r2.sqrt();
    let along = p[0] * x[0] + p[1] * x[1] + p[2] * x[2];
    let mut out = [0.0; 10];
    out[0] = q / r + along / r.powi(3);
    let delta = |a: usize, b: usize| if a == b { 1.0 } else { 0.0 };
    for a in 0..3 {
        out[a + 1] = -q * x[a] / r.powi(3) + p[a] / r.powi(3) - 3.0 * along * x[a] / r.powi(5);
    }
    for (k, [a, b]) in PAIRS.into_iter().enumerate() {
        out[k + 4] = q * (3.0 * x[a] * x[b] / r.powi(5) - delta(a, b) / r.powi(3))
            - 3.0 * (p[a] * x[b] + p[b] * x[a] + along * delta(a, b)) / r.powi(5)
            + 15.0 * along * x[a] * x[b] / r.powi(7);
    }
    out
}

#[test]
fn targets_at_the_places_of_the_sources_get_what_particles_that_are_both_get() {
    let mut p = generate(3000, Distribution::Plummer, Charge::Random, 8);
    (0..9).for_each(|k| p.push(p.position(k), 1.0));
    let apart = Geometry { sources: p.columns(), targets: Some(p.columns()) };
    for options in native(5, 20) {
        for hessian in [false, true] {
            let of = |geometry: Geometry| {
                let plan = Plan::new(geometry, &options).expect("good options");
                let found = solve(&plan, &[charges(&p.q)], hessian).expect("it runs");
                let field = found.fields.into_iter().next().expect("a field");
                (field, (found.stats.pairs, found.stats.recomputed, found.stats.close_pairs))
            };
            let (both, parted) = (of(p.columns().into()), of(apart));
            assert_eq!(both.1, parted.1, "{options:?}");
            if hessian {
                assert!(bits(&both.0) == bits(&parted.0), "{options:?}");
                continue;
            }
            // P2P of particles that are both computes a pair once for its two ends, and so sums in another order.
            let rounding = if options.precision == Precision::F32 { 2e-6 } else { 1e-13 };
            let [potential, gradient] = differences(&both.0, &parted.0);
            assert!(potential < rounding && gradient < 20.0 * rounding, "{options:?}: {potential:e} {gradient:e}");
        }
    }
}

/// However many cells lie along an edge of the particles' box, results are right; so are those of few particles in a plane, of
/// targets outside of the sources' box, and of huge and tiny coordinates.
#[test]
fn an_enlarged_root_cell_changes_results_by_truncation_alone() {
    let flat = |scale: f64| {
        let mut p = generate(1500, Distribution::Uniform, Charge::Positive, 3);
        p.z.fill(0.25);
        [&mut p.x, &mut p.y, &mut p.z].into_iter().flatten().for_each(|x| *x *= scale);
        p
    };
    let sets = [flat(1.0), flat(1e60), flat(1e-60), generate(2000, Distribution::Plummer, Charge::Positive, 4)];
    let beside = generate(300, Distribution::Uniform, Charge::Positive, 5);
    for (k, p) in sets.iter().enumerate() {
        let apart = (k == 3).then_some(Geometry { sources: p.columns(), targets: Some(beside.columns()) });
        for geometry in [Some(p.columns().into()), apart].into_iter().flatten() {
            let direct = Direct { geometry, sources: charges(&p.q), eps: 0.0, hessian: false };
            for (options, enlarge) in native(6, 30).into_iter().zip([1.25, 4.0 / 3.0, 1.6, 1.999]) {
                let options = FmmOptions { enlarge, ..options };
                let plan = Plan::new(geometry, &options).expect("good options");
                assert!(plan.pairs.m2l > 0);
                let found = solve(&plan, &[charges(&p.q)], false).expect("it runs");
                assert_eq!(found.stats.enlarge, Some(enlarge));
                let [potential, gradient, _] = errors(&found.fields[0], &direct);
                assert!(potential < 2e-4 && gradient < 4e-3, "{k} {options:?}: {potential:e} {gradient:e}");
            }
        }
    }
    let refused = |options: FmmOptions| {
        let what = format!("{:?}", options.enlarge);
        let refused = Plan::new(beside.columns(), &options).err().unwrap_or_else(|| panic!("{what} is taken"));
        assert!(matches!(refused, FmmError::Option(why) if why.contains("enlarged")), "{what}");
    };
    for enlarge in [f64::NAN, 0.5, 2.0, f64::INFINITY] {
        refused(FmmOptions { enlarge, ..FmmOptions::default() });
    }
    let periodic = Some(Periodic { length: 1.0, axes: [true; 3] });
    refused(FmmOptions { enlarge: 1.5, periodic, ..FmmOptions::default() });
}

/// Sources and targets in one set, the targets without charges.
fn joined(sources: &Particles, targets: &Particles) -> Particles {
    let mut p = sources.clone();
    (0..targets.len()).for_each(|k| p.push(targets.position(k), 0.0));
    p
}

#[test]
fn targets_apart_are_particles_without_charges() {
    let beside = |p: Particles| Particles { x: p.x.iter().map(|x| x + 0.6).collect(), ..p };
    let some = |n, d, seed| generate(n, d, Charge::Positive, seed);
    let cases = [
        (some(2000, Distribution::Uniform, 1), some(1500, Distribution::Plummer, 2)),
        (some(2000, Distribution::Plummer, 3), some(500, Distribution::Uniform, 4)),
        (some(1500, Distribution::Sphere, 5), beside(some(1500, Distribution::Uniform, 6))),
        (some(20, Distribution::Uniform, 5), beside(some(2000, Distribution::Uniform, 6))),
        (some(2000, Distribution::Uniform, 5), beside(some(20, Distribution::Uniform, 6))),
    ];
    for (sources, targets) in &cases {
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let one = joined(sources, targets);
        for mut options in native(6, 30) {
            for (leaf, truncation) in [(30, 2e-4), (10_000, 0.0)] {
                options.leaf = leaf;
                let rounding = if options.precision == Precision::F32 { 2e-6 } else { 1e-13 };
                let apart = Plan::new(geometry, &options).expect("good options");
                assert_eq!(leaf == 10_000, apart.pairs.m2l + apart.pairs.m2p + apart.pairs.p2l == 0, "{options:?}");
                let apart = solve(&apart, &[charges(&sources.q)], false).expect("it runs");
                let direct = Direct { geometry, sources: charges(&sources.q), eps: 0.0, hessian: false };
                let [potential, gradient, _] = errors(&apart.fields[0], &direct);
                let bound = truncation + rounding;
                assert!(potential < bound && gradient < 20.0 * bound, "{options:?}: {potential:e} {gradient:e}");
                // The same points as one set: what they have apart is the method's error.
                let plan = Plan::new(one.columns(), &options).expect("good options");
                let field = &solve(&plan, &[charges(&one.q)], false).expect("it runs").fields[0];
                let behind = Field {
                    potential: field.potential[sources.len()..].to_vec(),
                    gradient: field.gradient.as_ref().map(|g| g.each_ref().map(|g| g[sources.len()..].to_vec())),
                    hessian: None,
                };
                let [potential, gradient, _] = errors(&behind, &direct);
                assert!(potential < bound && gradient < 20.0 * bound, "{options:?}: {potential:e} {gradient:e}");
            }
        }
    }
}

#[test]
fn coincident_sources_and_targets_do_not_act_and_empty_sets_are_legal() {
    let one = |at: &[[f64; 3]]| {
        let mut p = Particles::default();
        at.iter().for_each(|x| p.push(*x, 1.0));
        p
    };
    let (a, b) = ([0.25, 0.5, -1.0], [1.25, 0.5, -1.0]);
    let cases = [
        (one(&[]), one(&[]), vec![]),
        (one(&[a]), one(&[]), vec![]),
        (one(&[]), one(&[a, b]), vec![0.0, 0.0]),
        (one(&[a]), one(&[a]), vec![0.0]),
        (one(&[a]), one(&[b]), vec![1.0]),
        (one(&[a, a, b]), one(&[a, b, b]), vec![1.0, 2.0, 2.0]),
        (one(&[a; 100]), one(&[a; 100]), vec![0.0; 100]),
        (one(&[a; 100]), one(&[b; 3]), vec![100.0; 3]),
    ];
    for (sources, targets, wanted) in &cases {
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        for options in native(3, 8) {
            let plan = Plan::new(geometry, &options).expect("good options");
            for hessian in [false, true] {
                let found = solve(&plan, &[charges(&sources.q)], hessian).expect("it runs").fields.remove(0);
                // Many charges in one place act by an expansion of order 3.
                let close = |(found, wanted): (&f64, &f64)| (found - wanted).abs() <= 0.02 * wanted;
                assert_eq!(found.potential.len(), wanted.len());
                assert!(found.potential.iter().zip(wanted).all(close), "{options:?}: {:?}", found.potential);
                assert!(all(&found).into_iter().flatten().all(|x| x.is_finite()));
            }
        }
    }
}

#[test]
fn each_of_several_sets_of_charges_gets_the_bits_of_a_run_alone() {
    let p = generate(900, Distribution::Plummer, Charge::Random, 8);
    let n = p.len();
    let other = |seed| generate(n, Distribution::Uniform, Charge::Random, seed).q;
    let zeros = vec![0.0; n];
    let mut wide = other(5);
    // Charges that f32, and that f64, does not hold beside the others.
    wide[7] = 1e-30;
    let mut wider = other(6);
    wider[9] = 1e-90;
    let moments = moments(n, 3);
    let targets = generate(300, Distribution::Plummer, Charge::Random, 9);
    let sets = [p.q.clone(), other(1), wide, zeros, other(2), wider, other(3), other(4)];
    let mut sources: Vec<Sources> = sets.iter().map(|q| charges(q)).collect();
    sources.insert(3, Sources { charges: Some(&sets[0]), dipoles: Some(columns(&moments)) });
    sources.push(Sources { charges: None, dipoles: Some(columns(&moments)) });
    for geometry in [p.columns().into(), Geometry { sources: p.columns(), targets: Some(targets.columns()) }] {
        for options in testkit::some(native(4, 20), 2) {
            let plan = Plan::new(geometry, &options).expect("good options");
            let run = |sources: &[Sources], hessian| solve(&plan, sources, hessian).expect("it runs").fields;
            let mut alone = Vec::new();
            for hessian in [true, false] {
                alone = sources.iter().map(|one| bits(&run(&[*one], hessian)[0])).collect();
                let together: Vec<Vec<u64>> = run(&sources, hessian).iter().map(bits).collect();
                assert_eq!(together.len(), sources.len());
                for (k, (alone, field)) in alone.iter().zip(&together).enumerate() {
                    assert!(alone == field, "{k} {hessian} {options:?}");
                }
            }
            // Every number of sets that are summed together.
            for count in 1..=5 {
                let together = run(&sources[4..4 + count], false);
                assert_eq!(together.len(), count);
                for (alone, field) in alone[4..].iter().zip(&together) {
                    assert!(*alone == bits(field), "{count} {options:?}");
                }
            }
        }
    }
}

#[test]
fn dipoles_and_hessians_agree_with_direct_sums_and_errors_fall_with_order() {
    let all = [(Distribution::Plummer, 0.0), (Distribution::Uniform, 0.0), (Distribution::Sphere, 1e-5)];
    for (d, eps) in testkit::some(all, 1) {
        let p = generate(1000, d, Charge::Positive, 4);
        let targets = generate(400, d, Charge::Positive, 5);
        let moments = moments(p.len(), 7);
        let dipoles = Some(columns(&moments));
        for geometry in [p.columns().into(), Geometry { sources: p.columns(), targets: Some(targets.columns()) }] {
            for sources in [Sources { charges: None, dipoles }, Sources { charges: Some(&p.q), dipoles }, charges(&p.q)]
            {
                let direct = Direct { geometry, sources, eps, hessian: true };
                for basis in [Basis::Cartesian, Basis::Solid] {
                    let mut last = [f64::INFINITY; 3];
                    for (order, precision) in [(3, Precision::F32), (7, Precision::F64), (12, Precision::F64)] {
                        let options = FmmOptions { order, precision, basis, eps, leaf: 40, ..FmmOptions::default() };
                        let plan = Plan::new(geometry, &options).expect("good options");
                        assert!(plan.pairs.m2l > 0);
                        let found = solve(&plan, &[sources], true).expect("it runs");
                        let e = errors(&found.fields[0], &direct);
                        let what = format!("{d:?} {eps} {options:?} {:?}: {e:?}", sources.dipoles.is_some());
                        assert!((0..3).all(|k| e[k] < 0.6 * last[k]), "{what} after {last:?}");
                        last = e;
                    }
                    // Three quarters of the ratio of neighbours' sizes and distances, 0.87, to the 12th: and the derivatives.
                    assert!(last[0] < 1e-4 && last[1] < 1e-4 && last[2] < 1e-4, "{basis:?} {last:?}");
                }
            }
        }
    }
}

#[test]
fn potential_and_gradient_do_not_depend_on_the_hessian_but_by_rounding() {
    let p = generate(2000, Distribution::Plummer, Charge::Random, 4);
    for options in native(5, 30) {
        let plan = Plan::new(p.columns(), &options).expect("good options");
        let [without, with] =
            [false, true].map(|hessian| solve(&plan, &[charges(&p.q)], hessian).expect("it runs").fields.remove(0));
        let bound = if options.precision == Precision::F32 { 3e-6 } else { 1e-14 };
        for (a, b) in all(&without).into_iter().zip(all(&with)) {
            let size = a.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < bound * size), "{options:?}");
        }
    }
}

#[test]
fn hessians_are_free_of_trace_and_dipoles_are_the_limit_of_two_charges() {
    let p = generate(2000, Distribution::Uniform, Charge::Random, 4);
    let moments = moments(p.len(), 7);
    let h = 1e-5;
    // Charges of 1/h at both ends of h p.
    let mut two = Particles::default();
    #[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
    for k in 0..p.len() {
        let (at, moment) = (p.position(k), [0, 1, 2].map(|a| moments[a][k]));
        two.push([0, 1, 2].map(|a| at[a] + 0.5 * h * moment[a]), 1.0 / h);
        two.push([0, 1, 2].map(|a| at[a] - 0.5 * h * moment[a]), -1.0 / h);
    }
    // Targets beside all sources, so that they lie farther from any than h.
    let targets = generate(300, Distribution::Uniform, Charge::Random, 6);
    let targets = Particles { x: targets.x.iter().map(|x| x + 1.0).collect(), ..targets };
    let of = |p: &Particles, sources: Sources| {
        let geometry = Geometry { sources: p.columns(), targets: Some(targets.columns()) };
        let options = FmmOptions { order: 12, basis: Basis::Solid, leaf: 30, ..FmmOptions::default() };
        let plan = Plan::new(geometry, &options).expect("good options");
        let found = solve(&plan, &[sources], true).expect("it runs").fields.remove(0);
        let trace: f64 = {
            let h = found.hessian.as_ref().expect("it was asked for");
            let traces = (0..targets.len()).map(|k| (h[0][k] + h[3][k] + h[5][k]).abs());
            traces.fold(0.0, f64::max) / h.iter().flatten().fold(0.0, |a: f64, x| a.max(x.abs()))
        };
        (found, trace)
    };
    let (dipoles, trace) = of(&p, Sources { charges: None, dipoles: Some(columns(&moments)) });
    assert!(trace < 1e-12, "{trace}");
    let (pairs, trace) = of(&two, charges(&two.q));
    // Charges of both signs 1/h apart leave 1/h of the rounding.
    assert!(trace < 1e-12 / h, "{trace}");
    for (k, (a, b)) in all(&dipoles).into_iter().zip(all(&pairs)).enumerate() {
        let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        let off = norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut a.iter().copied());
        assert!(off < 1e-5, "{k}: {off:e}");
    }
}

#[test]
fn results_do_not_depend_on_threads_and_a_kept_plan_is_a_fresh_one() {
    let p = generate(4000, Distribution::Plummer, Charge::Random, 8);
    let targets = generate(3000, Distribution::Uniform, Charge::Random, 9);
    let moments = moments(p.len(), 3);
    let geometry = Geometry { sources: p.columns(), targets: Some(targets.columns()) };
    let sources = [charges(&p.q), Sources { charges: Some(&p.q), dipoles: Some(columns(&moments)) }, charges(&p.y)];
    for options in native(5, 20) {
        for hessian in [false, true] {
            let run = |plan: &Plan| -> Vec<Vec<u64>> {
                solve(plan, &sources, hessian).expect("it runs").fields.iter().map(bits).collect()
            };
            let plan = Plan::new(geometry, &options).expect("good options");
            let first = run(&plan);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                let again = pool.install(|| (run(&plan), run(&Plan::new(geometry, &options).expect("good options"))));
                assert!(again.0 == first && again.1 == first, "{threads} {options:?}");
            }
        }
    }
}

/// The exponent of a power of ten and what is in front of it.
fn times_power(x: f64, power: f64) -> f64 {
    // In two steps, so that only the product leaves the range of f64.
    x * 10f64.powf(0.5 * power) * 10f64.powf(0.5 * power)
}

#[test]
fn close_pairs_are_right_or_refused() {
    let p = [0.3, -0.7, 0.64];
    let direction = [0.6, 0.0, 0.8];
    for exponent in [-8, -15, -45, -60, -70, -75, -90, -100, -110, -150, -200, -300] {
        let distance = 10f64.powi(exponent);
        let mut particles = Particles::default();
        particles.push([0.0; 3], 1.0);
        particles.push(direction.map(|x| x * distance), 0.0);
        particles.push([1.0, 0.3, 0.2], 0.0);
        let moments = p.map(|p| vec![p, 0.0, 0.0]);
        let (at, target) = (particles.columns(), particles.position(1));
        let target = target.each_ref().map(std::slice::from_ref);
        for geometry in [at.into(), Geometry { sources: at, targets: Some(target) }] {
            let place = geometry.targets.is_none() as usize;
            for dipole in [false, true] {
                let wanted = exact(direction, if dipole { 0.0 } else { 1.0 }, if dipole { p } else { [0.0; 3] }, 0.0);
                let lengths = |a: usize| [1, 2, 2, 2, 3, 3, 3, 3, 3, 3][a] + dipole as i32;
                let wanted: [f64; 10] =
                    std::array::from_fn(|a| times_power(wanted[a], (-exponent * lengths(a)) as f64));
                let dipoles = dipole.then(|| columns(&moments));
                let sources = Sources { charges: (!dipole).then_some(&particles.q[..]), dipoles };
                for hessian in [false, true] {
                    let wanted = &wanted[..if hessian { 10 } else { 4 }];
                    let direct = Direct { geometry, sources, eps: 0.0, hessian }.at(&[place])[0];
                    for options in native(3, 8) {
                        let what = format!("{exponent} {dipole} {hessian} {options:?}");
                        let plan = Plan::new(geometry, &options).expect("good options");
                        let found = solve(&plan, &[sources], hessian);
                        if wanted.iter().any(|x| !x.is_finite()) {
                            let error = found.expect_err(&what).to_string();
                            assert!(error.contains("beyond 1.8e308"), "{what}: {error}");
                            continue;
                        }
                        let found = found.expect(&what).fields.remove(0);
                        for (a, column) in all(&found).into_iter().enumerate() {
                            let size = (0..10).filter(|b| lengths(*b) == lengths(a));
                            let size = size.fold(0.0, |s: f64, b| s.max(wanted.get(b).map_or(0.0, |x| x.abs())));
                            let bound = if options.precision == Precision::F32 { 1e-6 } else { 1e-12 };
                            for found in [column[place], direct[a]] {
                                let off = (found - wanted[a]).abs();
                                assert!(off <= bound * size, "{what}: {a} {found:e} {:e}", wanted[a]);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn small_and_large_units_charges_and_moments_are_right_or_refused() {
    let p = generate(300, Distribution::Uniform, Charge::Positive, 4);
    let moments = moments(p.len(), 7);
    let scaled = |of: &[f64], by: f64| -> Vec<f64> { of.iter().map(|x| x * by).collect() };
    for length in [1e-75, 1e-30, 1e30, 1e75] {
        for charge in [1e-20, 1.0, 1e20] {
            // The least moment is about 1e-20 of the largest charge times the length.
            for moment in [1e-20, 1.0, 1e20] {
                let x = p.columns().map(|x| scaled(x, length));
                let q = scaled(&p.q, charge);
                let dipoles = [0, 1, 2].map(|a| scaled(&moments[a], moment * charge * length));
                let geometry: Geometry = columns(&x).into();
                let sources = Sources { charges: Some(&q), dipoles: Some(columns(&dipoles)) };
                let direct = Direct { geometry, sources, eps: 0.0, hessian: true };
                for options in native(5, 400) {
                    let plan = Plan::new(geometry, &options).expect("good options");
                    let found = solve(&plan, &[sources], true).expect("all is within the range of f64");
                    let bound = if options.precision == Precision::F32 { 1e-5 } else { 1e-12 };
                    // Squares of what is measured stay within f64 in units that are near the results'.
                    let found = &found.fields[0];
                    let wanted = direct.at(&(0..p.len()).collect::<Vec<_>>());
                    for (a, column) in all(found).into_iter().enumerate() {
                        let size = wanted.iter().fold(0.0, |s: f64, w| s.max(w[a].abs()));
                        let off = column.iter().zip(&wanted).fold(0.0, |s: f64, (f, w)| s.max((f - w[a]).abs()));
                        assert!(off <= bound * size, "{length} {charge} {moment} {options:?}: {a} {off:e} {size:e}");
                    }
                }
            }
        }
    }
    // A charge beside which a moment is lost.
    let plan = Plan::new(p.columns(), &FmmOptions::default()).expect("good options");
    let tiny = [0, 1, 2].map(|a| scaled(&moments[a], 1e-280));
    let refused = |q: &[f64]| {
        let sources = Sources { charges: Some(q), dipoles: Some(columns(&tiny)) };
        solve(&plan, &[sources], false).expect_err("moments would be lost").to_string()
    };
    assert!(refused(&p.q).contains("lost beside"));
}

#[test]
fn kernels_take_targets_apart_and_several_sets_but_no_dipoles_and_hessians() {
    let p2p = pg2::compile("p2p", pg2::kernels::find("p2p").expect("shipped").text).expect("it compiles").graph;
    let m2l = pg2::compile("m2l", &pg2::gen_m2l(3).expect("a kernel")).expect("it compiles").graph;
    let p = generate(900, Distribution::Plummer, Charge::Random, 8);
    let other = generate(900, Distribution::Plummer, Charge::Random, 9);
    let few = generate(200, Distribution::Uniform, Charge::Random, 9);
    let options = FmmOptions { order: 3, leaf: 20, ..FmmOptions::default() };
    let solve = |geometry: Geometry, sources: &[Sources], hessian: bool| {
        let mut backend = (find("emulator").expect("a backend").0.open)(&backends::BackendOptions::default());
        let mut pipelines = Pipelines::new(&mut *backend, &p2p, Some(&m2l));
        let plan = Plan::new(geometry, &options).expect("good options");
        plan.solve_all(sources, hessian, &mut [&mut pipelines], &mut |_, _, _| {})
    };
    // At the places of the sources the bits are those of particles that are both.
    let apart = |targets: Columns<'static>| Geometry { sources: [&[]; 3], targets: Some(targets) };
    let same = Geometry { sources: p.columns(), targets: Some(p.columns()) };
    let [one, two] = [charges(&p.q), charges(&other.q)];
    let both = solve(p.columns().into(), &[one], false).expect("it runs");
    let parted = solve(same, &[one, two], false).expect("it runs");
    assert!(bits(&both.fields[0]) == bits(&parted.fields[0]));
    assert!(bits(&parted.fields[1]) == bits(&solve(same, &[two], false).expect("it runs").fields[0]));
    assert_eq!(parted.stats.streamed.p2p, 2 * both.stats.streamed.p2p);
    // Elsewhere they are right.
    let geometry = Geometry { sources: p.columns(), targets: Some(few.columns()) };
    let found = solve(geometry, &[one], false).expect("it runs");
    let e = errors(&found.fields[0], &Direct { geometry, sources: one, eps: 0.0, hessian: false });
    assert!(e[0] < 1e-2 && e[1] < 1e-2, "{e:?}");
    for targets in [[&[][..]; 3], [&[0.0, 1.0][..]; 3]] {
        let found = solve(apart(targets), &[charges(&[])], false).expect("nothing is legal");
        assert!(found.fields[0].potential.iter().all(|x| *x == 0.0));
    }
    let moments = moments(900, 1);
    let dipoles = Sources { charges: None, dipoles: Some(columns(&moments)) };
    for (sources, hessian, part) in [(dipoles, false, "pins for dipoles"), (one, true, "pins for Hessians")] {
        let error = solve(same, &[sources], hessian).expect_err("kernels have no pins for it").to_string();
        assert!(error.contains(part) && error.contains("--backend cpu"), "{error}");
    }
}
