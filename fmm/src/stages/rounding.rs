//! Rounding of the terms of a kernel's near field to the steps of its outputs, however small the terms are (RULES H14): how it compares
//! with the results of a run.

use super::KernelError;
use crate::data::Force;
use serde::Serialize;

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
    /// Of the targets that were looked at, with the results at all targets.
    pub fn of(rounded: &[Rounded], force: &[Force]) -> Rounding {
        let mut sum = Rounding { targets: rounded.len() as u64, ..Rounding::default() };
        for Rounded { target, near, off } in rounded {
            for a in 0..4 {
                sum.off[a.min(1)] += off[a].abs();
                // Where only the time of a run is predicted, there are no results.
                sum.size[a.min(1)] += force[*target][a].abs().max(near[a].abs());
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

/// By how much of themselves results of a run are off at some targets, since the terms of their near field were rounded to the steps of
/// the outputs' formats: sums of magnitudes over all of these targets.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RoundedTerms {
    pub targets: u64,
    pub potential: f64,
    pub gradient: f64,
}

/// Part that may well be lost so.
const ROUNDED: f64 = 1e-5;

impl RoundedTerms {
    /// Sentence that tells of it, with the remedy.
    pub fn sentence(&self) -> String {
        let (what, pin, part) = match self.potential >= self.gradient {
            true => ("potential", "pout", self.potential),
            false => ("gradient", "gout", self.gradient),
        };
        let bits = (part / ROUNDED).log2().ceil().max(1.0);
        format!(
            "rounding the terms of the near field to the steps of `{pin}` takes {part:.1e} of the {what} (at {} targets), since terms are as \
             small as the format's steps: give `{pin}` at least {bits} fraction bits more, or take --backend cpu, where sums of kernels are f64",
            self.targets
        )
    }
}
