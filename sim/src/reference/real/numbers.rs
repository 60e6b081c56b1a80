//! Kernels whose sums are numbers: of a term, the value before the casts to its output's format (RULES H14).

use hdl::op::semantics::DOUBLE;
use hdl::op::{Attrs, Inst, Operator, compare, float, int};
use hdl::{Format, Reduce};
use pg2::diag::Span;
use pg2::graph::{Graph, Node, NodeId, NodeKind, Pin};
use std::collections::HashMap;

/// A copy for [`RealKernel`](super::RealKernel) alone: sums whose terms are floats that are cast to an int or fixed at the end, or
/// chosen, negated or added up behind such casts, are those of the floats, as f64. Others stay as they are.
pub fn in_numbers(graph: &Graph) -> Graph {
    let mut copy = Copy { graph: graph.clone(), is_cast: HashMap::new(), numbers: HashMap::new() };
    for pin in 0..graph.pins.len() {
        let outputs: Vec<usize> = (0..graph.outputs.len()).filter(|o| graph.outputs[*o].pin == pin).collect();
        let is_number = |o: &usize, copy: &mut Copy| {
            graph.outputs[*o].reduce == Reduce::Sum && copy.has_cast(graph.outputs[*o].value)
        };
        if outputs.iter().any(|o| is_number(o, &mut copy)) {
            copy.graph.pins[pin].format = DOUBLE;
            outputs.iter().for_each(|o| copy.graph.outputs[*o].value = copy.number(graph.outputs[*o].value));
        }
    }
    copy.graph
}

/// A copy whose terms are 0 where two pins have equal elements: those of a target and of a source, by their indices.
pub fn without_equal(graph: &Graph, pins: [usize; 2]) -> Graph {
    let mut copy = Copy { graph: graph.clone(), is_cast: HashMap::new(), numbers: HashMap::new() };
    let mut same: Option<NodeId> = None;
    for element in 0..graph.pins[pins[0]].elements() {
        let both = pins.map(|pin| {
            let Pin { format, span, .. } = copy.graph.pins[pin];
            copy.push(NodeKind::Pin { pin, element }, format, span)
        });
        let equal = copy.op(compare::EQ, &both, Attrs::default());
        same = Some(same.map_or(equal, |same| copy.op(int::AND, &[same, equal], Attrs::default())));
    }
    let Some(same) = same else { return copy.graph };
    for output in 0..graph.outputs.len() {
        let value = graph.outputs[output].value;
        let Node { format, span, .. } = *graph.node(value);
        let zero = copy.push(NodeKind::Const { bits: 0 }, format, span);
        copy.graph.outputs[output].value = copy.op(compare::MUX, &[same, zero, value], Attrs::default());
    }
    copy.graph
}

/// A graph that grows at its end.
struct Copy {
    graph: Graph,
    /// Of nodes that were looked at.
    is_cast: HashMap<NodeId, bool>,
    numbers: HashMap<NodeId, NodeId>,
}

/// The operator on floats for one on ints and fixeds that a cast to these may stand before.
fn of_floats(op: &'static dyn Operator) -> Option<&'static dyn Operator> {
    let pairs: [(&dyn Operator, &'static dyn Operator); 4] =
        [(compare::MUX, compare::MUX), (int::NEG, float::FNEG), (int::ADD, float::FADD), (int::SUB, float::FSUB)];
    pairs.into_iter().find(|(of_ints, _)| op == *of_ints).map(|(_, of_floats)| of_floats)
}

impl Copy {
    /// The arguments that are values of a node's format.
    fn values(&self, node: NodeId) -> Option<(&'static dyn Operator, Vec<NodeId>)> {
        let NodeKind::Op { op, args, .. } = &self.graph.node(node).kind else { return None };
        let of_floats = of_floats(*op)?;
        let first = if of_floats == compare::MUX { 1 } else { 0 };
        Some((of_floats, args[first..].to_vec()))
    }

    /// Whether a value of an int or fixed is made of floats that were cast to it.
    fn has_cast(&mut self, node: NodeId) -> bool {
        if let Some(known) = self.is_cast.get(&node) {
            return *known;
        }
        let is_cast = match (&self.graph.node(node).kind, self.values(node)) {
            (NodeKind::Op { op, .. }, _) if *op == float::TOFIX => true,
            (NodeKind::Op { op, args, .. }, _) if *op == int::TOTAL => {
                let sum = args[0];
                self.has_cast(sum)
            }
            (_, Some((_, args))) => args.into_iter().any(|arg| self.has_cast(arg)),
            _ => false,
        };
        self.is_cast.insert(node, is_cast);
        is_cast
    }

    /// The same value as a number.
    fn number(&mut self, node: NodeId) -> NodeId {
        if let Some(known) = self.numbers.get(&node) {
            return *known;
        }
        let kind = self.graph.node(node).kind.clone();
        let to_double = Attrs { to: Some(DOUBLE), ..Attrs::default() };
        let number = match (&kind, self.values(node)) {
            (NodeKind::Op { op, args, .. }, _) if *op == float::TOFIX => self.op(float::FCAST, &[args[0]], to_double),
            // Sums of numbers wrap nowhere.
            (NodeKind::Op { op, args, .. }, _) if *op == int::TOTAL => self.number(args[0]),
            (NodeKind::Op { args, .. }, Some((op, values))) if self.has_cast(node) => {
                let numbers: Vec<NodeId> = values.into_iter().map(|value| self.number(value)).collect();
                let condition = if op == compare::MUX { &args[..1] } else { &[] };
                self.op(op, &[condition, &numbers].concat(), Attrs::default())
            }
            _ => self.op(float::TOFLOAT, &[node], to_double),
        };
        self.numbers.insert(node, number);
        number
    }

    fn op(&mut self, op: &'static dyn Operator, args: &[NodeId], attrs: Attrs) -> NodeId {
        let formats: Vec<_> = args.iter().map(|arg| self.graph.node(*arg).format).collect();
        let inst = Inst::new(op, &formats, attrs).expect("the formats are those of the operator");
        let (format, span) = (inst.result, self.graph.node(args[0]).span);
        self.push(NodeKind::Op { op, inst, args: args.to_vec() }, format, span)
    }

    fn push(&mut self, kind: NodeKind, format: Format, span: Span) -> NodeId {
        self.graph.nodes.push(Node { kind, format, name: String::new(), span });
        NodeId(self.graph.nodes.len() as u32 - 1)
    }
}
