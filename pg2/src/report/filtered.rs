//! The two parts of a kernel with a filter (RULES L19): what the test of a pair takes, and what the rest takes.

use crate::backend::build::{Built, build};
use crate::backend::filtered::test_clock;
use crate::graph::{Graph, NodeKind};
use crate::middle::coarse::{Coarse, NARROW, reaching};
use crate::middle::filter::split;
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
    pub test: Part,
    pub rest: Part,
    /// The differences of coordinates that a coarse test takes a few bits of, or why there is none.
    pub coarse: Result<Vec<String>, String>,
}

/// Accounts for both parts of a kernel as it was compiled; `None` for one without a filter.
pub fn parts(graph: &Graph, clock: Clock) -> Option<Parts> {
    let graph = reaching(graph);
    let split = split(&graph)?;
    let own = test_clock(&split, clock);
    let [test, rest] =
        [(&split.test, own), (&split.rest, clock)].map(|(part, clock)| part_of(&build(part, clock, "", Vec::new())));
    Some(Parts { test, rest, coarse: Coarse::new(&graph).map(|coarse| coarse.differences()) })
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
        let Parts { test, rest, coarse } = self;
        match coarse {
            Ok(differences) => {
                let all = differences.join(", ");
                writeln!(f, "where: filters take {NARROW} bits of {all}: {test}; pairs that may pass, all: {rest}.")
            }
            Err(why) => {
                writeln!(f, "where: {test}; the rest, for pairs that pass: {rest}.")?;
                writeln!(f, "Filters take all of the condition: {why}.")
            }
        }
    }
}
