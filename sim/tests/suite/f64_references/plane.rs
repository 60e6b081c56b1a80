//! Twins of the kernels in the plane, of complex strengths.

use super::{F64Reference, Term, check, symmetric};
use sim::stimuli::Random;

type Complex = (f64, f64);

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn inverse(a: Complex) -> Complex {
    let square = a.0 * a.0 + a.1 * a.1;
    (a.0 / square, -a.1 / square)
}

/// Both parts, each of the size of all.
fn parts(z: Complex) -> [Term; 2] {
    [(z.0, z.0.hypot(z.1)), (z.1, z.0.hypot(z.1))]
}

fn position(random: &mut Random) -> Vec<f64> {
    (0..2).map(|_| symmetric(random, 0.5)).collect()
}

fn position_and_strength(random: &mut Random) -> Vec<f64> {
    let mut v = position(random);
    v.extend((0..2).map(|_| symmetric(random, 1.0)));
    v
}

fn harmonic(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    let d = (j[0] - i[0], j[1] - i[1]);
    if d == (0.0, 0.0) {
        return vec![(0.0, 0.0); 2];
    }
    parts(times((j[2], j[3]), inverse(d))).to_vec()
}

#[test]
fn harmonic_sources_have_poles() {
    // Twice the difference, and half a unit for each of a square, a sum, a product and the last sum; the inverse takes two.
    let (i, j) = (position, position_and_strength);
    check(&F64Reference {
        name: "harmonic2d",
        params: vec![],
        i,
        j,
        pair: harmonic,
        roundings: 11.0,
        mant: 16,
        constants: 0.0,
    });
}

fn log(i: &[f64], j: &[f64], _: &[f64]) -> Vec<Term> {
    let d = (i[0] - j[0], i[1] - j[1]);
    if d == (0.0, 0.0) {
        return vec![(0.0, 0.0); 4];
    }
    let logarithm = d.0.hypot(d.1).ln();
    // What the square of the distance is off by stays where its logarithm is 0.
    let potential = [j[2], j[3]].map(|m| (m * logarithm, m.abs() * (1.0 + logarithm.abs())));
    potential.into_iter().chain(parts(times((j[2], j[3]), inverse(d)))).collect()
}

#[test]
fn logarithms_have_poles_as_derivatives() {
    let (i, j) = (position, position_and_strength);
    check(&F64Reference { name: "log2d", params: vec![], i, j, pair: log, roundings: 11.0, mant: 16, constants: 0.0 });
    // The f64 reference's second output is the derivative of its first, for a real strength.
    let (j, h) = ([0.3, 0.1, 0.75, 0.0], 1e-6);
    let at = |x: f64, y: f64| log(&[x, y], &j, &[])[0].0;
    let slope =
        [(at(0.1 + h, -0.2) - at(0.1 - h, -0.2)) / (2.0 * h), (at(0.1, -0.2 + h) - at(0.1, -0.2 - h)) / (2.0 * h)];
    let now = log(&[0.1, -0.2], &j, &[]);
    assert!((slope[0] - now[2].0).abs() < 1e-8 && (slope[1] + now[3].0).abs() < 1e-8, "{slope:?} {now:?}");
}
