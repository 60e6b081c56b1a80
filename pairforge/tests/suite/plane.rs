//! The FMM in two dimensions against direct summation.

mod kernels;

use fmm::data::random::Random;
use fmm::octree::{FmmError, Precision};
use fmm::plane::direct::Direct;
use fmm::plane::error::{Errors, Reference};
use fmm::plane::mesh::first as first_box;
use fmm::plane::{Geometry, Kernel, Options, Plan, Solution, Strengths};

/// Sources with complex strengths, and targets where these are apart.
#[derive(Clone, Default)]
struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    re: Vec<f64>,
    im: Vec<f64>,
    targets: Option<[Vec<f64>; 2]>,
}

impl Points {
    fn new(n: usize, seed: u64, draw: impl Fn(&mut Random) -> [f64; 2]) -> Points {
        let mut random = Random::new(seed);
        let mut points = Points::default();
        for _ in 0..n {
            let [x, y] = draw(&mut random);
            points.x.push(x);
            points.y.push(y);
            points.re.push(2.0 * random.unit() - 1.0);
            points.im.push(2.0 * random.unit() - 1.0);
        }
        points
    }

    fn uniform(n: usize, seed: u64) -> Points {
        Points::new(n, seed, |r| [r.unit(), r.unit()])
    }

    fn geometry(&self) -> Geometry<'_> {
        let targets = self.targets.as_ref().map(|t| [&t[0][..], &t[1]]);
        Geometry { sources: [&self.x, &self.y], targets }
    }

    /// Complex strengths for `harmonic`, real ones for `log`.
    fn strengths(&self, kernel: Kernel) -> Strengths<'_> {
        Strengths { re: &self.re, im: (kernel == Kernel::Harmonic).then_some(&self.im[..]) }
    }

    fn solve(&self, options: &Options) -> Result<Solution, FmmError> {
        Plan::new(self.geometry(), options)?.run(&self.strengths(options.kernel), &mut [], &mut |_, _, _| {})
    }

    /// The errors at all targets, up to 300.
    fn errors(&self, options: &Options) -> Errors {
        let solution = self.solve(options).expect("good input");
        let direct =
            Direct { kernel: options.kernel, geometry: self.geometry(), strengths: self.strengths(options.kernel) };
        Reference::new(&[direct], 300, 3).errors(&[&solution.field])
    }
}

fn options(kernel: Kernel, order: usize, leaf: usize) -> Options {
    Options { kernel, order, leaf, ..Options::default() }
}

const KERNELS: [Kernel; 2] = [Kernel::Harmonic, Kernel::Log];

#[track_caller]
fn check(points: &Points, options: &Options, most: f64) {
    let e = points.errors(options);
    assert!(e.potential_rel_l2 <= most && e.of_vector() <= most, "{options:?} {e:?}");
}

/// Normal about 1/2 with standard deviation 1/10.
fn normal(r: &mut Random) -> f64 {
    0.5 + 0.1 * r.normal()
}

