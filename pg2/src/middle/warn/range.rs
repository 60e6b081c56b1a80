//! Warnings about results that can leave their format, and casts that can lose bits.
//!
//! Ranges start at the pins and count every value of their formats but the very least of a signed one, whose square or
//! negation is the only one to overflow. Where an operand fills its format, little is known of it, so then
//! - a difference is taken as a distance that may wrap, as on a periodic box, and so is a sum that only enters
//!   differences;
//! - an excess of up to an eighth of the range is let pass, as in `count + 1`;
//! - ints of 64 bits are left to the user, since nothing is wider.
//!
//! Consequences of a value that has been warned of are not warned of again.

use super::{Found, constants};
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::graph::{Graph, Node, NodeId, NodeKind};
use hdl::op::facts::{Loss, Unwrapped};
use hdl::op::{Inst, int};
use hdl::{Bounds, Format};
use std::collections::HashSet;

/// The bounds that warnings go by: without the least value of a signed format.
pub(super) fn generous(node: &Node, bounds: Bounds) -> Bounds {
    let format = node.format;
    if !is_integer(format) {
        return bounds;
    }
    if format.is_signed() && bounds == Bounds::of(format) { Bounds::ints(-bounds.high, bounds.high) } else { bounds }
}

/// Formats whose patterns are integers: int and fixed.
fn is_integer(format: Format) -> bool {
    format.is_integral()
}

/// Whether an operand takes all values of its format, as far as is known.
fn is_full(inst: &Inst, k: usize) -> bool {
    let (known, all) = (inst.bounds(k), Bounds::of(inst.args[k]));
    known.high == all.high && known.low <= all.low + 1
}

pub(super) fn judge(graph: &Graph, zeros: &[u32], found: &mut Found) {
    let constant = constants(graph);
    let only_subtracted = only_subtracted(graph);
    let carried = carried(graph);
    // Whether a value may have left its format, so that what follows from it says nothing more.
    let mut beyond = vec![false; graph.nodes.len()];
    for (k, node) in graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, args } = &node.kind else { continue };
        if constant[k] || !inst.args.iter().all(|f| is_integer(*f) || f.is_float()) {
            continue;
        }
        let spoilt = args.iter().any(|a| beyond[a.0 as usize]);
        let unknown = is_integer(node.format) && is_full_result(&op.bounds(inst), node.format);
        beyond[k] = spoilt && unknown;
        if let Some(range) = op.unwrapped(inst)
            && is_integer(node.format)
            && !spoilt
        {
            let full = |k: usize| !constant[args[k].0 as usize] && is_full(inst, k);
            let any_full = (0..args.len()).any(full);
            let all_full = (0..args.len()).all(full);
            let distance = all_full && (*op == int::SUB || *op == int::ADD && only_subtracted[k]);
            let limits = Bounds::of(node.format);
            let slack = if any_full { limits.high / 8 } else { 0 };
            let outside = range.low < limits.low - slack || range.high > limits.high + slack;
            let widest = any_full && node.format.width() == 64;
            if outside && !distance && !widest && !carried.contains(args) {
                beyond[k] = true;
                found.add(overflow(node, range));
            }
        }
        if let Some(loss) = op.loss(inst, zeros[args[0].0 as usize]) {
            found.add(lossy(node, inst, loss));
        }
    }
}

fn is_full_result(bounds: &Bounds, format: Format) -> bool {
    let all = Bounds::of(format);
    bounds.high == all.high && bounds.low <= all.low + 1
}

/// The nodes that are used, and by nothing but differences.
fn only_subtracted(graph: &Graph) -> Vec<bool> {
    let (mut subtracted, mut otherwise) = (vec![false; graph.nodes.len()], vec![false; graph.nodes.len()]);
    for node in &graph.nodes {
        if let NodeKind::Op { op, args, .. } = &node.kind {
            let uses = if *op == int::SUB { &mut subtracted } else { &mut otherwise };
            args.iter().for_each(|a| uses[a.0 as usize] = true);
        }
    }
    graph.outputs.iter().for_each(|o| otherwise[o.value.0 as usize] = true);
    subtracted.iter().zip(&otherwise).map(|(s, o)| *s && !o).collect()
}

/// The arguments of sums and differences whose carries are looked at: they raise a flag where they wrap.
fn carried(graph: &Graph) -> HashSet<Vec<NodeId>> {
    let carry = |node: &Node| match &node.kind {
        NodeKind::Op { op, args, .. } if *op == int::CARRY || *op == int::BORROW => Some(args.clone()),
        _ => None,
    };
    graph.nodes.iter().filter_map(carry).collect()
}

/// The fewest bits of a format of that signedness that holds a range.
fn bits_for(Unwrapped { low, high, .. }: Unwrapped, signed: bool) -> u32 {
    let magnitude = |x: i128| 128 - if x < 0 { !x } else { x }.leading_zeros();
    magnitude(low).max(magnitude(high)) + (signed || low < 0) as u32
}

fn overflow(node: &Node, range: Unwrapped) -> Diagnostic {
    let format = node.format;
    let bits = bits_for(range, format.is_signed());
    let signed = format.is_signed() || range.low < 0;
    let message = format!("this {} can take {bits} bits and wraps in {format}", range.what);
    let wider = match format.frac().filter(|_| format.is_fixed()) {
        Some(frac) => Format::fixed(bits, frac, signed),
        None => Format::int(bits, signed),
    };
    let help = match wider {
        Ok(wider) => format!("cast the operands to a wider format first, such as `({wider})`, or bound them"),
        Err(_) => "no format is as wide: bound the operands with `pg_min` and `pg_max`, or cast them to float".into(),
    };
    Diagnostic::warning(codes::OVERFLOW, message, node.span, format!("computed in {format}")).help(help)
}

/// A cast whose argument's range and low bits do not prove that it loses nothing.
fn lossy(node: &Node, inst: &Inst, loss: Loss) -> Diagnostic {
    let (from, to) = (inst.args[0], inst.result);
    let (what, help) = match loss {
        Loss::High(bits) => (
            format!("drops {bits} bits"),
            format!("where only the low bits matter, say so: `& {:#x}` before the cast", to.mask()),
        ),
        Loss::Fraction(bits) => (
            format!("drops {bits} fraction bits"),
            format!("where that is meant, clear them first: `>> {bits} << {bits}` before the cast"),
        ),
        Loss::Range => (
            "saturates beyond its range".into(),
            match (is_integer(from), is_integer(to)) {
                (_, true) => "bound it with `pg_min` and `pg_max`, or choose a wider format".into(),
                (true, false) => "choose a format with more exponent bits, or shift the value down first".into(),
                (false, false) => {
                    format!("choose a format with {} exponent bits, or scale the value first", from.exp())
                }
            },
        ),
    };
    let message = format!("this cast from {from} to {to} {what}");
    Diagnostic::warning(codes::LOSSY_CAST, message, node.span, format!("becomes {to}")).help(help)
}
