//! Demand: when a flag of a node counts (RULES L6).
//!
//! An output demands its value, an operator its arguments, and a multiplexer its condition and the arm that it takes. So a
//! node's demand is a function of the conditions of the multiplexers between it and the outputs: the OR over its readers, each
//! ANDed with the condition of the arm if it is one. The functions are kept as decision diagrams, which are unique, so
//! that a value which every branch reads is seen to be demanded always. Only where a node can raise a flag is its
//! demand made of nodes.

mod diagram;

use crate::graph::{Demand, Graph, Node, NodeId, NodeKind};
use diagram::{Choice, Diagrams, FALSE, Function, TRUE};
use hdl::hash::{FastMap, FastSet};
use hdl::number::format::UINT1;
use hdl::op::{Attrs, Inst, Operator, compare, int};
use std::collections::BTreeMap;

/// Diagrams with more choices than this become one condition of their own, so that none grows beyond bounds.
const MOST_CHOICES: usize = 32;

/// Finds [`Graph::demand`] and adds the nodes that it needs.
pub fn mark(graph: &mut Graph) {
    let raises = |node: &Node| matches!(&node.kind, NodeKind::Op { op, inst, .. } if !op.flags(inst).is_empty());
    let wanted: Vec<bool> = graph.nodes.iter().map(raises).collect();
    let mut analysis = Analysis::default();
    let demand = analysis.of(graph);
    let mut made = Made::new(&analysis, std::mem::take(&mut graph.nodes));
    let count = made.nodes.len();
    let needed = |k: usize| wanted[k] && demand[k] > TRUE;
    made.cuts((0..count).filter(|k| needed(*k)).map(|k| demand[k]).collect());
    let mut found = Vec::with_capacity(count);
    for k in 0..count {
        found.push(match demand[k] {
            function if needed(k) => Demand::When(made.node(function)),
            FALSE if wanted[k] => Demand::Never,
            _ => Demand::Always,
        });
    }
    found.resize(made.nodes.len(), Demand::Always);
    (graph.nodes, graph.demand) = (made.nodes, found);
    if graph.nodes.len() > count {
        sort(graph, count);
    }
}

/// Puts the nodes from `count` on behind the last of their arguments, so that they are at hand early.
fn sort(graph: &mut Graph, count: usize) {
    let mut behind: Vec<u32> = (0..count as u32).collect();
    for node in &graph.nodes[count..] {
        let NodeKind::Op { args, .. } = &node.kind else { unreachable!("demand is made of operators") };
        let last = args.iter().map(|a| behind[a.0 as usize]).max();
        behind.push(last.expect("operators have arguments"));
    }
    let mut order: Vec<usize> = (0..graph.nodes.len()).collect();
    order.sort_by_key(|k| (behind[*k], *k));
    let mut place = vec![NodeId(0); order.len()];
    order.iter().enumerate().for_each(|(new, old)| place[*old] = NodeId(new as u32));
    let mut nodes: Vec<Option<Node>> = std::mem::take(&mut graph.nodes).into_iter().map(Some).collect();
    graph.nodes = order.iter().map(|k| nodes[*k].take().expect("each node has one place")).collect();
    for node in &mut graph.nodes {
        if let NodeKind::Op { args, .. } = &mut node.kind {
            args.iter_mut().for_each(|a| *a = place[a.0 as usize]);
        }
    }
    graph.outputs.iter_mut().for_each(|o| o.value = place[o.value.0 as usize]);
    graph.demand = order.iter().map(|k| graph.demand[*k]).collect();
    for demand in &mut graph.demand {
        if let Demand::When(condition) = demand {
            *condition = place[condition.0 as usize];
        }
    }
}

/// The value of a condition of a diagram.
#[derive(Clone, Copy)]
enum FlagDemand {
    /// The value of a node.
    Node(NodeId),
    /// A diagram that grew too large.
    Function(Function),
}

#[derive(Default)]
struct Analysis {
    diagrams: Diagrams,
    /// Of each condition, in the order of the diagrams: outer multiplexers first.
    meanings: Vec<FlagDemand>,
    conditions: FastMap<NodeId, u32>,
    cuts: FastMap<Function, u32>,
}

impl Analysis {
    /// The demand of every node.
    fn of(&mut self, graph: &Graph) -> Vec<Function> {
        let mut demand = vec![FALSE; graph.nodes.len()];
        graph.outputs.iter().for_each(|o| demand[o.value.0 as usize] = TRUE);
        for k in (0..graph.nodes.len()).rev() {
            let NodeKind::Op { op, args, .. } = &graph.nodes[k].kind else { continue };
            let own = self.cut(demand[k]);
            match args[..] {
                [c, a, b] if *op == compare::MUX => {
                    let condition = self.condition(graph, c);
                    let otherwise = self.diagrams.not(condition);
                    for (arg, when) in [(c, TRUE), (a, condition), (b, otherwise)] {
                        let taken = self.diagrams.and(own, when);
                        self.add(&mut demand[arg.0 as usize], taken);
                    }
                }
                _ => args.iter().for_each(|a| self.add(&mut demand[a.0 as usize], own)),
            }
        }
        demand
    }

