//! References of the kernels of gravity: with and without jerks, and as codes for GRAPE-5 and GRAPE-6 want it.

use super::{
    F64Reference, Pair, Term, check, difference, dot, position, position_and_one, position_and_vector, sized,
    symmetric, vector,
};
use sim::stimuli::Random;

fn gravity(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    let r = difference(i, j);
    if r == [0.0; 3] {
        return vec![(0.0, 0.0); 4];
    }
    let s2 = dot(&r, &r) + p[0];
    let potential = -j[3] / s2.sqrt();
    let acceleration = r.map(|x| j[3] * x / (s2 * s2.sqrt()));
    std::iter::once((potential, 0.0)).chain(sized(acceleration)).collect()
}

#[test]
fn gravity_is_softened_newton() {
    for eps2 in [0.0, 1e-4] {
        let params = vec![eps2];
        check(&F64Reference {
            name: "gravity",
            params,
            i: position,
            j: position_and_one,
            pair: gravity,
            roundings: 24.0,
            mant: 16,
            constants: 0.0,
        });
    }
}

#[test]
fn gravity_in_logarithms_is_softened_newton() {
    // A conversion to log17.8 is off by 0.68 of its steps of 2^(1/256), a sum or a root by 0.5, and one step is 1.39 half units
    // of 8 fraction bits: with r twice in r^2, two sums and eps2, the power -3/2, and r once more, 8.
    check(&F64Reference {
        name: "gravity_log",
        params: vec![1e-4],
        i: position,
        j: position_and_one,
        pair: |i, j, p| gravity(i, j, p).split_off(1),
        roundings: 8.0,
        mant: 8,
        constants: 0.0,
    });
}

fn hermite(i: &[f64], j: &[f64], p: &[f64]) -> Vec<Term> {
    // i: x, v; j: x, v, m.
    let (r, v) = (difference(i, j), difference(&i[3..], &j[3..]));
    if r == [0.0; 3] { vec![(0.0, 0.0); 7] } else { motion(r, v, j[6], p[0]) }
}

/// Potential, acceleration and jerk by a mass.
fn motion(r: [f64; 3], v: [f64; 3], m: f64, eps2: f64) -> Vec<Term> {
    let s2 = dot(&r, &r) + eps2;
    let (s, s3) = (s2.sqrt(), s2 * s2.sqrt());
    let mut terms = vec![(-m / s, 0.0)];
    terms.extend(sized(r.map(|x| m * x / s3)));
    // The two parts of the jerk may cancel, and so may the products in r v.
    let speed = dot(&v, &v).sqrt();
    let size = (m / s3).abs() * (speed + 3.0 * speed * dot(&r, &r) / s2);
    terms.extend((0..3).map(|k| (m * (v[k] - 3.0 * dot(&r, &v) / s2 * r[k]) / s3, size)));
    terms
}

#[test]
fn hermite_gives_the_derivative_of_the_acceleration() {
    let source = |random: &mut Random| {
        let mut v = position_and_vector(random);
        v.push(symmetric(random, 1.0));
        v
    };
    let params = vec![1e-3];
    check(&F64Reference {
        name: "gravity_hermite",
        params,
        i: position_and_vector,
        j: source,
        pair: hermite,
        roundings: 48.0,
        mant: 16,
        constants: 0.0,
    });
    // The f64 reference's jerk is the difference quotient of its acceleration.
    let (i, j) = ([0.1, -0.2, 0.3, 0.5, -0.5, 0.25], [0.3, 0.1, -0.2, -0.25, 0.125, 0.75, 0.5]);
    let h = 1e-5;
    let moved = |t: f64| {
        let (mut i, mut j) = (i, j);
        (0..3).for_each(|k| (i[k] += t * i[k + 3], j[k] += t * j[k + 3]).0);
        hermite(&i, &j, &[1e-3])
    };
    let (before, now, after) = (moved(-h), moved(0.0), moved(h));
    for k in 0..3 {
        let quotient = (after[1 + k].0 - before[1 + k].0) / (2.0 * h);
        assert!((quotient - now[4 + k].0).abs() < 1e-6 * now[4 + k].1, "{quotient} {:?}", now[4 + k]);
    }
}

#[test]
fn grape_5_gives_a_positive_potential_with_the_source_at_the_target() {
    let pair: Pair = |i, j, p| {
        let r = difference(i, j);
        let s2 = dot(&r, &r) + p[0];
        if s2 == 0.0 {
            return vec![(0.0, 0.0); 4];
        }
        let acceleration = r.map(|x| j[3] * x / (s2 * s2.sqrt()));
        std::iter::once((j[3] / s2.sqrt(), 0.0)).chain(sized(acceleration)).collect()
    };
    for eps2 in [0.0, 1e-4] {
        check(&F64Reference {
            name: "grape5",
            params: vec![eps2],
            i: position,
            j: position_and_one,
            pair,
            roundings: 24.0,
            mant: 16,
            constants: 0.0,
        });
    }
}

#[test]
fn grape_6_leaves_out_the_source_of_the_target_s_index_and_scales_its_sums() {
    /// Coordinates in 2^62 of the unit, velocities, and an index of a few, so that some agree.
    fn body(random: &mut Random) -> Vec<f64> {
        let mut v: Vec<f64> = vector(random, 0.5).iter().map(|x| (x * 2f64.powi(62)).round()).collect();
        v.extend(vector(random, 1.0));
        v
    }
    fn target(random: &mut Random) -> Vec<f64> {
        let mut v = body(random);
        v.extend([(random.bits() % 20) as f64, 4.0, 0.125]);
        v
    }
    fn source(random: &mut Random) -> Vec<f64> {
        let mut v = body(random);
        v.extend([symmetric(random, 1.0), (random.bits() % 20) as f64]);
        v
    }
    let pair: Pair = |i, j, p| {
        let (scales, r) = ([i[7], i[8]], difference(i, j).map(|x| x / 2f64.powi(62)));
        if i[6] == j[7] {
            return vec![(0.0, 0.0); 7];
        }
        let mut terms = motion(r, difference(&i[3..], &j[3..]), j[6], p[0]);
        terms.iter_mut().enumerate().skip(1).for_each(|(k, t)| {
            let scale = scales[(k - 1) / 3];
            *t = (t.0 * scale, t.1 * scale);
        });
        terms
    };
    check(&F64Reference {
        name: "grape6",
        params: vec![1e-3],
        i: target,
        j: source,
        pair,
        roundings: 48.0,
        mant: 23,
        constants: 0.0,
    });
}
