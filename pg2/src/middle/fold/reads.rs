//! Where the readers of a value find it, and how many registers hold it meanwhile.
//!
//! A unit shows a result for one clock. A register behind it takes the result at the end of that clock, once every K clocks, and
//! holds it for the K clocks that follow; the next register takes it from there. Where values wait in memory, that is for units alone:
//! behind each stands a ring ([`super::stores`]). Pins stand still for K clocks, and so does the
//! result of an operator of its own for as long as its arguments do.

use super::Folded;
use crate::graph::{Graph, NodeKind};

/// A value can be read from memory in the second clock behind that in which its unit shows it. A register has it in the one between.
const _: () = assert!(hdl::rtl::ring::READ == 2);

/// Where a reader finds a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The value itself, which never changes while pairs are in flight.
    Still(usize),
    /// The output of the node's own operator, or a pin.
    Node(usize),
    /// The output of a unit.
    Unit(usize),
    /// The register of that number behind the node, from 1.
    Held(usize, u32),
    /// The output of a unit in the clock before.
    Late(usize),
    /// A port of the memory behind a unit.
    Stored(usize, usize),
}

/// When a value is there without a register: from `ready` on, and for `stays` clocks after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct There {
    pub ready: u32,
    pub stays: u32,
}

impl There {
    /// Registers between the value and a reader in a cycle.
    pub fn wait(&self, cycle: u32, ii: u32) -> u32 {
        cycle.saturating_sub(self.ready + self.stays).div_ceil(ii)
    }

    /// The slot in which the registers behind it take the value.
    pub fn taken_in(&self, ii: u32) -> u32 {
        (self.ready + self.stays) % ii
    }

    /// For how many clocks after a cycle its reader there finds the same value.
    pub fn remains(&self, cycle: u32, ii: u32) -> u32 {
        self.ready + self.stays + self.wait(cycle, ii) * ii - cycle
    }
}

impl Folded {
    /// Whether an item reads a node, which moves, from its unit or the memory behind that.
    pub(crate) fn waits_in_memory(&self, node: usize, item: usize) -> bool {
        self.stored && self.unit[node].is_some() && self.unit[item].is_some()
    }

    /// When each node's value is there; of static ones it does not matter.
    pub(crate) fn there(&self, graph: &Graph) -> Vec<There> {
        let mut there: Vec<There> = Vec::with_capacity(graph.nodes.len());
        for (k, node) in graph.nodes.iter().enumerate() {
            let stays = match &node.kind {
                _ if self.unit[k].is_some() => 0,
                NodeKind::Op { args, .. } => {
                    let moving = args.iter().map(|a| a.0 as usize).filter(|a| !self.fixed[*a]);
                    moving.map(|a| there[a].remains(self.start[k], self.ii)).min().unwrap_or(self.ii - 1)
                }
                _ => self.ii - 1,
            };
            there.push(There { ready: self.ready(k), stays: stays.min(self.ii - 1) });
        }
        there
    }

    /// Where a reader in `cycle` finds a node.
    pub(crate) fn source(&self, there: &[There], node: usize, cycle: u32) -> Source {
        if self.fixed[node] {
            return Source::Still(node);
        }
        match (there[node].wait(cycle, self.ii), self.unit[node]) {
            (0, None) => Source::Node(node),
            (0, Some(unit)) => Source::Unit(unit),
            (wait, _) => Source::Held(node, wait),
        }
    }

    /// Where an item finds an argument: a unit's item looks into memories, which show a value for one clock.
    pub(crate) fn found(&self, there: &[There], item: usize, arg: usize) -> Source {
        let cycle = self.start[item];
        if self.fixed[arg] || !self.waits_in_memory(arg, item) || cycle == there[arg].ready {
            return self.source(there, arg, cycle);
        }
        let unit = self.unit[arg].expect("a unit's value");
        let waits = cycle - there[arg].ready;
        if waits == 1 {
            return Source::Late(unit);
        }
        let slot = (cycle % self.ii) as usize;
        let port = self.stores.get(unit).and_then(|s| s.iter().position(|port| port[slot] == Some((arg, waits))));
        Source::Stored(unit, port.unwrap_or(0))
    }

    /// Registers behind each node.
    pub fn registers(&self, graph: &Graph) -> Vec<u32> {
        let there = self.there(graph);
        let mut most = vec![0; graph.nodes.len()];
        let mut read = |node: usize, cycle: u32| {
            if !self.fixed[node] {
                most[node] = there[node].wait(cycle, self.ii).max(most[node]);
            }
        };
        for item in 0..self.start.len() {
            let held = self.args(graph, item).into_iter().filter(|a| !self.waits_in_memory(*a, item));
            held.for_each(|a| read(a, self.start[item]));
        }
        self.flags.iter().filter_map(|c| c.when).for_each(|node| read(node, self.depth()));
        most
    }

    /// Bits of the registers behind each node.
    pub(super) fn held_bits(&self, graph: &Graph) -> Vec<u64> {
        let width = |k: usize| graph.nodes[k].format.width() as u64;
        self.registers(graph).iter().enumerate().map(|(k, count)| width(k) * *count as u64).collect()
    }
}
