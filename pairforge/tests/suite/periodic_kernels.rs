//! Kernels with periodic boundaries: P2P and M2L on the emulator against Ewald sums and against native code (RULES H16).

use fmm::data::Force;
use fmm::data::particles::Particles;
use fmm::data::periodic::{ALL_AXES, Periodic};
use fmm::data::problem::Geometry;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::{Errors, compare};
use fmm::direct::ewald;
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmError, FmmOptions, Plan, Solution};
use pairforge::backends::{BackendOptions, find};
use pg2::graph::Graph;
use pipelines::octree::offload::Pipelines;

fn shipped(name: &str) -> Graph {
    pg2::compile(name, pg2::kernels::find(name).expect("a shipped kernel").text).expect("it compiles").graph
}

fn m2l(order: usize) -> Graph {
    pg2::compile("m2l", &pg2::gen_m2l(order as u32).expect("a possible order")).expect("it compiles").graph
}

fn unit(axes: [bool; 3]) -> Option<Periodic> {
    Some(Periodic { length: 1.0, axes })
}

/// On a backend, by a kernel of P2P and perhaps one of M2L.
fn run<'a>(
    (name, engine): (&str, &BackendOptions),
    geometry: impl Into<Geometry<'a>>,
    charges: &[f64],
    options: &FmmOptions,
    (p2p, m2l): (&Graph, Option<&Graph>),
) -> Result<Solution, FmmError> {
    let mut backend = (find(name).expect("a backend").0.open)(engine);
    let mut pipelines = Pipelines::new(&mut *backend, p2p, m2l);
    Plan::new(geometry, options)?.solve(charges, &mut [&mut pipelines], &mut |_, _, _| {})
}

fn emulated(p: &Particles, options: &FmmOptions, kernels: (&Graph, Option<&Graph>)) -> Solution {
    run(("emulator", &BackendOptions::default()), p.columns(), &p.q, options, kernels).expect("it runs")
}

