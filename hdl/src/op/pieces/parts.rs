//! Pieces that several operators are made of: wiring that is legal at every width, signs, rounding, C text.

use crate::Format;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
use crate::rtl::cat;

/// Bits `hi..=lo` of a signal. It is a wire of its own in the signal's own stage, so that a later stage delays only
/// the bits that it reads.
pub fn slice(c: &mut Circuit, name: &str, s: Sig, hi: u32, lo: u32) -> Sig {
    let bits = c.x(s).slice(hi, lo);
    if bits.width() == c.width(s) { s } else { c.logic(name, bits) }
}

/// Logic of so many inputs, which counts as a table also where a single bit goes through as it is.
pub fn counted(c: &mut Circuit, name: &str, logic: X, inputs: u32) -> Sig {
    c.logic_at(name, logic, Cost::Logic(inputs), "depths and clocks were measured with a table also for a single bit")
}

/// Says that nothing reads `s`: the usual idiom that keeps lint quiet and leaves no hardware.
pub fn unused(c: &mut Circuit, s: Sig) {
    c.logic("unused_ok", cat([X::flag(false), c.x(s)]).all());
}

/// Says that nothing reads bits `hi..=lo` of `s`; `hi < lo` stands for none.
pub fn unused_bits(c: &mut Circuit, s: Sig, hi: i64, lo: u32) {
    if hi >= lo as i64 {
        let bits = slice(c, "unused_bits", s, hi as u32, lo);
        unused(c, bits);
    }
}

/// `s` extended to `width` bits by its sign or by zeros.
pub fn extend(c: &mut Circuit, name: &str, s: Sig, width: u32, signed: bool) -> Sig {
    let from = c.width(s);
    assert!(from <= width, "{from} bits do not shrink to {width}");
    if from == width { s } else { c.logic(name, c.x(s).extend(width, signed)) }
}

/// `v + bit`, as wide as `v`.
pub fn add_bit(c: &mut Circuit, name: &str, v: Sig, bit: Sig) -> Sig {
    let sum = c.x(v) + c.x(bit).zext(c.width(v));
    c.logic(name, sum)
}

/// `-v` where `negative`, else `v`.
pub fn negate_if(c: &mut Circuit, name: &str, v: Sig, negative: Sig) -> Sig {
    match c.width(v) {
        // Minus one and one are the same bit.
        1 => {
            unused(c, negative);
            v
        }
        w => {
            let negative = c.x(negative);
            c.logic(name, (c.x(v) ^ negative.repeat(w)) + negative.zext(w))
        }
    }
}

/// The sign bit and the magnitude of a two's complement number; the magnitude of the least one fits as an unsigned one.
pub fn sign_and_magnitude(c: &mut Circuit, name: &str, s: Sig) -> (Sig, Sig) {
    let width = c.width(s);
    if width == 1 {
        return (s, s);
    }
    let sign = slice(c, &format!("{name}_sign"), s, width - 1, width - 1);
    (sign, negate_if(c, &format!("{name}_mag"), s, sign))
}

/// `v` where `zero` is 0, else 0.
pub fn clear_if(c: &mut Circuit, name: &str, v: Sig, zero: Sig) -> Sig {
    let keep = (!c.x(zero)).repeat(c.width(v));
    c.logic(name, c.x(v) & keep)
}

/// Whether a number whose integer part ends in `lsb`, with the bits `guard` and `low` behind the point, rounds up to
/// nearest even.
pub fn round_up(c: &mut Circuit, lsb: Sig, guard: Sig, low: Option<Sig>) -> Sig {
    match low {
        None => c.logic("up", c.x(guard) & c.x(lsb)),
        Some(low) => {
            let sticky = counted(c, "sticky", c.x(low).any(), c.width(low));
            c.logic("up", c.x(guard) & (c.x(lsb) | c.x(sticky)))
        }
    }
}

/// Bits `f + width - 1 .. f` of `s` rounded to nearest even by the `f` bits below, as `width` bits (wrapping).
pub fn round_at(c: &mut Circuit, s: Sig, f: u32, width: u32) -> Sig {
    let high = slice(c, "high", s, f + width - 1, f);
    if f == 0 {
        return high;
    }
    let lsb = slice(c, "lsb", high, 0, 0);
    let guard = slice(c, "guard", s, f - 1, f - 1);
    let low = (f > 1).then(|| slice(c, "low", s, f - 2, 0));
    let up = round_up(c, lsb, guard, low);
    add_bit(c, "rounded", high, up)
}