    /// One more reader of a node.
    fn add(&mut self, demand: &mut Function, reader: Function) {
        let all = self.diagrams.or(*demand, reader);
        *demand = self.cut(all);
    }

    /// The condition of a multiplexer.
    fn condition(&mut self, graph: &Graph, mut id: NodeId) -> Function {
        let mut negated = false;
        let condition = loop {
            match &graph.node(id).kind {
                NodeKind::Op { op, args, .. } if *op == int::NOT => (id, negated) = (args[0], !negated),
                NodeKind::Const { bits } => break if *bits == 1 { TRUE } else { FALSE },
                _ => {
                    let next = self.meanings.len() as u32;
                    let place = *self.conditions.entry(id).or_insert(next);
                    if place == next {
                        self.meanings.push(FlagDemand::Node(id));
                    }
                    break self.diagrams.variable(place);
                }
            }
        };
        if negated { self.diagrams.not(condition) } else { condition }
    }

    /// A function as one condition if its diagram is large.
    fn cut(&mut self, function: Function) -> Function {
        if function <= TRUE || self.diagrams.size(function, MOST_CHOICES) <= MOST_CHOICES {
            return function;
        }
        let next = self.meanings.len() as u32;
        let place = *self.cuts.entry(function).or_insert(next);
        if place == next {
            self.meanings.push(FlagDemand::Function(function));
        }
        self.diagrams.variable(place)
    }
}

/// Demands as nodes, each made once.
struct Made<'a> {
    analysis: &'a Analysis,
    nodes: Vec<Node>,
    functions: FastMap<Function, NodeId>,
    known: FastMap<(&'static dyn Operator, Vec<NodeId>), NodeId>,
}

impl<'a> Made<'a> {
    fn new(analysis: &'a Analysis, nodes: Vec<Node>) -> Made<'a> {
        Made { analysis, nodes, functions: FastMap::default(), known: FastMap::default() }
    }

    /// Makes the cuts that functions are made of, inner ones first, so that a long chain of them is no deep recursion.
    fn cuts(&mut self, mut functions: Vec<Function>) {
        let (mut seen, mut cuts) = (FastSet::default(), BTreeMap::new());
        while let Some(function) = functions.pop() {
            if function <= TRUE || !seen.insert(function) {
                continue;
            }
            let choice = self.analysis.diagrams.choice(function);
            functions.extend([choice.then, choice.otherwise]);
            if let FlagDemand::Function(whole) = self.analysis.meanings[choice.condition as usize] {
                cuts.insert(choice.condition, whole);
                functions.push(whole);
            }
        }
        // A cut is made of conditions that were there before it.
        cuts.into_values().for_each(|whole| {
            self.node(whole);
        });
    }

    /// The node of a function that is not constant.
    fn node(&mut self, function: Function) -> NodeId {
        if let Some(id) = self.functions.get(&function) {
            return *id;
        }
        let Choice { condition, then, otherwise } = self.analysis.diagrams.choice(function);
        let condition = match self.analysis.meanings[condition as usize] {
            FlagDemand::Node(id) => id,
            FlagDemand::Function(whole) => self.node(whole),
        };
        let id = match (then, otherwise) {
            (TRUE, FALSE) => condition,
            (FALSE, TRUE) => self.op(int::NOT, &[condition]),
            (TRUE, rest) => self.with(int::OR, condition, rest),
            (rest, FALSE) => self.with(int::AND, condition, rest),
            (rest, TRUE) => {
                let not = self.op(int::NOT, &[condition]);
                self.with(int::OR, not, rest)
            }
            (FALSE, rest) => {
                let not = self.op(int::NOT, &[condition]);
                self.with(int::AND, not, rest)
            }
            _ => {
                let (then, otherwise) = (self.node(then), self.node(otherwise));
                self.op(compare::MUX, &[condition, then, otherwise])
            }
        };
        self.functions.insert(function, id);
        id
    }

    fn with(&mut self, op: &'static dyn Operator, condition: NodeId, rest: Function) -> NodeId {
        let rest = self.node(rest);
        self.op(op, &[condition, rest])
    }

    fn op(&mut self, op: &'static dyn Operator, args: &[NodeId]) -> NodeId {
        let key = (op, args.to_vec());
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let inst = Inst::new(op, &vec![UINT1; args.len()], Attrs::default()).expect("they take conditions");
        let span = self.nodes[args[0].0 as usize].span;
        let kind = NodeKind::Op { op, inst, args: args.to_vec() };
        self.nodes.push(Node { kind, format: UINT1, name: String::new(), span });
        let id = NodeId(self.nodes.len() as u32 - 1);
        self.known.insert(key, id);
        id
    }
}
