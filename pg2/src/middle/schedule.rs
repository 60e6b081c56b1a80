//! The schedule: the cycle in which each node starts, balanced so that every path meets in step.
//!
//! A value that must wait for its users goes through a delay line of registers, one line for all users, as
//! long as the longest wait. Values that depend on parameters and constants alone are *static*: they stand still
//! while pairs are in flight, so they need no delay lines and bind no start. The depth is that of the longest
//! path; among all schedules of that depth, [`schedule`] finds one with the fewest delay bits.

mod least;

use crate::graph::{Demand, Graph, NodeId, NodeKind, PinClass};
use crate::middle::library::Library;
use hdl::circuit::target::Clock;

/// When each node of a graph starts, for a clock.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// Cycle in which the node takes its arguments; 0 for pins and constants.
    pub start: Vec<u32>,
    /// Cycles the node takes.
    pub latency: Vec<u32>,
    /// Whether the node depends on parameters and constants alone.
    pub fixed: Vec<bool>,
    /// Flip-flop bits inside the node's operator.
    pub operator_bits: Vec<u64>,
    /// Flip-flop bits of the delay line behind the node: its width times the longest wait of a user.
    pub delay_bits: Vec<u64>,
    /// Cycles from pins to outputs.
    pub depth: u32,
}

impl Schedule {
    /// Flip-flop bits of operators and delay lines.
    pub fn register_bits(&self) -> u64 {
        self.operator_bits.iter().chain(&self.delay_bits).sum()
    }

    /// The cycle in which the node's value is there.
    pub fn ready(&self, id: NodeId) -> u32 {
        self.start[id.0 as usize] + self.latency[id.0 as usize]
    }

    /// Checks that every argument is ready when its user starts and all nodes by `depth`.
    pub fn verify(&self, graph: &Graph) -> Result<(), String> {
        for (k, node) in graph.nodes.iter().enumerate() {
            if let NodeKind::Op { args, .. } = &node.kind {
                for a in args {
                    // A static value is ready long before a pair that is not static comes along.
                    let waits = self.fixed[k] || !self.fixed[a.0 as usize];
                    if waits && self.ready(*a) > self.start[k] {
                        return Err(format!("node %{k} starts before %{} is ready", a.0));
                    }
                }
            }
            if self.ready(NodeId(k as u32)) > self.depth {
                return Err(format!("node %{k} is ready after cycle {}", self.depth));
            }
        }
        Ok(())
    }
}

/// A line a node.
impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for k in 0..self.start.len() {
            let (start, ready) = (self.start[k], self.start[k] + self.latency[k]);
            let still = if self.fixed[k] { ", static" } else { "" };
            let (own, behind) = (self.operator_bits[k], self.delay_bits[k]);
            writeln!(f, "%{k}: cycles {start} to {ready}{still}, {own} bits inside, {behind} behind")?;
        }
        writeln!(f, "depth {}", self.depth)
    }
}

/// Schedules `graph` for `clock` with the fewest delay bits that its depth allows.
pub fn schedule(graph: &Graph, clock: Clock) -> Schedule {
    schedule_with(graph, &Library::new(graph, clock))
}

/// [`schedule`] with the hardware at hand.
pub fn schedule_with(graph: &Graph, library: &Library) -> Schedule {
    least_with_bound(graph, library).0
}

/// The best schedule, and the fewest delay bits that any schedule of its depth has, as the dual problem proves.
pub fn least_with_bound(graph: &Graph, library: &Library) -> (Schedule, u64) {
    let mut s = asap(graph, library);
    let bound = least::least(graph, &mut s);
    (s, bound)
}

/// Starts every node as early as possible. A pipeline is at least one cycle deep, so that its outputs come from
/// registers.
pub fn asap(graph: &Graph, library: &Library) -> Schedule {
    let n = graph.nodes.len();
    let mut s = Schedule {
        start: vec![0; n],
        latency: vec![0; n],
        fixed: fixed(graph),
        operator_bits: vec![0; n],
        delay_bits: vec![0; n],
        depth: 1,
    };
    for (k, node) in graph.nodes.iter().enumerate() {
        let id = NodeId(k as u32);
        if let (NodeKind::Op { args, .. }, Some(module)) = (&node.kind, library.module(id)) {
            let waits = args.iter().filter(|a| s.fixed[k] || !s.fixed[a.0 as usize]);
            s.start[k] = waits.map(|a| s.ready(*a)).max().unwrap_or(0);
            s.latency[k] = module.latency;
            s.operator_bits[k] = module.register_bits;
        }
        s.depth = s.depth.max(s.ready(id));
    }
    s.delay_bits = delay_bits(graph, &s);
    s
}

/// The nodes that depend on parameters and constants alone.
pub(crate) fn fixed(graph: &Graph) -> Vec<bool> {
    let mut fixed: Vec<bool> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        fixed.push(match &node.kind {
            NodeKind::Pin { pin, .. } => graph.pins[*pin].class == PinClass::Param,
            NodeKind::Const { .. } => true,
            NodeKind::Op { args, .. } => args.iter().all(|a| fixed[a.0 as usize]),
        });
    }
    fixed
}

/// The cycle in which a flag of a node joins the others: when both it and the condition under which it counts are there.
pub(crate) fn flag_cycle(schedule: &Schedule, id: NodeId, when: Option<NodeId>) -> u32 {
    let moving = |id: &NodeId| !schedule.fixed[id.0 as usize];
    let there = [Some(id), when].into_iter().flatten().filter(moving).map(|id| schedule.ready(id)).max();
    there.unwrap_or(schedule.depth - 1)
}

/// The bits of each node's delay line.
fn delay_bits(graph: &Graph, s: &Schedule) -> Vec<u64> {
    waits(graph, s)
        .iter()
        .zip(&graph.nodes)
        .map(|(w, node)| w.last().copied().unwrap_or(0) as u64 * node.format.width() as u64)
        .collect()
}

/// For each node the different numbers of cycles that its users wait for, ascending; none for a static node. Flags that count
/// under a condition use it too.
pub fn waits(graph: &Graph, s: &Schedule) -> Vec<Vec<u32>> {
    let mut waits = vec![Vec::new(); graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate() {
        if let NodeKind::Op { args, .. } = &node.kind {
            for a in args.iter().filter(|a| !s.fixed[a.0 as usize]) {
                waits[a.0 as usize].push(s.start[k] - s.ready(*a));
            }
        }
    }
    for o in graph.outputs.iter().filter(|o| !s.fixed[o.value.0 as usize]) {
        waits[o.value.0 as usize].push(s.depth - s.ready(o.value));
    }
    for (k, demand) in graph.demand.iter().enumerate() {
        if let Demand::When(c) = *demand
            && !s.fixed[c.0 as usize]
        {
            waits[c.0 as usize].push(flag_cycle(s, NodeId(k as u32), Some(c)) - s.ready(c));
        }
    }
    for w in &mut waits {
        w.sort_unstable();
        w.dedup();
    }
    waits
}
