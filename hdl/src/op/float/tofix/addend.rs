//! A converted float as the addend of a sum: placed among groups of bits, and neither rounded nor negated, which are left to
//! the carry into the sum.
//!
//! The number is cut to an integer, (-1)^s (R + up) with R its floor and `up` its rounding. R lies somewhere in a grid of
//! groups of G bits; shifted by its place within a group it meets two neighbouring ones, and all others are zeros. Minus
//! (R + up) is ~R + (1 - up), so a negative number is the complement in all groups, and s ^ up is carried in. A
//! number that is too large fills the groups with the largest magnitude.

use super::{Tofix, either};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::addend::{Addend, Scaling};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::Range;
use crate::op::pieces::float_parts::shift::{any, bits_of};
use crate::op::pieces::float_parts::{Fields, fields, max_field};
use crate::op::pieces::parts::counted;
use crate::op::{Inst, Operator};
use crate::rtl::cat;
use crate::rtl::term::TermShape;
use crate::{Flags, Format};

/// The addend of a conversion to a format much wider than the significand, of `x` or of what `scaling` makes of it; `None`
/// where the plain form is as good.
pub(super) fn addend(inst: &Inst, scaling: Option<&Scaling>, c: &mut Circuit, x: Sig) -> Option<Addend> {
    let (from, to) = (inst.args[0], inst.result);
    let signed = to.is_signed() && !inst.is_nonneg(0);
    let m = from.mant();
    let n = to.width() - to.is_signed() as u32;
    let shape = TermShape::new(to, m);
    let group = shape.group;
    // Groups below the point hold what is rounded off.
    let below = (m + 1).div_ceil(group);
    // The place of the significand's lowest bit above the grid's lowest: the exponent field plus this.
    let offset = to.frac()? as i64 - from.bias() as i64 - m as i64 + (below * group) as i64;
    let most = n as i64 - 1 - m as i64 + (below * group) as i64;
    let saturates = !Tofix.flags(inst).is_empty();
    let grid = Grid { from, offset, most, frac: to.frac()? as i64 };
    let fits = (to.is_signed() || inst.is_nonneg(0)) && n > 2 * group && n >= m + 3;
    if !fits || grid.highest(inst, scaling)? > most && !saturates || max_field(from) + offset <= group as i64 {
        return None;
    }
    let f = fields(c, from, x);
    let p = match scaling {
        Some(s) if s.inst.args.len() > 1 => moved_by(c, &grid, s, &f)?,
        _ => fixed_place(c, &grid, scaling, &f, saturates)?,
    };
    let low_bits = group.ilog2();
    let top = c.width(p.place) - 1 - p.small.is_some() as u32;
    let index_bits = bits_of(most as u32 / group).min(top + 1 - low_bits);
    let index = field(c, "index", p.place, low_bits + index_bits - 1, low_bits);
    let outside = either(c, p.over, p.small);
    let outside = either(c, outside, p.zero);
    let sign = signed.then_some(f.sign);
    let significand = Significand { fraction: f.fraction, nonzero: p.hidden, sign };
    let window = window(c, &shape, p.place, &significand);
    let rounding = Rounding { window, index, outside, over: p.over, sign };
    let carry = if inst.truncates() { cut(c, &rounding) } else { carry(c, &shape, below, &rounding) };
    let select = select(c, &shape, below, &rounding);
    let round = match sign {
        Some(s) => c.logic("round", c.cat(&[s, carry])),
        None => c.logic("round", c.x(carry).zext(2)),
    };
    let mut flags = p.flags;
    flags.extend(p.over.map(|over| (Flags::SATURATION, saturation(c, &f, sign, over, p.next))));
    Some(Addend { shape, window, select, round, flags })
}

/// Whether a number that is too large is beyond the format: the least number of a signed format counts as too large and
/// is not. `next` says whether it stands one place above the highest.
fn saturation(c: &mut Circuit, f: &Fields, sign: Option<Sig>, over: Sig, next: Option<Sig>) -> Sig {
    let (Some(sign), Some(next)) = (sign, next) else { return over };
    let part = any(c, f.fraction, c.width(f.fraction) - 1, 0, None);
    let least = c.x(sign) & c.x(next) & !c.x(part);
    c.logic("sat", c.x(over) & !least)
}

