//! How the flags of one pair come together: for each flag an OR that travels down the pipeline with the pair.
//!
//! A flag that counts only under a condition ([`Demand`]) is ANDed with it where both are there. Of a flag that is there before
//! its condition, one register for all flags of that condition waits.

use crate::graph::{Demand, Graph, NodeId, NodeKind};
use crate::middle::schedule::{Schedule, flag_cycle};
use hdl::Flags;
use hdl::circuit::target::Clock;
use std::collections::BTreeMap;

/// The signal that carries a flag.
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

impl Gather {
    /// Whether each flag that counts reaches the flag port once, and every input is there in the cycle of its step.
    pub fn verify(&self, graph: &Graph, schedule: &Schedule) -> Result<(), String> {
        let mut read = vec![0; self.steps.len()];
        let mut reached = BTreeMap::new();
        let mut see = |input: &Input, before: usize, flag: usize, cycle: u32| {
            let when = input.when.filter(|w| !schedule.fixed[w.0 as usize]);
            if when.is_some_and(|w| schedule.ready(w) > cycle) {
                return Err(format!("a condition is read in cycle {cycle}, before it is there"));
            }
            match input.source {
                Source::Step(k) if k >= before || self.steps[k].cycle + 1 != cycle || self.steps[k].flag != flag => {
                    Err(format!("step {k} is no register of {} in cycle {cycle}", Flags::NAMES[flag]))
                }
                Source::Step(k) => {
                    read[k] += 1;
                    Ok(())
                }
                Source::Node { id, .. } if !schedule.fixed[id.0 as usize] && schedule.ready(id) != cycle => {
                    Err(format!("a flag of %{} is read in cycle {cycle}, when it belongs to another pair", id.0))
                }
                Source::Node { id, bit } => {
                    *reached.entry((id, bit)).or_insert(0) += 1;
                    Ok(())
                }
            }
        };
        for (k, step) in self.steps.iter().enumerate() {
            step.inputs.iter().try_for_each(|input| see(input, k, step.flag, step.cycle))?;
        }
        for (flag, inputs) in self.last.iter().enumerate() {
            inputs.iter().try_for_each(|input| see(input, self.steps.len(), flag, schedule.depth))?;
        }
        if let Some(k) = read.iter().position(|n| *n != 1) {
            return Err(format!("step {k} is read {} times", read[k]));
        }
        for (k, node) in graph.nodes.iter().enumerate() {
            let id = NodeId(k as u32);
            let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
            let wanted = (graph.demand(id) != Demand::Never) as u32;
            for bit in 0..op.flags(inst).0.count_ones() {
                let found = reached.get(&(id, bit)).copied().unwrap_or(0);
                if found != wanted {
                    return Err(format!("flag {bit} of %{k} is gathered {found} times, not {wanted}"));
                }
            }
        }
        Ok(())
    }
}

/// A line a step, then one for each flag port.
impl std::fmt::Display for Gather {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let input = |i: &Input| {
            let source = match i.source {
                Source::Node { id, bit } => format!("%{}.{bit}", id.0),
                Source::Step(k) => format!("step {k}"),
            };
            source + &i.when.map_or(String::new(), |w| format!(" if %{}", w.0))
        };
        let list = |inputs: &[Input]| inputs.iter().map(input).collect::<Vec<_>>().join(", ");
        for (k, step) in self.steps.iter().enumerate() {
            writeln!(f, "step {k}, cycle {}, {}: {}", step.cycle, Flags::NAMES[step.flag], list(&step.inputs))?;
        }
        self.last.iter().enumerate().try_for_each(|(k, inputs)| writeln!(f, "{}: {}", Flags::NAMES[k], list(inputs)))
    }
}

/// The sources of one flag in each cycle.
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
