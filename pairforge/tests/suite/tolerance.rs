//! `--tol`: other random targets than those that an order was found with have the wanted error too.

use fmm::data::random::{Charge, Distribution, generate};
use fmm::direct::error::{compare, sample};
use fmm::direct::summation;
use fmm::expansion::basis::Basis;
use fmm::octree::tune::cost::{Costs, Shape};
use fmm::octree::{FmmOptions, tune};

const DISTRIBUTIONS: [Distribution; 5] =
    [Distribution::Uniform, Distribution::Normal, Distribution::Layer, Distribution::Sphere, Distribution::Plummer];
const CHARGES: [Charge; 3] = [Charge::Random, Charge::Positive, Charge::Mass];

/// The particles and the wanted error of a case, and how many samples of 1000 targets it is judged by.
struct Case {
    n: usize,
    distribution: Distribution,
    charge: Charge,
    seed: u64,
    theta: Option<f64>,
    samples: u64,
}

/// The gradient errors of samples, that of `--check` among them, in units of each wanted one, and whether a lower order was possible.
fn errors(case: &Case, wanted: &[f64]) -> Vec<(Vec<f64>, bool)> {
    let Case { n, seed, .. } = *case;
    let p = generate(n, case.distribution, case.charge, seed);
    let samples: Vec<Vec<usize>> =
        (0..case.samples).map(|s| sample(n, 1000, if s == 0 { seed } else { 1000 * seed + s })).collect();
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
        let costs = Costs::default();
        // Few particles would be summed directly.
        let may_enlarge = n > 5000;
        let Shape { leaf, enlarge } = tune::native_shape(&costs, n, &options, may_enlarge);
        (options.leaf, options.enlarge) = (leaf, enlarge);
        let theta = case.theta.is_none();
        let free = tune::Free { theta, precision: true, leaf: true, enlarge: may_enlarge };
        let problem = tune::Problem {
            geometry: p.columns().into(),
            sets: vec![p.q[..].into()],
            hessian: false,
            p2p: None,
            near: None,
            seed,
            is_promise: true,
            free,
            costs: &costs,
        };
        let tuned = tune::within(*wanted, &problem, &options, &mut [], &mut |_, _, _| {})
            .unwrap_or_else(|e| panic!("{:?} {:?} {n}: {e}", case.distribution, case.charge));
        let error = |targets: &Vec<usize>| {
            let at = |k: &usize| reference[all.binary_search(k).expect("one of them all")];
            let reference: Vec<_> = targets.iter().map(at).collect();
            compare(&tuned.solution.fields[0], targets, &reference, 1.0).gradient_rel_l2.expect("a gradient") / wanted
        };
        let errors = samples.iter().map(error).collect();
        (errors, tuned.solution.stats.pairs.m2l > 0 && tuned.plan.options.order > 1)
    };
    wanted.iter().map(of).collect()
}

/// The results of samples of some cases: all of them, and those of cases for which a lower order was possible.
#[derive(Default)]
struct Counts {
    all: usize,
    above: usize,
    most: f64,
    low: usize,
    below: usize,
    /// Cases for which a lower order was possible, and those of them without a sample of a third of the wanted error or more.
    cases: usize,
    loose: usize,
}

impl Counts {
    fn take(&mut self, errors: &[f64], is_low: bool) {
        let largest = errors.iter().fold(0.0, |a: f64, e| a.max(*e));
        self.all += errors.len();
        self.above += errors.iter().filter(|e| **e > 1.0).count();
        self.most = self.most.max(largest);
        if is_low {
            self.low += errors.len();
            self.below += errors.iter().filter(|e| **e < 1.0 / 3.0).count();
            self.cases += 1;
            self.loose += (largest < 1.0 / 3.0) as usize;
        }
    }

    /// A row of the table in docs/method/accuracy.md.
    fn row(&self, name: &str) -> String {
        let Counts { all, above, most, low, below, cases, loose, .. } = self;
        format!("| {name} | {above} of {all} | {most:.2} | {below} of {low} | {loose} of {cases} |")
    }
}