/// Where exponents lead to in the grid.
struct Grid {
    from: Format,
    /// The place of an exponent field of 0, and the highest place that fits.
    offset: i64,
    most: i64,
    frac: i64,
}

impl Grid {
    /// The highest place that a number can have; `None` where the conversion of a scaled number is not that of the number
    /// with another offset, because what exceeds the float format, or falls below it, would fit.
    fn highest(&self, inst: &Inst, scaling: Option<&Scaling>) -> Option<i64> {
        let field = |bits: u64| (bits >> self.from.mant()) as i64;
        let Some(s) = scaling else { return Some(field(inst.magnitudes(0).1) + self.offset) };
        let flags = s.op.flags(s.inst);
        let over = flags.contains(Flags::OVERFLOW) && max_field(self.from) + self.offset <= self.most;
        let under = flags.contains(Flags::UNDERFLOW) && (self.from.bias() as i64) < self.frac + 2;
        // What the scaling gives, bounded by its format.
        (!over && !under).then(|| field(inst.magnitudes(0).1) + self.offset)
    }
}

/// The place of a number, and what does not fit.
struct Placing {
    place: Sig,
    over: Option<Sig>,
    /// Whether the place is below the grid; it is the top bit.
    small: Option<Sig>,
    /// Whether the number is 0, where its place does not tell.
    zero: Option<Sig>,
    /// The hidden bit, where it is not always set.
    hidden: Option<Sig>,
    /// Whether the place is the first one above the highest, where something can be too large.
    next: Option<Sig>,
    /// The flags of the scaling.
    flags: Vec<(Flags, Sig)>,
}

/// Places by the exponent and a constant. Zeros fall below the grid if the constant is negative.
fn fixed_place(
    c: &mut Circuit,
    grid: &Grid,
    scaling: Option<&Scaling>,
    f: &Fields,
    saturates: bool,
) -> Option<Placing> {
    let (from, most) = (grid.from, grid.most);
    let n = scaling.map_or(0, |s| s.inst.attrs.n as i64);
    let offset = grid.offset + n;
    let raised = scaling.map_or(Flags::NONE, |s| s.op.flags(s.inst));
    let beyond = raised.contains(Flags::OVERFLOW) && max_field(from) < n;
    if scaling.is_some() && (offset >= 0 || beyond || max_field(from) + offset <= 0) {
        return None;
    }
    let range = Range { low: offset, high: (max_field(from) + offset).max(0) };
    let bits = range.bits(from);
    let exp = c.x(f.exp);
    let place = c.logic("place", exp.zext(bits) + X::constant(bits, offset as i128));
    let mut exceeds = |name: &str, least: i64| {
        let why = "a comparison looks at the whole field";
        c.logic_at(name, exceeds(&exp, least, false), Cost::Logic(from.exp()), why)
    };
    let over = saturates.then(|| exceeds("over", most - offset));
    let mut flags = Vec::new();
    if raised.contains(Flags::OVERFLOW) {
        flags.push((Flags::OVERFLOW, exceeds("above", max_field(from) - n)));
    }
    if raised.contains(Flags::UNDERFLOW) {
        let kept = exceeds("kept", -n);
        flags.push((Flags::UNDERFLOW, c.logic("below", c.x(f.nonzero) & !c.x(kept))));
    }
    let next = saturates.then(|| c.logic("next", exp.is_number((most + 1 - offset) as i128)));
    let small = (offset < 0).then(|| field(c, "small", place, bits - 1, bits - 1));
    let hidden = (offset >= 0).then_some(f.nonzero);
    Some(Placing { place, over, small, zero: None, hidden, next, flags })
}

