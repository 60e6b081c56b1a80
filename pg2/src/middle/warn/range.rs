//! What can leave its format, and casts that can lose bits.
//!
//! Ranges start at the pins and count every value of their formats but the very least of a signed one, whose square or
//! negation is the only one to overflow. Where an operand fills its format, little is known of it, so then
//! - a difference is taken as a distance that may wrap, as on a periodic box, and so is a sum that only enters
//!   differences;
//! - an excess of up to an eighth of the range is let pass, as in `count + 1`;
//! - ints of 64 bits are left to the user, since nothing is wider.
//!
//! What follows from a value that has been warned of is not warned of again.

use super::{Found, constants};
use crate::diag::Diagnostic;
use crate::diag::codes;
use crate::graph::{Graph, Node, NodeKind};
use hdl::op::Inst;
use hdl::{Bounds, Format};

type Range = (i128, i128);

/// The bounds that warnings go by: without the least value of a signed format, and with those of fixed products.
pub(super) fn generous(node: &Node, bounds: Bounds) -> Bounds {
    let format = node.format;
    if !is_integer(format) {
        return bounds;
    }
    let bounds = match &node.kind {
        NodeKind::Op { op, inst, .. } if op.name() == "xmul" => match exact("xmul", inst) {
            Some((low, high)) => Bounds::wrapped(format, Some(low), Some(high)),
            None => bounds,
        },
        _ => bounds,
    };
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

/// The range of a result before it wraps.
fn exact(name: &str, inst: &Inst) -> Option<Range> {
    let (a, n) = (inst.bounds(0), inst.attrs.n);
    let b = if inst.args.len() > 1 { inst.bounds(1) } else { a };
    match name {
        "add" => Some((a.low + b.low, a.high + b.high)),
        "sub" => Some((a.low - b.high, a.high - b.low)),
        "mul" | "xmul" => {
            let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
            let ends: Vec<i128> = corners.iter().map(|(x, y)| x.checked_mul(*y)).collect::<Option<_>>()?;
            let (low, high) = (*ends.iter().min()?, *ends.iter().max()?);
            let low = if inst.same { low.max(0) } else { low };
            let frac = inst.result.frac().unwrap_or(0);
            Some((low >> frac, high >> frac))
        }
        "shl" => Some((a.low.checked_mul(1 << n)?, a.high.checked_mul(1 << n)?)),
        _ => None,
    }
}

pub(super) fn judge(graph: &Graph, zeros: &[u32], found: &mut Found) {
    let constant = constants(graph);
    let only_subtracted = only_subtracted(graph);
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
        if let Some(range) = exact(op.name(), inst)
            && is_integer(node.format)
            && !spoilt
        {
            let full = |k: usize| !constant[args[k].0 as usize] && is_full(inst, k);
            let any_full = (0..args.len()).any(full);
            let all_full = (0..args.len()).all(full);
            let distance = op.name() == "sub" && all_full || op.name() == "add" && all_full && only_subtracted[k];
            let limits = Bounds::of(node.format);
            let slack = if any_full { limits.high / 8 } else { 0 };
            let outside = range.0 < limits.low - slack || range.1 > limits.high + slack;
            let widest = any_full && node.format.width() == 64;
            if outside && !distance && !widest {
                beyond[k] = true;
                found.add(overflow(node, op.name(), range));
            }
        }
        if let Some(finding) = cast(node, op.name(), inst, zeros[args[0].0 as usize]) {
            found.add(finding);
        }
    }
}

fn is_full_result(bounds: &Bounds, format: Format) -> bool {
    let all = Bounds::of(format);
    bounds.high == all.high && bounds.low <= all.low + 1
}

