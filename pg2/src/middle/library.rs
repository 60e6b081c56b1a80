//! The hardware of every distinct operator use in a graph, made once for a compilation.

use crate::graph::{Graph, NodeId, NodeKind};
use crate::middle::budget::{Budget, budget};
use hdl::circuit::target::Clock;
use hdl::circuit::{Circuit, Pipelined, pipeline};
use hdl::op::{Inst, Operator, circuit, module_name};
use hdl::rtl::chains::Chains;
use hdl::rtl::netlist::Module;
use std::collections::HashMap;

/// Pipelined operator modules and which node uses which. A kernel of thousands of nodes has a few dozen.
#[derive(Clone)]
pub struct Library {
    pub clock: Clock,
    /// In order of first use.
    pub modules: Vec<Pipelined>,
    /// For each node the index of its module; `None` for pins and constants.
    of_node: Vec<Option<usize>>,
    /// The different circuits of the uses of one name, and the index of each one's module if it has one; the first
    /// knows nothing of its arguments.
    circuits: HashMap<String, Vec<(Circuit, Option<usize>)>>,
}

impl Library {
    /// Builds the hardware that `graph` needs.
    pub fn new(graph: &Graph, clock: Clock) -> Library {
        Library::within(graph, &budget(graph, clock))
    }

    /// The same with the products where the budget has them.
    pub fn within(graph: &Graph, budget: &Budget) -> Library {
        let mut library = Library::empty(budget.clock, graph.nodes.len());
        let mut known: HashMap<(&'static dyn Operator, &Inst, bool), usize> = HashMap::new();
        for (k, node) in graph.nodes.iter().enumerate() {
            if let NodeKind::Op { op, inst, .. } = &node.kind {
                let logic = budget.in_logic(k);
                let module = *known.entry((*op, inst, logic)).or_insert_with(|| library.share(*op, inst, logic));
                library.of_node[k] = Some(module);
            }
        }
        library
    }

    /// A library of nothing yet, for a graph of so many nodes.
    pub(crate) fn empty(clock: Clock, nodes: usize) -> Library {
        Library { clock, modules: Vec::new(), of_node: vec![None; nodes], circuits: HashMap::new() }
    }

    /// Gives some nodes the module of one use, which serves all of them.
    pub(crate) fn give(&mut self, nodes: &[usize], op: &'static dyn Operator, inst: &Inst, logic: bool) {
        let module = self.share(op, inst, logic);
        nodes.iter().for_each(|k| self.of_node[*k] = Some(module));
    }

    /// Gives some nodes a module that is made for them alone.
    pub(crate) fn give_made(&mut self, nodes: &[usize], name: &str, circuit: &Circuit) {
        self.modules.push(pipeline(name, circuit));
        let module = self.modules.len() - 1;
        nodes.iter().for_each(|k| self.of_node[*k] = Some(module));
    }

    /// The index of a module for this use, with its products in logic or in blocks. Where what is known of the arguments
    /// does not change the circuit, the module that knows nothing serves; circuits that differ are numbered in order of
    /// first use.
    fn share(&mut self, op: &'static dyn Operator, inst: &Inst, logic: bool) -> usize {
        let clock = Clock { blocks: logic.then_some(0), ..self.clock };
        let general = Inst { nonneg: 0, bounds: Vec::new(), same: false, ..inst.clone() };
        let base = module_name(op, &general) + if logic { "_logic" } else { "" };
        let of_use = self.circuits.entry(base.clone()).or_insert_with(|| vec![(circuit(op, &general, clock), None)]);
        let made = if *inst == general { of_use[0].0.clone() } else { circuit(op, inst, clock) };
        let variant = of_use.iter().position(|(c, _)| *c == made).unwrap_or_else(|| {
            of_use.push((made, None));
            of_use.len() - 1
        });
        let (circuit, index) = &mut of_use[variant];
        *index.get_or_insert_with(|| {
            let name = if variant == 0 { base } else { format!("{base}_v{variant}") };
            self.modules.push(pipeline(&name, circuit));
            self.modules.len() - 1
        })
    }

    /// All modules, each behind those that stand inside it; memories of one size are one module.
    pub fn netlist(&self) -> Vec<Module> {
        let mut all: Vec<Module> = Vec::new();
        for module in self.modules.iter().flat_map(|m| m.parts.iter().chain([&m.module])) {
            if !all.iter().any(|known| known.name == module.name) {
                all.push(module.clone());
            }
        }
        all
    }

    /// The index of a node's module; `None` for pins and constants.
    pub fn index(&self, node: usize) -> Option<usize> {
        self.of_node[node]
    }

    /// The module of a node; `None` for pins and constants.
    pub fn module(&self, id: NodeId) -> Option<&Pipelined> {
        self.of_node[id.0 as usize].map(|k| &self.modules[k])
    }

    /// The time for the accumulators behind a pipeline of these operators.
    pub fn chains(&self, graph: &Graph) -> Chains {
        let product = |id: NodeId| self.module(id).is_some_and(|m| m.multipliers > 0);
        self.clock.chains(graph.outputs.iter().any(|o| product(o.value)))
    }
}
