//! What is always the same: comparisons with one outcome, and shifts that leave nothing.

use super::{Everywhere, Found, constants};
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::graph::{Graph, Node, NodeKind};
use hdl::op::Inst;

pub(super) fn judge(graph: &Graph, zeros: &[u32], found: &mut Found) {
    let constant = constants(graph);
    let (mut outcomes, mut shifts) = (Everywhere::default(), Everywhere::default());
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        // What constants alone decide is a choice of the author's.
        if constant[k] {
            continue;
        }
        let order = |k: usize| Order::of(inst, k, graph.node(args[k]));
        match op.name() {
            name @ ("lt" | "le" | "eq" | "ne") => {
                outcomes.see(node.span, compared(name, inst, order(0), order(1)));
            }
            name @ ("nz" | "isz") => outcomes.see(node.span, order(0).is_zero().map(|zero| zero == (name == "isz"))),
            "shl" | "shr" | "fscale" => {
                let low = zeros[args[0].0 as usize];
                shifts.see(node.span, shifted_out(node, low).then_some(()));
            }
            _ => {}
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

/// An operand as an interval of integers in the order of its values: of a float or log the pattern of its magnitude with a sign.
struct Order {
    low: i128,
    high: i128,
    /// Whether it can be 0.
    zero: bool,
}

impl Order {
    fn of(inst: &Inst, k: usize, node: &Node) -> Order {
        let (b, format) = (inst.bounds(k), inst.args[k]);
        if !format.is_sign_magnitude() {
            return Order { low: b.low, high: b.high, zero: b.zero };
        }
        if let NodeKind::Const { bits } = node.kind {
            let magnitude = (bits & (format.mask() >> 1)) as i128;
            let value = if bits == magnitude as u64 { magnitude } else { -magnitude };
            return Order { low: value, high: value, zero: value == 0 };
        }
        let low = match (inst.is_nonneg(k), b.zero) {
            (false, _) => -b.high,
            (true, true) => 0,
            (true, false) => b.low,
        };
        Order { low, high: b.high, zero: b.zero }
    }

    /// Whether it is always or never 0.
    fn is_zero(&self) -> Option<bool> {
        let always = self.low == 0 && self.high == 0;
        if always { Some(true) } else { (!self.zero).then_some(false) }
    }
}

/// The one outcome of a comparison, if there is only one.
fn compared(name: &str, inst: &Inst, a: Order, b: Order) -> Option<bool> {
    if inst.same {
        return Some(matches!(name, "le" | "eq"));
    }
    let always = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    match name {
        "lt" => always(a.high < b.low, a.low >= b.high),
        "le" => always(a.high <= b.low, a.low > b.high),
        _ => {
            let only_one_is_zero = a.is_zero().is_some_and(|zero| b.is_zero() == Some(!zero));
            let apart = a.high < b.low || b.high < a.low || only_one_is_zero;
            let one = a.low == a.high && b.low == b.high && a.low == b.low;
            always(one, apart).map(|equal| equal == (name == "eq"))
        }
    }
}

/// Whether a shift leaves nothing of a value that is not always 0 itself.
fn shifted_out(node: &Node, zeros: u32) -> bool {
    let NodeKind::Op { op, inst, .. } = &node.kind else { return false };
    let b = inst.bounds(0);
    if b.low == 0 && b.high == 0 {
        return false;
    }
    match op.name() {
        "shl" => zeros < inst.result.width() && zeros + inst.attrs.n as u32 >= inst.result.width(),
        "shr" => b.low >= 0 && b.high >> inst.attrs.n == 0,
        _ => op.bits(inst, &[b.high as u64]).0 == 0,
    }
}