/// Places by the exponent and an amount that comes with the number, or is static.
fn moved_by(c: &mut Circuit, grid: &Grid, s: &Scaling, f: &Fields) -> Option<Placing> {
    let (from, most, offset) = (grid.from, grid.most, grid.offset);
    // An amount of E + 1 bits and a sign reaches beyond both ends of the exponent's range.
    let limit = from.exp() + 2;
    let reach = 1i64 << (limit - 1);
    let range = Range { low: offset - reach, high: offset + reach + max_field(from) };
    if range.low >= 0 {
        return None;
    }
    let bits = range.bits(from);
    let amount = bounded_amount(c, s, limit);
    let (base, by) = (X::constant(bits, offset as i128), c.x(amount).sext(bits));
    let shift = c.logic("shift", if s.inst.attrs.d > 0 { base + by } else { base - by });
    let place = c.logic("place", c.x(f.exp).zext(bits) + c.x(shift));
    let zero = c.logic("zero", !c.x(f.nonzero));
    let (at, some) = (c.x(place), c.x(f.nonzero));
    let mut exceeds = |name: &str, least: i64, not: bool| {
        let more = exceeds(&at, least, true);
        let why = "a comparison looks at the whole place";
        c.logic_at(name, &some & if not { !more } else { more }, Cost::Logic(bits + 1), why)
    };
    let over = exceeds("over", most, false);
    let raised = s.op.flags(s.inst);
    let mut flags = Vec::new();
    if raised.contains(Flags::OVERFLOW) {
        flags.push((Flags::OVERFLOW, exceeds("above", max_field(from) + offset, false)));
    }
    if raised.contains(Flags::UNDERFLOW) {
        flags.push((Flags::UNDERFLOW, exceeds("below", offset, true)));
    }
    let next = c.logic("next", at.is_number((most + 1) as i128));
    let small = Some(field(c, "small", place, bits - 1, bits - 1));
    Some(Placing { place, over: Some(over), small, zero: Some(zero), hidden: None, next: Some(next), flags })
}

/// A scaling's amount in `limit` bits of two's complement; one that needs more becomes the largest of its sign.
fn bounded_amount(c: &mut Circuit, s: &Scaling, limit: u32) -> Sig {
    let (amount, format) = (s.args[1], s.inst.args[1]);
    let (width, signed) = (format.width(), format.is_signed());
    let bits = c.x(amount);
    if width + !signed as u32 <= limit {
        return c.logic("amount", bits.extend(limit, signed));
    }
    let sign = if signed { bits.msb() } else { X::flag(false) };
    let top = signed.then(|| field(c, "sign_n", amount, width - 1, width - 1));
    let far = any(c, amount, width - 1 - signed as u32, limit - 1, top);
    let most = (!&sign).repeat(limit - 1);
    c.logic("amount", cat([sign, c.x(far).mux(&most, &bits.low(limit - 1))]))
}

/// The significand, and the sign by which it is complemented.
struct Significand {
    fraction: Sig,
    /// `None`: where it is zero its place is outside.
    nonzero: Option<Sig>,
    sign: Option<Sig>,
}

/// The inputs of rounding and selecting.
struct Rounding {
    window: Sig,
    index: Sig,
    outside: Option<Sig>,
    over: Option<Sig>,
    sign: Option<Sig>,
}

/// The complemented significand, shifted by its place within a group; the sign fills both sides.
fn window(c: &mut Circuit, shape: &TermShape, place: Sig, s: &Significand) -> Sig {
    let m = c.width(s.fraction);
    let hidden = s.nonzero.map_or(X::flag(true), |n| c.x(n));
    let plain = cat([hidden, c.x(s.fraction)]);
    let sign = s.sign.map(|s| c.x(s));
    // The complement and the move by one place fit one table a bit.
    let by = field(c, "by", place, 0, 0);
    let mut moved = c.x(by).mux(&plain.shl(1), &plain.zext(m + 2));
    if let Some(sign) = &sign {
        moved = moved ^ sign.repeat(m + 2);
    }
    let mut value = c.logic("window", moved);
    for k in 1..shape.group.ilog2() {
        let step = 1u32 << k;
        let fill = sign.as_ref().map_or(X::zeros(step), |s| s.repeat(step));
        let by = field(c, "by", place, k, k);
        let x = c.x(value);
        value = c.logic("window", c.x(by).mux(&cat([x.clone(), fill.clone()]), &cat([fill, x])));
    }
    value
}

