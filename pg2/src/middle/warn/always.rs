//! Warnings about constant results: comparisons with one outcome, and shifts that leave nothing.

use super::{Everywhere, Found, constants};
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::graph::{Graph, Node, NodeKind};
use hdl::op::facts::Outcome;

pub(super) fn judge(graph: &Graph, zeros: &[u32], found: &mut Found) {
    let constant = constants(graph);
    let (mut outcomes, mut shifts) = (Everywhere::default(), Everywhere::default());
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        // What constants alone decide is a choice of the author's.
        if constant[k] {
            continue;
        }
        let known: Vec<Option<u64>> = args.iter().map(|a| known_bits(graph.node(*a))).collect();
        match op.outcome(inst, &known) {
            Some(Outcome::Always(outcome)) => outcomes.see(node.span, Some(outcome)),
            Some(Outcome::Open) => outcomes.see(node.span, None),
            None => {}
        }
        if let Some(vanishes) = op.vanishes(inst, zeros[args[0].0 as usize]) {
            let b = inst.bounds(0);
            let always_zero = b.low == 0 && b.high == 0;
            shifts.see(node.span, (vanishes && !always_zero).then_some(()));
        }
    }
    for (span, outcome) in outcomes.agreed() {
        let message = format!("this is always {outcome}");
        let label = format!("{outcome} for every value that the operands can have");
        let warning = Diagnostic::warning(codes::ALWAYS, message, span, label);
        found.add(warning.help("compare with another bound, or write what always happens without the condition"));
    }
    for (span, ()) in shifts.agreed() {
        let warning = Diagnostic::warning(codes::SHIFTED_OUT, "this shift always gives 0", span, "nothing is left");
        found.add(warning.help("shift by less, or cast to a wider format first"));
    }
}

/// The pattern of a constant.
fn known_bits(node: &Node) -> Option<u64> {
    if let NodeKind::Const { bits } = node.kind { Some(bits) } else { None }
}
