//! The two parts of a kernel with a filter (RULES L19): what the condition takes, what the rest takes, and what goes between them.

use crate::backend::build::{Built, build};
use crate::graph::{Graph, NodeKind};
use crate::middle::filter::{Carried, split};
use hdl::circuit::target::Clock;
use std::fmt;

/// The cost of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    pub operators: usize,
    pub multipliers: u32,
    /// Cycles from its pins to its outputs.
    pub depth: u32,
}

/// A kernel in two parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    pub condition: Part,
    pub rest: Part,
    /// The values that the rest takes of each pair that passes.
    pub carried: Vec<Carried>,
}

impl Parts {
    /// Bits of a pair that passes.
    pub fn bits(&self) -> u32 {
        self.carried.iter().map(|c| c.format.width()).sum()
    }
}

/// Accounts for both parts of a kernel as it was compiled; `None` for one without a filter.
pub fn parts(graph: &Graph, clock: Clock) -> Option<Parts> {
    let split = split(graph, clock)?;
    let [condition, rest] = [&split.filter, &split.rest].map(|part| part_of(&build(part, clock, "", Vec::new())));
    Some(Parts { condition, rest, carried: split.carried })
}

fn part_of(built: &Built) -> Part {
    let operators = built.graph.nodes.iter().filter(|n| matches!(n.kind, NodeKind::Op { .. })).count();
    let multipliers = built.library.modules.iter().enumerate().map(|(m, module)| {
        let uses = (0..built.graph.nodes.len()).filter(|k| built.library.index(*k) == Some(m)).count();
        uses as u32 * module.multipliers
    });
    Part { operators, multipliers: multipliers.sum(), depth: built.schedule.depth }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Part { operators, multipliers, depth } = self;
        write!(f, "{operators} operators, {multipliers} multipliers, {depth} cycles")
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        writeln!(f, "where: {}; the rest, for pairs that pass: {}.", self.condition, self.rest)?;
        let name = |c: &Carried| if c.name.is_empty() { c.format.to_string() } else { c.name.clone() };
        let names: Vec<String> = self.carried.iter().take(16).map(name).collect();
        let more = if self.carried.len() > 16 { ", ..." } else { "" };
        let bits = self.bits();
        match names.is_empty() {
            true => writeln!(f, "The rest takes nothing of a pair but that it passes."),
            false => writeln!(f, "The rest takes {bits} bits of a pair: {}{more}.", names.join(", ")),
        }
    }
}
