//! A kernel with a filter (RULES L19) in two: what the condition of `where` needs, and the rest, which has only the pairs that pass.
//!
//! The rest takes some values of a pair from the first part: pins, and what the condition has computed already. Which of these
//! it takes and which it computes again is a minimum cut: a carried bit costs a place in a queue and a choice among
//! queues, an operator its circuit. Flags stay what they are (RULES L6): a value is carried only if its flags count for every pair,
//! so that none counts that would not, and the rest of the flags are those of what either part demands.

use crate::diag::Span;
use crate::graph::{Graph, Node, NodeId, NodeKind, Output, Pin, PinClass};
use crate::middle::bins::{gathered, operator, push};
use crate::middle::library::Library;
use crate::middle::schedule::fixed;
use crate::middle::simplify::{live, simplify};
use hdl::circuit::simplex::Problem;
use hdl::circuit::target::Clock;
use hdl::number::format::UINT1;
use hdl::op::{Inst, circuit, compare, int};
use hdl::{Format, Reduce};
use std::collections::HashMap;

/// The output of the first part that says whether a pair passes; no name of a program begins like these.
pub const PASS: &str = "pg_pass";
/// The number of pairs that pass, likewise.
pub const PASSED: &str = "pg_passed";
/// The values that go from one part to the other, with their number behind.
pub const CARRIED: &str = "pg_carried";

/// The format of the number of pairs that pass.
const COUNT: Format = Format::Int { width: 64, signed: false };

/// Lookup tables for which a carried bit counts: its place in each filter's queue, and the choice of one of these.
const BIT: i64 = 4;
/// Lookup tables for which a multiplier block counts: about as many as an ECP5 has for each.
const BLOCK: i64 = 400;

/// A value that goes from the first part to the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Carried {
    /// The source's name for it, or empty.
    pub name: String,
    pub format: Format,
    /// Whether it is a pin's, which the condition need not read.
    pub is_pin: bool,
}

/// A kernel in two parts, each a kernel of its own.
#[derive(Clone)]
pub struct Split {
    /// Takes sources and targets; its outputs are [`PASS`], and the values that are carried.
    pub filter: Graph,
    /// Takes these values as a source's, and has the outputs.
    pub rest: Graph,
    pub carried: Vec<Carried>,
}

/// The parts of a kernel with a filter, for a clock; neither is simplified yet. `None` for one without.
pub fn split(graph: &Graph, clock: Clock) -> Option<Split> {
    let filter = graph.filter?;
    let mut whole = gathered(graph);
    let pass = push_pin(&mut whole, PASS.into(), PinClass::Fout, UINT1);
    whole.outputs.push(Output { pin: pass, element: 0, reduce: Reduce::Max, value: filter });
    let apart = live(&simplify(&restricted(&live(&simplify(&whole)))));
    let cut = Cut::of(&apart, clock);
    let carried = |id: &NodeId| {
        let node = apart.node(*id);
        let is_pin = matches!(node.kind, NodeKind::Pin { .. });
        Carried { name: node.name.clone(), format: node.format, is_pin }
    };
    Some(Split {
        filter: first_part(&apart, &cut.carried),
        rest: second_part(&apart, &cut.carried),
        carried: cut.carried.iter().map(carried).collect(),
    })
}

/// The kernel with one more sum behind its outputs: the number of pairs that pass; simplified. `None` for one without a filter.
pub fn counted(graph: &Graph) -> Option<Graph> {
    let filter = graph.filter?;
    let mut whole = graph.clone();
    let [zero, one] = [0, 1].map(|bits| push(&mut whole, NodeKind::Const { bits }, COUNT, filter));
    let value = operator(&mut whole, compare::MUX, &[filter, one, zero], filter);
    let pin = push_pin(&mut whole, PASSED.into(), PinClass::Fout, COUNT);
    whole.outputs.push(Output { pin, element: 0, reduce: Reduce::Sum, value });
    Some(simplify(&whole))
}

fn push_pin(graph: &mut Graph, name: String, class: PinClass, format: Format) -> usize {
    graph.pins.push(Pin::scalar(name, class, format, Span { start: 0, end: 0 }));
    graph.pins.len() - 1
}

