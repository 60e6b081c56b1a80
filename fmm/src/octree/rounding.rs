//! Rounding of the terms of a kernel's near field to the steps of its outputs, however small the terms are (RULES H14): how it compares
//! with the results of a run.

use super::executor::State;
use super::kernel::KernelError;
use super::stats::RoundedTerms;

/// The parts of the results from which on the loss is reported, and refused.
pub const REPORTED: f64 = 1e-4;
pub const REFUSED: f64 = 1e-2;

/// By how much results of a run are off at some targets since terms were rounded to the outputs' formats: sums of magnitudes, in box
/// units, with those of the results themselves.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rounding {
    pub targets: u64,
    /// Of the potential, and of the gradient's components.
    pub off: [f64; 2],
    pub size: [f64; 2],
}

/// Of a sorted target potential and gradient of its near field, or the root of the sum of squares of the terms where they cancel, and by
/// how much they are off, in box units.
#[derive(Clone, Copy, Debug)]
pub struct Rounded {
    pub target: usize,
    pub near: [f64; 4],
    pub off: [f64; 4],
}

impl Rounding {
    /// Of the targets that were looked at, with their results.
    pub fn of(rounded: &[Rounded], state: &State) -> Rounding {
        let mut sum = Rounding { targets: rounded.len() as u64, ..Rounding::default() };
        for Rounded { target, near, off } in rounded {
            for a in 0..4 {
                sum.off[a.min(1)] += off[a].abs();
                // Where only the time of a run is predicted, there are no results.
                sum.size[a.min(1)] += state.force[*target][a].abs().max(near[a].abs());
            }
        }
        sum
    }

    pub fn join(self, other: Rounding) -> Rounding {
        let both = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        Rounding {
            targets: self.targets + other.targets,
            off: both(self.off, other.off),
            size: both(self.size, other.size),
        }
    }

    pub fn numbers(&self) -> [f64; 5] {
        [self.targets as f64, self.off[0], self.off[1], self.size[0], self.size[1]]
    }

    pub fn of_numbers(of: &[f64]) -> Rounding {
        let at = |k: usize| of.get(k).copied().unwrap_or(0.0);
        Rounding { targets: at(0) as u64, off: [at(1), at(2)], size: [at(3), at(4)] }
    }

    /// Statistics of it where it matters; an error if the results are not worth giving.
    pub fn assessed(&self) -> Result<Option<RoundedTerms>, KernelError> {
        let part = |k: usize| match self.off[k] {
            0.0 => 0.0,
            off => (off / self.size[k].max(off)).min(1.0),
        };
        let told = RoundedTerms { targets: self.targets, potential: part(0), gradient: part(1) };
        let most = told.potential.max(told.gradient);
        if most >= REFUSED {
            return Err(KernelError(told.sentence()));
        }
        Ok(Some(told).filter(|_| most >= REPORTED))
    }
}
