//! The schedule: the cycle in which each node starts, balanced so that every path meets in step.

use crate::graph::{Graph, NodeKind};
use hdl::target::Clock;

/// When each node of a graph starts, for a clock.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// Cycle in which the node takes its arguments; 0 for pins and constants.
    pub start: Vec<u32>,
    /// Cycles the node takes.
    pub latency: Vec<u32>,
    /// Flip-flop bits inside the node's operator.
    pub operator_bits: Vec<u64>,
    /// Flip-flop bits of the delay line behind the node: its width times the longest wait of a user.
    pub delay_bits: Vec<u64>,
    /// Cycles from pins to outputs.
    pub depth: u32,
}

impl Schedule {
    /// All flip-flop bits of the pipeline.
    pub fn register_bits(&self) -> u64 {
        self.operator_bits.iter().chain(&self.delay_bits).sum()
    }

    /// Checks that every argument is ready when its user starts and all outputs by `depth`.
    pub fn verify(&self, graph: &Graph) -> Result<(), String> {
        for (k, node) in graph.nodes.iter().enumerate() {
            if let NodeKind::Op { args, .. } = &node.kind {
                for a in args {
                    let a = a.0 as usize;
                    if self.start[a] + self.latency[a] > self.start[k] {
                        return Err(format!("node %{k} starts before %{a} is ready"));
                    }
                }
            }
        }
        for o in &graph.outputs {
            let v = o.value.0 as usize;
            if self.start[v] + self.latency[v] > self.depth {
                return Err(format!("output value %{v} is ready after cycle {}", self.depth));
            }
        }
        Ok(())
    }
}

/// Schedules `graph` for `clock`.
pub fn schedule(graph: &Graph, clock: Clock) -> Schedule {
    let _ = (graph, clock);
    unimplemented!("the compiler's back end")
}
