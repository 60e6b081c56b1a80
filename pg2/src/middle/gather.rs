//! How the flags of one pair come together: for each flag an OR that travels down the pipeline with the pair.
//!
//! A flag that counts only under a condition ([`Demand`]) is ANDed with it where both are there. Of a flag that is there before
//! its condition, one register for all flags of that condition waits.

use crate::graph::{Demand, Graph, NodeId, NodeKind};
use crate::middle::schedule::Schedule;
use hdl::Flags;
use hdl::circuit::target::Clock;
use std::collections::BTreeMap;

/// What carries a flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Bit `bit` of the flag port of a node.
    Node { id: NodeId, bit: u32 },
    /// The register of an earlier step.
    Step(usize),
}

/// A flag on its way into an OR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub source: Source,
    /// The condition under which it counts, as it is for the pair at hand.
    pub when: Option<NodeId>,
}

/// One register: the OR of what is there in `cycle`, readable a cycle later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Index into [`Flags::NAMES`].
    pub flag: usize,
    pub cycle: u32,
    pub inputs: Vec<Input>,
}

/// The whole gathering.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Gather {
    /// In an order in which each step's inputs stand before it.
    pub steps: Vec<Step>,
    /// For each flag what is ORed into the pipeline's flag port in the last cycle.
    pub last: [Vec<Input>; Flags::COUNT as usize],
}

/// What there is of one flag in each cycle.
type ByCycle = BTreeMap<u32, Vec<Input>>;

/// Plans the gathering for a schedule. Flags of static nodes stand still, so they join in the last register.
pub fn gather(graph: &Graph, schedule: &Schedule, clock: Clock) -> Gather {
    let mut plan = Gather::default();
    let mut sources: [ByCycle; Flags::COUNT as usize] = Default::default();
    // Flags that wait for their condition.
    let mut early: [BTreeMap<NodeId, ByCycle>; Flags::COUNT as usize] = Default::default();
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        let id = NodeId(k as u32);
        let when = match graph.demand(id) {
            Demand::Always => None,
            Demand::When(condition) => Some(condition),
            Demand::Never => continue,
        };
        for (bit, flag) in op.flags(inst).iter().enumerate() {
            let index = flag.0.ilog2() as usize;
            let source = Source::Node { id, bit: bit as u32 };
            let there = flag_cycle(schedule, id, when);
            let waits = !schedule.fixed[k] && schedule.ready(id) < there;
            if let Some(condition) = when.filter(|_| waits) {
                let waiting = early[index].entry(condition).or_default();
                waiting.entry(schedule.ready(id)).or_default().push(Input { source, when: None });
            } else {
                sources[index].entry(there).or_default().push(Input { source, when });
            }
        }
    }
    for (flag, (mut sources, early)) in sources.into_iter().zip(early).enumerate() {
        for (condition, waiting) in early {
            let cycle = schedule.ready(condition);
            let carried = chain(&mut plan, flag, waiting, cycle, clock);
            let gated = carried.into_iter().map(|input| Input { when: Some(condition), ..input });
            sources.entry(cycle).or_default().extend(gated);
        }
        plan.last[flag] = chain(&mut plan, flag, sources, schedule.depth, clock);
    }
    plan
}

/// The cycle in which a flag of a node joins the others: when both it and the condition under which it counts are there.
pub(crate) fn flag_cycle(schedule: &Schedule, id: NodeId, when: Option<NodeId>) -> u32 {
    let moving = |id: &NodeId| !schedule.fixed[id.0 as usize];
    let there = [Some(id), when].into_iter().flatten().filter(moving).map(|id| schedule.ready(id)).max();
    there.unwrap_or(schedule.depth - 1)
}

/// Takes the inputs of one flag to cycle `until`, ORed on their way; gives what is there then.
fn chain(plan: &mut Gather, flag: usize, mut sources: ByCycle, until: u32, clock: Clock) -> Vec<Input> {
    let Some(first) = sources.keys().next().copied() else { return Vec::new() };
    let mut carried: Vec<Input> = Vec::new();
    for cycle in first..until {
        let mut inputs = std::mem::take(&mut carried);
        inputs.extend(sources.remove(&cycle).unwrap_or_default());
        for group in groups(&inputs, clock.or_inputs()) {
            carried.push(Input { source: Source::Step(plan.steps.len()), when: None });
            plan.steps.push(Step { flag, cycle, inputs: group.to_vec() });
        }
    }
    carried.extend(sources.remove(&until).unwrap_or_default());
    carried
}

/// Cuts inputs into groups of at most `most` signals, conditions counted.
fn groups(mut inputs: &[Input], most: usize) -> Vec<&[Input]> {
    let mut groups = Vec::new();
    while !inputs.is_empty() {
        let (mut count, mut signals) = (0, 0);
        for (k, input) in inputs.iter().enumerate() {
            let new = input.when.is_some() && !inputs[..k].iter().any(|other| other.when == input.when);
            signals += 1 + new as usize;
            if k > 0 && signals > most {
                break;
            }
            count = k + 1;
        }
        let (group, rest) = inputs.split_at(count);
        groups.push(group);
        inputs = rest;
    }
    groups
}