/// Judges many cases: of all samples at most one in a thousand has a larger error, and none one that is far larger. Where a lower
/// order is possible, the largest error of a case's samples is not far below the wanted one, for most cases.
fn check(name: &str, cases: &[Case], wanted: &[f64]) {
    let mut counts = Counts::default();
    for case in cases {
        for ((errors, is_low), wanted) in errors(case, wanted).into_iter().zip(wanted) {
            let largest = errors.iter().fold(0.0, |a: f64, e| a.max(*e));
            let Case { n, distribution, charge, seed, theta, .. } = case;
            println!("{n} {distribution:?} {charge:?} {seed} {theta:?} {wanted:e}: up to {largest:.2}");
            assert!(largest < 1.2, "{n} {distribution:?} {charge:?} {seed} {theta:?} {wanted:e}: {errors:.2?}");
            counts.take(&errors, is_low);
        }
    }
    println!("{}", counts.row(name));
    assert!(1000 * counts.above <= counts.all, "{} of {}", counts.above, counts.all);
    assert!(4 * counts.loose <= counts.cases, "{} of {}", counts.loose, counts.cases);
}

/// A row of the table in docs/method/accuracy.md: charges of both signs and of one.
fn row(n: usize, samples: u64, wanted: &[f64]) {
    let mut all = cases(&[n], 1, None, samples);
    all.retain(|case| case.charge != Charge::Mass);
    check(&n.to_string(), &all, wanted);
}

fn cases(n: &[usize], seeds: u64, theta: Option<f64>, samples: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for distribution in DISTRIBUTIONS {
        for charge in CHARGES {
            for n in n {
                cases.extend((1..=seeds).map(|seed| Case { n: *n, distribution, charge, seed, theta, samples }));
            }
        }
    }
    cases
}

#[test]
fn a_wanted_error_is_kept_at_other_targets() {
    // Masses are positive charges of one size.
    let some = cases(&[3000], 1, None, 20).into_iter().filter(|case| case.charge != Charge::Mass);
    check("", &some.step_by(2).collect::<Vec<_>>(), &[1e-4]);
    let few =
        Case { n: 100, distribution: Distribution::Normal, charge: Charge::Mass, seed: 5, theta: None, samples: 1 };
    check("", &[few], &[1e-3]);
}

/// Not all targets are summed directly.
#[test]
fn a_wanted_error_is_kept_where_targets_are_many() {
    let all = cases(&[20_000], 1, None, 20).into_iter();
    let is_hard = |case: &Case| case.charge == Charge::Random && case.distribution == Distribution::Sphere;
    check("", &all.filter(is_hard).collect::<Vec<_>>(), &[1e-4]);
}

#[test]
#[ignore = "a proof in depth"]
fn wanted_errors_are_kept_for_many_particles_and_seeds() {
    let wanted = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10];
    check("", &cases(&[100, 1000, 5000, 20_000], 3, None, 20), &wanted);
    check("", &cases(&[10_000], 1, Some(0.4), 20), &[1e-3, 1e-5, 1e-8]);
    check("", &cases(&[100_000], 1, None, 20), &[1e-2, 1e-4, 1e-6, 1e-8, 1e-10]);
    check("", &cases(&[1_000_000], 1, None, 3), &[1e-2, 1e-5, 1e-8]);
}

#[test]
#[ignore = "a proof in depth"]
fn row_of_3000() {
    row(3000, 20, &[1e-2, 1e-4, 1e-6, 1e-8]);
}

#[test]
#[ignore = "a proof in depth"]
fn row_of_30_000() {
    row(30_000, 20, &[1e-2, 1e-4, 1e-6, 1e-8]);
}

#[test]
#[ignore = "a proof in depth"]
fn row_of_100_000() {
    row(100_000, 20, &[1e-2, 1e-4, 1e-6, 1e-8]);
}

#[test]
#[ignore = "a proof in depth"]
fn row_of_1_000_000() {
    row(1_000_000, 3, &[1e-2, 1e-5, 1e-8]);
}
