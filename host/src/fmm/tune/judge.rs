//! How large the error of a run may be at targets that were not looked at.
//!
//! The relative L2 error of some targets is ruled by a few of them: a close pair makes the denominator large, and at high orders
//! the corners of cells have nearly all of the error. So other targets have other errors. Targets are drawn from those that
//! were measured again and again (the bootstrap of Efron); the error of nearly all draws is below that which is judged by.

use crate::data::Force;
use crate::data::particles::Field;
use crate::data::random::Random;
use crate::direct::error::{Errors, compare, sample, squares};

/// Targets whose error is reported, and which a wanted error is promised for.
const SAMPLES: usize = 1000;

/// Pairs of targets and sources that are worth their time: few particles are measured at all of them.
const WORTH: usize = 300_000_000;

/// Draws, and the part of them whose errors are at most the judged one.
const DRAWS: usize = 400;
const SURE: f64 = 0.995;

/// Targets, and what is right there.
pub(super) struct Judge {
    n: usize,
    pub targets: Vec<usize>,
    reference: Vec<Force>,
    seed: u64,
}

/// The targets that errors are measured at, among `n`: at least those of `--check 1000`.
pub(super) fn targets(n: usize, seed: u64) -> Vec<usize> {
    sample(n, (WORTH / n.max(1)).max(SAMPLES), seed)
}

impl Judge {
    pub fn new(n: usize, targets: Vec<usize>, reference: Vec<Force>, seed: u64) -> Judge {
        Judge { n, targets, reference, seed }
    }

    /// The errors at the targets of `--check 1000`.
    pub fn errors(&self, field: &Field) -> Errors {
        let targets = sample(self.n, SAMPLES, self.seed);
        let place = |k: &usize| self.targets.binary_search(k).expect("these targets are among the measured ones");
        let reference: Vec<Force> = targets.iter().map(|k| self.reference[place(k)]).collect();
        compare(field, &targets, &reference)
    }

    /// What the relative L2 error (of the gradient, else of the potential) at 1000 random targets is nearly always below.
    pub fn bound(&self, field: &Field) -> f64 {
        let squares = squares(field, &self.targets, &self.reference);
        let (all, count) = (squares.len(), SAMPLES.min(self.n));
        let measured = relative(squares.iter());
        if all == count && all == self.n || measured == 0.0 {
            return measured;
        }
        let mut random = Random::new(self.seed);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| self.draw(&squares, count, &mut random)).collect();
        draws.sort_unstable_by(f64::total_cmp);
        draws[(SURE * DRAWS as f64) as usize].max(measured)
    }

    /// The error of `count` targets as others might have it.
    fn draw(&self, squares: &[[f64; 2]], count: usize, random: &mut Random) -> f64 {
        let (all, mut below) = (squares.len(), |n: usize| (random.unit() * n as f64) as usize);
        if all < self.n {
            // The measured targets are a draw themselves, from which the others are drawn.
            let measured: Vec<usize> = (0..all).map(|_| below(all)).collect();
            return relative((0..count).map(|_| &squares[measured[below(all)]]));
        }
        // Some of all there are: none twice.
        let mut places: Vec<u32> = (0..all as u32).collect();
        for place in 0..count {
            let other = place + below(all - place);
            places.swap(place, other);
        }
        relative(places[..count].iter().map(|k| &squares[*k as usize]))
    }
}

/// The relative L2 error, given the squares of errors and of what is right.
fn relative<'a>(squares: impl Iterator<Item = &'a [f64; 2]>) -> f64 {
    let [off, size] = squares.fold([0.0; 2], |a, s| [a[0] + s[0], a[1] + s[1]]);
    if off == 0.0 { 0.0 } else { (off / size).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of gradients along x that are off by a part, each.
    fn judge(n: usize, measured: usize, size: impl Fn(usize) -> f64, off: impl Fn(usize) -> f64) -> (Judge, Field) {
        let targets = sample(n, measured, 3);
        let reference = targets.iter().map(|k| [1.0, size(*k), 0.0, 0.0]).collect();
        let column = |value: &dyn Fn(usize) -> f64| (0..n).map(value).collect::<Vec<f64>>();
        let zeros = || vec![0.0; n];
        let field = Field {
            potential: vec![1.0; n],
            gradient: Some([column(&|k| size(k) + off(k)), zeros(), zeros()]),
            hessian: None,
        };
        (Judge::new(n, targets, reference, 3), field)
    }

    #[test]
    fn equal_targets_have_one_error() {
        for measured in [1000, 4000, 20_000] {
            let (judge, field) = judge(20_000, measured, |_| 2.0, |_| 2e-3);
            assert!((judge.bound(&field) / 1e-3 - 1.0).abs() < 1e-9);
            let error = judge.errors(&field);
            assert!(error.samples == 1000 && (error.gradient_rel_l2.expect("a gradient") / 1e-3 - 1.0).abs() < 1e-9);
        }
        let (few, field) = judge(10, 10, |k| k as f64 + 1.0, |k| if k == 0 { 1.0 } else { 0.0 });
        assert!((few.bound(&field) - (1.0 / 385f64).sqrt()).abs() < 1e-12, "all of them are measured");
    }

    #[test]
    fn errors_of_other_targets_are_below_the_bound() {
        // A pair in 500 is close and large; one target in 300 has most of the error.
        let size = |k: usize| if k % 500 == 7 { 300.0 } else { 1.0 };
        let off = |k: usize| if k % 300 == 11 { 1e-2 } else { 1e-4 };
        for measured in [1000, 5000, 30_000] {
            let (judge, field) = judge(30_000, measured, size, off);
            let bound = judge.bound(&field);
            let errors: Vec<f64> = (100..200)
                .map(|seed| {
                    let part = |k: usize| [off(k) * off(k), size(k) * size(k)];
                    let squares: Vec<[f64; 2]> = sample(30_000, 1000, seed).into_iter().map(part).collect();
                    relative(squares.iter())
                })
                .collect();
            let above = errors.iter().filter(|e| **e > bound).count();
            let largest = errors.iter().fold(0.0, |a: f64, e| a.max(*e));
            assert!(above <= 5 && bound < 2.0 * largest, "{measured}: {above} above {bound}, {largest}");
        }
    }
}
