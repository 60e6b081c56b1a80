//! Carry chains of the accumulators behind a pipeline: where a sum is cut, and how long its paths take.
//!
//! Behind the pipeline's last register stand a gate, which lets pairs count that a lane has, and the chain of a sum. A sum with its guard
//! bits that takes longer than a clock runs in two parts, the upper one a clock behind, with a register in front of it.

use crate::{Format, Reduce};

/// Bits above an output's own in which a sum is exact for 2^32 sources.
pub const GUARD: u32 = 32;
/// The longest addition in one clock on any target.
pub const CHAIN: u32 = 64;

/// Times in ns, and what the clock leaves for them; by default there are none, and all the time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Chains {
    /// From the register in front of the gate, beyond the flip-flop's own.
    pub out: f64,
    /// The gate: a level of lookup tables.
    pub gate: f64,
    /// Into a carry chain and out of it, and each bit of it.
    pub start: f64,
    pub bit: f64,
    pub budget: f64,
}

impl Eq for Chains {}

impl Chains {
    /// The longest time of a sum whose lower part has so many bits of `width`.
    fn sum(&self, low: u32, width: u32) -> f64 {
        let chain = |bits: u32| self.start + self.bit * bits as f64;
        let lower = self.out + self.gate + chain(low);
        if low == width { lower } else { lower.max(chain(width - low)) }
    }

    /// Bits of the lower part of a sum with its guard bits: all, where it runs in one.
    pub fn low(&self, format: Format) -> u32 {
        let width = format.width() + GUARD;
        let fits = |low: u32| self.sum(low, width) <= self.budget;
        if width <= CHAIN && fits(width) {
            return width;
        }
        // The upper part begins within the output's own bits, of which the highest is the sign.
        let (usual, most) = (width / 2 - 8, format.width() - 1);
        if usual <= most && fits(usual) {
            return usual;
        }
        // A longer lower part leaves fewer registers in front of the upper one.
        if let Some(low) = (1..=most).rev().find(|low| fits(*low)) {
            return low;
        }
        let time = |low: &u32| self.sum(*low, width);
        let best = (1..=most).min_by(|a, b| time(a).total_cmp(&time(b)));
        best.filter(|low| time(low) < self.sum(width, width)).unwrap_or(width)
    }

    /// The longest time from the pipeline's registers to those of an output's accumulator, or between the latter.
    pub fn longest(&self, format: Format, reduce: Reduce) -> f64 {
        let compared = |bits: u32| self.out + self.start + self.bit * bits as f64;
        match reduce {
            Reduce::Sum => self.sum(self.low(format), format.width() + GUARD),
            // The comparison of keys, and the choice by it.
            Reduce::Max | Reduce::Min => compared(format.width()) + 2.0 * self.gate,
            Reduce::Ranked(_) => compared(format.width().min(CHAIN)) + 3.0 * self.gate,
        }
    }
}
