//! The term of a sum in the form in which conversions leave it to the accumulator (see `op/tofix/term.rs`).

use crate::circuit::Sig;
use crate::op::{Inst, Operator};
use crate::rtl::expr::Leaf;
use crate::rtl::netlist::{Dir, Module};
use crate::rtl::{Expr, cat};
use crate::{Flags, Format};

/// A term as signals of a circuit.
pub struct Term {
    pub shape: TermShape,
    /// The significand, shifted to its place within a group.
    pub window: Sig,
    /// Two bits a group, the lowest group lowest: 1x the window's lower (0) or upper (1) group, 0x all bits x.
    pub select: Sig,
    /// The bits above the groups, and what is carried into the lowest bit, which is bit 0.
    pub round: Sig,
    /// Flags that can be raised, each with its condition.
    pub flags: Vec<(Flags, Sig)>,
}

/// A scaling by a power of two of which nothing but a conversion reads the result: both are made in one.
pub struct Scaling<'a> {
    pub op: &'static dyn Operator,
    pub inst: &'a Inst,
    pub args: &'a [Sig],
}

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

/// The ends of the port names of a term.
pub const PORTS: [&str; 3] = ["window", "select", "round"];

impl TermShape {
    /// For significands of `mant` bits and the hidden one.
    pub fn new(to: Format, mant: u32) -> TermShape {
        let bits = to.width() - to.is_signed() as u32;
        // Two groups hold a shifted significand.
        let group = mant.next_power_of_two().max(4);
        TermShape { group, groups: bits.div_ceil(group), bits, window: mant + group }
    }

    /// The shape behind the ports of output `port` of a pipeline; `None` if it is a plain one.
    pub fn of(pipeline: &Module, port: &str, to: Format) -> Option<TermShape> {
        let name = format!("{port}_{}", PORTS[0]);
        let window = pipeline.ports.iter().find(|p| p.dir == Dir::Out && p.name == name)?.width;
        // A window is between one group and two of them wide.
        let mant = (1..window).find(|m| m + m.next_power_of_two().max(4) == window)?;
        Some(TermShape::new(to, mant))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_found_again_by_their_windows() {
        let to: Format = "int64".parse().unwrap();
        for mant in 1..=52 {
            let shape = TermShape::new(to, mant);
            let mut m = Module::default();
            m.port(Dir::Out, "o_x_window", shape.window);
            assert_eq!(TermShape::of(&m, "o_x", to), Some(shape), "{mant}");
        }
    }
}