/// The carry into the sum: the rounding, turned by the sign.
fn carry(c: &mut Circuit, shape: &TermShape, below: u32, r: &Rounding) -> Sig {
    let g = shape.group;
    let width = c.width(r.window);
    // Rounds by bit `half` of the window where the index says that this is the first one below the point.
    let mut ups = Vec::new();
    for (index, half) in [(below as i64 - 1, g - 1), (below as i64 - 2, 2 * g - 1)] {
        if index < 0 || half >= width {
            continue;
        }
        let rest = any(c, r.window, half - 1, 0, r.sign);
        let (window, at) = (c.x(r.window), c.x(r.index));
        let bit = |k: u32| match r.sign {
            Some(s) => window.bit(k) ^ c.x(s),
            None => window.bit(k),
        };
        let odd = c.x(rest);
        let odd = if half + 1 < width { odd | bit(half + 1) } else { odd };
        ups.push(c.logic("up", at.is_number(index as i128) & bit(half) & odd));
    }
    let mut up = ups.pop().expect("there is a group below the point");
    for other in ups {
        up = c.logic("up", c.x(up) | c.x(other));
    }
    let mut carry = c.x(up);
    if let Some(outside) = r.outside {
        carry = carry & !c.x(outside);
    }
    if let Some(sign) = r.sign {
        carry = carry ^ c.x(sign);
    }
    if let Some(over) = r.over {
        carry = carry & !c.x(over);
    }
    let inputs = 1 + [r.outside, r.sign, r.over].iter().flatten().count() as u32;
    counted(c, "carry", carry, inputs)
}

/// The carry into a sum of numbers that are cut off: the 1 that a complement lacks.
fn cut(c: &mut Circuit, r: &Rounding) -> Sig {
    match (r.sign, r.over) {
        (Some(sign), Some(over)) => c.logic("carry", c.x(sign) & !c.x(over)),
        (Some(sign), None) => sign,
        (None, _) => c.logic("carry", X::flag(false)),
    }
}

/// For each group above the point, lowest first, two bits: 1x the window's lower (0) or upper (1) group, 0x all bits x.
fn select(c: &mut Circuit, shape: &TermShape, below: u32, r: &Rounding) -> Sig {
    let index = c.x(r.index);
    let [outside, sign, over] = [r.outside, r.sign, r.over].map(|s| s.map(|s| c.x(s)));
    let fill = match (sign, over) {
        (Some(s), Some(o)) => s ^ o,
        (one, other) => one.or(other).unwrap_or(X::flag(false)),
    };
    let mut codes = Vec::new();
    for k in 0..shape.groups {
        let at = |group: u32| match group >> index.width() {
            0 => index.is_number(group as i128),
            _ => X::flag(false),
        };
        let (low, high) = (at(k + below), at(k + below - 1));
        let here = low | &high;
        let valid = outside.as_ref().map_or(here.clone(), |o| &here & !o);
        codes.push(c.logic("code", cat([valid.clone(), valid.mux(&high, &fill)])));
    }
    codes.reverse();
    c.logic("select", c.cat(&codes))
}

/// Whether a number, in two's complement where `signed`, exceeds a constant: as logic, since a carry chain would cost more.
fn exceeds(x: &X, least: i64, signed: bool) -> X {
    let width = x.width();
    // With its top bit turned a number in two's complement orders as an unsigned one.
    let least = least + if signed { 1 << (width - 1) } else { 0 };
    if least >= 1 << width {
        return X::flag(false);
    }
    let mut more = X::flag(least < 0);
    for k in (0..width).filter(|_| least >= 0) {
        let bit = if signed && k == width - 1 { !x.bit(k) } else { x.bit(k) };
        more = if least >> k & 1 == 1 { bit & more } else { bit | more };
    }
    more
}
