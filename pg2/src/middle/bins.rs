//! Sums of which each pair changes one, gathered in memory instead of a register and an adder for each.
//!
//! The graph has a comparison and a multiplexer for each element ([`Bins`]). [`gathered`] takes these away, and gives the pipeline two
//! outputs for all of them: the place, and what is added there. The lane has the memory (`hdl/src/engine/lane/bins.rs`).

use crate::graph::{Bins, Gathered, Graph, Node, NodeId, NodeKind, Output, Pin, PinClass};
use hdl::op::{Attrs, Inst, Operator, compare};
use hdl::{Format, Reduce};

/// The fewest elements whose sums are smaller in memory.
const FEWEST: u32 = 16;

/// The graph with two outputs for all elements of each pin that is worth it.
pub fn gathered(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    for Bins { pin, at, value } in std::mem::take(&mut graph.bins) {
        if graph.pins[pin].elements() < FEWEST {
            continue;
        }
        graph.outputs.retain(|o| o.pin != pin);
        // A value counts only where it has a place (RULES L6).
        let own = graph.pins[pin].clone();
        let zero = push(&mut graph, NodeKind::Const { bits: 0 }, own.format, value);
        let is_somewhere = operator(&mut graph, compare::NZ, &[at], value);
        let taken = operator(&mut graph, compare::MUX, &[is_somewhere, value, zero], value);
        let first = graph.pins.len();
        // No name of a program begins like these.
        for (what, node) in [("at", at), ("value", taken)] {
            let (format, name) = (graph.node(node).format, format!("pg_{what}_{}", own.name));
            graph.pins.push(Pin::scalar(name, PinClass::Fout, format, own.span));
            graph.outputs.push(Output { pin: graph.pins.len() - 1, element: 0, reduce: Reduce::Max, value: node });
        }
        graph.gathered.push(Gathered { pin, at: first, value: first + 1 });
    }
    graph.outputs.sort_by_key(|o| (o.pin, o.element));
    graph
}

/// Adds a node behind all others, with the place in the source that another one has.
pub(super) fn push(graph: &mut Graph, kind: NodeKind, format: Format, like: NodeId) -> NodeId {
    let span = graph.node(like).span;
    graph.nodes.push(Node { kind, format, name: String::new(), span });
    if !graph.demand.is_empty() {
        graph.demand.clear();
    }
    NodeId(graph.nodes.len() as u32 - 1)
}

/// The same of an operator on nodes whose formats it takes.
pub(super) fn operator(graph: &mut Graph, op: &'static dyn Operator, args: &[NodeId], like: NodeId) -> NodeId {
    operator_with(graph, (op, Attrs::default()), args, like)
}

/// The same of an operator with attributes.
pub(super) fn operator_with(
    graph: &mut Graph,
    (op, attrs): (&'static dyn Operator, Attrs),
    args: &[NodeId],
    like: NodeId,
) -> NodeId {
    let formats: Vec<Format> = args.iter().map(|a| graph.node(*a).format).collect();
    let inst = Inst::new(op, &formats, attrs).expect("formats that the operator takes");
    let format = inst.result;
    push(graph, NodeKind::Op { op, inst, args: args.to_vec() }, format, like)
}
