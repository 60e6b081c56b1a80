//! The shape of a sum's terms, which a pipeline's outputs leave to the accumulators: what each port of a term holds.

use super::expr::{Expr, Leaf, cat};
use crate::Format;

/// The shape of the terms of an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TermShape {
    /// Bits of a group, a power of two.
    pub group: u32,
    /// Groups of the output, and the bits of all of them: the output's without the sign.
    pub groups: u32,
    pub bits: u32,
    pub window: u32,
}

/// The prefixes of a term's port names, besides the output.
pub const PORTS: [&str; 3] = ["window", "select", "round"];

/// An output of a pipeline that leaves the module as a term: in three ports instead of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TermPorts {
    /// The output as the layout names it.
    pub output: String,
    pub shape: TermShape,
    /// The ports, in the order of [`PORTS`].
    pub ports: [String; 3],
}

impl TermShape {
    /// For significands of `mant` bits and the hidden one.
    pub fn new(to: Format, mant: u32) -> TermShape {
        let bits = to.width() - to.is_signed() as u32;
        // Two groups hold a shifted significand.
        let group = mant.next_power_of_two().max(4);
        TermShape { group, groups: bits.div_ceil(group), bits, window: mant + group }
    }

    /// Widths of the three ports.
    pub fn widths(&self) -> [u32; 3] {
        [self.window, 2 * self.groups, 2]
    }

    /// Bits `low` to `high - 1` of the term without its carry, of the three ports' bits; `high` may go beyond the groups.
    pub fn bits<L: Leaf>(&self, ports: [&Expr<L>; 3], low: u32, high: u32) -> Expr<L> {
        let [window, select, round] = ports;
        let sign = round.bit(1);
        let mut parts = Vec::new();
        for k in 0..self.groups {
            let (from, to) = ((k * self.group).max(low), ((k + 1) * self.group).min(self.bits).min(high));
            if from >= to {
                continue;
            }
            let (a, b) = (from - k * self.group, to - k * self.group);
            let lower = window.bits(a, b - a);
            // Above the window there is the sign.
            let (a, b, end) = (a + self.group, b + self.group, self.window);
            let inside = if a < end { window.bits(a, b.min(end) - a) } else { Expr::zeros(0) };
            let upper = cat([sign.repeat(b.saturating_sub(a.max(end))), inside]);
            let (valid, which) = (select.bit(2 * k + 1), select.bit(2 * k));
            parts.push(valid.mux(&which.mux(&upper, &lower), &which.repeat(to - from)));
        }
        if high > self.bits {
            parts.push(sign.repeat(high - self.bits.max(low)));
        }
        parts.reverse();
        cat(parts)
    }

    /// The whole term in `width` bits, its carry added.
    pub fn value<L: Leaf>(&self, ports: [&Expr<L>; 3], width: u32) -> Expr<L> {
        self.bits(ports, 0, width) + ports[2].bit(0).zext(width)
    }
}
