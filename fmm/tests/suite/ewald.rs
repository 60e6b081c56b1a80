//! Ewald sums against Madelung constants, against each other for several `alpha`, and against sums over very many images.

use fmm::arith::wide;
use fmm::arith::wide::WideValues;
use fmm::data::Force;
use fmm::data::particles::Particles;
use fmm::data::periodic::ALL_AXES;
use fmm::data::periodic::Periodic;
use fmm::data::problem::{Geometry, Sources};
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::ewald::*;
use fmm::direct::summation::Direct;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

fn all(particles: &Particles, periodic: &Periodic, alpha: f64) -> Vec<Force> {
    let targets: Vec<usize> = (0..particles.len()).collect();
    let all = with_alpha(&Direct::of(particles, 0.0), &targets, periodic, alpha);
    all.into_iter().map(|v| [v[0], v[1], v[2], v[3]]).collect()
}

#[test]
fn crystals_have_their_madelung_constants() {
    let length = 3.7;
    let cube = Periodic { length, axes: [true; 3] };
    // Eight ions of NaCl with alternating charges, half a period apart.
    let mut salt = Particles::default();
    for k in 0..8 {
        let at = [k >> 2 & 1, k >> 1 & 1, k & 1];
        salt.push(at.map(|x| x as f64 * length / 2.0), if at.iter().sum::<i32>() % 2 == 0 { 1.0 } else { -1.0 });
    }
    let constant = -all(&salt, &cube, 3.0)[0][0] * length / 2.0;
    assert!((constant - 1.747_564_594_633_182).abs() < 1e-13, "NaCl {constant}");
    // CsCl, by the distance of neighbours.
    let mut caesium = Particles::default();
    caesium.push([0.1; 3], 1.0);
    caesium.push([0.1 + length / 2.0; 3], -1.0);
    let field = all(&caesium, &cube, 4.0);
    let constant = -field[0][0] * length * 0.75f64.sqrt();
    assert!((constant - 1.762_674_773_070_99).abs() < 1e-13, "CsCl {constant}");
    assert!(field[0][1..].iter().all(|g| g.abs() < 1e-13));
    // A chain of alternating charges: 2 ln 2; a square net of them: 1.61554262671282.
    let mut chain = Particles::default();
    chain.push([0.0; 3], 1.0);
    chain.push([0.0, length / 2.0, 0.0], -1.0);
    let constant = -all(&chain, &Periodic { length, axes: [false, true, false] }, 3.0)[0][0] * length / 2.0;
    assert!((constant - 2.0 * 2f64.ln()).abs() < 1e-13, "chain {constant}");
    let mut net = Particles::default();
    for k in 0..4 {
        net.push([0.5 * (k & 1) as f64 * length, 0.0, 0.5 * (k >> 1) as f64 * length], [1.0, -1.0, -1.0, 1.0][k]);
    }
    let constant = -all(&net, &Periodic { length, axes: [true, false, true] }, 3.0)[0][0] * length / 2.0;
    assert!((constant - 1.615_542_626_712_82).abs() < 1e-13, "net {constant}");
}

#[test]
fn one_charge_has_the_constants_of_its_lattice() {
    let mut one = Particles::default();
    one.push([0.3, -0.2, 7.1], 2.0);
    let at = |axes| all(&one, &Periodic { length: 1.0, axes }, 5.0)[0][0] / 2.0;
    // Nijboer and De Wette; the square lattice; 2 gamma - 2 ln 2.
    assert!((at([true; 3]) + 2.837_297_479_480_619).abs() < 1e-13);
    assert!((at([true, true, false]) + 3.900_264_920_001_956).abs() < 1e-13);
    assert!((at([false, false, true]) - 2.0 * (EULER - 2f64.ln())).abs() < 1e-13);
}

#[test]
fn results_do_not_depend_on_alpha() {
    for (dist, charge) in [(Distribution::Uniform, Charge::Random), (Distribution::Normal, Charge::Positive)] {
        let p = generate(12, dist, charge, 3);
        for axes in ALL_AXES {
            let periodic = Periodic { length: 1.0, axes };
            let fields = [2.0, 3.7, 13.0].map(|alpha| all(&p, &periodic, alpha));
            for field in &fields[1..] {
                for (k, (a, b)) in field.iter().zip(&fields[0]).enumerate() {
                    for c in 0..4 {
                        let size = 10.0 + b[0].abs() + b[1..].iter().map(|g| g * g).sum::<f64>().sqrt();
                        assert!((a[c] - b[c]).abs() < 3e-13 * size, "{axes:?} {k} {c}: {} {}", a[c], b[c]);
                    }
                }
            }
        }
    }
}

