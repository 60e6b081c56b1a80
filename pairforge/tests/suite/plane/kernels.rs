//! P2P in the plane by kernels on a backend: sums within what the formats allow, close and coincident points, and what is refused.

use super::{KERNELS, Points, options};
use fmm::octree::FmmError;
use fmm::plane::direct::Direct;
use fmm::plane::error::{Errors, Reference};
use fmm::plane::stats::Stats;
use fmm::plane::{Kernel, Options, Plan, Solution, Strengths};
use pairforge::backends::{BackendOptions, find};
use pg2::graph::Graph;
use pipelines::plane::bind::{P2p, shipped};
use pipelines::plane::offload::Pipelines;

fn compile(name: &str, text: &str) -> Graph {
    pg2::compile(name, text).expect("the kernel compiles").graph
}

fn text(kernel: Kernel) -> &'static str {
    pg2::kernels::find(shipped(kernel)).expect("a shipped kernel").text
}

fn graph(kernel: Kernel) -> Graph {
    compile(shipped(kernel), text(kernel))
}

/// A run with P2P by a kernel on a backend.
fn run_on(backend: &str, graph: &Graph, points: &Points, options: &Options) -> Result<(Plan, Solution), FmmError> {
    let plan = Plan::new(points.geometry(), options)?;
    let mut backend = (find(backend).expect("a backend").0.open)(&BackendOptions::default());
    let mut pipelines = Pipelines::new(&mut *backend, graph, &[]);
    let solution = plan.run(&points.strengths(options.kernel), &mut [&mut pipelines], &mut |_, _, _| {})?;
    Ok((plan, solution))
}

/// The errors at all targets, up to 300, and what P2P did.
fn errors(graph: &Graph, points: &Points, options: &Options) -> (Errors, Stats) {
    let (plan, solution) = run_on("emulator", graph, points, options).expect("good input");
    let strengths = points.strengths(options.kernel);
    let direct = Direct { kernel: options.kernel, geometry: points.geometry(), strengths };
    let found = Reference::new(&[direct], 300, 3).errors(&[&solution.field]);
    (found, Stats::of(&plan, &[solution]))
}

#[track_caller]
fn check(points: &Points, options: &Options, most: f64) -> Stats {
    let (e, kernels) = errors(&graph(options.kernel), points, options);
    assert!(e.potential_rel_l2 <= most && e.of_vector() <= most, "{options:?} {e:?}");
    kernels
}

/// Some roundings of 16 fraction bits, each of at most 2^-17, of pairs whose errors add in squares.
const FORMATS: f64 = 3e-5;

#[test]
fn errors_are_those_of_the_formats() {
    for kernel in KERNELS {
        for (n, leaf) in [(1500, 10), (800, 100), (900, 900)] {
            let points = Points::uniform(n, 5);
            let options = options(kernel, 40, leaf);
            let kernels = check(&points, &options, FORMATS);
            let plan = Plan::new(points.geometry(), &options).expect("good input");
            assert_eq!((kernels.streamed.p2p, kernels.recomputed), (plan.pairs.p2p, 0));
            assert!(kernels.flags.is_empty() && kernels.words.i == 2 * n as u64, "{kernels:?}");
        }
    }
}

#[test]
fn few_points_are_right() {
    for kernel in KERNELS {
        for n in [0, 1, 2, 5, 17] {
            for leaf in [1, 3, 50] {
                check(&Points::uniform(n, 9), &options(kernel, 40, leaf), FORMATS);
            }
        }
    }
}

