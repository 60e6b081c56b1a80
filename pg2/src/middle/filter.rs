//! A kernel with a filter (RULES L19) in two: the test of a pair, and the rest, which has only the pairs that pass. The test is the
//! condition of `where`, and the rest does not ask again; or it is a [coarse] one, and the rest is the kernel as it is.
//!
//! Both read the pins of a pair. What the test has computed is computed again by the rest: a pair in a queue is no more than the number of
//! its source and of its target, whatever the kernel, and there is one pipeline of the rest for many filters.

use crate::diag::Span;
use crate::graph::{Graph, Node, NodeId, NodeKind, Output, Pin, PinClass};
use crate::middle::bins::{gathered, operator, push};
use crate::middle::coarse;
use crate::middle::simplify::{live, simplify};
use hdl::number::format::UINT1;
use hdl::op::{Inst, compare, int};
use hdl::{Format, Reduce};
use std::collections::HashMap;

/// The output of the test that says whether a pair passes; no name of a program begins like these.
pub const PASS: &str = "pg_pass";
/// The number of pairs that pass, likewise.
pub const PASSED: &str = "pg_passed";

/// The format of the number of pairs that pass.
const COUNT: Format = Format::Int { width: 64, signed: false };

/// A kernel in two parts, each a kernel of its own.
#[derive(Clone)]
pub struct Split {
    /// Its output is [`PASS`].
    pub test: Graph,
    /// Of a [coarse] test, which takes other pins than the kernel: what makes these of targets, and of sources.
    pub narrowed: Option<[Graph; 2]>,
    /// Has the outputs. Behind a coarse test it is the whole kernel.
    pub rest: Graph,
}

/// The parts of a kernel with a filter; neither is simplified yet. `None` for one without.
pub fn split(graph: &Graph) -> Option<Split> {
    let filter = graph.filter?;
    let mut whole = gathered(graph);
    if let Some((narrowed, test)) = coarse::narrowing(graph) {
        return Some(Split { test, narrowed: Some(narrowed), rest: live(&Graph { filter: None, ..whole }) });
    }
    let pass = push_pin(&mut whole, PASS.into(), PinClass::Fout, UINT1);
    whole.outputs.push(Output { pin: pass, element: 0, reduce: Reduce::Max, value: filter });
    let apart = live(&simplify(&restricted(&live(&simplify(&whole)))));
    Some(Split { test: test(&apart), narrowed: None, rest: rest(&apart) })
}

/// The kernel with one more sum behind its outputs: the number of pairs that pass its filters; simplified. `None` for one without a
/// filter.
pub fn counted(graph: &Graph) -> Option<Graph> {
    let mut whole = graph.clone();
    let filter = coarse::test(&mut whole).or(graph.filter)?;
    let [zero, one] = [0, 1].map(|bits| push(&mut whole, NodeKind::Const { bits }, COUNT, filter));
    let value = operator(&mut whole, compare::MUX, &[filter, one, zero], filter);
    let pin = push_pin(&mut whole, PASSED.into(), PinClass::Fout, COUNT);
    whole.outputs.push(Output { pin, element: 0, reduce: Reduce::Sum, value });
    Some(simplify(&whole))
}

/// The number of pairs that pass the filters as the only output.
pub fn count_alone(graph: &Graph) -> Option<Graph> {
    let whole = counted(graph)?;
    let count = whole.outputs.last().cloned();
    Some(live(&Graph { outputs: count.into_iter().collect(), gathered: Vec::new(), bins: Vec::new(), ..whole }))
}

pub(super) fn push_pin(graph: &mut Graph, name: String, class: PinClass, format: Format) -> usize {
    graph.pins.push(Pin::scalar(name, class, format, Span { start: 0, end: 0 }));
    graph.pins.len() - 1
}

/// The output that is [`PASS`].
fn pass_of(graph: &Graph) -> NodeId {
    graph.outputs.last().expect("the condition is an output").value
}

/// Consequences of a condition that holds: values of conditions that it is made of.
pub(super) fn facts(graph: &Graph, condition: NodeId) -> HashMap<NodeId, u64> {
    let mut known = HashMap::new();
    let mut open = vec![(condition, 1u64)];
    let is_zero = |id: NodeId| matches!(graph.node(id).kind, NodeKind::Const { bits: 0 });
    while let Some((id, value)) = open.pop() {
        if known.insert(id, value).is_some() {
            continue;
        }
        let NodeKind::Op { op, args, .. } = &graph.node(id).kind else { continue };
        match value {
            1 if *op == int::AND => open.extend(args.iter().map(|a| (*a, 1))),
            1 if *op == compare::MUX && is_zero(args[2]) => open.extend([(args[0], 1), (args[1], 1)]),
            1 if *op == compare::MUX && is_zero(args[1]) => open.extend([(args[0], 0), (args[2], 1)]),
            0 if *op == int::OR => open.extend(args.iter().map(|a| (*a, 0))),
            _ if *op == int::NOT => open.push((args[0], 1 - value)),
            _ => {}
        }
    }
    known.retain(|id, _| graph.node(*id).format == UINT1);
    known
}