/// Bits `f + width - 1 .. f` of `s` as `width` bits (wrapping), rounded toward zero by its sign, the bit `sign`, where
/// there is one.
pub fn cut_at(c: &mut Circuit, s: Sig, f: u32, width: u32, sign: Option<u32>) -> Sig {
    let high = slice(c, "high", s, f + width - 1, f);
    let Some(sign) = sign.filter(|_| f > 0) else {
        if f > 0 {
            unused_bits(c, s, f as i64 - 1, 0);
        }
        return high;
    };
    let low = slice(c, "low", s, f - 1, 0);
    let sign = slice(c, "sign", s, sign, sign);
    let some = counted(c, "some", c.x(low).any(), f);
    let up = c.logic("up", c.x(sign) & c.x(some));
    add_bit(c, "cut", high, up)
}

/// Unsigned division without restoring, one addition a quotient bit: `num` with `zeros` zero bits behind it, over `den`.
/// Gives the last `keep` bits of the quotient and the last partial remainder R, one bit wider than `den` and signed:
/// the remainder is R, or R + den where R is negative. The result for a divisor of 0 is left as the steps give it.
pub fn divide(c: &mut Circuit, num: Sig, zeros: u32, den: Sig, keep: u32) -> (Option<Sig>, Sig) {
    let (n, d) = (c.width(num), c.width(den));
    let steps = n + zeros;
    let mut rest = Some(num);
    let mut quotient: Option<Sig> = None;
    let mut remainder: Option<Sig> = None;
    for t in 1..=steps {
        let (bit, left) = match rest {
            None => (None, None),
            Some(r) => {
                let w = c.width(r);
                let top = slice(c, &format!("bit_{t}"), r, w - 1, w - 1);
                (Some(top), (w > 1).then(|| slice(c, &format!("num_{t}"), r, w - 2, 0)))
            }
        };
        rest = left;
        let name = format!("rem_{t}");
        let r = match remainder {
            None => {
                let bit = bit.expect("a numerator has at least one bit");
                c.logic(&name, c.x(bit).zext(d + 1) - c.x(den).zext(d + 1))
            }
            Some(r) => {
                let sign = slice(c, &format!("neg_{t}"), r, d, d);
                let low = slice(c, &format!("low_{t}"), r, d - 1, 0);
                let (enters, turn) = (bit.map_or(X::flag(false), |b| c.x(b)), !c.x(sign));
                let added = turn.repeat(d + 1) ^ c.x(den).zext(d + 1);
                c.logic(&name, cat([c.x(low), enters]) + added + turn.zext(d + 1))
            }
        };
        if t + keep > steps {
            let sign = slice(c, &format!("sign_{t}"), r, d, d);
            let name = format!("quo_{t}");
            quotient = Some(match quotient {
                None => c.logic(&name, !c.x(sign)),
                Some(q) => c.logic(&name, cat([c.x(q), !c.x(sign)])),
            });
        }
        remainder = Some(r);
    }
    (quotient, remainder.expect("a numerator has at least one bit"))
}

/// The pattern of a sign and a magnitude, wrapped to the format.
pub fn wrap_signed(format: Format, negative: bool, magnitude: u128) -> u64 {
    let low = magnitude as u64;
    (if negative { low.wrapping_neg() } else { low }) & format.mask()
}

/// The C type that holds a value of an int or a fixed.
pub fn c_type(format: Format) -> &'static str {
    if format.is_signed() { "int64_t" } else { "uint64_t" }
}

/// C: the low bits of an integer expression as a value of the format, extended to 64 bits.
pub fn c_wrap(format: Format, expr: &str) -> String {
    match (64 - format.width(), format.is_signed()) {
        (0, signed) => format!("(({}){expr})", if signed { "int64_t" } else { "uint64_t" }),
        (s, true) => format!("((int64_t)((uint64_t){expr} << {s}) >> {s})"),
        (_, false) => format!("((uint64_t){expr} & {:#x}ULL)", format.mask()),
    }
}

/// C: a whole number in a double as a value of the format, which saturates. Of a wide format the greatest value is no
/// double; all doubles from the next one on give it.
pub fn c_saturated(format: Format, whole: &str) -> String {
    let (least, greatest) = (format.to_int(format.min_bits()), format.to_int(format.max_bits()));
    let kind = c_type(format);
    if greatest < 1 << 53 {
        return format!("(({kind})fmin(fmax({whole}, {least}.0), {greatest}.0))");
    }
    let suffix = if format.is_signed() { "LL" } else { "ULL" };
    format!("({whole} >= {}.0 ? ({kind}){greatest}{suffix} : ({kind})fmax({whole}, {least}.0))", greatest + 1)
}

