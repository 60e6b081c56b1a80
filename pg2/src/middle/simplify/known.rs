//! Facts about values besides their formats: signs and bounds, for [`hdl::op::Inst`].

use crate::graph::{Graph, Node, NodeKind};
use hdl::Bounds;
use hdl::op::{Inst, Operator};
use std::collections::HashSet;

/// Sets [`hdl::op::Inst::nonneg`] for every argument of a signed format that can never be negative,
/// [`hdl::op::Inst::bounds`] where an argument has not all values of its format, and [`hdl::op::Inst::same`].
pub(crate) fn mark(graph: &mut Graph) {
    mark_with(graph, |_, bounds| bounds);
}

/// Keeps what is known for the first `most` different uses of operators; others are left with what their formats say.
pub(crate) fn forget_beyond(graph: &mut Graph, most: usize) {
    let mut kept: HashSet<(&'static dyn Operator, Inst)> = HashSet::new();
    for node in &mut graph.nodes {
        let NodeKind::Op { op, inst, .. } = &mut node.kind else { continue };
        let known = inst.nonneg != 0 || inst.same || !inst.bounds.is_empty();
        if !known {
            continue;
        }
        let key = (*op, inst.clone());
        if kept.len() < most {
            kept.insert(key);
        } else if !kept.contains(&key) {
            (inst.nonneg, inst.same) = (0, false);
            inst.bounds.clear();
        }
    }
}

/// The same with the bounds of each node as `refine` sees them, which warnings judge more generously than circuits.
pub(crate) fn mark_with(graph: &mut Graph, refine: impl Fn(&Node, Bounds) -> Bounds) {
    // For each node whether it is never negative, and its bounds.
    let mut known: Vec<(bool, Bounds)> = Vec::with_capacity(graph.nodes.len());
    for node in &mut graph.nodes {
        let format = node.format;
        let (nonneg, bounds) = match &mut node.kind {
            NodeKind::Pin { .. } => (false, Bounds::of(format)),
            NodeKind::Const { bits } => (*bits >> (format.width() - 1) == 0, Bounds::exactly(format, *bits)),
            NodeKind::Op { op, inst, args } => {
                let of = |k: usize| known[args[k].0 as usize];
                inst.nonneg = (0..args.len()).filter(|k| inst.args[*k].is_signed() && of(*k).0).map(|k| 1 << k).sum();
                inst.same = args.len() > 1 && args.iter().all(|a| *a == args[0]);
                inst.bounds = (0..args.len()).map(|k| of(k).1).collect();
                if inst.bounds.iter().zip(&inst.args).all(|(b, f)| *b == Bounds::of(*f)) {
                    inst.bounds.clear();
                }
                (op.nonneg(inst), op.bounds(inst))
            }
        };
        let bounds = refine(node, bounds);
        let positive = format.is_integral() && bounds.low >= 0;
        known.push((nonneg || positive || !format.is_signed(), bounds));
    }
}
