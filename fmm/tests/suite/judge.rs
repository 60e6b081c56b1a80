//! The judged bound against errors that are known.

use fmm::data::particles::Field;
use fmm::data::random::Random;
use fmm::direct::error::draw;
use fmm::direct::error::relative;
use fmm::direct::error::sample;
use fmm::octree::tune::judge::*;

/// Fields of gradients along x: one that is right, one that is off, and one of a lower order that is off by twice as much.
fn fields(n: usize, size: impl Fn(usize) -> f64, off: impl Fn(usize) -> f64) -> [Field; 3] {
    [0.0, 1.0, 2.0].map(|part| {
        let column = (0..n).map(|k| size(k) + part * off(k)).collect();
        let gradient = Some([column, vec![0.0; n], vec![0.0; n]]);
        Field { potential: vec![1.0; n], gradient, hessian: None }
    })
}

/// A judge of `measured` targets, and of more where the run of a lower order is given.
fn judge([right, off, lower]: &[Field; 3], measured: usize, is_divided: bool) -> Judge {
    let n = right.potential.len();
    let right = |k: &usize| {
        let x = right.gradient.as_ref().expect("a gradient")[0][*k];
        [1.0, x, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    };
    let targets = draw(n, measured, &mut Random::new(3));
    let reference: Vec<_> = targets.iter().map(right).collect();
    let mut judge = Judge::new((n, 1.0), targets, &reference, 3);
    if is_divided {
        let more = judge.divide(off, lower);
        let reference: Vec<_> = more.iter().map(right).collect();
        judge.add(more, &reference);
    }
    judge
}

#[test]
fn equal_targets_have_one_error() {
    for measured in [1000, 4000, 20_000] {
        let fields = fields(20_000, |_| 2.0, |_| 2e-3);
        let judge = judge(&fields, measured, false);
        assert!((judge.bound(&fields[1]) / (2e-3 / 2.002) - 1.0).abs() < 1e-9);
        let error = judge.errors(&fields[1]);
        assert!(error.samples == measured && (error.gradient_rel_l2.expect("a gradient") / 1e-3 - 1.0).abs() < 1e-9);
    }
    let fields = fields(10, |k| k as f64 + 1.0, |k| if k == 0 { 1e-9 } else { 0.0 });
    let few = judge(&fields, 10, false);
    assert!((few.bound(&fields[1]) / (1e-18 / 385f64).sqrt() - 1.0).abs() < 1e-6, "all of them are measured");
}

#[test]
fn the_largest_but_some_is_that_of_all_in_order() {
    let mut random = Random::new(5);
    for n in [1, 2, 100, 200_000] {
        let lengths: Vec<f64> = (0..n).map(|k| if k % 7 == 3 { 0.0 } else { (20.0 * random.normal()).exp() }).collect();
        let mut sorted = lengths.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        for many in [0, n / 500, n / 33, n / 2, n - 1] {
            assert_eq!(largest_but(&lengths, many), sorted[many], "{many} of {n}");
        }
    }
}

#[test]
fn judged_targets_are_not_those_of_a_check() {
    let (judged, checked) = (targets(1_000_000, 1_000_000, 7), checked(1_000_000, 7));
    assert_eq!((judged.len(), checked.len()), (LEAST, SAMPLES));
    assert!(judged.iter().filter(|k| checked.binary_search(k).is_ok()).count() < 10);
}

#[test]
fn a_pair_that_is_larger_than_all_others_beyond_any_square_does_not_hide_their_errors() {
    for huge in [1e100, 1e200, 1e300] {
        let fields = fields(20_000, |k| if k < 2 { huge } else { 1.0 }, |k| if k < 2 { 0.0 } else { 1e-2 });
        for measured in [1000, 20_000] {
            let bound = judge(&fields, measured, measured < 20_000).bound(&fields[1]);
            assert!((bound / 1e-2 - 1.0).abs() < 0.02, "{huge} {measured}: {bound}");
        }
    }
}

#[test]
fn what_formats_leave_of_a_close_pair_is_not_given_to_others() {
    // Errors are a millionth of each gradient, of which a few are a thousand times as large as others.
    let size = |k: usize| if k % 100 == 7 { 1e3 + k as f64 } else { 1.0 };
    let fields = fields(20_000, size, |k| 1e-6 * size(k));
    let bound = judge(&fields, 2000, true).bound(&fields[1]);
    assert!(bound > 0.9e-6 && bound < 2e-6, "{bound}");
}

#[test]
fn errors_of_other_targets_are_below_the_bound() {
    // A pair in 500 is close and large; one target in 300, or in 2000, has most of the error.
    let size = |k: usize| if k % 500 == 7 { 300.0 } else { 1.0 };
    for (rare, measured, is_divided) in
        [(300, 1000, false), (300, 5000, false), (300, 30_000, false), (2000, 500, true), (2000, 30_000, false)]
    {
        let off = |k: usize| if k % rare == 11 { 1e-2 } else { 1e-5 };
        let fields = fields(30_000, size, off);
        let bound = judge(&fields, measured, is_divided).bound(&fields[1]);
        let errors: Vec<f64> = (100..400)
            .map(|seed| {
                let targets = sample(30_000, 1000, seed);
                let of = |of: &dyn Fn(usize) -> f64| targets.iter().map(|k| of(*k)).collect::<Vec<_>>();
                relative(&of(&off), &of(&size))
            })
            .collect();
        let above = errors.iter().filter(|e| **e > bound).count();
        let largest = errors.iter().fold(0.0, |a: f64, e| a.max(*e));
        // Of 1000 other samples three are expected above it.
        assert!(above <= 4 && bound < 2.0 * largest, "{rare} {measured}: {above} above {bound}, {largest}");
    }
}
