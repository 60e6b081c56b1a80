//! Circuit pieces around a finished significand: range checks, flags, and the pattern put together.

use super::logic::field;
use crate::circuit::{Circuit, Sig, X};
use crate::op::{Inst, Operator};
use crate::rtl::cat;
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
    let w = r.format.width();
    let sign = r.sign.map_or(X::flag(false), |s| c.x(s));
    let mut value = cat([sign.clone(), c.x(low)]);
    if let Some(above) = above {
        // The largest finite number: all ones but the last bit of the exponent.
        let most = cat([sign, X::ones(e - 1), X::zeros(1), X::ones(m)]);
        value = c.x(above).mux(&most, &value);
    }
    let keep = below.map(|b| !c.x(b)).into_iter().chain(r.nonzero.map(|n| c.x(n))).reduce(|a, b| a & b);
    // As the flip-flops' synchronous clear a mask costs nothing.
    let clears = c.clock().target.clear_from.wrapping_sub(1) < w;
    let bits = match keep {
        Some(keep) if clears => c.held("bounded", keep.mux(&value, &X::zeros(w))),
        Some(keep) => c.logic("bounded", keep.repeat(w) & value),
        None => c.logic("bounded", value),
    };
    Packed { bits, above, below }
}

/// Whether the exponent field exceeds 2^E - 2.
fn check_above(c: &mut Circuit, r: &Rounded, exp: Sig) -> Sig {
    let (e, exp) = (r.format.exp(), c.x(exp));
    let signed = r.range.low < 0;
    let beyond = exp.bits(e, (exp.width() - signed as u32).saturating_sub(e));
    let full = exp.low(e).all();
    let mut above = if beyond.width() > 0 { beyond.any() | full } else { full };
    if signed {
        above = !exp.msb() & above;
    }
    checked(c, "above", r, above)
}

/// Whether the exponent field is below 1.
fn check_below(c: &mut Circuit, r: &Rounded, exp: Sig) -> Sig {
    let exp = c.x(exp);
    let below = if r.range.low < 0 { exp.msb() | exp.none() } else { exp.none() };
    checked(c, "below", r, below)
}

/// A check that a zero result passes.
fn checked(c: &mut Circuit, name: &str, r: &Rounded, check: X) -> Sig {
    match r.nonzero {
        Some(nonzero) => c.logic(name, c.x(nonzero) & check),
        None => c.logic(name, check),
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
    match signals[..] {
        [] => None,
        [one] => Some(one),
        _ => Some(c.logic("flags", cat(signals.iter().map(|s| c.x(*s))))),
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
        _ => Some(c.logic("sign", c.x(signs[0]) ^ c.x(signs[1]))),
    }
}