/// C: an integer expression over 2^s, rounded to nearest even; the expression is wider than `s` bits.
pub fn c_shift_round(expr: &str, s: u32) -> String {
    if s == 0 {
        return expr.to_string();
    }
    let low = (1u64 << (s - 1)) - 1;
    format!("(({expr} >> {s}) + (({expr} >> {}) & 1 & ((({expr} & {low:#x}ULL) != 0) | ({expr} >> {s}))))", s - 1)
}

/// C: an integer expression over 2^s, rounded toward zero.
pub fn c_shift_cut(expr: &str, s: u32, signed: bool) -> String {
    match (s, signed) {
        (0, _) => expr.to_string(),
        (_, false) => format!("({expr} >> {s})"),
        // 64 places are moved in 128 bits only.
        (64, true) => format!("(({expr} + ({expr} < 0 ? (__int128)0xffffffffffffffffULL : 0)) >> 64)"),
        (_, true) => format!("(({expr} + ({expr} < 0 ? {:#x}LL : 0)) >> {s})", (1u64 << s) - 1),
    }
}

/// C: the magnitude of a value as a `uint64_t`.
pub fn c_magnitude(format: Format, x: &str) -> String {
    if format.is_signed() { format!("({x} < 0 ? 0 - (uint64_t){x} : (uint64_t){x})") } else { x.to_string() }
}

/// Two ints or fixeds of one format give that format.
pub fn two_alike(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b && a.is_integral() => Ok(*a),
        _ => Err(format!("`{name}` takes two ints or fixeds of one format")),
    }
}

/// Two ints of one format give that format.
pub fn two_ints(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b && a.is_int() => Ok(*a),
        _ => Err(format!("`{name}` takes two ints of one format")),
    }
}

/// Two fixeds of one format give that format.
pub fn two_fixeds(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b && a.is_fixed() => Ok(*a),
        _ => Err(format!("`{name}` takes two fixeds of one format")),
    }
}

/// One int or fixed gives its own format.
pub fn one_number(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a] if a.is_integral() => Ok(*a),
        _ => Err(format!("`{name}` takes an int or a fixed")),
    }
}

/// One int.
pub fn one_int(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a] if a.is_int() => Ok(*a),
        _ => Err(format!("`{name}` takes an int")),
    }
}

/// Two values of one format, floats and logs too.
pub fn two_of_any(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, b] if a == b => Ok(*a),
        _ => Err(format!("`{name}` takes two values of one format")),
    }
}

/// The greatest integer with as many bits as `x`, which is not negative.
pub fn ones_above(x: i128) -> i128 {
    (1 << (128 - x.leading_zeros())) - 1
}

/// The least of some numbers of low zeros.
pub fn least(zeros: &[u32]) -> u32 {
    zeros.iter().copied().min().unwrap_or(0)
}

/// The pattern of 1 in a fixed format that has it.
pub fn fixed_one(f: Format) -> Option<u64> {
    let top = f.width() - f.is_signed() as u32;
    f.frac().filter(|frac| f.is_fixed() && *frac < top).map(|frac| 1 << frac)
}

/// The least and the greatest product of the integers of two arguments; none where it has no i128.
pub fn product_range(inst: &Inst) -> Option<(i128, i128)> {
    let (a, b) = (inst.bounds(0), inst.bounds(1));
    let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
    let ends: Vec<i128> = corners.iter().map(|(x, y)| x.checked_mul(*y)).collect::<Option<_>>()?;
    let (low, high) = (*ends.iter().min()?, *ends.iter().max()?);
    Some((if inst.same { 0 } else { low }, high))
}

/// The lowest `width` bits of a product of which one factor is known to be a constant with so few digits that it takes no multiplier.
pub fn times_constant(inst: &Inst, c: &mut Circuit, args: &[Sig], width: u32) -> Option<Sig> {
    let known = |k: &usize| Some(inst.bounds(*k)).filter(|b| b.low == b.high);
    let k = (0..2).find(|k| known(k).is_some())?;
    c.times("product", (args[1 - k], inst.result.is_signed()), known(&k)?.low, width)
}
