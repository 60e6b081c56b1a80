//! Simplification: a smaller graph with the same bits and the same flags.
//!
//! Only nodes that reach an output count, for flags too (RULES N7), and that is decided on the source's graph: first the
//! dead nodes go. After that no rewrite may lose a node that can raise a flag, nor gain a flag, so every node of a
//! simplified graph reaches an output, and simplifying twice changes nothing more.
//!
//! A flag counts only where its value is demanded (RULES L6), so the arm that a known condition never takes may go.
//!
//! One walk in topological order folds constants through [`hdl::op::Operator::bits`], shares equal nodes, and applies
//! what operators state of themselves and the identities of `rules`; then `known` marks which arguments are never negative and how small and how large they can be, and
//! [`super::demand`] when flags count.

pub(crate) mod known;
mod rules;

use crate::diag::Span;
use crate::graph::{Graph, Node, NodeId, NodeKind};
use hdl::Format;
use hdl::hash::FastMap;
use hdl::op::{Attrs, Inst, Operator};
use rules::Rule;

/// Each operator use about which something else is known asks for a circuit of its own; more of them than the largest kernel
/// that is shipped has would take long and gain little.
const MOST_KNOWN: usize = 512;

/// The simplified graph.
pub fn simplify(graph: &Graph) -> Graph {
    let mut graph = live(graph);
    let mut walk = Walk::default();
    let mut place: Vec<NodeId> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        walk.source = (node.name.clone(), node.span);
        place.push(match &node.kind {
            NodeKind::Op { op, inst, args } => {
                let args = args.iter().map(|a| place[a.0 as usize]).collect();
                walk.op(*op, inst.attrs.clone(), args)
            }
            kind => walk.add(kind.clone(), node.format),
        });
        walk.name(place[place.len() - 1], node);
    }
    graph.nodes = walk.nodes;
    graph.numbers.clear();
    graph.outputs.iter_mut().for_each(|o| o.value = place[o.value.0 as usize]);
    let mut graph = live(&graph);
    known::mark(&mut graph);
    known::forget_beyond(&mut graph, MOST_KNOWN);
    super::demand::mark(&mut graph);
    graph
}

/// The graph without the nodes that reach no output.
pub(crate) fn live(graph: &Graph) -> Graph {
    let mut used = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|o| used[o.value.0 as usize] = true);
    for k in (0..graph.nodes.len()).rev() {
        if let (true, NodeKind::Op { args, .. }) = (used[k], &graph.nodes[k].kind) {
            args.iter().for_each(|a| used[a.0 as usize] = true);
        }
    }
    let mut place = vec![NodeId(0); graph.nodes.len()];
    let mut nodes = Vec::new();
    for (k, node) in graph.nodes.iter().enumerate().filter(|(k, _)| used[*k]) {
        place[k] = NodeId(nodes.len() as u32);
        let mut node = node.clone();
        if let NodeKind::Op { args, .. } = &mut node.kind {
            args.iter_mut().for_each(|a| *a = place[a.0 as usize]);
        }
        nodes.push(node);
    }
    let mut outputs = graph.outputs.clone();
    outputs.iter_mut().for_each(|o| o.value = place[o.value.0 as usize]);
    let numbers = graph.numbers.iter().filter(|(id, _)| used[id.0 as usize]);
    let numbers = numbers.map(|(id, x)| (place[id.0 as usize], *x)).collect();
    let gathered = graph.gathered.clone();
    Graph {
        name: graph.name.clone(),
        pins: graph.pins.clone(),
        nodes,
        outputs,
        demand: Vec::new(),
        numbers,
        bins: Vec::new(),
        gathered,
        filter: None,
    }
}

/// The key by which two nodes are equal.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Pin(usize, u32),
    Const(Format, u64),
    Op(&'static dyn Operator, Attrs, Vec<NodeId>),
}