fn native(p: &Particles, options: &FmmOptions) -> Solution {
    let plan = Plan::new(p.columns(), options).expect("good options");
    plan.solve(&p.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there")
}

fn all(p: &Particles) -> Vec<usize> {
    (0..p.len()).collect()
}

fn wanted(p: &Particles, options: &FmmOptions) -> Vec<Force> {
    ewald::reference(p, &all(p), options.eps, &options.periodic.expect("periodic boundaries"))
}

fn gradient(e: &Errors) -> f64 {
    e.gradient_rel_l2.expect("a gradient")
}

fn values(s: &Solution) -> Vec<Force> {
    let g = s.field.gradient.as_ref().expect("a gradient");
    (0..s.field.potential.len()).map(|k| [s.field.potential[k], g[0][k], g[1][k], g[2][k]]).collect()
}

/// Errors are those of native code, and what the formats of P2P add: 1.4e-5 for mixed charges.
fn check_errors(p: &Particles, options: &FmmOptions, kernels: (&Graph, Option<&Graph>), what: &str) {
    let reference = wanted(p, options);
    let found = compare(&emulated(p, options, kernels).field, &all(p), &reference, 1.0);
    let plain = compare(&native(p, options).field, &all(p), &reference, 1.0);
    let (f, n) = (gradient(&found), gradient(&plain));
    assert!(f < n.hypot(6e-5) * 1.02, "{what}: gradient {f:e}, natively {n:e}");
    let (f, n) = (found.potential_rel_l2, plain.potential_rel_l2);
    assert!(f < n.hypot(6e-5) * 1.02, "{what}: potential {f:e}, natively {n:e}");
}

#[test]
fn errors_are_those_of_native_code_along_all_axes() {
    let (p2p, m2l) = (shipped("p2p"), m2l(4));
    for axes in testkit::some(ALL_AXES, 2) {
        let p = generate(500, Distribution::Uniform, Charge::Random, 3);
        let options =
            FmmOptions { order: 8, basis: Basis::Solid, leaf: 12, periodic: unit(axes), ..FmmOptions::default() };
        check_errors(&p, &options, (&p2p, None), &format!("{axes:?}"));
        let options = FmmOptions { leaf: 12, periodic: unit(axes), ..FmmOptions::default() };
        check_errors(&p, &options, (&p2p, Some(&m2l)), &format!("{axes:?} with M2L"));
    }
}

#[test]
fn clusters_units_softening_and_smaller_angles_keep_their_accuracy() {
    let p2p = shipped("p2p");
    let m2l = m2l(3);
    for (dist, charge, theta, eps, length) in [
        (Distribution::Normal, Charge::Positive, 0.5, 0.0, 1.0),
        (Distribution::Layer, Charge::Random, 0.5, 1e-3, 3.7),
        (Distribution::Uniform, Charge::Random, 1.0 / 3.0, 0.0, 1e-20),
        (Distribution::Uniform, Charge::Positive, 0.25, 2e-2, 1.0),
    ] {
        let mut p = generate(250, dist, charge, 6);
        for column in [&mut p.x, &mut p.y, &mut p.z] {
            column.iter_mut().for_each(|x| *x *= length);
        }
        for axes in [[true; 3], [false, true, true], [false, false, true]] {
            let periodic = Some(Periodic { length, axes });
            let options =
                FmmOptions { order: 3, theta, eps: eps * length, leaf: 10, periodic, ..FmmOptions::default() };
            // Softening that matters far away is not in a kernel of M2L.
            let far = Some(&m2l).filter(|_| eps < 1e-2);
            check_errors(&p, &options, (&p2p, far), &format!("{dist:?} {theta} {axes:?}"));
        }
    }
}

#[test]
fn few_particles_in_one_cell_feel_all_near_images() {
    let p2p = shipped("p2p");
    for axes in testkit::some(ALL_AXES, 2) {
        for (n, leaf, theta) in [(1, 64, 0.5), (1, 1, 0.5), (2, 64, 0.5), (2, 1, 0.5), (9, 64, 0.25)] {
            let mut p = generate(n, Distribution::Uniform, Charge::Positive, 11);
            // On a face and, along periodic axes, on a corner.
            p.x[0] = 0.5;
            if n > 2 {
                let columns = [&mut p.x, &mut p.y, &mut p.z].into_iter().zip(axes);
                columns.filter(|(_, is_periodic)| *is_periodic).for_each(|(c, _)| c[2] = -0.5);
            }
            let options = FmmOptions {
                order: 20,
                leaf,
                theta,
                basis: Basis::Solid,
                periodic: unit(axes),
                ..FmmOptions::default()
            };
            for (f, w) in values(&emulated(&p, &options, (&p2p, None))).iter().zip(wanted(&p, &options)) {
                let size = 1.0 + w[1].abs().max(w[2].abs()).max(w[3].abs());
                for a in 0..4 {
                    assert!((f[a] - w[a]).abs() < 2e-4 * size, "{axes:?} {n} {leaf} {theta}: {f:?} {w:?}");
                }
            }
        }
    }
    let options = FmmOptions { periodic: unit([true; 3]), ..FmmOptions::default() };
    assert!(emulated(&Particles::default(), &options, (&p2p, None)).field.potential.is_empty());
}

#[test]
fn the_smallest_angle_has_coordinates_for_its_images() {
    // The root is a leaf, and images are up to seven periods away.
    let p2p = shipped("p2p");
    let p = generate(3, Distribution::Uniform, Charge::Positive, 2);
    let options = FmmOptions { theta: 0.125, near_only: true, periodic: unit([true; 3]), ..FmmOptions::default() };
    let (found, plain) = (values(&emulated(&p, &options, (&p2p, None))), values(&native(&p, &options)));
    for (f, n) in found.iter().zip(plain) {
        assert!(n[0] > 500.0 && (f[0] / n[0] - 1.0).abs() < 1e-5, "{f:?} {n:?}");
        assert!((1..4).all(|a| (f[a] - n[a]).abs() < 1e-4 * n[0]), "{f:?} {n:?}");
    }
}

#[test]
fn close_pairs_across_a_face_are_right() {
    let p2p = shipped("p2p");
    for (distance, close) in [(1e-3, 0), (1.3e-7, 1), (1e-8, 1), (1e-10, 1), (1e-12, 1)] {
        for corner in [false, true] {
            let mut p = generate(200, Distribution::Uniform, Charge::Random, 3);
            let at = |x: f64| if corner { [x, -x, x] } else { [x, 0.3, 0.4] };
            p.push(at(0.5 - 0.3 * distance), 1.0);
            p.push(at(-0.5 + 0.7 * distance), 0.5);
            // In one place, once all are in the box.
            p.push([0.5, 0.25, -0.5], 1.0);
            p.push([-0.5, 0.25, 0.5], 1.0);
            let options = FmmOptions {
                order: 10,
                leaf: 10,
                basis: Basis::Solid,
                periodic: unit([true; 3]),
                ..FmmOptions::default()
            };
            let solution = emulated(&p, &options, (&p2p, None));
            let e = compare(&solution.field, &all(&p), &wanted(&p, &options), 1.0);
            assert!(gradient(&e) < 1e-4 && e.gradient_p99 < Some(1e-2), "{distance} {corner}: {e:?}");
            assert_eq!(solution.stats.close_pairs, close, "{distance} {corner}");
        }
    }
}

#[test]
fn crowds_about_a_corner_are_right() {
    // Some have more than 64 close partners, others fewer, on all sides of a corner and of a face.
    let p2p = shipped("p2p");
    let cloud = generate(150, Distribution::Uniform, Charge::Positive, 8);
    let mut p = generate(100, Distribution::Uniform, Charge::Random, 3);
    for k in 0..cloud.len() {
        let (centre, wide) = if k < 90 { ([0.5, -0.5, 0.5], 1e-8) } else { ([0.1, 0.5, 0.2], 6e-7) };
        let at = cloud.position(k);
        p.push([0, 1, 2].map(|a| centre[a] + (at[a] - 0.5) * wide), 0.5 + cloud.q[k]);
    }
    for apart in [false, true] {
        let options =
            FmmOptions { order: 8, leaf: 20, basis: Basis::Solid, periodic: unit([true; 3]), ..FmmOptions::default() };
        let targets = apart.then(|| p.columns());
        let geometry = Geometry { sources: p.columns(), targets };
        let engine = ("emulator", &BackendOptions::default());
        let solution = run(engine, geometry, &p.q, &options, (&p2p, None)).expect("it runs");
        let e = compare(&solution.field, &all(&p), &wanted(&p, &options), 1.0);
        // Positions beside a corner are known to 1e-16 of the box, and to 1e-8 of their distances.
        assert!(gradient(&e) < 1e-6 && e.potential_rel_l2 < 1e-6 && e.gradient_p99 < Some(1e-2), "{apart} {e:?}");
        assert!(solution.stats.recomputed >= 90 && solution.stats.close_pairs > 90 * 89 / 2, "{:?}", solution.stats);
    }
}

#[test]
fn targets_apart_feel_all_images() {
    let (p2p, m2l) = (shipped("p2p"), m2l(4));
    let sources = generate(250, Distribution::Uniform, Charge::Random, 3);
    let mut targets = generate(120, Distribution::Normal, Charge::Random, 4);
    // One at the place of a source, one next to one beyond a face, some on faces.
    targets.push(sources.position(7), 0.0);
    let near = sources.position(9);
    targets.push([near[0] + 1.0 + 1e-8, near[1], near[2] - 2.0], 0.0);
    (0..3).for_each(|a| targets.push(std::array::from_fn(|b| if a == b { 0.5 } else { 0.2 }), 0.0));
    for axes in [[true; 3], [true, false, true], [true, false, false]] {
        if !axes[2] {
            targets.z.iter_mut().for_each(|z| *z = z.rem_euclid(1.0));
        }
        let options = FmmOptions { leaf: 15, periodic: unit(axes), ..FmmOptions::default() };
        let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
        let engine = ("emulator", &BackendOptions::default());
        let found = run(engine, geometry, &sources.q, &options, (&p2p, Some(&m2l))).expect("it runs");
        let plan = Plan::new(geometry, &options).expect("good options");
        let plain = plan.solve(&sources.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there");
        let mut both = sources.clone();
        (0..targets.len()).for_each(|k| both.push(targets.position(k), 0.0));
        let places: Vec<usize> = (sources.len()..both.len()).collect();
        let reference = ewald::reference(&both, &places, 0.0, &options.periodic.expect("periodic boundaries"));
        let error = |s: &Solution| gradient(&compare(&s.field, &all(&targets), &reference, 1.0));
        assert!(error(&found) < error(&plain).hypot(5e-5) * 1.02, "{axes:?}: {:e} {:e}", error(&found), error(&plain));
        assert!(error(&plain) < 5e-3 && found.stats.close_pairs >= 1);
    }
}

#[test]
fn a_kernel_of_any_law_acts_from_its_near_images() {
    // Screened charges, all in one cell: sums over 27 images, one by one. One pair is close, and one across a face.
    let yukawa = shipped("p2p_yukawa");
    let (length, kappa) = (2.5, 1.5);
    let mut p = generate(20, Distribution::Uniform, Charge::Positive, 5);
    [&mut p.x, &mut p.y, &mut p.z].into_iter().flatten().for_each(|x| *x = (*x - 0.5) * length);
    p.push([p.x[3], p.y[3] + 1e-9, p.z[3]], 1.0);
    p.push([0.5 * length - 1e-8, 0.1, 0.2], 1.0);
    p.push([-0.5 * length, 0.1, 0.2], 1.0);
    let options = FmmOptions {
        near_only: true,
        periodic: Some(Periodic { length, axes: [true; 3] }),
        params: vec![("kappa".into(), kappa)],
        ..FmmOptions::default()
    };
    let found = emulated(&p, &options, (&yukawa, None));
    assert_eq!(found.stats.close_pairs, 2);
    for (i, f) in values(&found).iter().enumerate() {
        let mut w = [0.0; 4];
        for (j, image) in (0..p.len()).flat_map(|j| (0..27).map(move |k| (j, [k / 9, k / 3 % 3, k % 3]))) {
            let d = [0, 1, 2].map(|a| p.position(j)[a] + (image[a] as f64 - 1.0) * length - p.position(i)[a]);
            let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            if r > 0.0 {
                let e = p.q[j] * (-kappa * r).exp() / r;
                w[0] += e;
                (0..3).for_each(|a| w[a + 1] += e * (1.0 + kappa * r) / (r * r) * d[a]);
            }
        }
        let slope = w[1].abs().max(w[2].abs()).max(w[3].abs());
        for a in 0..4 {
            let size = if a == 0 { w[0] } else { slope };
            assert!((f[a] - w[a]).abs() < 1e-4 * size, "{i}: {f:?} {w:?}");
        }
    }
}

#[test]
fn engines_of_any_size_and_backends_give_the_same_bits() {
    let (p2p, m2l) = (shipped("p2p"), m2l(2));
    let mut p = generate(600, Distribution::Layer, Charge::Random, 3);
    p.push([0.5 - 1e-8, p.y[5], p.z[5]], 1.0);
    p.push([-0.5 + 1e-8, p.y[5], p.z[5]], 1.0);
    let options = FmmOptions { order: 2, leaf: 24, periodic: unit([true, false, true]), ..FmmOptions::default() };
    let with = |backend: &str, (pipelines, groups), jmem_words, threads| {
        let engine = BackendOptions { pipelines, groups, jmem_words, threads, ..BackendOptions::default() };
        let found = run((backend, &engine), p.columns(), &p.q, &options, (&p2p, Some(&m2l))).expect("it runs");
        assert_eq!(found.stats.close_pairs, 1);
        assert_eq!(found.stats.streamed.p2p, found.stats.pairs.p2p);
        // A lane that has a list for itself takes no masked pairs.
        let alone = backend != "cpu" && pipelines == groups;
        let shared = Plan::new(p.columns(), &options).expect("good options").streamed_m2l;
        assert!(shared > found.stats.pairs.m2l);
        assert_eq!(found.stats.streamed.m2l, if alone { found.stats.pairs.m2l } else { shared });
        found.field
    };
    let first = with("emulator", (8, 1), 256 * 1024, 1);
    assert!(first == with("emulator", (3, 1), 2048, 2) && first == with("emulator", (12, 4), 1024, 3));
    assert!(first == with("emulator", (1, 1), 1024, 2) && first == with("emulator", (3, 3), 512, 1));
    // By what the kernels mean, all but their rounding is the same.
    let (real, field) = (with("cpu", (8, 1), 256 * 1024, 2), &first);
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let size = field.potential.iter().map(|x| x * x).sum::<f64>();
    assert!(off(&real.potential, &field.potential) < 1e-9 * size && real != first);
}

#[test]
fn cells_that_m2l_does_not_hold_are_computed_again_with_their_images() {
    // Formats up to 256, and more charge than that in one octant.
    let text = pg2::gen_m2l(2).expect("a possible order").replace("float25.16", "float21.16");
    let (p2p, m2l) = (shipped("p2p"), pg2::compile("m2l", &text).expect("it compiles").graph);
    let mut p = generate(320, Distribution::Uniform, Charge::Random, 9);
    p.q.fill(1.0);
    for column in [&mut p.x, &mut p.y, &mut p.z] {
        column[..290].iter_mut().for_each(|x| *x *= 0.5);
    }
    let options = FmmOptions { order: 2, leaf: 8, periodic: unit([true; 3]), ..FmmOptions::default() };
    let solution = emulated(&p, &options, (&p2p, Some(&m2l)));
    assert!(solution.stats.recomputed > 0, "{:?}", solution.stats);
    let error = |s: &Solution| compare(&s.field, &all(&p), &wanted(&p, &options), 1.0).potential_rel_l2;
    let (found, plain) = (error(&solution), error(&native(&p, &options)));
    assert!(found < 1.5 * plain, "{found:e}, natively {plain:e}");
    // The same ones where each target has a list of its own.
    let engine = BackendOptions { pipelines: 1, ..BackendOptions::default() };
    let alone = run(("emulator", &engine), p.columns(), &p.q, &options, (&p2p, Some(&m2l))).expect("it runs");
    assert!(alone.field == solution.field && alone.stats.recomputed == solution.stats.recomputed);
    assert!(alone.stats.streamed.m2l < solution.stats.streamed.m2l, "{:?}", alone.stats);
}
