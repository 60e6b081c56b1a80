//! Known signs: which values are never negative, so that operators may leave out what a sign would need.

use crate::graph::{Graph, NodeId, NodeKind};
use hdl::op::Inst;

/// Sets [`Inst::nonneg`] for every argument of a signed format that can never be negative.
pub(super) fn mark(graph: &mut Graph) {
    let mut nonneg: Vec<bool> = Vec::with_capacity(graph.nodes.len());
    for node in &mut graph.nodes {
        let known = match &mut node.kind {
            NodeKind::Pin { .. } => false,
            NodeKind::Const { bits } => *bits >> (node.format.width() - 1) == 0,
            NodeKind::Op { op, inst, args } => {
                let of = |a: &NodeId| nonneg[a.0 as usize];
                inst.nonneg = 0;
                for (k, _) in args.iter().enumerate().filter(|(k, a)| inst.args[*k].is_signed() && of(a)) {
                    inst.nonneg |= 1 << k;
                }
                result(op.name(), inst, args, &of)
            }
        };
        nonneg.push(known || !node.format.is_signed());
    }
}

/// Whether an operator's result is never negative. Ints and fixeds wrap, so most of theirs may be.
fn result(name: &str, inst: &Inst, args: &[NodeId], of: &dyn Fn(&NodeId) -> bool) -> bool {
    let all = || args.iter().all(of);
    match name {
        "fabs" => true,
        "fmul" => args[0] == args[1] || all(),
        // An even power, or a root, which gives 0 for a negative argument.
        "pow" => inst.attrs.n % 2 == 0 || inst.attrs.d == 2 || all(),
        "mux" => of(&args[1]) && of(&args[2]),
        "max" | "and" => args.iter().any(of),
        "rem" | "shr" | "shrv" | "fscalev" => of(&args[0]),
        "icast" => of(&args[0]) && inst.result.width() > inst.args[0].width() - inst.args[0].is_signed() as u32,
        "fadd" | "fdiv" | "fscale" | "fcast" | "tofloat" | "tofix" | "xcast" | "min" | "or" | "xor" | "div" => all(),
        _ => false,
    }
}
