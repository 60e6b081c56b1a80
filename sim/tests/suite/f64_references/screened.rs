//! References of the kernels of screened charges: Yukawa's potential, and Ewald's sum in real space.

use super::{F64Reference, Pair, Term, check, dot, nearest_image, shaken, sized};
use sim::stimuli::Random;
use std::f64::consts::FRAC_2_SQRT_PI;

/// Energy and force of charges i[3] and j[3] in a periodic box: `p` are its side, the screening, and the square of the cut-off.
/// `screens` gives the two factors by which screening changes energy and force. Sizes are at least
/// `size` times those of the unscreened terms.
fn screened(i: &[f64], j: &[f64], p: &[f64], screens: fn(f64) -> (f64, f64), size: f64) -> Vec<Term> {
    let r = nearest_image(i, j).map(|x| x * p[0]);
    let r2 = dot(&r, &r);
    if r2 == 0.0 || r2 >= p[2] {
        return vec![(0.0, 0.0); 4];
    }
    let plain = i[3] * j[3] / r2.sqrt();
    let (energy, force) = screens(p[1] * r2.sqrt());
    let bound = size * plain.abs();
    let vector = sized(r.map(|x| -plain * force * x / r2)).map(|(x, s)| (x, s.max(bound / r2.sqrt())));
    std::iter::once((plain * energy, bound)).chain(vector).collect()
}

fn yukawa(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    screened(i, j, p, |s| ((-s).exp(), (1.0 + s) * (-s).exp()), 0.0)
}

/// erfc(s) by its definition: one less the integral of the bell curve, by Simpson's rule.
fn erfc(s: f64) -> f64 {
    let (n, bell) = (2000, |t: f64| FRAC_2_SQRT_PI * (-t * t).exp());
    let h = s / n as f64;
    let inner: f64 = (1..n).map(|k| bell(k as f64 * h) * if k % 2 == 1 { 4.0 } else { 2.0 }).sum();
    1.0 - (bell(0.0) + inner + bell(s)) * h / 3.0
}

fn ewald(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let screens = |s: f64| {
        let rest = if s < 4.0 { 1.0 } else { 0.0 };
        (rest * erfc(s), rest * (erfc(s) + FRAC_2_SQRT_PI * s * (-s * s).exp()))
    };
    screened(i, j, p, screens, 1.0)
}

fn target(random: &mut Random) -> Vec<f64> {
    charged(random, 0.6)
}

fn source(random: &mut Random) -> Vec<f64> {
    charged(random, 0.1)
}

fn charged(random: &mut Random, offset: f64) -> Vec<f64> {
    let mut v = shaken(random, offset);
    v.push(super::symmetric(random, 1.0));
    v
}

/// The force of an f64 reference is minus the slope of its energy.
fn force_is_the_slope_of_the_energy(pair: Pair, p: &[f64]) {
    let (i, j, h) = ([0.1, -0.2, 0.45, 0.75], [0.2, 0.0, -0.4, -0.5], 1e-6);
    for k in 0..3 {
        let energy = |t: f64| {
            let mut i = i;
            i[k] += t / p[0];
            pair(&i, &j, p)[0].0
        };
        let (slope, force) = ((energy(h) - energy(-h)) / (2.0 * h), pair(&i, &j, p)[1 + k].0);
        assert!((slope + force).abs() < 1e-7, "{slope} {force}");
        assert!(force != 0.0, "within the cut-off");
    }
}

#[test]
fn yukawa_charges_are_screened_exponentially() {
    // Counted at kappa r = 5: 15 for kappa r itself, so 75 and 2 for the exponential, 10 for the other factors of the energy;
    // 32 more for those of the force.
    let params = vec![6.0, 2.0, 6.25];
    force_is_the_slope_of_the_energy(yukawa, &params);
    check(&F64Reference {
        name: "yukawa",
        params,
        i: target,
        j: source,
        pair: yukawa,
        roundings: 120.0,
        mant: 16,
        constants: 0.0,
    });
}

/// Potential and gradient at i[3] of the charge j[3]; `p` are the edge of the box and the screening.
fn p2p_yukawa(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let r = super::difference(i, j);
    let r2 = dot(&r, &r);
    if r2 == 0.0 {
        return vec![(0.0, 0.0); 4];
    }
    let s = p[0] * p[1] * r2.sqrt();
    let potential = j[3] * (-s).exp() / r2.sqrt();
    let gradient = sized(r.map(|x| potential * (1.0 + s) * x / r2));
    std::iter::once((potential, 0.0)).chain(gradient).collect()
}

#[test]
fn p2p_of_screened_charges_takes_the_box_s_edge() {
    // Counted as for `yukawa`, at kappa r of at most 6, and one rounding more in kappa r.
    check(&F64Reference {
        name: "p2p_yukawa",
        params: vec![3.0, 1.25],
        i: |random| shaken(random, 0.6),
        j: source,
        pair: p2p_yukawa,
        roundings: 150.0,
        mant: 16,
        constants: 0.0,
    });
}

#[test]
fn ewald_in_real_space_is_screened_by_erfc() {
    // s is off by 15. The slopes s erfc'(s) and s f'(s) are at most 0.49 and 0.93; with the tables, three factors 1 / r and the
    // products it is 20 for the energy and 46 for the force, of the unscreened terms.
    for params in [vec![6.0, 1.25, 6.25], vec![6.0, 1.75, 9.0]] {
        force_is_the_slope_of_the_energy(ewald, &params);
        check(&F64Reference {
            name: "ewald_real",
            params,
            i: target,
            j: source,
            pair: ewald,
            roundings: 46.0,
            mant: 16,
            constants: 0.0,
        });
    }
}
