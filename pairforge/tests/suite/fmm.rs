//! The native FMM against direct summation: operators on single points, orders, angles, distributions, threads.

use fmm::arith::vector::Vectors;
use fmm::data::particles::Particles;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::{Errors, measure};
use fmm::expansion::basis::Basis;
use fmm::expansion::chebyshev::Function;
use fmm::expansion::{Expansion, Points, Translated, operators};
use fmm::octree::{FmmOptions, Plan, Precision, Solution};
use std::sync::Arc;

fn solve(particles: &Particles, options: &FmmOptions) -> Solution {
    let fmm = Plan::new(particles.columns(), options).expect("good options");
    fmm.solve(&particles.q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there")
}

fn errors(particles: &Particles, options: &FmmOptions) -> Errors {
    measure(particles, &solve(particles, options).field, 500, 1, options.eps)
}

/// A cloud of charges about `centre` within half a unit along each axis.
fn cloud(centre: [f64; 3], seed: u64) -> Vec<([f64; 3], f64)> {
    let p = generate(6, Distribution::Uniform, Charge::Random, seed);
    (0..6).map(|k| ([0, 1, 2].map(|a| p.position(k)[a] - 0.5 + centre[a]), p.q[k])).collect()
}

fn particles_of(parts: &[Vec<([f64; 3], f64)>]) -> Particles {
    let mut p = Particles::default();
    parts.iter().flatten().for_each(|(x, q)| p.push(*x, *q));
    p
}

#[test]
fn far_clouds_meet_by_m2l_alone() {
    // Opposite corners: the cells of level 1 touch, those of level 2 lie three apart.
    let p = particles_of(&[cloud([0.5; 3], 1), cloud([7.5, 7.5, 7.5], 2)]);
    let options = FmmOptions { order: 9, leaf: 5, ..FmmOptions::default() };
    let fmm = Plan::new(p.columns(), &options).expect("good options");
    assert!(fmm.pairs.m2l >= 2 && (fmm.pairs.m2p, fmm.pairs.p2l) == (0, 0), "{:?}", fmm.pairs);
    assert!(fmm.pairs.p2p <= 72, "no more than each cloud with itself");
    let e = errors(&p, &options);
    assert!(e.potential_rel_l2 < 1e-4 && e.gradient_rel_l2 < Some(1e-3), "{e:?}");
}

#[test]
fn one_pair_of_points_goes_through_every_operator() {
    // A unit charge and a target one level further down each time: P2M, M2M (several), M2L, L2L (several), L2P.
    for depth in [2, 4, 7] {
        let mut p = Particles::default();
        // Two clumps that split down to `depth`, far from each other.
        let edge = 2f64.powi(-depth);
        for at in [[0.0; 3], [1.0, 0.93, 0.87]] {
            for k in 0..2 {
                let d = if at[0] == 0.0 { edge } else { -edge };
                p.push([0, 1, 2].map(|a| at[a] + d * k as f64), if k == 0 { 1.0 } else { 0.5 });
            }
        }
        let e = errors(&p, &FmmOptions { order: 12, leaf: 1, ..FmmOptions::default() });
        // The clumps' radius over their distance at the level where M2L takes them is below 0.3 for every depth.
        assert!(e.potential_rel_l2 < 0.3f64.powi(12), "{depth} {e:?}");
    }
}

/// A dense clump beside sparse points: leaves of many sizes.
fn mixed() -> Particles {
    let mut p = generate(400, Distribution::Uniform, Charge::Positive, 3);
    let clump = generate(2000, Distribution::Uniform, Charge::Positive, 4);
    for k in 0..clump.len() {
        p.push(clump.position(k).map(|x| 0.3 + 0.02 * x), clump.q[k]);
    }
    p
}

#[test]
fn m2p_and_p2l_are_right() {
    let p = mixed();
    let mut last = f64::INFINITY;
    for order in [1, 2, 3, 4, 6, 8] {
        let options = FmmOptions { order, leaf: 30, ..FmmOptions::default() };
        let fmm = Plan::new(p.columns(), &options).expect("good options");
        assert!(fmm.pairs.m2p > 0 && fmm.pairs.p2l > 0);
        let e = errors(&p, &options).gradient_rel_l2.expect("a gradient");
        assert!(e < last, "order {order}: {e} after {last}");
        last = e;
    }
    assert!(last < 5e-4, "{last}");
}

/// 1/r as a black box.
struct Coulomb;

impl Function for Coulomb {
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
        for (d, out) in d.iter().zip(out) {
            let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            *out = [1.0 / r, -d[0] / r.powi(3), -d[1] / r.powi(3), -d[2] / r.powi(3)];
        }
    }
}