/// A name, and how a point is drawn.
type Drawn = (&'static str, fn(&mut Random) -> [f64; 2]);

#[test]
fn every_distribution_is_right_to_rounding_at_a_high_order() {
    let distributions: [Drawn; 6] = [
        ("uniform", |r| [r.unit(), r.unit()]),
        ("normal", |r| [normal(r), normal(r)]),
        ("layer", |r| [r.unit(), normal(r)]),
        ("line", |r| [r.unit(), 0.25]),
        ("slanted line", |r| {
            [1.0, 2.0].map({
                let t = r.unit();
                move |a: f64| a * t
            })
        }),
        ("clusters", |r| {
            let scale = 10f64.powi(-((r.unit() * 12.0) as i32));
            [scale * r.unit(), scale * r.unit()]
        }),
    ];
    for kernel in KERNELS {
        for (name, draw) in distributions {
            let points = Points::new(1500, 5, draw);
            let e = points.errors(&options(kernel, 50, 8));
            assert!(e.potential_rel_l2 < 1e-13 && e.of_vector() < 1e-13, "{kernel:?} {name} {e:?}");
        }
    }
}

/// Pairs of points of all boxes by the lists: each is to be met once, at the same place or not.
#[test]
fn every_pair_is_covered_exactly_once() {
    for (n, leaf, theta) in [(300, 3, 0.5), (300, 3, 0.3), (50, 1, 0.7), (700, 9, 0.5)] {
        let points = Points::new(n, 5, |r| [r.unit(), r.unit() * r.unit()]);
        let plan =
            Plan::new(points.geometry(), &Options { theta, ..options(Kernel::Harmonic, 5, leaf) }).expect("good");
        let (mesh, lists) = (&plan.mesh, &plan.lists);
        let mut met = vec![0u32; n * n];
        let mut meet = |targets: std::ops::Range<usize>, sources: std::ops::Range<usize>| {
            targets.for_each(|i| sources.clone().for_each(|j| met[i * n + j] += 1));
        };
        for k in 0..lists.near.len() {
            for list in [&lists.near, &lists.p2l, &lists.m2p] {
                list.of(k).iter().for_each(|s| meet(mesh.sources.range(k), mesh.sources.range(*s as usize)));
            }
        }
        for level in 0..=mesh.levels {
            let first = first_box(level);
            let range = |k: usize| mesh.sources.range_above(k, mesh.levels - level);
            for k in 0..1 << (2 * level) {
                lists.weak.of(first + k).iter().for_each(|s| meet(range(k), range(*s as usize - first)));
            }
        }
        assert!(met.iter().all(|count| *count == 1), "{n} {leaf} {theta}");
        assert!(mesh.levels >= 2 && !lists.weak.boxes.is_empty() && !lists.m2p.boxes.is_empty());
        assert_eq!(lists.m2p.boxes.len(), lists.p2l.boxes.len());
    }
}

/// The rule of docs/method/two-dimensions.md, done by sorting.
#[test]
fn boxes_have_the_points_that_the_rule_gives_them() {
    let wide = Points::new(9000, 3, |r| [3.0 * r.unit(), r.unit()]);
    let equal = Points::new(6000, 3, |r| [(7.0 * r.unit()).floor(), (3.0 * r.unit()).floor()]);
    for points in [wide, equal] {
        let plan = Plan::new(points.geometry(), &options(Kernel::Harmonic, 5, 20)).expect("good input");
        let mut boxes: Vec<Vec<usize>> = vec![(0..points.x.len()).collect()];
        for _ in 0..2 * plan.mesh.levels {
            boxes = boxes.into_iter().flat_map(|b| split(&points, b)).collect();
        }
        for (k, wanted) in boxes.iter().enumerate() {
            let range = plan.mesh.sources.range(k);
            let found: Vec<usize> = plan.mesh.sources.order[range].iter().map(|o| *o as usize).collect();
            assert_eq!(&found, wanted, "box {k}");
        }
    }
}

/// The halves of some points, ascending.
fn split(points: &Points, ids: Vec<usize>) -> [Vec<usize>; 2] {
    let extent = |x: &[f64]| {
        let of = |pick: fn(f64, f64) -> f64| ids.iter().map(|k| x[*k]).reduce(pick).expect("a point");
        of(f64::max) - of(f64::min)
    };
    let column = if extent(&points.x) >= extent(&points.y) { &points.x } else { &points.y };
    let mut sorted = ids.clone();
    sorted.sort_by(|a, b| column[*a].total_cmp(&column[*b]).then(a.cmp(b)));
    let mut high = sorted.split_off(ids.len() / 2);
    sorted.sort_unstable();
    high.sort_unstable();
    [sorted, high]
}

#[test]
fn the_error_falls_as_theta_to_the_order() {
    let points = Points::uniform(3000, 1);
    for kernel in KERNELS {
        for theta in [0.35, 0.5, 0.65] {
            for order in [4, 9, 14, 19] {
                let e = points.errors(&Options { theta, ..options(kernel, order, 10) });
                let bound = theta.powi(order as i32);
                assert!(e.of_vector() < bound, "{kernel:?} {theta} {order} {e:?}");
                assert!(e.of_vector() > 1e-4 * bound, "{kernel:?} {theta} {order} {e:?}");
            }
        }
    }
}

#[test]
fn few_points_are_right() {
    for kernel in KERNELS {
        for n in [0, 1, 2, 3, 4, 5, 16, 17] {
            for leaf in [1, 3, 50] {
                let points = Points::uniform(n, 9);
                let field = points.solve(&options(kernel, 40, leaf)).expect("good input").field;
                assert_eq!(field.vector[0].len(), n);
                check(&points, &options(kernel, 40, leaf), 1e-12);
            }
        }
    }
}

#[test]
fn coincident_points_do_not_act_on_each_other() {
    for kernel in KERNELS {
        let one_place = Points::new(500, 2, |_| [0.3, -0.7]);
        let field = one_place.solve(&options(kernel, 20, 4)).expect("good input").field;
        assert!(field.columns().all(|c| c.iter().all(|x| *x == 0.0)));
        // Many at few places, and half of all at one.
        let places = Points::new(800, 3, |r| [(r.unit() * 5.0).floor(), (r.unit() * 4.0).floor()]);
        check(&places, &options(kernel, 45, 4), 1e-13);
        let half = Points::new(1000, 4, |r| if r.unit() < 0.5 { [0.5, 0.5] } else { [r.unit(), r.unit()] });
        check(&half, &options(kernel, 45, 4), 1e-13);
    }
}

#[test]
fn targets_apart_are_right_inside_and_outside_of_the_sources() {
    for kernel in KERNELS {
        let mut points = Points::uniform(900, 6);
        for (count, scale) in [(700, 1.0), (200, 5.0), (3, 1e6), (0, 1.0)] {
            let t = Points::new(count, 7, |r| [scale * (r.unit() - 0.3), scale * (r.unit() - 0.3)]);
            points.targets = Some([t.x, t.y]);
            check(&points, &options(kernel, 50, 6), 1e-12);
        }
        // A target at a source gets nothing from it.
        points.targets = Some([points.x.clone(), points.y.clone()]);
        check(&points, &options(kernel, 50, 6), 1e-12);
        let sources = std::mem::take(&mut points);
        let nothing = Points { targets: sources.targets, ..Points::default() };
        let field = nothing.solve(&options(kernel, 10, 6)).expect("good input").field;
        assert!(field.columns().all(|c| c.len() == 900 && c.iter().all(|x| *x == 0.0)));
    }
}

#[test]
fn strengths_of_zero_sum_and_real_ones_are_right() {
    for kernel in KERNELS {
        let mut points = Points::uniform(1200, 8);
        points.re.iter_mut().enumerate().for_each(|(k, q)| *q = if k % 2 == 0 { 1.0 } else { -1.0 });
        points.im.fill(0.0);
        check(&points, &options(kernel, 50, 6), 1e-13);
        let with_zeros = points.solve(&options(kernel, 20, 6)).expect("good input").field;
        let plan = Plan::new(points.geometry(), &options(kernel, 20, 6)).expect("good input");
        let real = Strengths { re: &points.re, im: None };
        let field = plan.run(&real, &mut [], &mut |_, _, _| {}).expect("good input").field;
        let near = |a: &f64, b: &f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
        assert!(field.columns().flatten().zip(with_zeros.columns().flatten()).all(|(a, b)| near(a, b)));
    }
}

#[test]
fn any_size_of_a_problem_is_right() {
    for kernel in KERNELS {
        for scale in [1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e300] {
            let mut points = Points::new(600, 11, |r| [scale * r.unit(), scale * (r.unit() - 0.5)]);
            // What would leave the range of f64 is for another test.
            points.re.iter_mut().for_each(|q| *q *= scale);
            points.im.iter_mut().for_each(|q| *q *= scale);
            check(&points, &options(kernel, 60, 5), 1e-12);
        }
        // Far from the origin, and of unequal extents.
        let far = Points::new(600, 12, |r| [1e8 + r.unit(), -3e9 + 1e-3 * r.unit()]);
        check(&far, &options(kernel, 60, 5), 1e-12);
        let on_axis = Points::new(600, 12, |r| [1e300, 1e-300 * r.unit()]);
        check(&on_axis, &options(kernel, 60, 5), 1e-12);
        // Distances whose squares f64 does not hold beside long ones.
        let nested = Points::new(300, 13, |r| {
            let scale = 10f64.powi((r.unit() * 500.0) as i32 - 250);
            [scale * r.unit(), scale * r.unit()]
        });
        check(&nested, &options(kernel, 60, 5), 1e-12);
    }
}

#[test]
fn a_result_beyond_the_range_is_refused() {
    let points = Points::new(50, 1, |r| [1e-300 * r.unit(), 0.0]);
    let mut points = Points { re: vec![1e30; 50], ..points };
    let refused = |points: &Points| match points.solve(&options(Kernel::Harmonic, 10, 5)) {
        Err(FmmError::Range(text)) => text,
        _ => panic!("it was taken"),
    };
    assert!(refused(&points).contains("beyond 1.8e308"));
    points.re[3] = 1e-300;
    assert!(refused(&points).contains("lost beside"));
    points.re[3] = f64::NAN;
    assert!(refused(&points).contains("finite"));
    points.x[3] = f64::INFINITY;
    assert!(refused(&points).contains("finite"));
}

#[test]
fn options_out_of_their_range_are_refused() {
    let points = Points::uniform(10, 1);
    for wrong in [
        Options { order: 0, ..Options::default() },
        Options { order: 61, ..Options::default() },
        Options { theta: 0.0, ..Options::default() },
        Options { theta: 1.0, ..Options::default() },
        Options { theta: f64::NAN, ..Options::default() },
        Options { leaf: 0, ..Options::default() },
    ] {
        assert!(matches!(points.solve(&wrong), Err(FmmError::Option(_))), "{wrong:?}");
    }
}

#[test]
fn f32_expansions_are_right_to_their_rounding() {
    let points = Points::uniform(4000, 1);
    for kernel in KERNELS {
        let options = Options { precision: Precision::F32, ..options(kernel, 20, 20) };
        check(&points, &options, 3e-6);
        // Where f32 does not hold the units of boxes, f64 is taken.
        let small = Points::new(900, 3, |r| {
            let scale = 10f64.powi(-((r.unit() * 40.0) as i32));
            [scale * r.unit(), scale * r.unit()]
        });
        check(&small, &options, 1e-5);
    }
}

#[test]
fn p2p_in_f32_is_right_however_close_points_are() {
    let few = |points: &Points| {
        // Hardly more than one box, so that P2P is nearly all, and few pairs rule the sums.
        let options = Options { precision: Precision::F32, ..options(Kernel::Harmonic, 20, 100) };
        let plan = Plan::new(points.geometry(), &options).expect("good input");
        for im in [None, Some(&points.im[..])] {
            let strengths = Strengths { re: &points.re, im };
            let field = plan.run(&strengths, &mut [], &mut |_, _, _| {}).expect("good input").field;
            let direct = Direct { kernel: Kernel::Harmonic, geometry: points.geometry(), strengths };
            let e = Reference::new(&[direct], 300, 3).errors(&[&field]);
            assert!(e.of_vector() <= 1e-6, "{} points: {e:?}", points.x.len());
        }
    };
    for n in [1, 2, 5, 15, 16, 17, 33, 300] {
        few(&Points::uniform(n, 7));
    }
    // One close pair, at more and at less than what f32 takes; its strengths are of opposite sign.
    for apart in [1e-3, 1e-5, 3e-7, 1e-7, 1e-9, 1e-15] {
        let mut points = Points::uniform(150, 7);
        (points.x[1], points.y[1]) = (points.x[0] + apart, points.y[0] - 0.3 * apart);
        (points.re[0], points.re[1]) = (1.0, -1.0);
        few(&points);
        // The same pair as a source and a target.
        let targets = [points.x.split_off(1), points.y.split_off(1)];
        points.re.truncate(1);
        points.im.truncate(1);
        points.targets = Some(targets);
        few(&points);
    }
    few(&Points::new(400, 3, |r| [(r.unit() * 5.0).floor(), (r.unit() * 4.0).floor()]));
    few(&Points::new(400, 3, |r| [1e8 + (r.unit() * 1e3).floor() * 1e-7, r.unit()]));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let points = Points::new(20_000, 4, |r| [normal(r), r.unit()]);
    for (kernel, precision) in
        [(Kernel::Harmonic, Precision::F64), (Kernel::Harmonic, Precision::F32), (Kernel::Log, Precision::F32)]
    {
        let options = Options { precision, ..options(kernel, 12, 20) };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
            pool.install(|| points.solve(&options).expect("good input").field)
        };
        let one = run(1);
        for threads in [2, 3, 7] {
            let other = run(threads);
            assert!(one.columns().flatten().map(|x| x.to_bits()).eq(other.columns().flatten().map(|x| x.to_bits())));
        }
    }
}
