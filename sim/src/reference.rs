//! The scalar reference emulator: one pair after the other through the operators' `bits`.

use hdl::Flags;
use hdl::reduce::Accumulator;
use pg2::graph::{Graph, NodeKind, PinClass};

/// Records as bit patterns, record by record, elements in record order (see [`hdl::engine::Layout`]).
pub type Records = Vec<Vec<u64>>;

/// The value of every node for one pair, and the flags of the nodes that reach an output (RULES N7).
pub fn pair(graph: &Graph, i: &[u64], j: &[u64], params: &[u64]) -> (Vec<u64>, Flags) {
    let index = |class| graph.elements_of(class);
    let (ie, je, pe) = (index(PinClass::Ipin), index(PinClass::Jpin), index(PinClass::Param));
    let position = |list: &[(usize, u32)], pin: usize, element: u32| {
        list.iter().position(|e| *e == (pin, element)).expect("a verified graph names existing pins")
    };
    let live = live(graph);
    let mut flags = Flags::NONE;
    let mut values: Vec<u64> = Vec::with_capacity(graph.nodes.len());
    for (k, node) in graph.nodes.iter().enumerate() {
        let value = match &node.kind {
            NodeKind::Pin { pin, element } => match graph.pins[*pin].class {
                PinClass::Ipin => i[position(&ie, *pin, *element)],
                PinClass::Jpin => j[position(&je, *pin, *element)],
                _ => params[position(&pe, *pin, *element)],
            },
            NodeKind::Const { bits } => *bits,
            NodeKind::Op { op, inst, args } => {
                let args: Vec<u64> = args.iter().map(|a| values[a.0 as usize]).collect();
                let (bits, raised) = op.bits(inst, &args);
                flags |= raised.when(live[k]);
                bits
            }
        };
        values.push(value);
    }
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
    let mut flags = Flags::NONE;
    for source in j {
        let (values, raised) = pair(graph, i, source, params);
        flags |= raised;
        for (sum, o) in sums.iter_mut().zip(&graph.outputs) {
            sum.add(values[o.value.0 as usize]);
        }
    }
    let finished: Vec<(u64, Flags)> = sums.iter().map(Accumulator::finish).collect();
    (finished.iter().map(|f| f.0).collect(), finished.iter().fold(flags, |a, f| a | f.1))
}
