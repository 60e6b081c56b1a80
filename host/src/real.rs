//! A kernel's real meaning over many pairs: every operator by its `real`, in f64, and sums that do not round to a format.

use crate::backend::{Run, Segment, Table};
use hdl::{Format, Reduce};
use pg2::graph::{Graph, NodeKind, PinClass};
use std::collections::HashMap;

/// Records as real numbers: `elements` a record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reals {
    pub elements: usize,
    pub values: Vec<f64>,
}

impl Reals {
    /// What the patterns of a class of pins stand for.
    pub fn of(graph: &Graph, class: PinClass, table: &Table) -> Reals {
        let formats: Vec<Format> = graph.elements_of(class).iter().map(|e| graph.pins[e.0].format).collect();
        let values = table.bits.iter().zip(formats.iter().cycle()).map(|(b, f)| f.to_f64(*b)).collect();
        Reals { elements: table.elements, values }
    }

    /// Record `k`; empty where there are no pins of the class.
    fn record(&self, k: usize) -> &[f64] {
        self.values.get(k * self.elements..(k + 1) * self.elements).unwrap_or(&[])
    }
}

/// A graph with its inputs.
pub struct Kernel<'a> {
    graph: &'a Graph,
    /// For each node that is a pin: its class and its place in the record.
    pins: Vec<Option<(PinClass, usize)>>,
    params: Vec<f64>,
    targets: Reals,
    sources: Reals,
    /// Node and reduction of each output.
    outputs: Vec<(usize, Reduce)>,
}

impl<'a> Kernel<'a> {
    pub fn new(graph: &'a Graph, targets: Reals, sources: Reals, params: Vec<f64>) -> Kernel<'a> {
        let mut places = HashMap::new();
        for class in [PinClass::Ipin, PinClass::Jpin, PinClass::Param] {
            for (k, e) in graph.elements_of(class).into_iter().enumerate() {
                places.insert(e, (class, k));
            }
        }
        let pin = |node: &pg2::graph::Node| match node.kind {
            NodeKind::Pin { pin, element } => Some(places[&(pin, element)]),
            _ => None,
        };
        Kernel {
            graph,
            pins: graph.nodes.iter().map(pin).collect(),
            params,
            targets,
            sources,
            outputs: graph.outputs.iter().map(|o| (o.value.0 as usize, o.reduce)).collect(),
        }
    }

    /// The outputs of the targets `first..last` of a run; `None` where there is no source.
    pub fn targets(&self, run: &Run, segments: &[Segment], first: usize, last: usize) -> Vec<Vec<Option<f64>>> {
        let mut values = vec![0.0; self.graph.nodes.len()];
        let one = |target: usize| {
            let i = self.targets.record(target);
            let mut sums: Vec<Option<f64>> = vec![None; self.outputs.len()];
            for s in &segments[run.segments.clone()] {
                for source in s.first..s.first + s.count {
                    self.pair(i, self.sources.record(source), &mut values);
                    for (sum, (node, reduce)) in sums.iter_mut().zip(&self.outputs) {
                        *sum = Some(merge(*reduce, *sum, values[*node]));
                    }
                }
            }
            sums
        };
        (first..last).map(one).collect()
    }

    fn pair(&self, i: &[f64], j: &[f64], values: &mut [f64]) {
        let mut args = Vec::with_capacity(3);
        for (k, node) in self.graph.nodes.iter().enumerate() {
            values[k] = match (&node.kind, self.pins[k]) {
                (_, Some((PinClass::Ipin, at))) => i[at],
                (_, Some((PinClass::Jpin, at))) => j[at],
                (_, Some((_, at))) => self.params[at],
                (NodeKind::Const { bits }, _) => node.format.to_f64(*bits),
                (NodeKind::Op { op, inst, args: nodes }, _) => {
                    args.clear();
                    args.extend(nodes.iter().map(|a| values[a.0 as usize]));
                    op.real(inst, &args)
                }
                (NodeKind::Pin { .. }, None) => unreachable!("every pin node has a place"),
            };
        }
    }
}

fn merge(reduce: Reduce, sum: Option<f64>, x: f64) -> f64 {
    match (reduce, sum) {
        (_, None) => x,
        (Reduce::Sum, Some(s)) => s + x,
        (Reduce::Max, Some(s)) => s.max(x),
        (Reduce::Min, Some(s)) => s.min(x),
    }
}
