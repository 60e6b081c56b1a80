//! The shape of a sum's terms, which a pipeline's outputs leave to the accumulators: what each port of a term holds.

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

/// What the ports of a term are named after, besides the output.
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

    /// The text of bits `low` to `high - 1` of the term without its carry. `names` are signals with the bits of the three
    /// ports; `high` may go beyond the groups.
    pub fn bits(&self, names: [&str; 3], low: u32, high: u32) -> String {
        let [window, select, round] = names;
        let mut parts = Vec::new();
        for k in 0..self.groups {
            let (from, to) = ((k * self.group).max(low), ((k + 1) * self.group).min(self.bits).min(high));
            if from >= to {
                continue;
            }
            let (a, b) = (from - k * self.group, to - k * self.group);
            let lower = format!("{window}[{}:{a}]", b - 1);
            // Above the window there is the sign.
            let (a, b, end) = (a + self.group, b + self.group, self.window);
            let mut upper = Vec::new();
            if b > end {
                upper.push(format!("{{{}{{{round}[1]}}}}", b - a.max(end)));
            }
            if a < end {
                upper.push(format!("{window}[{}:{a}]", b.min(end) - 1));
            }
            let fill = format!("{{{}{{{select}[{}]}}}}", to - from, 2 * k);
            let (inside, which) = (format!("{select}[{}]", 2 * k + 1), format!("{select}[{}]", 2 * k));
            parts.push(format!("({inside} ? ({which} ? {{{}}} : {lower}) : {fill})", upper.join(", ")));
        }
        if high > self.bits {
            parts.push(format!("{{{}{{{round}[1]}}}}", high - self.bits.max(low)));
        }
        parts.reverse();
        format!("{{{}}}", parts.join(", "))
    }
}
