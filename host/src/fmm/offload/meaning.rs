//! What a kernel that is not 1/r means for a pair closer than its integer coordinates tell, or farther apart than they reach.
//!
//! In its text a kernel takes the difference of two coordinates as an int or fixed, and casts it to a float. In a copy of its graph
//! each such float is a pin of its own, so that the real meaning, which rounds no float, gets the difference as it is.

use crate::fmm::bind::{Feed, P2p};
use hdl::op::meaning::Real;
use hdl::op::{compare, float, int};
use hdl::{Format, Rounding};
use pg2::graph::{Graph, Node, NodeId, NodeKind, Pin, PinClass};
use sim::reference::real::{Pairs, RealKernel, RealSources, Scratch};

/// A difference of coordinates along an axis: from target to source, or with the other sign.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Difference {
    axis: usize,
    is_negative: bool,
}

/// A kernel with the differences of coordinates as pins.
pub(in crate::fmm) struct Meaning {
    graph: Graph,
    kernel: P2p,
    /// What the sources' elements behind those of the kernel are.
    differences: Vec<Difference>,
}

/// A source that is close to a target: its difference of coordinates in boxes, and its charge.
pub(in crate::fmm) struct Partner {
    pub d: [f64; 3],
    pub charge: f64,
}

impl Meaning {
    /// `None` if the kernel uses coordinates in another way than as differences that are cast to floats or compared with 0.
    pub fn new(graph: &Graph, kernel: &P2p) -> Option<Meaning> {
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
                    copy.pins.push(Pin { name, class, format, len: None, columns: None, span: node.span });
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
        is_good.then(|| Meaning { graph: copy, kernel: kernel.clone(), differences: pins })
    }

    pub fn kernel(&self) -> RealKernel<'_> {
        RealKernel::new(&self.graph)
    }

    /// The sums of all outputs over a target's partners, in the kernel's units; `None` where one is not a number.
    pub fn sums(
        &self,
        kernel: &RealKernel,
        scratch: &mut Scratch,
        params: &[u64],
        partners: &[Partner],
    ) -> Option<Vec<f64>> {
        let terms = self.terms(kernel, scratch, params, partners);
        let outputs = self.graph.outputs.len();
        let sum = |k: usize| terms.iter().skip(k).step_by(outputs).sum::<f64>();
        let sums: Vec<f64> = (0..outputs).map(sum).collect();
        sums.iter().all(|s| s.is_finite()).then_some(sums)
    }

    /// What each of a target's partners gives to all outputs, in the kernel's units.
    pub fn terms(&self, kernel: &RealKernel, scratch: &mut Scratch, params: &[u64], partners: &[Partner]) -> Vec<f64> {
        let cast = |format: Format, value: f64| Real::cast(format, Rounding::Nearest, value).0.bits();
        let formats = |class| self.graph.elements_of(class).into_iter().map(|(pin, _)| self.graph.pins[pin].format);
        let i: Vec<u64> = formats(PinClass::Ipin).map(|format| cast(format, 0.0)).collect();
        let mut records = Vec::new();
        for partner in partners {
            // A difference below a step of the grid is not 0 for all that.
            let step = |format: Format| 2f64.powi(-(format.frac().unwrap_or(0) as i32));
            let value = |(feed, format): &(Feed, Format)| match feed {
                Feed::At(axis) => away_from_zero(partner.d[*axis] * self.kernel.length, step(*format)),
                _ => partner.charge,
            };
            let of_pin = |d: &Difference| {
                let x = partner.d[d.axis] * self.kernel.length;
                if d.is_negative { -x } else { x }
            };
            let values = self.kernel.j.iter().map(value).chain(self.differences.iter().map(of_pin));
            records.extend(formats(PinClass::Jpin).zip(values).map(|(format, x)| cast(format, x)));
        }
        let outputs = self.graph.outputs.len();
        let mut terms = vec![0.0; partners.len() * outputs];
        let sources = RealSources::new(self.kernel.j.len() + self.differences.len(), &records);
        kernel.terms(scratch, &Pairs { i: &i, params, sources: &sources }, &mut terms);
        terms
    }
}

/// The least multiple of a step that is no smaller.
fn away_from_zero(x: f64, step: f64) -> f64 {
    ((x / step).abs().ceil() * step).copysign(x)
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

/// What difference of a target's and a source's coordinate a node is.
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