/// The new graph as it grows.
#[derive(Default)]
struct Walk {
    nodes: Vec<Node>,
    known: FastMap<Key, NodeId>,
    /// Whether neither the node nor anything before it can raise a flag, so that it may be dropped.
    silent: Vec<bool>,
    /// Name and span of the source's node that is being rewritten.
    source: (String, Span),
}

impl Walk {
    /// The node for an operator on nodes of the new graph: a new one, or one that is there already.
    fn op(&mut self, op: &'static dyn Operator, attrs: Attrs, mut args: Vec<NodeId>) -> NodeId {
        if op.commutes() {
            // Constants go last, where the rules look for them.
            args.sort_by_key(|a| (self.constant(*a).is_some(), *a));
        }
        let formats: Vec<Format> = args.iter().map(|a| self.format(*a)).collect();
        let inst = Inst::new(op, &formats, attrs).expect("a verified graph and its rewrites have fitting formats");
        if let Some(id) = self.folded(op, &inst, &args) {
            return id;
        }
        match rules::rewrite(self, op, &inst, &args) {
            Some(Rule::Same(id)) => id,
            Some(Rule::Const(bits)) => self.add(NodeKind::Const { bits }, inst.result),
            Some(Rule::Op(op, attrs, args)) => self.op(op, Attrs { round: inst.attrs.round, ..attrs }, args),
            None => self.add(NodeKind::Op { op, inst: inst.clone(), args }, inst.result),
        }
    }

    /// The constant that an operator on constants gives, if it raises no flag on the way.
    fn folded(&mut self, op: &'static dyn Operator, inst: &Inst, args: &[NodeId]) -> Option<NodeId> {
        if inst.is_open() {
            return None;
        }
        let values: Option<Vec<u64>> = args.iter().map(|a| self.constant(*a)).collect();
        let (bits, flags) = op.bits(inst, &values?);
        flags.is_empty().then(|| self.add(NodeKind::Const { bits }, inst.result))
    }

    fn add(&mut self, kind: NodeKind, format: Format) -> NodeId {
        let (key, silent) = match &kind {
            NodeKind::Pin { pin, element } => (Key::Pin(*pin, *element), true),
            NodeKind::Const { bits } => (Key::Const(format, *bits), true),
            NodeKind::Op { op, inst, args } => (
                Key::Op(*op, inst.attrs.clone(), args.clone()),
                op.flags(inst).is_empty() && args.iter().all(|a| self.silent[a.0 as usize]),
            ),
        };
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node { kind, format, name: String::new(), span: self.source.1 });
        self.silent.push(silent);
        self.known.insert(key, id);
        id
    }

    /// Gives a computed node the source's name for it, the first one that it has.
    fn name(&mut self, id: NodeId, node: &Node) {
        let own = &mut self.nodes[id.0 as usize];
        if own.name.is_empty() && matches!(own.kind, NodeKind::Op { .. }) == matches!(node.kind, NodeKind::Op { .. }) {
            own.name.clone_from(&node.name);
        }
    }

    fn constant(&self, id: NodeId) -> Option<u64> {
        match self.nodes[id.0 as usize].kind {
            NodeKind::Const { bits } => Some(bits),
            _ => None,
        }
    }

    fn format(&self, id: NodeId) -> Format {
        self.nodes[id.0 as usize].format
    }

    /// Operator, attributes and arguments of a node.
    fn parts(&self, id: NodeId) -> Option<(&'static dyn Operator, &Attrs, &[NodeId])> {
        match &self.nodes[id.0 as usize].kind {
            NodeKind::Op { op, inst, args } => Some((*op, &inst.attrs, args)),
            _ => None,
        }
    }

    /// The argument of a node that is that operator of one.
    fn argument(&self, id: NodeId, of: &'static dyn Operator) -> Option<NodeId> {
        self.parts(id).filter(|parts| parts.0 == of).map(|parts| parts.2[0])
    }
}