/// The output that is [`PASS`].
fn pass_of(graph: &Graph) -> NodeId {
    graph.outputs.last().expect("the condition is an output").value
}

/// Consequences of a condition that holds: values of conditions that it is made of.
fn facts(graph: &Graph) -> HashMap<NodeId, u64> {
    let mut known = HashMap::new();
    let mut open = vec![(pass_of(graph), 1u64)];
    let is_zero = |id: NodeId| matches!(graph.node(id).kind, NodeKind::Const { bits: 0 });
    while let Some((id, value)) = open.pop() {
        if known.insert(id, value).is_some() {
            continue;
        }
        let NodeKind::Op { op, args, .. } = &graph.node(id).kind else { continue };
        match value {
            1 if *op == int::AND => open.extend(args.iter().map(|a| (*a, 1))),
            1 if *op == compare::MUX && is_zero(args[2]) => open.extend([(args[0], 1), (args[1], 1)]),
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
    let known = facts(graph);
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

/// The nodes that some nodes are made of, themselves included.
fn cone(graph: &Graph, roots: impl IntoIterator<Item = NodeId>) -> Vec<bool> {
    let mut within = vec![false; graph.nodes.len()];
    roots.into_iter().for_each(|id| within[id.0 as usize] = true);
    for k in (0..graph.nodes.len()).rev() {
        if let (true, NodeKind::Op { args, .. }) = (within[k], &graph.nodes[k].kind) {
            args.iter().for_each(|a| within[a.0 as usize] = true);
        }
    }
    within
}

/// Whether the flags of each node and of all that it is made of count for every pair, whatever the pair: because there are none, or
/// because the condition demands them.
fn flags_count(graph: &Graph) -> Vec<bool> {
    let mut demanded = vec![false; graph.nodes.len()];
    demanded[pass_of(graph).0 as usize] = true;
    for k in (0..graph.nodes.len()).rev() {
        if let (true, NodeKind::Op { op, args, .. }) = (demanded[k], &graph.nodes[k].kind) {
            // Of a choice only the condition is demanded always.
            let always = if *op == compare::MUX { &args[..1] } else { &args[..] };
            always.iter().for_each(|a| demanded[a.0 as usize] = true);
        }
    }
    let mut count: Vec<bool> = Vec::with_capacity(graph.nodes.len());
    for (k, node) in graph.nodes.iter().enumerate() {
        count.push(match &node.kind {
            NodeKind::Op { op, inst, args } => {
                (demanded[k] || op.flags(inst).is_empty()) && args.iter().all(|a| count[a.0 as usize])
            }
            _ => true,
        });
    }
    count
}

/// The values that go from one part to the other.
struct Cut {
    carried: Vec<NodeId>,
}

impl Cut {
    fn of(graph: &Graph, clock: Clock) -> Cut {
        let own = &graph.outputs[..graph.outputs.len() - 1];
        let (in_filter, in_rest) = (cone(graph, [pass_of(graph)]), cone(graph, own.iter().map(|o| o.value)));
        let (fixed, count) = (fixed(graph), flags_count(graph));
        let library = Library::new(graph, clock);
        let mut problem = Problem::new();
        // For a node that may be carried: whether the rest needs it, and whether the rest computes it.
        let mut needed: HashMap<usize, (usize, Option<usize>)> = HashMap::new();
        let demand = |problem: &mut Problem, at: usize| problem.bounds[at] = (1, Some(1));
        for k in (0..graph.nodes.len()).filter(|k| in_rest[*k] && !fixed[*k]) {
            let node = &graph.nodes[k];
            let bits = BIT * node.format.width() as i64;
            let NodeKind::Op { op, inst, args } = &node.kind else {
                let need = problem.variable(0, Some(1));
                problem.weight[need] = bits;
                needed.insert(k, (need, None));
                continue;
            };
            let inputs = args.iter().filter_map(|a| needed.get(&(a.0 as usize)).map(|n| n.0)).collect::<Vec<_>>();
            if !in_filter[k] || !count[k] {
                // The rest's alone: what it reads is needed where it is. Nothing that is computed of it is carried either.
                let need = problem.variable(0, Some(1));
                inputs.iter().for_each(|input| problem.constrain(need, *input, 0));
                problem.weight[need] = cost(graph, k, (&library, clock), (*op, inst));
                needed.insert(k, (need, Some(need)));
                continue;
            }
            let (need, again) = (problem.variable(0, Some(1)), problem.variable(0, Some(1)));
            problem.constrain(again, need, 0);
            inputs.iter().for_each(|input| problem.constrain(again, *input, 0));
            problem.weight[need] = bits;
            problem.weight[again] = cost(graph, k, (&library, clock), (*op, inst)) - bits;
            needed.insert(k, (need, Some(again)));
        }
        for output in own {
            if let Some((need, _)) = needed.get(&(output.value.0 as usize)) {
                demand(&mut problem, *need);
            }
        }
        let x = problem.solve().x;
        let is_carried = |k: &usize| match needed.get(k) {
            Some((need, again)) => x[*need] == 1 && again.is_none_or(|again| x[again] == 0),
            None => false,
        };
        Cut { carried: (0..graph.nodes.len()).filter(is_carried).map(|k| NodeId(k as u32)).collect() }
    }
}

/// About what an operator takes in lookup tables, multiplier blocks among them.
fn cost(
    graph: &Graph,
    k: usize,
    (library, clock): (&Library, Clock),
    (op, inst): (&'static dyn hdl::op::Operator, &Inst),
) -> i64 {
    let Some(module) = library.module(NodeId(k as u32)) else { return 0 };
    let own = Clock { blocks: (module.multipliers == 0).then_some(0), ..clock };
    // An operator that costs nothing is no reason to carry what it gives instead of a wider argument, but for its bits.
    let tables = circuit(op, inst, own).tables() as i64 + BLOCK * module.multipliers as i64;
    tables.max(1) + graph.nodes[k].format.width() as i64 / 16
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

/// The condition, and what is carried.
fn first_part(graph: &Graph, carried: &[NodeId]) -> Graph {
    let (mut pins, places) = pins_of(graph, |p| p.class != PinClass::Fout);
    let mut outputs = Vec::new();
    let values = [(PASS.to_string(), pass_of(graph))];
    let carried = carried.iter().enumerate().map(|(k, id)| (format!("{CARRIED}_{k}"), *id));
    for (name, value) in values.into_iter().chain(carried) {
        pins.push(Pin::scalar(name, PinClass::Fout, graph.node(value).format, graph.node(value).span));
        outputs.push(Output { pin: pins.len() - 1, element: 0, reduce: Reduce::Max, value });
    }
    let nodes = graph.nodes.iter().map(|node| renumbered(node, &places)).collect();
    live(&Graph { pins, nodes, outputs, gathered: Vec::new(), ..graph.clone() })
}

/// The outputs, of what is carried.
fn second_part(graph: &Graph, carried: &[NodeId]) -> Graph {
    let keeps = |p: &Pin| matches!(p.class, PinClass::Param | PinClass::Fout) && p.name != PASS;
    let (mut pins, places) = pins_of(graph, keeps);
    let mut nodes: Vec<Node> = graph.nodes.iter().map(|node| renumbered(node, &places)).collect();
    for (k, id) in carried.iter().enumerate() {
        let node = &mut nodes[id.0 as usize];
        pins.push(Pin::scalar(format!("{CARRIED}_{k}"), PinClass::Jpin, node.format, node.span));
        node.kind = NodeKind::Pin { pin: pins.len() - 1, element: 0 };
    }
    let own = &graph.outputs[..graph.outputs.len() - 1];
    let outputs = own.iter().map(|o| Output { pin: places[o.pin], ..o.clone() }).collect();
    let mut gathered = graph.gathered.clone();
    for g in &mut gathered {
        (g.pin, g.at, g.value) = (places[g.pin], places[g.at], places[g.value]);
    }
    // What was known of arguments rests on what they are made of.
    let nodes = nodes.into_iter().map(unbound).collect();
    live(&Graph { pins, nodes, outputs, gathered, ..graph.clone() })
}