/// The graph whose own outputs are those of pairs that pass; the condition stays what it is.
fn restricted(graph: &Graph) -> Graph {
    let known = facts(graph, pass_of(graph));
    let mut nodes: Vec<Node> = Vec::with_capacity(2 * graph.nodes.len());
    // Where each node is, and where the one is that stands for it in the outputs.
    let mut plain: Vec<NodeId> = Vec::new();
    let mut within: Vec<NodeId> = Vec::new();
    for (k, node) in graph.nodes.iter().enumerate() {
        let mut push = |node: Node| {
            nodes.push(node);
            NodeId(nodes.len() as u32 - 1)
        };
        let moved = |places: &[NodeId]| {
            let mut node = node.clone();
            if let NodeKind::Op { args, .. } = &mut node.kind {
                args.iter_mut().for_each(|a| *a = places[a.0 as usize]);
            }
            node
        };
        let own = push(moved(&plain));
        let differs = match &node.kind {
            NodeKind::Op { args, .. } => args.iter().any(|a| plain[a.0 as usize] != within[a.0 as usize]),
            _ => false,
        };
        let inner = match known.get(&NodeId(k as u32)) {
            Some(bits) => push(Node { kind: NodeKind::Const { bits: *bits }, name: String::new(), ..node.clone() }),
            None if differs => push(unbound(moved(&within))),
            None => own,
        };
        plain.push(own);
        within.push(inner);
    }
    let mut outputs = graph.outputs.clone();
    let last = outputs.len() - 1;
    for (k, output) in outputs.iter_mut().enumerate() {
        let places = if k == last { &plain } else { &within };
        output.value = places[output.value.0 as usize];
    }
    Graph { nodes, outputs, ..graph.clone() }
}

/// The node without what was known of its arguments, which may be others now.
fn unbound(mut node: Node) -> Node {
    if let NodeKind::Op { inst, .. } = &mut node.kind {
        *inst = Inst { nonneg: 0, bounds: Vec::new(), same: false, ..inst.clone() };
    }
    node
}

/// Pins of some classes in their order, and the new number of each.
fn pins_of(graph: &Graph, keeps: impl Fn(&Pin) -> bool) -> (Vec<Pin>, Vec<usize>) {
    let mut pins = Vec::new();
    let mut place = Vec::new();
    for pin in &graph.pins {
        place.push(pins.len());
        pins.extend(keeps(pin).then(|| pin.clone()));
    }
    (pins, place)
}

/// A node with its pins by their new numbers.
fn renumbered(node: &Node, pins: &[usize]) -> Node {
    let mut node = node.clone();
    match &mut node.kind {
        NodeKind::Pin { pin, .. } => *pin = pins[*pin],
        NodeKind::Op { inst, .. } => {
            if let Some(table) = &inst.attrs.lookup
                && let Some(loaded) = &table.loaded
            {
                let mut table = (**table).clone();
                let loaded = hdl::op::table::lookup::Loaded { pin: pins[loaded.pin as usize] as u32, ..loaded.clone() };
                table.loaded = Some(loaded);
                inst.attrs.lookup = Some(table.into());
            }
        }
        NodeKind::Const { .. } => {}
    }
    node
}

/// A part with some of the pins, and these outputs.
fn part(graph: &Graph, keeps: impl Fn(&Pin) -> bool, outputs: &[Output]) -> (Graph, Vec<usize>) {
    let (pins, places) = pins_of(graph, keeps);
    let nodes = graph.nodes.iter().map(|node| renumbered(node, &places)).collect();
    let outputs = outputs.iter().map(|o| Output { pin: places[o.pin], ..o.clone() }).collect();
    (Graph { pins, nodes, outputs, ..graph.clone() }, places)
}

/// The condition.
fn test(graph: &Graph) -> Graph {
    let last = graph.outputs.len() - 1;
    let (test, _) = part(graph, |p| p.class != PinClass::Fout || p.name == PASS, &graph.outputs[last..]);
    live(&Graph { gathered: Vec::new(), ..test })
}

/// The outputs.
fn rest(graph: &Graph) -> Graph {
    let last = graph.outputs.len() - 1;
    let (mut rest, places) = part(graph, |p| p.name != PASS, &graph.outputs[..last]);
    for g in &mut rest.gathered {
        (g.pin, g.at, g.value) = (places[g.pin], places[g.at], places[g.value]);
    }
    live(&rest)
}