#[test]
fn operators_agree_with_p2p_on_single_points() {
    // One unit charge at s, one target at t, in units of the cells; every operator against 1/r and its gradient.
    let coulomb: Arc<dyn Function> = Arc::new(Coulomb);
    for basis in [Basis::Cartesian, Basis::Solid, Basis::Chebyshev] {
        let kernel = Some(&coulomb).filter(|_| basis == Basis::Chebyshev);
        // Sums of products of Chebyshev polynomials have terms of both signs and of about 1.
        let more = if basis == Basis::Chebyshev { 8.0 } else { 1.0 };
        let rounding = more * 4.0 * f32::EPSILON as f64;
        let (order, far) = (basis.max_order().min(12), Translated::default());
        check_operators::<f64>(&*operators(basis, order, far, 4, kernel), order as i32, [0.0, more * 1e-15, 1e-12]);
        check_operators::<f32>(&*operators(basis, 8, far, 4, kernel), 8, [rounding; 3]);
    }
}

/// `rounding` is that of sums of about 1: beside the truncation, of M2M, and of L2L.
fn check_operators<T: Vectors>(e: &dyn Expansion<T>, order: i32, [rounding, of_m2m, of_l2l]: [f64; 3]) {
    // The level of the cells, whose edge is a quarter of the box, and that of their children.
    const LEVELS: [u32; 2] = [2, 3];
    let (s, t) = ([0.31, -0.22, 0.17], [3.2, 0.9, -1.8]);
    // In units of the cells' edge.
    let exact = |a: [f64; 3], b: [f64; 3]| {
        let d: [f64; 3] = std::array::from_fn(|k| a[k] - b[k]);
        let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        [1.0 / r, -d[0] / r.powi(3), -d[1] / r.powi(3), -d[2] / r.powi(3)]
    };
    let close = |what: &str, found: [f64; 4], wanted: [f64; 4], truncation: f64| {
        let tolerance = truncation + rounding;
        (0..4).for_each(|k| assert!((found[k] - wanted[k]).abs() < tolerance, "{what} {found:?} {wanted:?}"));
    };
    let column = |x: f64| [T::of(x)];
    let p2m = |at: [f64; 3]| {
        let (x, mut m) = (at.map(column), vec![T::default(); e.multipole_terms()]);
        e.p2m(Points { x: x.each_ref().map(|x| &x[..]) }, &[T::ONE], &mut m, &mut Vec::new());
        m
    };
    // Of results in units of a cell of a level those in units of one of the upper level.
    let upper = |level: u32, out: [T; 4]| -> [f64; 4] {
        let [potential, gradient] = e.units(level);
        std::array::from_fn(|a| match a {
            0 => out[a].f64() * potential / 4.0,
            _ => out[a].f64() * gradient / 16.0,
        })
    };
    let m2p = |m: &[T], at: [f64; 3]| {
        let (x, mut out) = (at.map(column), [[T::default(); 4]]);
        e.m2p(LEVELS[0], m, Points { x: x.each_ref().map(|x| &x[..]) }, &mut out, &mut Vec::new());
        upper(LEVELS[0], out[0])
    };
    let l2p = |level: u32, l: &[T], at: [f64; 3]| {
        let (x, mut out) = (at.map(column), [[T::default(); 4]]);
        e.l2p(l, Points { x: x.each_ref().map(|x| &x[..]) }, &mut out, &mut Vec::new());
        upper(level, out[0])
    };
    let m = p2m(s);
    let ratio: f64 = 0.42 / 3.78;
    close("P2M, M2P", m2p(&m, t), exact(t, s), 50.0 * ratio.powi(order));
    // M2M: the cell is octant 5 (+, -, +) of a parent of twice the edge; positions halve.
    let parent = [0.25, -0.25, 0.25];
    let mut up = vec![T::default(); e.multipole_terms()];
    e.m2m(5, &m, &mut up);
    let wanted = p2m(std::array::from_fn(|a| parent[a] + 0.5 * s[a]));
    up.iter().zip(wanted).enumerate().for_each(|(k, (up, wanted))| {
        assert!((up.f64() - wanted.f64()).abs() < of_m2m, "M2M {k}: {} {}", up.f64(), wanted.f64());
    });
    // M2L to a cell at c, then L2P at t; P2L in the same place.
    let c = [3.0, 1.0, -2.0];
    let mut l = vec![T::default(); e.local_terms()];
    e.m2l_pair(LEVELS[0], c.map(|x| x as i64), &m, &mut l);
    let local: [f64; 3] = std::array::from_fn(|a| t[a] - c[a]);
    // Both cells' points lie within 0.42 and 0.3 of centres 3.74 apart.
    close("M2L, L2P", l2p(LEVELS[0], &l, local), exact(t, s), 50.0 * (0.72f64 / 3.74).powi(order));
    let (mut by_p2l, x) = (vec![T::default(); e.local_terms()], std::array::from_fn(|a| column(s[a] - c[a])));
    e.p2l(LEVELS[0], Points { x: x.each_ref().map(|x: &[T; 1]| &x[..]) }, &[T::ONE], &mut by_p2l, &mut Vec::new());
    close("P2L, L2P", l2p(LEVELS[0], &by_p2l, local), exact(t, s), 50.0 * (0.3f64 / 3.5).powi(order));
    // L2L to octant 2 (-, +, -): the same field, in units half as large.
    let mut down = vec![T::default(); e.local_terms()];
    e.l2l(2, &l, &mut down);
    let child: [f64; 3] = [-0.25, 0.25, -0.25];
    let below = l2p(LEVELS[1], &down, std::array::from_fn(|a| 2.0 * (local[a] - child[a])));
    close("L2L", below, l2p(LEVELS[0], &l, local), of_l2l);
}

