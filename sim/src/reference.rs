//! The scalar reference emulator: one pair after the other through the operators' `bits`.

use hdl::Flags;
use hdl::number::reduce::Accumulator;
use pg2::graph::{Graph, Node, NodeKind, PinClass};
use std::collections::HashMap;

/// A graph with what evaluating it needs to know of each node.
struct Prepared<'a> {
    graph: &'a Graph,
    /// Class of a pin node and its place in the record.
    pins: Vec<Option<(PinClass, usize)>>,
    live: Vec<bool>,
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
        Prepared { graph, pins: graph.nodes.iter().map(place).collect(), live: live(graph) }
    }

    /// Evaluates one pair into `values`, one for each node, and gives the flags of the nodes that reach an output.
    fn pair(&self, i: &[u64], j: &[u64], params: &[u64], values: &mut Vec<u64>) -> Flags {
        let mut flags = Flags::NONE;
        values.clear();
        for (k, node) in self.graph.nodes.iter().enumerate() {
            let value = match (&node.kind, self.pins[k]) {
                (_, Some((PinClass::Ipin, at))) => i[at],
                (_, Some((PinClass::Jpin, at))) => j[at],
                (_, Some((_, at))) => params[at],
                (NodeKind::Const { bits }, _) => *bits,
                (NodeKind::Op { op, inst, args }, _) => {
                    // No operator has more than four arguments.
                    let mut patterns = [0; 4];
                    patterns.iter_mut().zip(args).for_each(|(p, a)| *p = values[a.0 as usize]);
                    let (bits, raised) = op.bits(inst, &patterns[..args.len()]);
                    flags |= raised.when(self.live[k]);
                    bits
                }
                (NodeKind::Pin { .. }, None) => unreachable!("every pin node has a place"),
            };
            values.push(value);
        }
        flags
    }
}

/// The value of every node for one pair, and the flags of the nodes that reach an output (RULES N7).
pub fn pair(graph: &Graph, i: &[u64], j: &[u64], params: &[u64]) -> (Vec<u64>, Flags) {
    let mut values = Vec::new();
    let flags = Prepared::new(graph).pair(i, j, params, &mut values);
    (values, flags)
}

/// The nodes that reach an output.
pub fn live(graph: &Graph) -> Vec<bool> {
    let mut live = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|o| live[o.value.0 as usize] = true);
    for (k, node) in graph.nodes.iter().enumerate().rev() {
        if let NodeKind::Op { args, .. } = &node.kind
            && live[k]
        {
            args.iter().for_each(|a| live[a.0 as usize] = true);
        }
    }
    live
}

/// The results of one target over sources `j`, one pattern for each output element, and its flags.
pub fn target(graph: &Graph, i: &[u64], j: &[Vec<u64>], params: &[u64]) -> (Vec<u64>, Flags) {
    let mut sums: Vec<Accumulator> =
        graph.outputs.iter().map(|o| Accumulator::new(o.reduce, graph.pins[o.pin].format)).collect();
    let prepared = Prepared::new(graph);
    let mut values = Vec::new();
    let mut flags = Flags::NONE;
    for source in j {
        flags |= prepared.pair(i, source, params, &mut values);
        for (sum, o) in sums.iter_mut().zip(&graph.outputs) {
            sum.add(values[o.value.0 as usize]);
        }
    }
    let finished: Vec<(u64, Flags)> = sums.iter().map(Accumulator::finish).collect();
    (finished.iter().map(|f| f.0).collect(), finished.iter().fold(flags, |a, f| a | f.1))
}
