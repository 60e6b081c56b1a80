//! Circuit pieces around a finished significand: range checks, flags, and the pattern put together.

use super::text::{arg, cat, field, ones, repeat, slice, zeros};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::{Inst, Operator};
use crate::{Flags, Format};

/// The least and the greatest exponent field of a non-zero result before it is bounded, rounding included.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub low: i64,
    pub high: i64,
}

impl Range {
    /// Bits of a field of this range: two's complement if it can be negative; at least the format's own.
    pub fn bits(self, format: Format) -> u32 {
        let unsigned = |n: i64| 64 - n.leading_zeros();
        let needed = if self.low < 0 {
            1 + unsigned(self.high.max(0)).max(unsigned(-1 - self.low))
        } else {
            unsigned(self.high)
        };
        needed.max(format.exp())
    }
}

/// A rounded result that is still to be bounded.
pub struct Rounded {
    pub format: Format,
    pub range: Range,
    /// Exponent field in `range.bits(format)` bits, then the fraction. Where the operator can neither exceed nor
    /// fall below the format the exponent's upper bits may be wrong.
    pub packed: Sig,
    /// `None`: never negative.
    pub sign: Option<Sig>,
    /// Whether the result is other than 0; `None`: `packed` and `sign` of a zero are all clear.
    pub nonzero: Option<Sig>,
}

/// A bounded result and the conditions of its flags, where they are checked.
pub struct Packed {
    pub bits: Sig,
    pub above: Option<Sig>,
    pub below: Option<Sig>,
}

/// Bounds and packs a result. `flags` are those that the use can raise: what it cannot raise is not checked.
pub fn pack(c: &mut Circuit, r: &Rounded, flags: Flags) -> Packed {
    let (e, m) = (r.format.exp(), r.format.mant());
    let width = r.range.bits(r.format);
    assert_eq!(c.width(r.packed), width + m, "{:?}", r.range);
    let exp = field(c, "exp", r.packed, width + m - 1, m);
    let above = flags.intersects(Flags::OVERFLOW | Flags::SATURATION).then(|| check_above(c, r, exp));
    let below = flags.contains(Flags::UNDERFLOW).then(|| check_below(c, r, exp));
    let low = field(c, "low", r.packed, e + m - 1, 0);
    let mut args = vec![low];
    let mut with = |s: Option<Sig>| {
        s.map(|s| {
            args.push(s);
            arg(args.len() - 1)
        })
    };
    let (sign, over, under, nonzero) = (with(r.sign), with(above), with(below), with(r.nonzero));
    let sign = sign.unwrap_or_else(|| zeros(1));
    let w = r.format.width();
    let mut text = cat(&[sign.clone(), arg(0)]);
    if let Some(over) = &over {
        // The largest finite number: all ones but the last bit of the exponent.
        text = format!("({over} ? {} : {text})", cat(&[sign, ones(e - 1), zeros(1), ones(m)]));
    }
    let keep: Vec<String> = under.map(|u| format!("~{u}")).into_iter().chain(nonzero).collect();
    // As the flip-flops' synchronous clear a mask costs nothing.
    let clear = !keep.is_empty() && c.clock().target.clear_from.wrapping_sub(1) < w;
    if clear {
        text = format!("({}) ? {text} : {}", keep.join(" & "), zeros(w));
    } else if !keep.is_empty() {
        text = format!("{} & {text}", repeat(w, &format!("({})", keep.join(" & "))));
    }
    let bits = if clear {
        c.held("bounded", w, Cost::Logic(4), text, &args)
    } else if args.len() == 1 || keep.is_empty() && over.is_none() {
        c.wire("bounded", w, text, &args)
    } else {
        c.comb("bounded", w, Cost::Logic(4), text, &args)
    };
    Packed { bits, above, below }
}

/// Whether the exponent field exceeds 2^E - 2.
fn check_above(c: &mut Circuit, r: &Rounded, exp: Sig) -> Sig {
    let e = r.format.exp() as i64;
    let width = c.width(exp);
    let full = format!("&{}", slice(0, width, e - 1, 0));
    let signed = r.range.low < 0;
    let top = width as i64 - 1 - signed as i64;
    let mut text = if top >= e { format!("(|{} | {full})", slice(0, width, top, e)) } else { format!("({full})") };
    if signed {
        text = format!("~{} & {text}", slice(0, width, width as i64 - 1, width as i64 - 1));
    }
    checked(c, "above", r, exp, text)
}

/// Whether the exponent field is below 1.
fn check_below(c: &mut Circuit, r: &Rounded, exp: Sig) -> Sig {
    let width = c.width(exp) as i64;
    let text = if r.range.low < 0 {
        format!("({} | ~|{{0}})", slice(0, width as u32, width - 1, width - 1))
    } else {
        "(~|{0})".to_string()
    };
    checked(c, "below", r, exp, text)
}

/// A check that a zero result passes.
fn checked(c: &mut Circuit, name: &str, r: &Rounded, exp: Sig, text: String) -> Sig {
    let cost = Cost::Logic(c.width(exp) + r.nonzero.is_some() as u32);
    match r.nonzero {
        Some(nonzero) => c.comb(name, 1, cost, format!("{{1}} & {text}"), &[exp, nonzero]),
        None => c.comb(name, 1, cost, text, &[exp]),
    }
}

/// The flag port: the conditions of the flags that the use can raise, the first flag in bit 0.
pub fn flag_port(c: &mut Circuit, flags: Flags, conditions: &[(Flags, Option<Sig>)]) -> Option<Sig> {
    let mut signals: Vec<Sig> = flags
        .iter()
        .map(|f| {
            let found = conditions.iter().find(|(g, s)| *g == f && s.is_some());
            found.and_then(|(_, s)| *s).expect("every declared flag has its condition")
        })
        .collect();
    signals.reverse();
    let text: Vec<String> = (0..signals.len()).map(arg).collect();
    match signals[..] {
        [] => None,
        [one] => Some(one),
        _ => Some(c.wire("flags", signals.len() as u32, cat(&text), &signals)),
    }
}

/// Bounds, packs and gathers the flags of an operator whose flags are those of its range alone.
pub fn finish(op: &dyn Operator, inst: &Inst, c: &mut Circuit, r: &Rounded) -> (Sig, Option<Sig>) {
    let flags = op.flags(inst);
    let p = pack(c, r, flags);
    let above = if flags.contains(Flags::SATURATION) { Flags::SATURATION } else { Flags::OVERFLOW };
    (p.bits, flag_port(c, flags, &[(above, p.above), (Flags::UNDERFLOW, p.below)]))
}

/// The sign of a product or quotient; `None` where neither argument can be negative.
pub fn sign_of_product(inst: &Inst, c: &mut Circuit, args: &[Sig]) -> Option<Sig> {
    let top = inst.result.width() - 1;
    let mut signs = Vec::new();
    for (k, a) in args.iter().enumerate() {
        if !inst.is_nonneg(k) {
            signs.push(field(c, "sign", *a, top, top));
        }
    }
    match signs[..] {
        [] => None,
        [one] => Some(one),
        _ => Some(c.comb("sign", 1, Cost::Logic(2), "{0} ^ {1}", &signs)),
    }
}