#[test]
fn neutral_cells_without_dipole_are_sums_over_very_many_images() {
    // Charges about a point so that neither charge, dipole nor quadrupole is left: images beyond 20 give less than 1e-8.
    let mut p = Particles::default();
    for k in 0..8 {
        let sign = |b: i32| if k >> b & 1 == 0 { 1.0 } else { -1.0 };
        p.push([0.1 * sign(0), 0.07 * sign(1), 0.05 * sign(2)], sign(0) * sign(1) * sign(2));
    }
    p.push([0.25, 0.1, -0.2], 0.0);
    let targets: Vec<usize> = (0..p.len()).collect();
    for axes in ALL_AXES {
        let periodic = Periodic { length: 1.0, axes };
        let found = reference(&p, &targets, 0.0, &periodic);
        let most = axes.map(|a| if a { 20i32 } else { 0 });
        #[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
        for i in 0..p.len() {
            let mut plain = [0.0; 4];
            for n in (0..41 * 41 * 41i32).map(|k| [k / 1681 - 20, k / 41 % 41 - 20, k % 41 - 20]) {
                if (0..3).any(|a| n[a].abs() > most[a]) {
                    continue;
                }
                for j in (0..8).filter(|j| *j != i || n != [0; 3]) {
                    let d: [f64; 3] = std::array::from_fn(|a| p.position(j)[a] + n[a] as f64 - p.position(i)[a]);
                    let r2: f64 = d.iter().map(|d| d * d).sum();
                    plain[0] += p.q[j] / r2.sqrt();
                    (0..3).for_each(|a| plain[a + 1] += p.q[j] * d[a] / (r2 * r2.sqrt()));
                }
            }
            for a in 0..4 {
                assert!((found[i][a] - plain[a]).abs() < 1e-8, "{axes:?} {i} {a}: {} {}", found[i][a], plain[a]);
            }
        }
    }
}

#[test]
fn units_and_places_do_not_matter() {
    let p = generate(30, Distribution::Uniform, Charge::Random, 8);
    let targets: Vec<usize> = (0..p.len()).collect();
    for axes in ALL_AXES {
        let plain = reference(&p, &targets, 0.01, &Periodic { length: 1.0, axes });
        for unit in [2f64.powi(-900), 2f64.powi(900)] {
            // Moved by periods and, along free axes, by a power of two.
            let mut moved = Particles::default();
            for k in 0..p.len() {
                let at = p.position(k).map(|x| (x * 2f64.powi(40)).round() * 2f64.powi(-40));
                moved.push([0, 1, 2].map(|a| unit * (at[a] + [3.0, -5.0, 64.0][a])), p.q[k]);
            }
            let found = reference(&moved, &targets, 0.01 * unit, &Periodic { length: unit, axes });
            for (a, b) in found.iter().zip(&plain) {
                assert!((a[0] * unit - b[0]).abs() < 1e-6 * b[0].abs().max(1.0), "{axes:?}");
                // The square of the unit is beyond f64.
                let slope = a[1] * unit * unit;
                assert!(!slope.is_normal() || (slope - b[1]).abs() < 1e-4 * b[1].abs().max(10.0), "{axes:?}");
            }
        }
    }
}

/// Charges and dipoles in a box, some of them softened, and where they are felt.
struct Carried {
    sources: Particles,
    moments: Particles,
    eps: f64,
}

fn carried(eps: f64) -> Carried {
    let [sources, moments] = [5, 6].map(|seed| generate(12, Distribution::Uniform, Charge::Random, seed));
    Carried { sources, moments, eps }
}

impl Carried {
    /// Potential, gradient and second derivatives at points.
    fn at(&self, points: &[[f64; 3]], periodic: &Periodic) -> Vec<[f64; 10]> {
        let mut targets = Particles::default();
        points.iter().for_each(|x| targets.push(*x, 0.0));
        let geometry = Geometry { sources: self.sources.columns(), targets: Some(targets.columns()) };
        let sources = Sources { charges: Some(&self.sources.q), dipoles: Some(self.moments.columns()) };
        let direct = Direct { geometry, sources, eps: self.eps, hessian: true };
        reference_of(&direct, &(0..points.len()).collect::<Vec<_>>(), periodic)
    }
}