#[test]
#[ignore = "a proof in depth"]
fn errors_fall_with_order_and_angle() {
    for charge in [Charge::Random, Charge::Positive] {
        let p = generate(6000, Distribution::Uniform, charge, 11);
        let at = |order, theta| {
            let e = errors(&p, &FmmOptions { order, theta, leaf: 32, ..FmmOptions::default() });
            (e.potential_rel_l2, e.gradient_rel_l2.expect("a gradient"))
        };
        let by_order: Vec<(f64, f64)> = [1, 2, 4, 6, 8, 11, 14].iter().map(|p| at(*p, 0.5)).collect();
        assert!(by_order.windows(2).all(|w| w[1].0 < w[0].0 && w[1].1 < w[0].1), "{by_order:?}");
        // The error falls by about 0.6 an order.
        assert!(by_order[6].1 < by_order[1].1 * 0.65f64.powi(12), "{by_order:?}");
        let by_angle: Vec<(f64, f64)> = [0.5, 0.4, 0.3].iter().map(|theta| at(4, *theta)).collect();
        assert!(by_angle.windows(2).all(|w| w[1].0 < w[0].0 && w[1].1 < w[0].1), "{by_angle:?}");
    }
}

#[test]
fn solid_harmonics_reach_high_accuracy() {
    // Gradient errors by degree on an octree with the list of 189, as published for solid harmonics.
    let p = generate(6000, Distribution::Uniform, Charge::Random, 11);
    let mixed = mixed();
    for (order, expected) in [(3, 1.4e-3), (5, 2.2e-4), (8, 1.6e-5), (12, 8.8e-7), (30, 1e-10)] {
        let options = FmmOptions { order, basis: Basis::Solid, leaf: 32, ..FmmOptions::default() };
        let e = errors(&p, &options).gradient_rel_l2.expect("a gradient");
        println!("{order} {e:.2e} expected {expected:.1e}");
        assert!(e > expected / 10.0 && e < expected * 10.0, "order {order}: {e:.2e}");
        let e = errors(&mixed, &options).gradient_rel_l2.expect("a gradient");
        assert!(e < expected * 10.0, "adaptive, order {order}: {e:.2e}");
    }
}

