//! The hardware of every distinct operator use in a graph, made once for a compilation.

use crate::graph::{Graph, NodeId, NodeKind};
use hdl::circuit::Pipelined;
use hdl::op::{Inst, Operator, hardware};
use hdl::target::Clock;
use std::collections::HashMap;

/// Pipelined operator modules and which node uses which. A kernel of thousands of nodes has a few dozen.
pub struct Library {
    pub clock: Clock,
    /// In order of first use.
    pub modules: Vec<Pipelined>,
    /// For each node the index of its module; `None` for pins and constants.
    of_node: Vec<Option<usize>>,
}

impl Library {
    /// Builds the hardware that `graph` needs.
    pub fn new(graph: &Graph, clock: Clock) -> Library {
        let mut known: HashMap<(&'static str, &Inst), usize> = HashMap::new();
        let mut library = Library { clock, modules: Vec::new(), of_node: Vec::with_capacity(graph.nodes.len()) };
        for node in &graph.nodes {
            let module = match &node.kind {
                NodeKind::Op { op, inst, .. } => {
                    Some(*known.entry((op.name(), inst)).or_insert_with(|| library.share(*op, inst)))
                }
                _ => None,
            };
            library.of_node.push(module);
        }
        library
    }

    /// The index of a module for this use. Where a known sign does not change the circuit, the module that
    /// knows nothing of signs serves.
    fn share(&mut self, op: &'static dyn Operator, inst: &Inst) -> usize {
        let mut made = hardware(op, inst, self.clock);
        if inst.nonneg != 0 {
            let general = hardware(op, &Inst { nonneg: 0, ..inst.clone() }, self.clock);
            if general.module.items == made.module.items {
                made = general;
            }
        }
        let name = &made.module.name;
        self.modules.iter().position(|m| m.module.name == *name).unwrap_or_else(|| {
            self.modules.push(made);
            self.modules.len() - 1
        })
    }

    /// The module of a node; `None` for pins and constants.
    pub fn module(&self, id: NodeId) -> Option<&Pipelined> {
        self.of_node[id.0 as usize].map(|k| &self.modules[k])
    }
}