/// Which nodes are used, and by nothing but differences.
fn only_subtracted(graph: &Graph) -> Vec<bool> {
    let (mut subtracted, mut otherwise) = (vec![false; graph.nodes.len()], vec![false; graph.nodes.len()]);
    for node in &graph.nodes {
        if let NodeKind::Op { op, args, .. } = &node.kind {
            let uses = if op.name() == "sub" { &mut subtracted } else { &mut otherwise };
            args.iter().for_each(|a| uses[a.0 as usize] = true);
        }
    }
    graph.outputs.iter().for_each(|o| otherwise[o.value.0 as usize] = true);
    subtracted.iter().zip(&otherwise).map(|(s, o)| *s && !o).collect()
}

/// The fewest bits of a format of that signedness that holds a range.
fn bits_for((low, high): Range, signed: bool) -> u32 {
    let magnitude = |x: i128| 128 - if x < 0 { !x } else { x }.leading_zeros();
    magnitude(low).max(magnitude(high)) + (signed || low < 0) as u32
}

fn overflow(node: &Node, name: &str, range: Range) -> Diagnostic {
    let format = node.format;
    let what = match name {
        "add" => "sum",
        "sub" => "difference",
        "shl" => "shift",
        _ => "product",
    };
    let bits = bits_for(range, format.is_signed());
    let signed = format.is_signed() || range.0 < 0;
    let message = format!("this {what} can take {bits} bits and wraps in {format}");
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

/// What a cast can lose, if its argument's range and low bits do not prove that it loses nothing.
fn cast(node: &Node, name: &str, inst: &Inst, zeros: u32) -> Option<Diagnostic> {
    let (from, to) = (inst.args[0], inst.result);
    let b = inst.bounds(0);
    let limits = if is_integer(to) { Bounds::of(to) } else { b };
    let frac = |f: Format| f.frac().unwrap_or(0);
    let (what, help) = match name {
        "icast" if to.width() < from.width() => {
            let span = 1i128 << to.width();
            let kept = b.low >= 0 && b.high < span || b.low >= -span / 2 && b.high < span / 2;
            let help = if to.width() < 64 {
                format!("where only the low bits matter, say so: `& {:#x}` before the cast", span - 1)
            } else {
                "choose a wider format".into()
            };
            (!kept).then_some((format!("drops {} bits", from.width() - to.width()), help))?
        }
        "xcast" => {
            let (up, down) = (frac(to).saturating_sub(frac(from)), frac(from).saturating_sub(frac(to)));
            let scaled = |x: i128| x.checked_mul(1 << up).map(|x| x >> down);
            let within = |x: i128| scaled(x).is_some_and(|x| (limits.low..=limits.high).contains(&x));
            if !within(b.low) || !within(b.high) {
                (
                    "saturates beyond its range".into(),
                    "bound it with `pg_min` and `pg_max`, or choose a wider format".into(),
                )
            } else if to.is_fixed() && zeros < down {
                let help = format!("where that is meant, clear them first: `>> {down} << {down}` before the cast");
                (format!("drops {down} fraction bits"), help)
            } else {
                return None;
            }
        }
        "fcast" if to.exp() < from.exp() => {
            let flags = raises(node, &[b.high as u64])?;
            (flags, format!("choose a format with {} exponent bits, or scale the value first", from.exp()))
        }
        "tofloat" => {
            let ends = [b.low, b.high].map(|x| x as u64 & from.mask());
            let flags = ends.iter().find_map(|x| raises(node, &[*x]))?;
            (flags, "choose a format with more exponent bits, or shift the value down first".into())
        }
        _ => return None,
    };
    let message = format!("this cast from {from} to {to} {what}");
    Some(Diagnostic::warning(codes::LOSSY_CAST, message, node.span, format!("becomes {to}")).help(help))
}

/// What is said where a conversion of this value leaves its format.
fn raises(node: &Node, args: &[u64]) -> Option<String> {
    let NodeKind::Op { op, inst, .. } = &node.kind else { return None };
    let raised = op.bits(inst, args).1.contains(hdl::Flags::SATURATION);
    raised.then(|| "saturates beyond its range".into())
}