#[test]
fn errors_are_those_that_are_expected() {
    // Gradient errors at N = 2e4, leaf 64, over six seeds, as an independent implementation found them.
    let ranges = [
        (Charge::Random, [(2, 2.5e-3, 1.6e-2), (4, 6.5e-4, 4.0e-3), (6, 1.9e-4, 1.2e-3)]),
        (Charge::Positive, [(2, 6e-3, 1.1e-2), (4, 8e-4, 1.4e-3), (6, 2.0e-4, 3.7e-4)]),
    ];
    for (charge, orders) in ranges {
        for (order, low, high) in orders {
            for seed in 1..=3 {
                let p = generate(20000, Distribution::Uniform, charge, seed);
                let field = solve(&p, &FmmOptions { order, ..FmmOptions::default() }).field;
                let e = measure(&p, &field, 500, seed, 0.0).gradient_rel_l2.expect("a gradient");
                println!("{charge:?} {order} {seed}: {e:.2e} expected {low:.1e} to {high:.1e}");
                // Other random numbers than those of the table: a third is allowed on either side.
                assert!(e > low / 1.5 && e < high * 1.5, "{charge:?} order {order} seed {seed}: {e:.2e}");
            }
        }
    }
}

#[test]
fn every_distribution_agrees_with_direct_summation() {
    for (name, d) in Distribution::ALL {
        let p = generate(2500, d, Charge::Positive, 2);
        for leaf in [8, 64] {
            let at = |order| errors(&p, &FmmOptions { order, leaf, ..FmmOptions::default() });
            let (low, high) = (at(4), at(10));
            println!("{name} leaf {leaf}: {low:?} {high:?}");
            assert!(low.potential_rel_l2 < 1e-3 && low.gradient_rel_l2 < Some(5e-3), "{name} {low:?}");
            assert!(high.potential_rel_l2 < 1e-5 && high.gradient_rel_l2 < Some(2e-4), "{name} {high:?}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for d in [Distribution::Uniform, Distribution::Plummer] {
        let p = generate(4000, d, Charge::Random, 8);
        for precision in [Precision::F32, Precision::F64] {
            let options = FmmOptions { precision, leaf: 20, ..FmmOptions::default() };
            let run = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| solve(&p, &options).field)
            };
            let one = run(1);
            assert!(one == run(2) && one == run(3));
        }
    }
}

#[test]
fn single_precision_is_as_good_as_its_rounding() {
    let p = generate(20000, Distribution::Uniform, Charge::Positive, 5);
    let at = |precision, order| {
        errors(&p, &FmmOptions { precision, order, ..FmmOptions::default() }).gradient_rel_l2.expect("a gradient")
    };
    let (single, double) = (at(Precision::F32, 4), at(Precision::F64, 4));
    assert!((single / double - 1.0).abs() < 1e-2, "{single} {double}");
    // One leaf, and so P2P alone: what is left is rounding, 2^-24 for each of a few operations.
    let few = generate(1000, Distribution::Uniform, Charge::Positive, 5);
    let rounding = errors(&few, &FmmOptions { precision: Precision::F32, leaf: 1000, ..FmmOptions::default() });
    assert!(rounding.potential_rel_l2 < 1e-6 && rounding.gradient_rel_l2 < Some(2e-5), "{rounding:?}");
    assert!(rounding.potential_rel_l2 > 1e-9, "f32 it was");
}

