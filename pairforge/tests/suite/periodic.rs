//! The FMM with periodic boundaries against Ewald sums (RULES H16).

use fmm::data::Force;
use fmm::data::particles::Particles;
use fmm::data::periodic::{ALL_AXES, Periodic};
use fmm::data::problem::{Geometry, Sources};
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::{Errors, compare, edge, measure_all};
use fmm::direct::ewald;
use fmm::direct::summation::Direct;
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmOptions, Plan, Precision, Solution};

fn unit(axes: [bool; 3]) -> Option<Periodic> {
    Some(Periodic { length: 1.0, axes })
}

fn solve(particles: &Particles, options: &FmmOptions) -> Solution {
    let plan = Plan::new(particles.columns(), options).expect("good options");
    plan.solve(&particles.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there")
}

fn wanted(particles: &Particles, options: &FmmOptions) -> Vec<Force> {
    let targets: Vec<usize> = (0..particles.len()).collect();
    ewald::reference(particles, &targets, options.eps, &options.periodic.expect("periodic boundaries"))
}

fn errors(particles: &Particles, options: &FmmOptions, wanted: &[Force]) -> Errors {
    let targets: Vec<usize> = (0..particles.len()).collect();
    compare(&solve(particles, options).field, &targets, wanted, edge(particles.columns(), options.periodic.as_ref()))
}

fn gradient(e: &Errors) -> f64 {
    e.gradient_rel_l2.expect("a gradient")
}

/// Orders of solid harmonics, each with less than half the error of the one before, and the Cartesian expansion.
fn check_orders(axes: [bool; 3], dist: Distribution, charge: Charge) {
    let p = generate(600, dist, charge, 3);
    let options = |basis, order| FmmOptions { order, basis, leaf: 12, periodic: unit(axes), ..FmmOptions::default() };
    let reference = wanted(&p, &options(Basis::Solid, 4));
    let mut last = f64::INFINITY;
    for order in [2, 5, 8, 12] {
        let e = errors(&p, &options(Basis::Solid, order), &reference);
        let both = gradient(&e).max(e.potential_rel_l2);
        assert!(both < 0.5 * last, "{axes:?} {dist:?} {charge:?} order {order}: {e:?} after {last:e}");
        last = both;
    }
    assert!(last < 2e-4, "{axes:?} {dist:?} {charge:?}: {last:e}");
    let e = errors(&p, &options(Basis::Cartesian, 8), &reference);
    assert!(gradient(&e) < 3e-3 && e.potential_rel_l2 < 3e-3, "{axes:?} {dist:?} {charge:?}: {e:?}");
}

#[test]
fn errors_fall_with_the_order_along_all_axes() {
    testkit::some(ALL_AXES, 2).for_each(|axes| check_orders(axes, Distribution::Uniform, Charge::Random));
}

#[test]
fn errors_fall_with_the_order_for_clusters_layers_and_net_charges() {
    for axes in testkit::some([[true, false, true], [true; 3], [false, true, false]], 1) {
        check_orders(axes, Distribution::Uniform, Charge::Positive);
        check_orders(axes, Distribution::Normal, Charge::Random);
        check_orders(axes, Distribution::Layer, Charge::Positive);
    }
}

#[test]
fn what_far_images_give_is_exact_for_charges_near_the_centre() {
    // The multipole of a small cloud converges fast, so that the lattice's sums show to the last digits: charges, dipoles and
    // quadrupoles, with the background's quadratic term.
    for axes in testkit::some(ALL_AXES, 2) {
        for basis in [Basis::Solid, Basis::Cartesian] {
            for charge in [Charge::Random, Charge::Positive] {
                let mut p = generate(7, Distribution::Uniform, charge, 5);
                for column in [&mut p.x, &mut p.y, &mut p.z] {
                    column.iter_mut().for_each(|x| *x = 0.05 + 0.1 * (*x - 0.5));
                }
                let options = FmmOptions { order: 16, basis, periodic: unit(axes), ..FmmOptions::default() };
                for (k, (f, w)) in values(&solve(&p, &options)).iter().zip(wanted(&p, &options)).enumerate() {
                    let size = w[0].abs().max(w[1].abs()).max(w[2].abs()).max(w[3].abs());
                    for a in 0..4 {
                        assert!(
                            (f[a] - w[a]).abs() < 1e-12 * size,
                            "{axes:?} {basis:?} {charge:?} {k} {a}: {f:?} {w:?}"
                        );
                    }
                }
            }
        }
    }
}

fn values(solution: &Solution) -> Vec<Force> {
    let field = &solution.field;
    let gradient = field.gradient.as_ref().expect("a gradient");
    (0..field.potential.len()).map(|k| [field.potential[k], gradient[0][k], gradient[1][k], gradient[2][k]]).collect()
}

#[test]
fn one_and_two_particles_feel_their_images() {
    for axes in testkit::some([[true, true, false], [true; 3], [false, false, true]], 2) {
        for (n, leaf) in [(1, 64), (2, 1), (3, 1)] {
            let mut p = generate(n, Distribution::Uniform, Charge::Positive, 11);
            // Next to a face of the box.
            p.x[0] = 0.499;
            let options =
                FmmOptions { order: 24, leaf, basis: Basis::Solid, periodic: unit(axes), ..FmmOptions::default() };
            for (f, w) in values(&solve(&p, &options)).iter().zip(wanted(&p, &options)) {
                let size = 1.0 + w[1].abs().max(w[2].abs()).max(w[3].abs());
                for a in 0..4 {
                    assert!((f[a] - w[a]).abs() < 1e-5 * size, "{axes:?} {n} {leaf}: {f:?} {w:?}");
                }
            }
        }
    }
    let none = Particles::default();
    let found = solve(&none, &FmmOptions { periodic: unit([true; 3]), ..FmmOptions::default() });
    assert!(found.field.potential.is_empty());
}

#[test]
fn smaller_angles_take_more_near_images() {
    let p = generate(300, Distribution::Uniform, Charge::Random, 6);
    for axes in [[true; 3], [true, false, true], [false, true, false]] {
        let options = |theta| FmmOptions {
            order: 8,
            theta,
            leaf: 20,
            basis: Basis::Solid,
            periodic: unit(axes),
            ..FmmOptions::default()
        };
        let reference = wanted(&p, &options(0.5));
        let [half, third, quarter] =
            [0.5, 1.0 / 3.0, 0.25].map(|theta| gradient(&errors(&p, &options(theta), &reference)));
        assert!(half < 1e-4 && third < 0.1 * half && quarter < 0.3 * third, "{axes:?}: {half:e} {third:e} {quarter:e}");
    }
}

#[test]
fn moving_all_particles_changes_nothing_but_rounding_and_truncation() {
    let p = generate(400, Distribution::Normal, Charge::Random, 9);
    let options =
        FmmOptions { order: 14, leaf: 10, basis: Basis::Solid, periodic: unit([true; 3]), ..FmmOptions::default() };
    let still = values(&solve(&p, &options));
    for by in [[0.37, -0.21, 0.5], [1.0, -3.0, 17.0], [0.004, 12.7, -0.33]] {
        let mut moved = p.clone();
        for (column, by) in [&mut moved.x, &mut moved.y, &mut moved.z].into_iter().zip(by) {
            column.iter_mut().for_each(|x| *x += by);
        }
        let found = values(&solve(&moved, &options));
        let size = |f: &[Force]| f.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
        let off: Vec<Force> = found.iter().zip(&still).map(|(a, b)| std::array::from_fn(|k| a[k] - b[k])).collect();
        assert!(size(&off) < 1e-5 * size(&still), "{by:?}: {:e}", size(&off) / size(&still));
    }
}

#[test]
fn whole_periods_change_nothing_to_the_bit() {
    let mut p = generate(300, Distribution::Uniform, Charge::Random, 4);
    // Coordinates that keep their bits beside a few periods.
    for column in [&mut p.x, &mut p.y, &mut p.z] {
        column.iter_mut().for_each(|x| *x = (*x * 2f64.powi(40)).floor() * 2f64.powi(-40));
    }
    let options = FmmOptions { leaf: 10, periodic: unit([true, true, false]), ..FmmOptions::default() };
    let still = solve(&p, &options).field;
    let mut moved = p.clone();
    for k in 0..p.len() {
        moved.x[k] += (k % 5) as f64 - 2.0;
        moved.y[k] -= (k % 3) as f64;
    }
    assert_eq!(still, solve(&moved, &options).field);
}

#[test]
fn f32_units_and_softening_keep_their_accuracy() {
    let p = generate(500, Distribution::Uniform, Charge::Random, 12);
    for axes in [[true; 3], [false, false, true]] {
        for (precision, eps, length) in [
            (Precision::F32, 0.0, 1.0),
            (Precision::F32, 1e-3, 1.0),
            (Precision::F64, 1e-3, 1.0),
            (Precision::F64, 0.0, 1e-150),
        ] {
            let mut scaled = p.clone();
            for column in [&mut scaled.x, &mut scaled.y, &mut scaled.z] {
                column.iter_mut().for_each(|x| *x *= length);
            }
            let options = FmmOptions {
                order: 8,
                leaf: 40,
                precision,
                eps,
                basis: Basis::Solid,
                periodic: Some(Periodic { length, axes }),
                ..FmmOptions::default()
            };
            let e = errors(&scaled, &options, &wanted(&scaled, &options));
            assert!(gradient(&e) < 1e-4 && e.potential_rel_l2 < 1e-4, "{axes:?} {precision:?} {eps} {length}: {e:?}");
        }
    }
}

#[test]
fn a_kept_plan_and_any_number_of_threads_give_the_same_bits() {
    let p = generate(3000, Distribution::Plummer, Charge::Random, 2);
    let extent = |c: &[f64]| c.iter().fold(0.0, |e: f64, x| e.max(x.abs()));
    let length = 2.0 * extent(&p.x).max(extent(&p.y)).max(extent(&p.z));
    for axes in [[true; 3], [false, true, true]] {
        let options = FmmOptions { leaf: 20, periodic: Some(Periodic { length, axes }), ..FmmOptions::default() };
        let mut plan = Plan::new(p.columns(), &options).expect("good options");
        let run = |plan: &Plan| plan.solve(&p.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there").field;
        let first = run(&plan);
        assert_eq!(first, run(&plan));
        plan.set_order(7, None);
        let seven = run(&plan);
        plan.set_order(4, None);
        assert_eq!(first, run(&plan));
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        for threads in [1, 5] {
            assert_eq!(first, pool(threads).install(|| solve(&p, &options).field));
        }
        assert_eq!(seven, solve(&p, &FmmOptions { order: 7, ..options }).field);
    }
}

#[test]
fn targets_apart_from_sources_feel_all_images() {
    let (sources, targets) = (
        generate(300, Distribution::Uniform, Charge::Random, 3),
        generate(200, Distribution::Normal, Charge::Random, 4),
    );
    for axes in ALL_AXES {
        let options =
            FmmOptions { order: 16, leaf: 15, basis: Basis::Solid, periodic: unit(axes), ..FmmOptions::default() };
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let plan = Plan::new(geometry, &options).expect("good options");
        let found = plan.solve(&sources.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there");
        // Uncharged particles at the targets feel the same.
        let mut all = sources.clone();
        (0..targets.len()).for_each(|k| all.push(targets.position(k), 0.0));
        let places: Vec<usize> = (sources.len()..all.len()).collect();
        let reference = ewald::reference(&all, &places, 0.0, &options.periodic.expect("periodic boundaries"));
        let e = compare(&found.field, &(0..targets.len()).collect::<Vec<_>>(), &reference, 1.0);
        assert!(gradient(&e) < 1e-5 && e.potential_rel_l2 < 1e-5, "{axes:?}: {e:?}");
    }
}

#[test]
fn dipoles_and_second_derivatives_feel_all_images() {
    let sources = generate(200, Distribution::Uniform, Charge::Positive, 6);
    let moments = generate(200, Distribution::Uniform, Charge::Random, 7);
    let targets = generate(150, Distribution::Uniform, Charge::Random, 8);
    for axes in [[true; 3], [true, false, true], [false, true, false]] {
        let options =
            FmmOptions { order: 18, leaf: 8, basis: Basis::Solid, periodic: unit(axes), ..FmmOptions::default() };
        for apart in [None, Some(targets.columns())] {
            let geometry = Geometry { sources: sources.columns(), targets: apart };
            let plan = Plan::new(geometry, &options).expect("good options");
            for charges in [None, Some(&sources.q[..])] {
                let carried = Sources { charges, dipoles: Some(moments.columns()) };
                let found =
                    plan.solve_all(&[carried], true, &mut [], &mut |_, _, _| {}).expect("the CPU is always there");
                let direct = Direct { geometry, sources: carried, eps: 0.0, hessian: true };
                let e = measure_all(&direct, options.periodic.as_ref(), &found.fields[0], 200, 1);
                let all = [Some(e.potential_rel_l2), e.gradient_rel_l2, e.hessian_rel_l2];
                assert!(all.iter().all(|e| e.expect("all are given") < 1e-5), "{axes:?} {charges:?}: {e:?}");
            }
        }
    }
}

#[test]
fn close_pairs_across_the_boundary_are_right() {
    for distance in [1e-3, 1e-7, 1e-12] {
        for precision in [Precision::F32, Precision::F64] {
            let mut p = generate(200, Distribution::Uniform, Charge::Random, 3);
            p.push([0.5 - 0.5 * distance, 0.3, 0.4], 1.0);
            p.push([-0.5 + 0.5 * distance, 0.3, 0.4], 0.5);
            // In one place, once both are in the box.
            p.push([0.5, 0.25, -0.5], 1.0);
            p.push([-0.5, 0.25, 0.5], 1.0);
            let options = FmmOptions {
                order: 10,
                leaf: 10,
                precision,
                basis: Basis::Solid,
                periodic: unit([true; 3]),
                ..FmmOptions::default()
            };
            let e = errors(&p, &options, &wanted(&p, &options));
            // f32 rounds coordinates by 2^-25 of a leaf's edge.
            let most = if precision == Precision::F32 { 1e-4 } else { 1e-6 };
            assert!(gradient(&e) < most && e.gradient_p99 < Some(1e-2), "{distance} {precision:?}: {e:?}");
        }
    }
}

#[test]
fn what_cannot_be_periodic_is_refused() {
    let p = generate(50, Distribution::Uniform, Charge::Random, 3);
    let refused = |options: FmmOptions, what: &str| {
        let why = Plan::new(p.columns(), &options).err().expect("a refusal").to_string();
        assert!(why.contains(what), "{why}");
    };
    let with = |length, axes| FmmOptions { periodic: Some(Periodic { length, axes }), ..FmmOptions::default() };
    refused(with(0.0, [true; 3]), "period must be");
    refused(with(f64::NAN, [true; 3]), "period must be");
    refused(with(f64::INFINITY, [true; 3]), "period must be");
    refused(with(1.0, [false; 3]), "at least one axis");
    refused(with(0.5, [true, false, true]), "along y");
    refused(FmmOptions { theta: 0.1, ..with(1.0, [true; 3]) }, "theta must be at least 0.125");
    refused(FmmOptions { basis: Basis::Chebyshev, ..with(1.0, [true; 3]) }, "is for a P2P kernel");
}
