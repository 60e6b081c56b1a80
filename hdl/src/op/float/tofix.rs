//! `tofix`: a float as the nearest int or fixed, ties to even; saturates (RULES N5).

mod addend;
pub mod pointed;

use super::{FSCALE, FSCALEV};
use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::Accuracy;
use crate::op::addend::{Addend, Scaling};
use crate::op::ctext::floats;
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CType, CVar, I32};
use crate::op::ctext::{double, single};
use crate::op::facts::Fast;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::Range;
use crate::op::pieces::float_parts::shift::{Fill, Shifted, any, bits_of, shift_right};
use crate::op::pieces::float_parts::{Fields, fields, max_field, unpack};
use crate::op::pieces::parts::c_saturated;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Tofix;

impl Operator for Tofix {
    fn name(&self) -> &'static str {
        "tofix"
    }

    fn summary(&self) -> &'static str {
        "float to int or fixed; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_float() && to.is_integral() => Ok(to),
            _ => Err("`tofix` takes a float to an int or fixed".into()),
        }
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // The greatest and the least value decide, since the conversion is monotone.
        let most = inst.magnitudes(0).1;
        let least = if inst.is_nonneg(0) { 0 } else { most | sign_bit(inst.args[0]) };
        self.bits(inst, &[most]).1 | self.bits(inst, &[least]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (to, high) = (inst.result, inst.magnitudes(0).1);
        let (most, least) = (self.bits(inst, &[high]).0, self.bits(inst, &[high | sign_bit(inst.args[0])]).0);
        Bounds::ints(if inst.is_nonneg(0) { 0 } else { to.to_int(least) }, to.to_int(most))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Cast)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let to = inst.result;
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let up = x.exp + to.frac().expect("an int or fixed") as i32;
        let mag = if up >= 0 {
            // A shift of more than 64 exceeds every format and needs no exact value.
            (x.sig as i128) << up.min(65)
        } else {
            let down = (-up).min(64) as u32;
            let (kept, rest, half) = (x.sig as i128 >> down, x.sig as i128 & ((1 << down) - 1), 1i128 << (down - 1));
            kept + (!inst.truncates() && (rest > half || rest == half && kept & 1 == 1)) as i128
        };
        let value = if x.negative { -mag } else { mag };
        let (least, greatest) = (to.to_int(to.min_bits()), to.to_int(to.max_bits()));
        let bounded = value.clamp(least, greatest);
        (bounded as u64 & to.mask(), Flags::SATURATION.when(bounded != value))
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::cast(inst.result, inst.attrs.round, args[0].f64())
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::cast(inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let to = inst.result;
        let scaled = match to.frac() {
            None | Some(0) => format!("(double)({})", args[0]),
            Some(frac) => format!("(double)({}) * 0x1p{frac}", args[0]),
        };
        let whole = if inst.truncates() { "trunc" } else { "rint" };
        c_saturated(to, &format!("{whole}({scaled})"))
    }

    fn addend(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> Option<Addend> {
        addend::addend(inst, None, c, args[0])
    }

    fn absorbs(&self, scaling: &'static dyn Operator) -> bool {
        scaling == FSCALE || scaling == FSCALEV
    }

    fn scaled_addend(&self, inst: &Inst, c: &mut Circuit, scaling: &Scaling) -> Option<Addend> {
        addend::addend(inst, Some(scaling), c, scaling.args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let flags = self.flags(inst);
        let narrow = single::rounded(inst, c, &args[0], flags).or_else(|| double::converted(inst, c, &args[0], flags));
        narrow.unwrap_or_else(|| c_placed(inst, c, &args[0], flags))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let one_bit = inst.result.is_signed() && inst.result.width() == 1;
        if !one_bit {
            return convert(inst, c, args[0], None);
        }
        // Minus one and zero are what remains of the two-bit result.
        let to = Format::Fixed { width: 2, frac: inst.result.frac().expect("an int or fixed") as u8, signed: true };
        let wider = Inst { result: to, attrs: Attrs { to: Some(to), ..inst.attrs.clone() }, ..inst.clone() };
        let (q, _) = convert(&wider, c, args[0], None);
        let bit = field(c, "bit", q, 1, 1);
        let saturates = !self.flags(inst).is_empty();
        (bit, saturates.then(|| c.logic("sat", c.x(q).bit(1) ^ c.x(q).bit(0))))
    }
}

fn sign_bit(float: Format) -> u64 {
    1 << (float.width() - 1)
}

/// The rounded integer before it is bounded, and what bounds it.
struct Placed {
    /// The integer; two's complement where it can be negative.
    value: Sig,
    /// The sign, if the result must look at it.
    sign: Option<Sig>,
    /// Whether the magnitude exceeds the format.
    above: Option<Sig>,
    /// Whether the argument rounds to the least number of a signed format although its magnitude counts as above.
    least: Option<Sig>,
    /// Whether a negative number meets an unsigned format and does not round to 0.
    below: Option<Sig>,
}

/// The circuit for formats of at least two bits, or one unsigned. A `point` counts beside the format's own fraction bits.
fn convert(inst: &Inst, c: &mut Circuit, x: Sig, point: Option<Sig>) -> (Sig, Option<Sig>) {
    let signed = inst.result.is_signed();
    let width = inst.result.width();
    let p = place(inst, c, x, point);
    let value = c.x(p.value);
    let (above, sign) = (p.above.map(|s| c.x(s)), p.sign.map(|s| c.x(s)));
    let kept = value.low(width.min(value.width()));
    let mut q = match (&sign, signed) {
        (Some(_), true) => cat([value.msb().repeat(width - kept.width()), kept]),
        _ => kept.zext(width),
    };
    if let Some(above) = &above {
        let largest = match (&sign, signed) {
            (Some(s), true) => cat([s.clone(), (!s).repeat(width - 1)]),
            (None, true) => X::ones(width - 1).zext(width),
            (_, false) => X::ones(width),
        };
        q = above.mux(&largest, &q);
    }
    if let (Some(s), false) = (&sign, signed) {
        q = (!s).repeat(width) & q;
    }
    let q = c.logic("result", q);
    let flag = match (p.above, p.least, p.below) {
        (Some(a), Some(l), _) => Some(c.logic("sat", c.x(a) & !c.x(l))),
        (Some(a), None, Some(b)) => Some(c.logic("sat", c.x(a) | c.x(b))),
        (a, None, b) => a.or(b),
        (None, Some(_), _) => unreachable!("the least number counts as above"),
    };
    (q, flag)
}

/// Shifts the significand to its place below the format's top, rounds, and finds what lies outside.
fn place(inst: &Inst, c: &mut Circuit, x: Sig, point: Option<Sig>) -> Placed {
    let (from, to) = (inst.args[0], inst.result);
    let sat = !Tofix.flags(inst).is_empty();
    let f = fields(c, from, x);
    // Bit position of the leading one in the result: the format's highest, and that of the largest float. One
    // spare place avoids the check for a carry where the largest float is small.
    let highest = to.width() as i64 - 1 - to.is_signed() as i64;
    let frac = to.frac().expect("an int or fixed") as i64;
    let largest = max_field(from) - from.bias() as i64 + frac;
    let top = highest.min(largest + 1).max(0);
    let n = top as u32 + 1;
    // The shift to the right from there; negative: the number exceeds the format.
    let reach = Range { low: top + from.bias() as i64 - frac - max_field(from), high: top + from.bias() as i64 - frac };
    // A point moves the number up by as many places as there are bits, at most.
    let further = point.map_or(0, |_| to.width() as i64);
    let reach = Range { low: reach.low - further, ..reach };
    let (right, over) = distance(c, from, reach, &f, point);
    // What cannot happen is not looked for: without a flag to raise there is no port for one.
    let over = over.filter(|_| sat);
    let m = from.mant();
    let signed = to.is_signed() && !inst.is_nonneg(0);
    // Where the result is wider than the significand only its low bits are ever rounded, and negating the
    // significand first saves negating the result.
    let low = (n >= m + 3).then_some(m + 1 + signed as u32);
    let twos = signed && low.is_some();
    let mut significand = c.logic("significand", c.cat(&[f.nonzero, f.fraction]));
    if twos {
        let sign = c.x(f.sign);
        let inverted = c.x(significand) ^ sign.repeat(m + 1);
        significand = c.logic("signed", cat([sign.clone(), inverted]) + sign.zext(m + 2));
    }
    let shifted = shift_to_place(c, significand, right, n, reach, twos);
    let sticky = shifted.sticky.map_or(X::flag(false), |s| c.x(s));
    let whole = field(c, "whole", shifted.value, n + twos as u32, 1);
    let ends = field(c, "ends", shifted.value, 1, 0);
    let least = over.filter(|_| signed).map(|_| least(c, right, &f, n, inst.truncates()));
    let (guard, odd) = (c.x(ends).bit(0), c.x(ends).bit(1));
    let up = match (inst.truncates(), twos) {
        (false, _) => Some(c.logic("up", guard & (sticky | odd))),
        // Cutting off two's complement goes down, and zero is up from negative numbers.
        (true, true) => Some(c.logic("up", c.x(f.sign) & (guard | sticky))),
        (true, false) => None,
    };
    let mut p = Placed { value: whole, sign: signed.then_some(f.sign), above: over, least, below: None };
    let carries = sat && top == highest;
    let mut carry = None;
    let rises = up.map_or(X::flag(false), |s| c.x(s));
    if let (Some(low), Some(up)) = (low, up) {
        p.value = round_low(c, whole, up, low, twos);
    } else if signed {
        // Minus (whole + up) is the complement plus one minus up.
        let sign = c.x(f.sign);
        let inverted = cat([sign.clone(), c.x(whole) ^ sign.repeat(n)]);
        p.value = c.logic("rounded", inverted + (&rises ^ &sign).zext(n + 1));
        carry = carries.then(|| c.logic("carry", !&sign & c.x(p.value).bit(n)));
    } else if up.is_some() {
        let out = n + carries as u32;
        p.value = c.logic("rounded", c.x(whole).zext(out) + rises.zext(out));
        carry = carries.then(|| field(c, "carry", p.value, n, n));
    }
    p.above = either(c, over, carry);
    if sat && !to.is_signed() && !inst.is_nonneg(0) {
        let some = any(c, whole, n - 1, 0, None);
        let some = either(c, Some(some), over).expect("given");
        p.sign = Some(f.sign);
        p.below = Some(c.logic("below", c.x(f.sign) & (c.x(some) | rises)));
    }
    p
}

/// Shifts the significand from the top of the `n` bits before the point to the right by `right`; a shift that
/// nothing survives clears it. A significand with a sign has one bit more.
fn shift_to_place(c: &mut Circuit, significand: Sig, right: Sig, n: u32, reach: Range, signed: bool) -> Shifted {
    let bits = c.width(right) - (reach.low < 0) as u32;
    let near = bits_of(n).min(bits);
    let mut significand = significand;
    if near < bits {
        let far = any(c, right, bits - 1, near, None);
        let width = c.width(significand);
        significand = c.logic("significand", (!c.x(far)).repeat(width) & c.x(significand));
    }
    let amount = field(c, "amount", right, near - 1, 0);
    let fill = if signed { Fill::Sign } else { Fill::Zeros };
    shift_right(c, significand, amount, n + 1 + signed as u32, fill)
}

/// Adds `up` to a number of which more than the lowest `low` bits are in use only where `up` is 0. In two's
/// complement the sum of -1 and 1 clears the upper bits too.
fn round_low(c: &mut Circuit, whole: Sig, up: Sig, low: u32, twos: bool) -> Sig {
    let width = c.width(whole);
    let sum = c.logic("rounded", c.x(whole).low(low) + c.x(up).zext(low));
    let upper = field(c, "upper", whole, width - 1, low);
    if !twos {
        return c.logic("rounded", c.cat(&[upper, sum]));
    }
    let cleared = c.logic("cleared", c.x(up) & c.x(upper).msb() & !c.x(sum).msb());
    let kept = c.x(upper) & (!c.x(cleared)).repeat(width - low);
    c.logic("rounded", cat([kept, c.x(sum)]))
}

/// `reach.high` minus the exponent field and the point, and whether that is negative for a number other than 0.
fn distance(c: &mut Circuit, from: Format, reach: Range, f: &Fields, point: Option<Sig>) -> (Sig, Option<Sig>) {
    let bits = reach.bits(from);
    let mut right = X::constant(bits, reach.high as i128) - c.x(f.exp).zext(bits);
    if let Some(point) = point {
        right = right - c.x(point).zext(bits);
    }
    let right = c.logic("right", right);
    let over = (reach.low < 0).then(|| {
        let negative = field(c, "negative", right, bits - 1, bits - 1);
        if reach.high >= 0 { negative } else { c.logic("over", c.x(negative) & c.x(f.nonzero)) }
    });
    (right, over)
}

/// Whether a number that exceeds the `n` bits of a signed format's magnitudes by one place is negative and rounds
/// to the format's least number: its fraction is at most half a unit, 2^-(n+1), or less than a unit if that is cut off.
fn least(c: &mut Circuit, right: Sig, f: &Fields, n: u32, cut: bool) -> Sig {
    let m = c.width(f.fraction);
    let upper = any(c, f.fraction, m - 1, m.saturating_sub(n), None);
    let least = c.x(f.sign) & c.x(right).all() & !c.x(upper);
    if m < n + 2 || cut {
        return c.logic("least", least);
    }
    let half = field(c, "half", f.fraction, m - 1 - n, m - 1 - n);
    let below = any(c, f.fraction, m - 2 - n, 0, None);
    c.logic("least", least & !(c.x(half) & c.x(below)))
}

/// The OR of what there is.
fn either(c: &mut Circuit, a: Option<Sig>, b: Option<Sig>) -> Option<Sig> {
    match (a, b) {
        (Some(a), Some(b)) => Some(c.logic("either", c.x(a) | c.x(b))),
        _ => a.or(b),
    }
}

/// C: the significand moved to its place, rounded and bounded.
fn c_placed(inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> CVar {
    let (from, to) = (inst.args[0], inst.result);
    let (m, frac) = (from.mant(), to.frac().expect("an int or fixed") as i64);
    let field = floats::field(c, from, inst.is_nonneg(0), x);
    let significand = floats::significand(c, from, x);
    let significand = match inst.bounds(0).zero {
        true => c.set(significand.kind, format!("{x} != 0 ? {significand} : 0")),
        false => significand,
    };
    let kind = CType::unsigned(to.width().max(m + 2));
    // Places to the left; the last one that leaves all bits inside the type.
    let (least, most) = inst.bounds(0).fields(from);
    let places = |field: i64| field - from.bias() as i64 - m as i64 + frac;
    let (least, most, last) = (places(least), places(most), kind.bits as i64 - 1 - m as i64);
    let up = c.set(I32, format!("{field} + {}", places(0)));
    let left = format!("({kind}){significand} << ({up} & {})", kind.bits - 1);
    let right = (least < 0 || inst.bounds(0).zero).then(|| {
        // Beyond the significand's bits nothing is left, and rounding gives 0.
        let narrow = significand.kind.max(CType::unsigned(m + 3));
        let s = c.set(narrow, &significand);
        let down = c.set(I32, format!("-{up} < {0} ? -{up} : {0}", m + 2));
        let down = c.set(I32, format!("{down} > 0 ? {down} : 1"));
        match inst.truncates() {
            true => c.set(narrow, format!("{s} >> {down}")),
            false => {
                c.set(narrow, format!("({s} + (((({narrow})1) << {down}) >> 1) - 1 + (({s} >> {down}) & 1)) >> {down}"))
            }
        }
    });
    let magnitude = match right {
        Some(right) if most >= 0 => c.set(kind, format!("{up} >= 0 ? {left} : ({kind}){right}")),
        Some(right) => c.set(kind, right),
        None => c.set(kind, left),
    };
    let negative = (!inst.is_nonneg(0)).then(|| c.test(format!("({x} >> {}) != 0", from.width() - 1)));
    let value = match (&negative, to.is_signed()) {
        (Some(n), false) => c.wrap(to, format!("{n} ? 0 : {magnitude}")),
        _ => ints::with_sign(c, to, negative.as_ref(), &magnitude),
    };
    if flags.is_empty() {
        return value;
    }
    let (pattern, limit) = (CType::of(to), |bits: u64| kind.number(to.to_int(bits).unsigned_abs() as i128));
    let choice = |a: String, b: String| negative.as_ref().map_or(b.clone(), |n| format!("({n} ? {a} : {b})"));
    let bound = choice(limit(to.min_bits()), limit(to.max_bits()));
    let far = if most > last { format!("{up} > {last} || ") } else { String::new() };
    let outside = c.test(format!("{far}{magnitude} > {bound}"));
    c.raise(Flags::SATURATION, &outside);
    let end = choice(pattern.number(to.min_bits() as i128), pattern.number(to.max_bits() as i128));
    c.set(pattern, format!("{outside} ? {end} : {value}"))
}