#[test]
fn coincident_and_close_points_are_computed_in_f64() {
    for kernel in KERNELS {
        // One place; many points at few places.
        let one = Points::new(300, 2, |_| [0.3, -0.7]);
        let (_, solution) = run_on("emulator", &graph(kernel), &one, &options(kernel, 20, 4)).expect("good input");
        assert!(solution.field.columns().all(|c| c.iter().all(|x| *x == 0.0)));
        let places = Points::new(500, 3, |r| [(r.unit() * 5.0).floor(), (r.unit() * 4.0).floor()]);
        assert_eq!(check(&places, &options(kernel, 45, 4), FORMATS).close_pairs, 0);

        // Pairs of points a little apart, some of them on one point of the grid.
        let mut points = Points::uniform(400, 8);
        for k in 0..100 {
            let apart = 1e-8 * 10f64.powi(-(k as i32 % 8));
            (points.x[k + 100], points.y[k + 100]) = (points.x[k] + apart, points.y[k] - 0.5 * apart);
        }
        let kernels = check(&points, &options(kernel, 45, 500), FORMATS);
        assert_eq!((kernels.close_pairs, kernels.recomputed), (100, 0));
        assert!(kernels.shared_grid_points > 100, "{kernels:?}");
        // Where a kernel's own term for such a pair stays, or its difference is that of the grid, the error is of the size of the sums.
        let few = Points::new(2, 3, |r| [0.5 + 1e-9 * r.unit(), 0.5]);
        let mut points = Points::new(50, 4, |r| [r.unit(), r.unit()]);
        points.x.extend(&few.x);
        points.y.extend(&few.y);
        points.re.extend([1.0, -1.0]);
        points.im.extend([0.5, 1.0]);
        let options_of_few = options(kernel, 45, 100);
        assert_eq!(check(&points, &options_of_few, FORMATS).close_pairs, 1);
        assert!(errors(&graph(kernel), &points, &options_of_few).0.of_vector() < 1e-9);

        // More close points than are replaced one by one, and boxes so small that close pairs are well separated.
        let cloud = Points::new(600, 6, |r| {
            let scale = if r.unit() < 0.5 { 1e-8 } else { 1.0 };
            [0.3 + scale * r.unit(), 0.4 + scale * r.unit()]
        });
        for leaf in [3, 40] {
            let kernels = check(&cloud, &options(kernel, 50, leaf), FORMATS);
            let pairs = Plan::new(cloud.geometry(), &options(kernel, 50, leaf)).expect("good input").pairs;
            assert!(kernels.close_pairs > 0 && kernels.close_pairs < pairs.p2p, "{kernels:?}");
            assert!(leaf == 3 || kernels.recomputed > 100, "{kernels:?}");
        }
    }
}

#[test]
fn targets_apart_are_right() {
    for kernel in KERNELS {
        let mut points = Points::uniform(400, 6);
        for (count, scale) in [(300, 1.0), (100, 5.0), (3, 1e6), (0, 1.0)] {
            let t = Points::new(count, 7, |r| [scale * (r.unit() - 0.3), scale * (r.unit() - 0.3)]);
            points.targets = Some([t.x, t.y]);
            check(&points, &options(kernel, 50, 6), FORMATS);
        }
        // A target at a source gets nothing from it, and one beside it is close to it.
        let mut beside = points.x.clone();
        beside[..50].iter_mut().for_each(|x| *x += 1e-9);
        points.targets = Some([beside, points.y.clone()]);
        assert_eq!(check(&points, &options(kernel, 50, 6), FORMATS).close_pairs, 50);
        let nothing = Points { targets: points.targets.clone(), ..Points::default() };
        let (_, solution) = run_on("emulator", &graph(kernel), &nothing, &options(kernel, 10, 6)).expect("good input");
        assert!(solution.field.columns().all(|c| c.len() == 400 && c.iter().all(|x| *x == 0.0)));
    }
}

#[test]
fn any_size_of_a_problem_is_right() {
    for kernel in KERNELS {
        for scale in [1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300] {
            let mut points = Points::new(300, 11, |r| [scale * r.unit(), scale * (r.unit() - 0.5)]);
            points.re.iter_mut().for_each(|q| *q *= scale);
            points.im.iter_mut().for_each(|q| *q *= scale);
            check(&points, &options(kernel, 60, 5), FORMATS);
        }
        let far = Points::new(300, 12, |r| [1e8 + r.unit(), -3e9 + 1e-3 * r.unit()]);
        check(&far, &options(kernel, 60, 5), FORMATS);
        // Distances whose squares f64 does not hold beside long ones.
        let nested = Points::new(200, 13, |r| {
            let scale = 10f64.powi((r.unit() * 500.0) as i32 - 250);
            [scale * r.unit(), scale * r.unit()]
        });
        check(&nested, &options(kernel, 60, 5), FORMATS);
    }
}

#[test]
fn flagged_targets_are_computed_again() {
    // Sums of up to 2^7: those of near points leave it.
    let narrow = text(Kernel::Harmonic).replace("fixed64.30", "fixed38.30");
    let (e, kernels) =
        errors(&compile("narrow", &narrow), &Points::uniform(500, 5), &options(Kernel::Harmonic, 40, 50));
    assert!(e.of_vector() < FORMATS, "{e:?}");
    assert!(kernels.recomputed > 10 && kernels.recomputed < 500, "{kernels:?}");
    assert!(["saturation", "wrap"].iter().any(|flag| kernels.flags.contains(flag)), "{kernels:?}");
}

