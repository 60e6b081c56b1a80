//! The engine's view of sums that a graph gathers in memory.

use super::{Gathered, Graph, NodeId, NodeKind, PinClass};
use hdl::{Bounds, Format, engine};

/// Bits by which a sum of 2^32 values is longer than one of them.
const GUARD: u32 = 32;

/// The sums in memory among the outputs of the record.
pub fn layout(graph: &Graph) -> Vec<engine::Bins> {
    if graph.gathered.is_empty() {
        return Vec::new();
    }
    let record = graph.elements_of(PinClass::Fout);
    let of = |g: &Gathered| {
        let pin = &graph.pins[g.pin];
        let first = record.iter().position(|e| *e == (g.pin, 0)).unwrap_or(0) as u32;
        let value = graph.outputs.iter().find(|o| o.pin == g.value).map(|o| bounds(graph, o.value));
        let sum_bits = sum_bits(pin.format, value.unwrap_or_else(|| Bounds::of(pin.format)));
        let (at, value) = (graph.port(g.at, 0), graph.port(g.value, 0));
        engine::Bins { first, count: pin.elements(), format: pin.format, at, value, sum_bits }
    };
    graph.gathered.iter().map(of).collect()
}

fn bounds(graph: &Graph, id: NodeId) -> Bounds {
    let node = graph.node(id);
    match &node.kind {
        NodeKind::Const { bits } => Bounds::exactly(node.format, *bits),
        NodeKind::Op { op, inst, .. } => op.bounds(inst),
        NodeKind::Pin { .. } => Bounds::of(node.format),
    }
}

/// Bits in which a sum of 2^32 values is exact: those of the greatest magnitude, the guard bits, and a sign.
fn sum_bits(format: Format, value: Bounds) -> u32 {
    let most = value.high.unsigned_abs().max(value.low.unsigned_abs());
    let bits = 128 - most.leading_zeros() + GUARD + format.is_signed() as u32;
    bits.min(format.width() + GUARD)
}
