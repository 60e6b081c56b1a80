//! The coarse test as nodes: of the bits of coordinates that filters take, and what these are of coordinates.

use super::{BELOW, Coarse, HOLDS_AT, LIMIT, NARROW, SHIFT, SHIFT_AT, SQUARED, pin_node, reach_pin};
use crate::graph::{Graph, NodeId, NodeKind, Output, Pin, PinClass};
use crate::middle::bins::{operator, operator_with};
use crate::middle::filter::{PASS, push_pin};
use crate::middle::simplify::live;
use hdl::number::format::UINT1;
use hdl::op::{Attrs, compare, int};
use hdl::{Format, Reduce};

/// The name of the narrow coordinates, with the number of the axis behind.
const NEAR: &str = "pg_near";

fn uint(width: u32) -> Format {
    Format::int(width, false).expect("a few bits")
}

/// Some of the bits of an int.
fn field(graph: &mut Graph, of: NodeId, low: u32, count: u32) -> NodeId {
    let attrs = Attrs { n: (low + count - 1) as i32, d: low as i32, ..Attrs::default() };
    operator_with(graph, (int::FIELD, attrs), &[of], of)
}

fn cast(graph: &mut Graph, of: NodeId, to: Format) -> NodeId {
    operator_with(graph, (int::ICAST, Attrs { to: Some(to), ..Attrs::default() }), &[of], of)
}

/// The narrow bits of a coordinate.
fn narrow(graph: &mut Graph, coordinate: NodeId, reach: NodeId) -> NodeId {
    // Of no more bits than the furthest shift has, since each doubles what there is to choose from.
    let furthest = graph.node(coordinate).format.width() - NARROW;
    let shift = field(graph, reach, SHIFT_AT, SHIFT.min(u32::BITS - furthest.leading_zeros()));
    let pattern = operator(graph, int::BITS, &[coordinate], coordinate);
    let shifted = operator(graph, int::SHRV, &[pattern, shift], coordinate);
    field(graph, shifted, 0, NARROW)
}

/// Whether narrow coordinates of targets and sources leave a pair within reach.
fn within(graph: &mut Graph, axes: &[[NodeId; 2]], reach: NodeId) -> NodeId {
    let total = uint(LIMIT + 2);
    let (mut sum, mut beyond) = (None, None);
    for [target, source] in axes {
        let difference = operator(graph, int::SUB, &[*source, *target], reach);
        let negative = field(graph, difference, NARROW - 1, 1);
        // The complement of a negative difference is one less than its magnitude, which is not too much.
        let complement = operator(graph, int::NOT, &[difference], reach);
        let magnitude = operator(graph, compare::MUX, &[negative, complement, difference], reach);
        let top = field(graph, magnitude, NARROW - 2, 1);
        let squared = field(graph, magnitude, BELOW, SQUARED);
        let squared = cast(graph, squared, uint(LIMIT));
        let square = operator(graph, int::MUL, &[squared, squared], reach);
        let square = cast(graph, square, total);
        sum = Some(sum.map_or(square, |sum| operator(graph, int::ADD, &[sum, square], reach)));
        beyond = Some(beyond.map_or(top, |beyond| operator(graph, int::OR, &[beyond, top], reach)));
    }
    let (sum, beyond) = (sum.expect("there is an axis"), beyond.expect("there is an axis"));
    let limit = field(graph, reach, 0, LIMIT);
    let limit = cast(graph, limit, total);
    let is_less = operator(graph, compare::LE, &[sum, limit], reach);
    let is_inside = operator(graph, int::NOT, &[beyond], reach);
    let is_near = operator(graph, int::AND, &[is_less, is_inside], reach);
    let holds = field(graph, reach, HOLDS_AT, 1);
    let all = operator(graph, int::NOT, &[holds], reach);
    operator(graph, int::OR, &[is_near, all], reach)
}

/// The test on a kernel's own pins, as one more node; `None` for a kernel whose filters are not coarse.
pub fn test(graph: &mut Graph) -> Option<NodeId> {
    let (coarse, pin, like) = (Coarse::new(graph).ok()?, reach_pin(graph)?, graph.filter?);
    let reach = pin_node(graph, (pin, 0), like);
    let axes: Vec<[NodeId; 2]> = coarse
        .axes
        .iter()
        .map(|axis| {
            [axis.target, axis.source].map(|place| {
                let coordinate = pin_node(graph, place, like);
                narrow(graph, coordinate, reach)
            })
        })
        .collect();
    Some(within(graph, &axes, reach))
}

/// A kernel without nodes and outputs, with some of its pins.
fn empty(graph: &Graph, keeps: impl Fn(&Pin) -> bool) -> Graph {
    let pins = graph.pins.iter().filter(|p| keeps(p)).cloned().collect();
    let (nodes, outputs) = (Vec::new(), Vec::new());
    let (numbers, bins, gathered, demand) = Default::default();
    Graph { name: graph.name.clone(), pins, nodes, outputs, numbers, bins, gathered, filter: None, demand }
}

/// A node of a pin in a graph that may have no other yet.
fn input(graph: &mut Graph, pin: usize, element: u32) -> NodeId {
    let (format, span) = (graph.pins[pin].format, graph.pins[pin].span);
    let name = graph.pins[pin].column(element);
    graph.nodes.push(crate::graph::Node { kind: NodeKind::Pin { pin, element }, format, name, span });
    NodeId(graph.nodes.len() as u32 - 1)
}

fn output(graph: &mut Graph, name: String, value: NodeId) {
    let pin = push_pin(graph, name, PinClass::Fout, graph.node(value).format);
    graph.outputs.push(Output { pin, element: 0, reduce: Reduce::Max, value });
}

/// The kernels that make narrow coordinates, of targets and of sources, and the one that tests them; `None` for a kernel whose filters
/// are not coarse.
pub fn narrowing(graph: &Graph) -> Option<([Graph; 2], Graph)> {
    let (coarse, reach) = (Coarse::new(graph).ok()?, reach_pin(graph)?);
    let of = |class: PinClass| {
        let mut own = empty(graph, |p| p.class == class || p.class == PinClass::Param);
        let place = |own: &Graph, pin: usize| own.pins.iter().position(|p| *p == graph.pins[pin]).expect("it is kept");
        let at = place(&own, reach);
        let reach = input(&mut own, at, 0);
        for (k, axis) in coarse.axes.iter().enumerate() {
            let (pin, element) = if class == PinClass::Ipin { axis.target } else { axis.source };
            let at = place(&own, pin);
            let coordinate = input(&mut own, at, element);
            let narrow = narrow(&mut own, coordinate, reach);
            output(&mut own, format!("{NEAR}_{k}"), narrow);
        }
        live(&own)
    };
    let fronts = [PinClass::Ipin, PinClass::Jpin].map(of);
    let mut test = empty(graph, |p| p.class == PinClass::Param);
    let at = test.pins.iter().position(|p| p.name == super::REACH).expect("it is kept");
    let reach = input(&mut test, at, 0);
    let mut axes = Vec::new();
    for k in 0..coarse.axes.len() {
        axes.push([PinClass::Ipin, PinClass::Jpin].map(|class| {
            let pin = push_pin(&mut test, format!("{NEAR}_{k}"), class, uint(NARROW));
            input(&mut test, pin, 0)
        }));
    }
    let passes = within(&mut test, &axes, reach);
    debug_assert_eq!(test.node(passes).format, UINT1);
    output(&mut test, PASS.into(), passes);
    Some((fronts, live(&test)))
}
