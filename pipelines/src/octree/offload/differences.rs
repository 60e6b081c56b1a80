//! Evaluation of a kernel that is not 1/r for pairs closer than its integer coordinates resolve, or farther apart than they reach.
//!
//! In its text a kernel takes the difference of two coordinates as an int or fixed, and casts it to a float. In a copy of its graph
//! each such float is a pin of its own, so that real-arithmetic evaluation, which rounds no float, gets the difference as it is.

use crate::octree::bind::{Feed, P2p};
use hdl::op::semantics::Real;
use hdl::op::{compare, float, int};
use hdl::{Format, Rounding};
use pg2::graph::{Graph, Node, NodeId, NodeKind, Pin, PinClass};
use sim::reference::real::{Pairs, RealKernel, RealSources, Scratch, in_numbers};

/// A difference of coordinates along an axis: from target to source, or with the other sign.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Difference {
    axis: usize,
    is_negative: bool,
}

/// A kernel with the differences of coordinates as pins.
pub(crate) struct DifferenceKernel {
    evaluated: RealKernel,
    outputs: usize,
    kernel: P2p,
    /// The differences that the sources' elements behind those of the kernel hold.
    differences: Vec<Difference>,
}

/// A source as a target sees it: its difference of coordinates in boxes, and its charge.
pub(crate) struct Partner {
    pub d: [f64; 3],
    pub charge: f64,
}

/// Several of them.
#[derive(Default)]
pub(crate) struct Partners {
    pub d: [Vec<f64>; 3],
    pub charge: Vec<f64>,
}

impl Extend<Partner> for Partners {
    fn extend<I: IntoIterator<Item = Partner>>(&mut self, partners: I) {
        for Partner { d, charge } in partners {
            self.d.iter_mut().zip(d).for_each(|(column, d)| column.push(d));
            self.charge.push(charge);
        }
    }
}

impl Partners {
    pub fn clear(&mut self) {
        self.d.iter_mut().chain([&mut self.charge]).for_each(Vec::clear);
    }
}

impl DifferenceKernel {
    /// `None` if the kernel uses coordinates in another way than as differences that are cast to floats or compared with 0.
    pub fn new(graph: &Graph, kernel: &P2p) -> Option<DifferenceKernel> {
        let graph = &in_numbers(graph);
        let differences: Vec<Option<Difference>> = graph.nodes.iter().map(|node| difference(graph, node)).collect();
        let mut copy = graph.clone();
        let mut pins: Vec<Difference> = Vec::new();
        for (k, node) in graph.nodes.iter().enumerate() {
            let NodeKind::Op { op, args, .. } = &node.kind else { continue };
            let of = args.iter().find_map(|arg| differences[arg.0 as usize]);
            match of {
                Some(of) if *op == float::TOFLOAT => {
                    copy.nodes[k].kind = NodeKind::Pin { pin: copy.pins.len(), element: 0 };
                    let name = format!("difference{}", pins.len());
                    let (class, format) = (PinClass::Jpin, node.format);
                    copy.pins.push(Pin {
                        name,
                        class,
                        format,
                        len: None,
                        columns: None,
                        table: false,
                        span: node.span,
                    });
                    pins.push(of);
                }
                Some(_) if !is_comparison_with_zero(graph, node) => return None,
                None if args.iter().any(|arg| coordinate(graph, *arg).is_some()) && differences[k].is_none() => {
                    return None;
                }
                _ => {}
            }
        }
        let is_output = |k: usize| graph.outputs.iter().any(|o| o.value.0 as usize == k);
        let is_kept = |k: usize| differences[k].is_some() || coordinate(graph, NodeId(k as u32)).is_some();
        let is_good = !(0..graph.nodes.len()).any(|k| is_output(k) && is_kept(k));
        is_good.then(|| DifferenceKernel {
            evaluated: RealKernel::new(&copy),
            outputs: copy.outputs.len(),
            kernel: kernel.clone(),
            differences: pins,
        })
    }

