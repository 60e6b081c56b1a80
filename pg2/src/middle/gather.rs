//! How the flags of one pair come together: for each flag an OR that travels down the pipeline with the pair.

use crate::graph::{Graph, NodeId, NodeKind};
use crate::middle::schedule::Schedule;
use hdl::Flags;
use hdl::circuit::target::Clock;

/// Something that carries one flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Bit `bit` of the flag port of a node.
    Node { id: NodeId, bit: u32 },
    /// The register of an earlier step.
    Step(usize),
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

/// Plans the gathering for a schedule. Flags of static nodes stand still, so they join in the last register.
pub fn gather(graph: &Graph, schedule: &Schedule, clock: Clock) -> Gather {
    let mut plan = Gather::default();
    let mut sources: Vec<[Vec<Input>; Flags::COUNT as usize]> = vec![Default::default(); schedule.depth as usize + 1];
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        let id = NodeId(k as u32);
        let cycle = if schedule.fixed[k] { schedule.depth - 1 } else { schedule.ready(id) };
        for (bit, flag) in op.flags(inst).iter().enumerate() {
            sources[cycle as usize][flag.0.ilog2() as usize].push(Input::Node { id, bit: bit as u32 });
        }
    }
    let most = clock.or_inputs();
    for (flag, last) in plan.last.iter_mut().enumerate() {
        let mut carried: Vec<Input> = Vec::new();
        for cycle in 0..=schedule.depth {
            let mut inputs = std::mem::take(&mut carried);
            inputs.append(&mut sources[cycle as usize][flag]);
            if cycle == schedule.depth {
                *last = inputs;
                break;
            }
            for group in inputs.chunks(most) {
                carried.push(Input::Step(plan.steps.len()));
                plan.steps.push(Step { flag, cycle, inputs: group.to_vec() });
            }
        }
    }
    plan
}
