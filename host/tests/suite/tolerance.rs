//! `--tol`: other random targets than those that an order was found with have the wanted error too.

use host::data::random::{Charge, Distribution, generate};
use host::direct::error::{compare, sample};
use host::direct::summation;
use host::expansion::basis::Basis;
use host::fmm::{FmmOptions, tune};

const DISTRIBUTIONS: [Distribution; 5] =
    [Distribution::Uniform, Distribution::Normal, Distribution::Layer, Distribution::Sphere, Distribution::Plummer];
const CHARGES: [Charge; 3] = [Charge::Random, Charge::Positive, Charge::Mass];

/// Other samples of 1000 targets that a run is judged by.
const SAMPLES: u64 = 20;

/// What is wanted of which particles.
struct Case {
    n: usize,
    distribution: Distribution,
    charge: Charge,
    seed: u64,
    theta: Option<f64>,
}

/// The gradient errors of other samples in units of each wanted one, and whether the particles met by anything but P2P.
fn errors(case: &Case, wanted: &[f64]) -> Vec<(Vec<f64>, bool)> {
    let Case { n, seed, .. } = *case;
    let p = generate(n, case.distribution, case.charge, seed);
    let samples: Vec<Vec<usize>> = (0..SAMPLES).map(|s| sample(n, 1000, 1000 * seed + 7 + s)).collect();
    let mut all: Vec<usize> = samples.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let reference = summation::reference(&p, &all, 0.0);
    let of = |wanted: &f64| {
        let usual = FmmOptions {
            theta: case.theta.unwrap_or(0.5),
            basis: Basis::Solid,
            precision: tune::precision(*wanted),
            ..FmmOptions::default()
        };
        let mut options = tune::start(&usual, *wanted);
        options.leaf = tune::leaf(options.basis, options.order, options.precision);
        let free = tune::Free { theta: case.theta.is_none(), precision: true, leaf: true };
        let problem = tune::Problem { particles: &p, p2p: None, seed, is_promise: true, free };
        let tuned = tune::within(*wanted, &problem, &options, &mut [], &mut |_, _, _| {})
            .unwrap_or_else(|e| panic!("{:?} {:?} {n}: {e}", case.distribution, case.charge));
        let error = |targets: &Vec<usize>| {
            let at = |k: &usize| reference[all.binary_search(k).expect("one of them all")];
            let reference: Vec<_> = targets.iter().map(at).collect();
            compare(&tuned.solution.field, targets, &reference).gradient_rel_l2.expect("a gradient") / wanted
        };
        let errors = samples.iter().map(error).collect();
        (errors, tuned.solution.stats.pairs.m2l > 0)
    };
    wanted.iter().map(of).collect()
}

/// Judges many cases: of all samples at most one in a hundred has a larger error, and none one that is far larger; half of them have
/// an error of more than a fifth, where not all is summed directly anyway.
fn check(cases: &[Case], wanted: &[f64]) {
    let (mut total, mut over, mut above, mut far) = (0, 0, 0, 0);
    for case in cases {
        for ((errors, has_far), wanted) in errors(case, wanted).into_iter().zip(wanted) {
            let largest = errors.iter().fold(0.0, |a: f64, e| a.max(*e));
            let Case { n, distribution, charge, seed, theta } = case;
            println!("{n} {distribution:?} {charge:?} {seed} {theta:?} {wanted:e}: up to {largest:.2}");
            assert!(largest < 1.5, "{n} {distribution:?} {charge:?} {seed} {theta:?} {wanted:e}: {errors:.2?}");
            total += errors.len();
            over += errors.iter().filter(|e| **e > 1.0).count();
            if has_far {
                far += errors.len();
                above += errors.iter().filter(|e| **e > 0.2).count();
            }
        }
    }
    println!("{over} of {total} samples have a larger error; {above} of {far} more than a fifth of it");
    assert!(100 * over <= total, "{over} of {total}");
    assert!(2 * above >= far, "{above} of {far}");
}

fn cases(n: &[usize], seeds: u64, theta: Option<f64>) -> Vec<Case> {
    let mut cases = Vec::new();
    for distribution in DISTRIBUTIONS {
        for charge in CHARGES {
            for n in n {
                cases.extend((1..=seeds).map(|seed| Case { n: *n, distribution, charge, seed, theta }));
            }
        }
    }
    cases
}

#[test]
fn a_wanted_error_is_kept_at_other_targets() {
    check(&cases(&[3000], 1, None), &[1e-2, 1e-4, 1e-7]);
    check(&[Case { n: 100, distribution: Distribution::Normal, charge: Charge::Mass, seed: 5, theta: None }], &[1e-3]);
}

#[test]
#[ignore = "a proof in depth"]
fn wanted_errors_are_kept_for_many_particles_and_seeds() {
    check(&cases(&[100, 1000, 5000, 20_000], 3, None), &[1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10]);
    check(&cases(&[10_000], 1, Some(0.4)), &[1e-3, 1e-5, 1e-8]);
    check(&cases(&[100_000], 1, None), &[1e-2, 1e-4, 1e-6, 1e-9]);
}