#[test]
fn kernels_of_other_formats_and_units_are_taken() {
    // Integer coordinates, logarithms of base 2, the gradient itself, and real numbers in place of complex ones.
    let own = "
        int32 xi[2] ipin; int32 xj[2] jpin; float29.20 mj jpin;
        fixed64.32 pout fout; fixed64.50 gout[2] fout;
        d = (float29.20)(xj - xi);
        r2 = d * d;
        pout += (fixed64.32)((r2 > 0 ? pg_log(r2) : 0) * mj * 1.4426950408889634);
        gout += (fixed64.50)(d * (mj * pg_inv(r2)));
    ";
    let found = errors(&compile("own", own), &Points::uniform(500, 5), &options(Kernel::Log, 40, 50)).0;
    assert!(found.of_vector() < FORMATS && found.potential_rel_l2 < FORMATS, "{found:?}");
    // The real-arithmetic evaluation has the rounding of coordinates alone.
    let points = Points::uniform(500, 5);
    for kernel in KERNELS {
        let options = options(kernel, 50, 50);
        let (_, solution) = run_on("cpu", &graph(kernel), &points, &options).expect("good input");
        let direct = Direct { kernel, geometry: points.geometry(), strengths: points.strengths(kernel) };
        let e = Reference::new(&[direct], 300, 3).errors(&[&solution.field]);
        assert!(e.of_vector() < 1e-6 && e.potential_rel_l2 < 1e-6, "{e:?}");
    }
}

#[test]
fn kernels_that_compute_something_else_are_refused() {
    let refused = |kernel: Kernel, text: &str| P2p::bind(&compile("own", text), kernel, &[]).expect_err("wrong").0;
    let harmonic = text(Kernel::Harmonic);
    for (kernel, text, part) in [
        (
            Kernel::Harmonic,
            harmonic.replace("d * pg_inv(d * d)", "d * pg_inv(d * d) * pg_inv(d * d)"),
            "is not strength / (z_j - z_i)",
        ),
        (Kernel::Harmonic, harmonic.replace("- mj[0] * s[1]", "+ mj[0] * s[1]"), "is not strength / (z_j - z_i)"),
        (Kernel::Log, text(Kernel::Log).replace(">> 1", ">> 2").replace("(xi - xj)", "(xj - xi)"), ""),
        (
            Kernel::Log,
            text(Kernel::Log).replace("pg_log(r2)", "pg_log(r2 * r2 + r2)"),
            "is not strength log |z_i - z_j|",
        ),
        (Kernel::Log, harmonic.into(), "`gout[2] fout` is missing"),
        (Kernel::Harmonic, pg2::kernels::find("p2p_paper").expect("shipped").text.into(), "must be `xi[2] ipin`"),
        (Kernel::Harmonic, harmonic.replace("fixed32.31", "fixed32.32"), "differences of up to 1 would wrap"),
    ] {
        match part {
            // A factor is no fault.
            "" => assert!(P2p::bind(&compile("own", &text), kernel, &[]).is_ok(), "{text}"),
            _ => assert!(refused(kernel, &text).contains(part), "{}", refused(kernel, &text)),
        }
    }
    // A real strength for complex ones.
    let real = "fixed32.31 xi[2] ipin; fixed32.31 xj[2] jpin; float25.16 mj jpin; fixed64.30 pout[2] fout;
        d = (float25.16)(xj - xi); s = d * (mj * pg_inv(d * d)); pout[0] += (fixed64.30)s[0]; pout[1] += (fixed64.30)-s[1];";
    let (real, mut points) = (compile("real", real), Points::uniform(100, 5));
    let options = options(Kernel::Harmonic, 40, 50);
    let told = run_on("emulator", &real, &points, &options).err().expect("refused").to_string();
    assert!(told.contains("strengths are complex") && told.contains("`mj[2]`"), "{told}");
    points.im.fill(0.0);
    let plan = Plan::new(points.geometry(), &options).expect("good input");
    let mut backend = (find("emulator").expect("a backend").0.open)(&BackendOptions::default());
    let mut pipelines = Pipelines::new(&mut *backend, &real, &[]);
    let strengths = Strengths { re: &points.re, im: None };
    let solution = plan.run(&strengths, &mut [&mut pipelines], &mut |_, _, _| {}).expect("good input");
    let direct = Direct { kernel: Kernel::Harmonic, geometry: points.geometry(), strengths };
    assert!(Reference::new(&[direct], 100, 3).errors(&[&solution.field]).of_vector() < FORMATS);
}

/// The bits of a field.
fn bits(solution: &Solution) -> Vec<u64> {
    solution.field.columns().flatten().map(|x| x.to_bits()).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut points = Points::uniform(3000, 4);
    for k in 0..40 {
        (points.x[k + 100], points.y[k + 100]) = (points.x[k] + 1e-9, points.y[k]);
    }
    for kernel in KERNELS {
        let (options, graph) = (options(kernel, 12, 20), graph(kernel));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
            pool.install(|| run_on("emulator", &graph, &points, &options).expect("good input").1)
        };
        let one = run(1);
        assert_eq!(one.p2p.close, 40);
        for threads in [2, 3, 7] {
            assert_eq!(bits(&one), bits(&run(threads)), "{threads}");
        }
    }
}
