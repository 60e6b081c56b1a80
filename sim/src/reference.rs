//! The scalar reference emulator: one pair after the other through the operators' `bits`.

pub mod profile;
pub mod real;

use hdl::Flags;
use hdl::number::reduce::Accumulator;
use pg2::graph::{Graph, Node, NodeKind, PinClass};
use std::collections::HashMap;

/// A graph with what evaluating it needs to know of each node.
struct Prepared<'a> {
    graph: &'a Graph,
    /// Class of a pin node and its place in the record.
    pins: Vec<Option<(PinClass, usize)>>,
    /// Whether a node is a multiplexer.
    chooses: Vec<bool>,
}

/// The state after evaluating one pair: the value of each node, its flags, and whether it is demanded.
#[derive(Default)]
struct Pair {
    values: Vec<u64>,
    flags: Vec<Flags>,
    demanded: Vec<bool>,
}

impl<'a> Prepared<'a> {
    fn new(graph: &'a Graph) -> Prepared<'a> {
        let mut places = HashMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            places.extend(graph.elements_of(class).into_iter().enumerate().map(|(k, e)| (e, (class, k))));
        }
        let place = |node: &Node| match node.kind {
            NodeKind::Pin { pin, element } => Some(places[&(pin, element)]),
            _ => None,
        };
        let chooses = |node: &Node| matches!(&node.kind, NodeKind::Op { op, .. } if *op == hdl::op::compare::MUX);
        Prepared {
            graph,
            pins: graph.nodes.iter().map(place).collect(),
            chooses: graph.nodes.iter().map(chooses).collect(),
        }
    }

    /// Evaluates one pair and gives the flags that count (RULES L6, N7).
    fn pair(&self, i: &[u64], j: &[u64], params: &[u64], pair: &mut Pair) -> Flags {
        let Pair { values, flags, .. } = pair;
        values.clear();
        flags.clear();
        for (node, pin) in self.graph.nodes.iter().zip(&self.pins) {
            let (value, raised) = match (&node.kind, pin) {
                (_, Some((PinClass::Ipin, at))) => (i[*at], Flags::NONE),
                (_, Some((PinClass::Jpin, at))) => (j[*at], Flags::NONE),
                (_, Some((_, at))) => (params[*at], Flags::NONE),
                (NodeKind::Const { bits }, _) => (*bits, Flags::NONE),
                (NodeKind::Op { op, inst, args }, _) => {
                    // No operator has more than four arguments.
                    let mut patterns = [0; 4];
                    patterns.iter_mut().zip(args).for_each(|(p, a)| *p = values[a.0 as usize]);
                    op.bits(inst, &patterns[..args.len()])
                }
                (NodeKind::Pin { .. }, None) => unreachable!("every pin node has a place"),
            };
            values.push(value);
            flags.push(raised);
        }
        self.counted(pair)
    }

    /// The flags of the demanded nodes: an output demands its value, an operator its arguments, a `mux` its condition and the
    /// arm that it takes.
    fn counted(&self, pair: &mut Pair) -> Flags {
        let Pair { values, flags, demanded } = pair;
        let mut all = Flags::NONE;
        demanded.clear();
        demanded.resize(values.len(), false);
        self.graph.outputs.iter().for_each(|o| demanded[o.value.0 as usize] = true);
        for (k, node) in self.graph.nodes.iter().enumerate().rev() {
            if let (true, NodeKind::Op { args, .. }) = (demanded[k], &node.kind) {
                all |= flags[k];
                match args[..] {
                    [condition, yes, no] if self.chooses[k] => {
                        let taken = if values[condition.0 as usize] == 1 { yes } else { no };
                        [condition, taken].iter().for_each(|a| demanded[a.0 as usize] = true);
                    }
                    _ => args.iter().for_each(|a| demanded[a.0 as usize] = true),
                }
            }
        }
        all
    }
}

/// The value of every node for one pair, and the flags that count.
pub fn pair(graph: &Graph, i: &[u64], j: &[u64], params: &[u64]) -> (Vec<u64>, Flags) {
    let bound = graph.bound(params, false);
    let graph = bound.as_ref().unwrap_or(graph);
    let mut pair = Pair::default();
    let flags = Prepared::new(graph).pair(i, j, params, &mut pair);
    (pair.values, flags)
}

/// The results of one target over sources `j`, one pattern for each output element, and its flags.
pub fn target(graph: &Graph, i: &[u64], j: &[Vec<u64>], params: &[u64]) -> (Vec<u64>, Flags) {
    let bound = graph.bound(params, false);
    let graph = bound.as_ref().unwrap_or(graph);
    let record = graph.record();
    let mut sums = record.start();
    let prepared = Prepared::new(graph);
    let mut pair = Pair::default();
    let mut flags = Flags::NONE;
    for source in j {
        flags |= prepared.pair(i, source, params, &mut pair);
        record.add(&mut sums, |output| pair.values[graph.outputs[output].value.0 as usize]);
    }
    let finished: Vec<(u64, Flags)> = sums.iter().map(Accumulator::finish).collect();
    (finished.iter().map(|f| f.0).collect(), finished.iter().fold(flags, |a, f| a | f.1))
}