    /// The scratch memory of an evaluation; one a thread.
    pub fn scratch(&self) -> Scratch {
        self.evaluated.scratch()
    }

    /// The sums of all outputs over a target's partners, in the kernel's units; `None` where one is not a number.
    pub fn sums(&self, scratch: &mut Scratch, params: &[u64], partners: &Partners) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; self.outputs];
        self.add(scratch, params, partners, &mut sums);
        sums.iter().all(|s| s.is_finite()).then_some(sums)
    }

    /// Adds what a target's partners give to sums of all outputs, in the kernel's units. Terms beyond the range of f64 are infinite.
    pub fn add(&self, scratch: &mut Scratch, params: &[u64], partners: &Partners, sums: &mut [f64]) {
        let (i, sources) = self.records(partners);
        let pairs = Pairs { i: &i, params, sources: &sources };
        self.evaluated.add_terms(scratch, &pairs, partners.charge.len(), sums);
    }

    /// The contribution of each of a target's partners to all outputs, in the kernel's units.
    pub fn terms(&self, scratch: &mut Scratch, params: &[u64], partners: &Partners) -> Vec<f64> {
        let (i, sources) = self.records(partners);
        let mut terms = vec![0.0; partners.charge.len() * self.outputs];
        self.evaluated.terms(scratch, &Pairs { i: &i, params, sources: &sources }, &mut terms);
        terms
    }

    /// A target at 0, and its partners beside it.
    fn records(&self, partners: &Partners) -> (Vec<u64>, RealSources) {
        let cast = |format: Format, value: f64| Real::cast(format, Rounding::Nearest, value).0;
        let length = self.kernel.length;
        let element = |(feed, format): &(Feed, Format)| -> Vec<Real> {
            match *feed {
                // Nothing but whether it is 0 is asked of an int or fixed, and a difference below its step is not.
                Feed::At(axis) => partners.d[axis].iter().map(|d| Real::of_bits((*d * length != 0.0) as u64)).collect(),
                _ if format.is_integral() => partners.charge.iter().map(|q| cast(*format, *q)).collect(),
                _ => numbers(&partners.charge, 1.0),
            }
        };
        let of_difference = |d: &Difference| numbers(&partners.d[d.axis], if d.is_negative { -length } else { length });
        let columns = self.kernel.j.iter().map(element).chain(self.differences.iter().map(of_difference)).collect();
        let i = self.kernel.i.iter().map(|(_, format)| cast(*format, 0.0).bits()).collect();
        (i, RealSources::of_columns(columns))
    }
}

/// Values of floats and logs, times a factor.
fn numbers(from: &[f64], by: f64) -> Vec<Real> {
    from.iter().map(|x| Real::number(x * by).0).collect()
}

/// The class and axis of a node that is a coordinate.
fn coordinate(graph: &Graph, node: NodeId) -> Option<(PinClass, usize)> {
    match &graph.node(node).kind {
        NodeKind::Pin { pin, element } if ["xi", "xj"].contains(&graph.pins[*pin].name.as_str()) => {
            Some((graph.pins[*pin].class, *element as usize))
        }
        _ => None,
    }
}

/// The difference of a target's and a source's coordinate that a node computes, if it computes one.
fn difference(graph: &Graph, node: &Node) -> Option<Difference> {
    let NodeKind::Op { op, args, .. } = &node.kind else { return None };
    if *op != int::SUB {
        return None;
    }
    let [(one, axis), (other, same)] = [coordinate(graph, args[0])?, coordinate(graph, args[1])?];
    (axis == same && one != other).then_some(Difference { axis, is_negative: one == PinClass::Ipin })
}

/// Whether a node compares a value with 0.
fn is_comparison_with_zero(graph: &Graph, node: &Node) -> bool {
    let NodeKind::Op { op, args, .. } = &node.kind else { return false };
    let is_zero = |arg: &NodeId| matches!(graph.node(*arg).kind, NodeKind::Const { bits: 0 });
    *op == compare::NZ || ([compare::EQ, compare::NE].contains(op) && args.iter().any(is_zero))
}
