//! Measured errors of results that are known.

use fmm::data::particles::Field;
use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::*;
use fmm::direct::summation;

#[test]
fn samples_are_distinct_and_depend_on_the_seed_alone() {
    let s = sample(100, 30, 4);
    assert_eq!(s, sample(100, 30, 4));
    assert_ne!(s, sample(100, 30, 5));
    assert!(s.windows(2).all(|w| w[0] < w[1]) && s.len() == 30);
    assert_eq!(sample(5, 30, 4), [0, 1, 2, 3, 4]);
    assert!(sample(0, 30, 4).is_empty());
}

#[test]
fn a_known_error_is_measured() {
    let p = generate(50, Distribution::Uniform, Charge::Positive, 1);
    let all: Vec<usize> = (0..50).collect();
    let exact = summation::reference(&p, &all, 0.0);
    let mut field = Field {
        potential: exact.iter().map(|f| f[0] * 1.01).collect(),
        gradient: Some([1, 2, 3].map(|a| exact.iter().map(|f| f[a] * 1.02).collect())),
        hessian: None,
    };
    let e = measure(&p, &field, 50, 1, 0.0);
    assert!((e.potential_rel_l2 - 0.01).abs() < 1e-12);
    for g in [e.gradient_rel_l2, e.gradient_median, e.gradient_p99] {
        assert!((g.expect("a gradient") - 0.02).abs() < 1e-12);
    }
    field.gradient = None;
    assert_eq!(measure(&p, &field, 10, 1, 0.0).gradient_p99, None);
}

/// A reference of nothing, or of next to nothing, gives numbers, in any unit.
#[test]
fn errors_beside_a_reference_of_nothing_are_finite() {
    let field = |x: f64| Field {
        potential: vec![x; 3],
        gradient: Some([vec![x; 3], vec![0.0; 3], vec![-x; 3]]),
        hessian: None,
    };
    for (found, right) in [(1.0, 0.0), (1e-300, 0.0), (1e300, 0.0), (1.0, 5e-324), (1e300, 1e-300)] {
        let e = compare(&field(found), &[0, 1, 2], &[[right, right, 0.0, -right]; 3], 1.0);
        let all = [Some(e.potential_rel_l2), e.gradient_rel_l2, e.gradient_median, e.gradient_p99];
        assert!(all.iter().all(|x| *x == Some(1.0)) && e.reference_vanishes, "{found:e} {right:e}: {e:?}");
    }
    let e = compare(&field(0.0), &[0, 1, 2], &[[0.0; 4]; 3], 1.0);
    assert!(e.potential_rel_l2 == 0.0 && e.gradient_rel_l2 == Some(0.0) && !e.reference_vanishes, "{e:?}");
    // One target without a gradient has no relative error of its own beside others.
    let right = [1.0, 1.0, 0.0, -1.0];
    let e = compare(&field(1.0), &[0, 1, 2], &[right, [1.0, 0.0, 0.0, 0.0], right], 1.0);
    assert!(!e.reference_vanishes && e.gradient_p99 == Some(0.0) && e.gradient_rel_l2 > Some(0.5), "{e:?}");
}

/// Forces of a crystal are 0: what rounding leaves of them is no measure of an error, in any unit of length and charge.
#[test]
fn errors_of_gradients_that_vanish_are_relative_to_the_potential() {
    for (edge, unit) in [(1.0, 1.0), (2e-200, 3e-100), (1e300, 1e-5), (1e-9, 1e250)] {
        let potential = 2.0 * unit;
        let gradient = |part: f64| part * potential / edge;
        let reference = [[potential, gradient(1e-15), 0.0, 0.0], [-potential, 0.0, gradient(-3e-13), 0.0]];
        let found = [vec![gradient(1e-4), 0.0], vec![0.0, 0.0], vec![0.0, gradient(1e-6)]];
        let field = |g| Field { potential: vec![potential, -potential], gradient: Some(g), hessian: None };
        let e = compare(&field(found.clone()), &[0, 1], &reference, edge);
        let [all, p99] = [e.gradient_rel_l2, e.gradient_p99].map(|x| x.expect("a gradient"));
        assert!(e.gradient_vanishes && (all / 1e-4 - 0.5f64.sqrt()).abs() < 1e-3 && (p99 / 1e-4 - 1.0).abs() < 1e-3);
        let of_one_place = compare(&field(found.clone()), &[0, 1], &reference, 0.0);
        assert!(!of_one_place.gradient_vanishes && of_one_place.gradient_rel_l2 > Some(1.0), "{of_one_place:?}");
        // Gradients of this size are measured as any others.
        let reference = [[potential, gradient(1e-4), 0.0, 0.0], [-potential, 0.0, 0.0, gradient(1e-7)]];
        let e = compare(&field(found), &[0, 1], &reference, edge);
        assert!(!e.gradient_vanishes && e.gradient_rel_l2 < Some(0.01) && e.gradient_p99 > Some(8.0), "{e:?}");
    }
}