#[test]
fn few_and_odd_particles_are_right() {
    let run = |p: &Particles| solve(p, &FmmOptions { leaf: 4, ..FmmOptions::default() }).field;
    let none = run(&Particles::default());
    assert!(none.potential.is_empty());
    let mut p = Particles::default();
    p.push([3.0, 4.0, 5.0], 7.0);
    let one = run(&p);
    assert_eq!((one.potential[0], &one.gradient.expect("native")[0]), (0.0, &vec![0.0]));
    p.push([3.0, 4.0, 7.0], -1.0);
    let two = run(&p);
    assert_eq!(two.potential, [-0.5, 3.5]);
    let [gx, gy, gz] = two.gradient.expect("native");
    assert_eq!((gx, gy, gz), (vec![0.0; 2], vec![0.0; 2], vec![-0.25, -1.75]));
    // Coincident particles do not act on each other, nor do uncharged ones.
    let mut same = Particles::default();
    (0..300).for_each(|k| same.push([0.1, 0.2, 0.3], k as f64));
    assert!(run(&same).potential.iter().all(|p| *p == 0.0));
    let mut zero = generate(500, Distribution::Uniform, Charge::Random, 1);
    zero.q.fill(0.0);
    let field = run(&zero);
    assert!(field.potential.iter().chain(field.gradient.iter().flatten().flatten()).all(|x| *x == 0.0));
}

#[test]
fn particles_on_cell_borders_and_in_clumps_are_right() {
    let mut p = Particles::default();
    for k in 0..1000 {
        p.push([k % 10, k / 10 % 10, k / 100].map(|x| x as f64 / 8.0), 1.0 + (k % 7) as f64);
    }
    // Two dozen particles in each of two points, one of them on a border.
    (0..24).for_each(|_| p.push([0.5, 0.5, 0.5], -2.0));
    (0..24).for_each(|_| p.push([0.51, 0.51, 0.51], 3.0));
    // Closer together than the integer grid, and closer than f64 can square.
    p.push([0.0, 0.0, 1e-12], 1.0);
    p.push([0.0, 0.0, 1e-100], 1.0);
    let options = FmmOptions { order: 12, leaf: 16, ..FmmOptions::default() };
    for precision in [Precision::F32, Precision::F64] {
        let e = errors(&p, &FmmOptions { precision, ..options.clone() });
        assert!(e.potential_rel_l2 < 1e-5 && e.gradient_median < Some(5e-4), "{precision:?} {e:?}");
    }
    // Distances whose third powers f64 does not have.
    p.push([0.0, 1e-150, 0.0], 3.0);
    let field = solve(&p, &options).field;
    assert!((field.potential[0] / 3e150 - 1.0).abs() < 1e-12, "{}", field.potential[0]);
}

#[test]
fn huge_and_tiny_units_give_the_same_errors() {
    let p = generate(2000, Distribution::Uniform, Charge::Positive, 6);
    let options = FmmOptions { leaf: 16, ..FmmOptions::default() };
    let plain = errors(&p, &options);
    for (length, charge) in [(1e120, 1e30), (1e-90, 1e-100), (1.0, 1e-300), (1e100, 1e-50)] {
        let scaled = Particles {
            x: p.x.iter().map(|x| x * length).collect(),
            y: p.y.iter().map(|x| x * length).collect(),
            z: p.z.iter().map(|x| x * length).collect(),
            q: p.q.iter().map(|q| q * charge).collect(),
        };
        let e = errors(&scaled, &options);
        assert!((e.potential_rel_l2 / plain.potential_rel_l2 - 1.0).abs() < 0.1, "{length} {e:?} {plain:?}");
        assert!((e.gradient_rel_l2.expect("g") / plain.gradient_rel_l2.expect("g") - 1.0).abs() < 0.1, "{length}");
    }
}