/// The gradient is the slope of the potential, and a second derivative that of the gradient.
#[test]
fn derivatives_are_slopes() {
    const STEP: f64 = 1e-4;
    // Not at a face of the box, where other images come to be among those that are softened.
    let points = [[0.31, 0.12, 0.77], [0.02, 0.45, 0.4], [0.9, 0.97, 0.55]];
    for axes in ALL_AXES {
        for eps in [0.0, 0.2] {
            let (all, periodic) = (carried(eps), Periodic { length: 1.0, axes });
            for x in points {
                let moved = |a: usize, by: f64| [0, 1, 2].map(|b| x[b] + if a == b { by } else { 0.0 });
                let around = [0, 1, 2].map(|a| all.at(&[moved(a, STEP), moved(a, -STEP)], &periodic));
                let here = all.at(&[x], &periodic)[0];
                let size = here.iter().fold(100.0, |s: f64, v| s.max(v.abs()));
                let is = |found: f64, a: usize, of: usize| {
                    let slope = (around[a][0][of] - around[a][1][of]) / (2.0 * STEP);
                    assert!((found - slope).abs() < 1e-4 * size, "{axes:?} {eps} {a} {of}: {found} {slope}");
                };
                let mut place = 4;
                for a in 0..3 {
                    is(here[a + 1], a, 0);
                    for b in a..3 {
                        is(here[place], a, b + 1);
                        is(here[place], b, a + 1);
                        place += 1;
                    }
                }
            }
        }
    }
}

/// A dipole is two charges of 1/h and -1/h at the ends of h p.
#[test]
fn dipoles_are_pairs_of_charges() {
    const STEP: f64 = 1e-4;
    let points = [[0.31, 0.12, 0.77], [0.02, 0.5, 0.4], [0.9, 0.97, 0.55]];
    for axes in ALL_AXES {
        for eps in [0.0, 0.2] {
            let (all, periodic) = (carried(eps), Periodic { length: 1.0, axes });
            let mut pairs = all.sources.clone();
            for k in 0..all.sources.len() {
                let (x, p) = (all.sources.position(k), all.moments.position(k));
                for sign in [1.0, -1.0] {
                    pairs.push([0, 1, 2].map(|a| x[a] + sign * STEP * p[a]), sign / (2.0 * STEP));
                }
            }
            points.iter().for_each(|x| pairs.push(*x, 0.0));
            let targets: Vec<usize> = (pairs.len() - points.len()..pairs.len()).collect();
            let wanted = reference(&pairs, &targets, eps, &periodic);
            for (found, wanted) in all.at(&points, &periodic).iter().zip(&wanted) {
                let size = wanted.iter().fold(10.0, |s: f64, v| s.max(v.abs()));
                for (found, wanted) in found.iter().zip(wanted) {
                    assert!((found - wanted).abs() < 1e-4 * size, "{axes:?} {eps}: {found} {wanted}");
                }
            }
        }
    }
}

#[test]
fn neutral_cells_of_charges_and_dipoles_are_sums_over_very_many_images() {
    // Neither charge, dipole nor quadrupole is left.
    let (mut charges, mut moments) = (Particles::default(), Particles::default());
    for k in 0..8 {
        let sign = |b: i32| if k >> b & 1 == 0 { 1.0 } else { -1.0 };
        let all = sign(0) * sign(1) * sign(2);
        charges.push([0.1 * sign(0), 0.07 * sign(1), 0.05 * sign(2)], all);
        moments.push([0.03 * all, -0.05 * all, 0.04 * all], 0.0);
    }
    let points = [[0.25, 0.1, -0.2], [0.03, -0.4, 0.31]];
    let all = Carried { sources: charges, moments, eps: 0.0 };
    for axes in ALL_AXES {
        let found = all.at(&points, &Periodic { length: 1.0, axes });
        let most = axes.map(|a| if a { 20i32 } else { 0 });
        for (x, found) in points.iter().zip(&found) {
            let mut plain = WideValues::default();
            for n in (0..41 * 41 * 41i32).map(|k| [k / 1681 - 20, k / 41 % 41 - 20, k % 41 - 20]) {
                if (0..3).any(|a| n[a].abs() > most[a]) {
                    continue;
                }
                for j in 0..8 {
                    let source = [0, 1, 2].map(|a| all.sources.position(j)[a] + n[a] as f64);
                    let carried =
                        wide::Carried { charge: all.sources.q[j], dipole: all.moments.position(j), exponent: 0 };
                    wide::act_all(*x, source, &carried, 0.0, &mut plain);
                }
            }
            for (found, plain) in found.iter().zip(plain.map(|v| v.to_f64())) {
                assert!((found - plain).abs() < 1e-7, "{axes:?} {x:?}: {found} {plain}");
            }
        }
    }
}

#[test]
fn pairs_closer_than_f64_squares_are_right_in_any_unit() {
    for length in [1.0, 8.0, 1e-9] {
        let distance = 1e-70 * length;
        let mut p = Particles::default();
        p.push([0.0; 3], 1.0);
        p.push([distance, 0.0, 0.0], 2.0);
        let found = reference(&p, &[0], 0.0, &Periodic { length, axes: [true; 3] })[0];
        assert!((found[0] * distance / 2.0 - 1.0).abs() < 1e-12, "{length}: {found:?}");
        assert!((found[1] * distance * distance / 2.0 - 1.0).abs() < 1e-12, "{length}: {found:?}");
    }
}