#[test]
fn softening_acts_on_near_pairs() {
    let mut p = generate(300, Distribution::Uniform, Charge::Positive, 6);
    (0..3).for_each(|_| p.push([0.5; 3], 1.0));
    // One leaf: everything is near.
    let e = errors(&p, &FmmOptions { leaf: 400, eps: 0.1, ..FmmOptions::default() });
    assert!(e.potential_rel_l2 < 1e-14 && e.gradient_rel_l2 < Some(1e-14), "{e:?}");
}

#[test]
fn an_angle_near_0_is_direct_summation() {
    let p = generate(2000, Distribution::Plummer, Charge::Positive, 5);
    for theta in [0.01, 1e-9, 5e-324] {
        for basis in [Basis::Cartesian, Basis::Solid] {
            for (precision, bound) in [(Precision::F64, 1e-13), (Precision::F32, 1e-5)] {
                let options = FmmOptions { theta, basis, precision, leaf: 20, ..FmmOptions::default() };
                let plan = Plan::new(p.columns(), &options).expect("good options");
                let found = plan.solve(&p.q, &mut [], &mut |_, _, _| {}).expect("it runs");
                let e = measure(&p, &found.field, 200, 1, 0.0);
                assert!(e.gradient_rel_l2 < Some(bound), "{theta} {basis:?} {precision:?}: {e:?}");
                assert_eq!((found.stats.pairs.m2l, found.stats.streamed.m2l), (0, 0), "{theta}");
            }
        }
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let p = generate(3, Distribution::Uniform, Charge::Random, 1);
    let refused = |o: FmmOptions| Plan::new(p.columns(), &o).err().expect("out of range").to_string();
    for (basis, most) in [(Basis::Cartesian, 20), (Basis::Solid, 30)] {
        for order in [0, most + 1] {
            let text = refused(FmmOptions { order, basis, ..FmmOptions::default() });
            assert!(text.contains(&format!("order must be 1 to {most}")), "{text}");
        }
    }
    for theta in [0.0, 0.6, -0.1, f64::NAN] {
        assert!(refused(FmmOptions { theta, ..FmmOptions::default() }).contains("theta"));
    }
    assert!(refused(FmmOptions { leaf: 0, ..FmmOptions::default() }).contains("leaf"));
    assert!(refused(FmmOptions { eps: f64::INFINITY, ..FmmOptions::default() }).contains("softening"));
    // However small, a number is not written out.
    assert!(refused(FmmOptions { eps: -1e-300, ..FmmOptions::default() }).ends_with("not -1e-300"));
}

#[test]
fn a_plan_that_was_used_gives_the_bits_of_a_new_one() {
    let p = generate(3000, Distribution::Plummer, Charge::Random, 8);
    let other: Vec<f64> = (0..p.len()).map(|k| (k % 17) as f64 * 1e-3 - 4.0).collect();
    for basis in [Basis::Cartesian, Basis::Solid] {
        for precision in [Precision::F32, Precision::F64] {
            let options = FmmOptions { order: 5, leaf: 20, basis, precision, ..FmmOptions::default() };
            let plan = Plan::new(p.columns(), &options).expect("good options");
            let run = |plan: &Plan, q: &[f64]| {
                plan.solve(q, &mut [], &mut |_, _, _| {}).expect("the CPU is always there").field
            };
            let (first, second) = (run(&plan, &p.q), run(&plan, &other));
            assert_eq!(run(&plan, &p.q), first);
            assert_eq!(run(&Plan::new(p.columns(), &options).expect("good options"), &other), second);
        }
    }
    let plan = Plan::new(p.columns(), &FmmOptions::default()).expect("good options");
    let refused = |q: &[f64]| plan.solve(q, &mut [], &mut |_, _, _| {}).expect_err("wrong").to_string();
    assert_eq!(refused(&other[1..]), "2999 charges were given for 3000 particles");
    assert!(refused(&vec![f64::NAN; 3000]).contains("finite"));
}
