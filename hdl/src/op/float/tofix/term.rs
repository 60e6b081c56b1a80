//! A converted float as the term of a sum: placed among groups of bits, and neither rounded nor negated, which are left to
//! the carry into the sum.
//!
//! The number is cut to an integer, (-1)^s (R + up) with R its floor and `up` its rounding. R lies somewhere in a grid of
//! groups of G bits; shifted by its place within a group it meets two neighbouring ones, and all others are zeros. Minus
//! (R + up) is ~R + (1 - up), so a negative number is the complement in all groups, and s ^ up is carried in. A
//! number that is too large fills the groups with the largest magnitude.

use super::{Tofix, either};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::pieces::float_parts::pack::Range;
use crate::op::pieces::float_parts::shift::{any, bits_of};
use crate::op::pieces::float_parts::text::{arg, cat, constant, field, repeat, slice, zeros};
use crate::op::pieces::float_parts::{Fields, fields, max_field};
use crate::op::term::{Scaling, Term};
use crate::op::{Inst, Operator};
use crate::rtl::term::TermShape;
use crate::{Flags, Format};

/// The term of a conversion to a format much wider than the significand, of `x` or of what `scaling` makes of it; `None`
/// where the plain form is as good.
pub(super) fn term(inst: &Inst, scaling: Option<&Scaling>, c: &mut Circuit, x: Sig) -> Option<Term> {
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
        Some(s) => c.wire("round", 2, "{{1}, {0}}", &[carry, s]),
        None => c.wire("round", 2, "{1'b0, {0}}", &[carry]),
    };
    let mut flags = p.flags;
    flags.extend(p.over.map(|over| (Flags::SATURATION, saturation(c, &f, sign, over, p.next))));
    Some(Term { shape, window, select, round, flags })
}

/// Whether a number that is too large is beyond the format: the least number of a signed format counts as too large and
/// is not. `next` says whether it stands one place above the highest.
fn saturation(c: &mut Circuit, f: &Fields, sign: Option<Sig>, over: Sig, next: Option<Sig>) -> Sig {
    let (Some(sign), Some(next)) = (sign, next) else { return over };
    let part = any(c, f.fraction, c.width(f.fraction) - 1, 0, None);
    c.comb("sat", 1, Cost::Logic(4), "{0} & ~({2} & {3} & ~{1})", &[over, part, sign, next])
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
    let text = format!("{} + {}", cat(&[zeros(bits - from.exp()), arg(0)]), constant(bits, offset));
    let place = c.comb("place", bits, Cost::Add(bits), text, &[f.exp]);
    let mut exceeds = |name: &str, least: i64| {
        let text = exceeds(from.exp(), least, false);
        c.comb(name, 1, Cost::Logic(from.exp()), text, &[f.exp])
    };
    let over = saturates.then(|| exceeds("over", most - offset));
    let mut flags = Vec::new();
    if raised.contains(Flags::OVERFLOW) {
        flags.push((Flags::OVERFLOW, exceeds("above", max_field(from) - n)));
    }
    if raised.contains(Flags::UNDERFLOW) {
        let kept = exceeds("kept", -n);
        flags.push((Flags::UNDERFLOW, c.comb("below", 1, Cost::Logic(2), "{0} & ~{1}", &[f.nonzero, kept])));
    }
    let next = saturates.then(|| {
        let text = format!("{{0}} == {}", constant(from.exp(), most + 1 - offset));
        c.comb("next", 1, Cost::Logic(from.exp()), text, &[f.exp])
    });
    let small = (offset < 0).then(|| field(c, "small", place, bits - 1, bits - 1));
    let hidden = (offset >= 0).then_some(f.nonzero);
    Some(Placing { place, over, small, zero: None, hidden, next, flags })
}

/// Places by the exponent and an amount that comes with the number, or stands still.
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
    let operation = if s.inst.attrs.d > 0 { "+" } else { "-" };
    let sign = slice(0, limit, limit as i64 - 1, limit as i64 - 1);
    let text = format!("{} {operation} {}", constant(bits, offset), cat(&[repeat(bits - limit, &sign), arg(0)]));
    let shift = c.comb("shift", bits, Cost::Add(bits), text, &[amount]);
    let text = format!("{} + {{1}}", cat(&[zeros(bits - from.exp()), arg(0)]));
    let place = c.comb("place", bits, Cost::Add(bits), text, &[f.exp, shift]);
    let zero = c.wire("zero", 1, "~{0}", &[f.nonzero]);
    let mut exceeds = |name: &str, least: i64, not: &str| {
        let text = format!("{{1}} & {not}{}", exceeds(bits, least, true));
        c.comb(name, 1, Cost::Logic(bits + 1), text, &[place, f.nonzero])
    };
    let over = exceeds("over", most, "");
    let raised = s.op.flags(s.inst);
    let mut flags = Vec::new();
    if raised.contains(Flags::OVERFLOW) {
        flags.push((Flags::OVERFLOW, exceeds("above", max_field(from) + offset, "")));
    }
    if raised.contains(Flags::UNDERFLOW) {
        flags.push((Flags::UNDERFLOW, exceeds("below", offset, "~")));
    }
    let text = format!("{{0}} == {}", constant(bits, most + 1));
    let next = c.comb("next", 1, Cost::Logic(bits), text, &[place]);
    let small = Some(field(c, "small", place, bits - 1, bits - 1));
    Some(Placing { place, over: Some(over), small, zero: Some(zero), hidden: None, next: Some(next), flags })
}

/// A scaling's amount in `limit` bits of two's complement; one that needs more becomes the largest of its sign.
fn bounded_amount(c: &mut Circuit, s: &Scaling, limit: u32) -> Sig {
    let (amount, format) = (s.args[1], s.inst.args[1]);
    let (width, signed) = (format.width(), format.is_signed());
    let sign = if signed { slice(0, width, width as i64 - 1, width as i64 - 1) } else { zeros(1) };
    if width + !signed as u32 <= limit {
        return c.wire("amount", limit, cat(&[repeat(limit - width, &sign), arg(0)]), &[amount]);
    }
    let top = signed.then(|| field(c, "sign_n", amount, width - 1, width - 1));
    let far = any(c, amount, width - 1 - signed as u32, limit - 1, top);
    let low = slice(0, width, limit as i64 - 2, 0);
    let text = format!("{{{sign}, {{1}} ? {} : {low}}}", repeat(limit - 1, &format!("~{sign}")));
    c.comb("amount", limit, Cost::Logic(3), text, &[amount, far])
}

/// The significand, and the sign by which it is complemented.
struct Significand {
    fraction: Sig,
    /// `None`: where it is zero its place is outside.
    nonzero: Option<Sig>,
    sign: Option<Sig>,
}

/// What rounding and selecting look at.
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
    let hidden = if s.nonzero.is_some() { "{1}" } else { "1'b1" };
    let plain = cat(&[hidden.to_string(), arg(0)]);
    // The complement and the move by one place fit one table a bit.
    let by = field(c, "by", place, 0, 0);
    let mut args = vec![s.fraction, s.nonzero.unwrap_or(s.fraction), by];
    args.extend(s.sign);
    let mut text = format!("({{2}} ? {} : {})", cat(&[plain.clone(), zeros(1)]), cat(&[zeros(1), plain]));
    if s.sign.is_some() {
        text = format!("{text} ^ {}", repeat(m + 2, &arg(3)));
    }
    let mut value = c.comb("window", m + 2, Cost::Logic(4), text, &args);
    for k in 1..shape.group.ilog2() {
        let (width, step) = (c.width(value), 1u32 << k);
        let fill = if s.sign.is_some() { repeat(step, &arg(2)) } else { zeros(step) };
        let by = field(c, "by", place, k, k);
        let text = format!("{{1}} ? {} : {}", cat(&[arg(0), fill.clone()]), cat(&[fill, arg(0)]));
        let mut args = vec![value, by];
        args.extend(s.sign);
        value = c.comb("window", width + step, Cost::Mux(2), text, &args);
    }
    value
}

/// What is carried into the sum: the rounding, turned by the sign.
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
        let mut args = vec![r.window, r.index, rest];
        let sign = r.sign.map_or(String::new(), |s| {
            args.push(s);
            " ^ {3}".to_string()
        });
        let bit = |k: u32| format!("({}{sign})", slice(0, width, k as i64, k as i64));
        let odd = if half + 1 < width { format!(" | {}", bit(half + 1)) } else { String::new() };
        let at = constant(c.width(r.index), index);
        let text = format!("({{1}} == {at}) & {} & ({{2}}{odd})", bit(half));
        ups.push(c.comb("up", 1, Cost::Logic(c.width(r.index) + 4), text, &args));
    }
    let mut up = ups.pop().expect("there is a group below the point");
    for other in ups {
        up = c.comb("up", 1, Cost::Logic(2), "{0} | {1}", &[up, other]);
    }
    let mut args = vec![up];
    let mut text = "{0}".to_string();
    if let Some(outside) = r.outside {
        args.push(outside);
        text = format!("({text} & ~{})", arg(args.len() - 1));
    }
    if let Some(sign) = r.sign {
        args.push(sign);
        text = format!("({text} ^ {})", arg(args.len() - 1));
    }
    if let Some(over) = r.over {
        args.push(over);
        text = format!("{text} & ~{}", arg(args.len() - 1));
    }
    c.comb("carry", 1, Cost::Logic(args.len() as u32), text, &args)
}

/// What is carried into a sum of numbers that are cut off: the 1 that a complement lacks.
fn cut(c: &mut Circuit, r: &Rounding) -> Sig {
    match (r.sign, r.over) {
        (Some(sign), Some(over)) => c.comb("carry", 1, Cost::Logic(2), "{0} & ~{1}", &[sign, over]),
        (Some(sign), None) => sign,
        (None, _) => c.wire("carry", 1, "1'b0", &[]),
    }
}

/// For each group above the point, lowest first, two bits: 1x the window's lower (0) or upper (1) group, 0x all bits x.
fn select(c: &mut Circuit, shape: &TermShape, below: u32, r: &Rounding) -> Sig {
    let bits = c.width(r.index);
    let mut args = Vec::new();
    let mut with = |s: Option<Sig>| {
        s.map(|s| {
            args.push(s);
            arg(args.len())
        })
    };
    let (outside, sign, over) = (with(r.outside), with(r.sign), with(r.over));
    let mut all = vec![r.index];
    all.extend(args);
    let fill = match (sign, over) {
        (Some(s), Some(o)) => format!("({s} ^ {o})"),
        (one, other) => one.or(other).unwrap_or_else(|| "1'b0".into()),
    };
    let mut codes = Vec::new();
    for k in 0..shape.groups {
        let at = |index: u32| match index < 1 << bits {
            true => format!("({{0}} == {})", constant(bits, index as i64)),
            false => "1'b0".to_string(),
        };
        let (low, high) = (at(k + below), at(k + below - 1));
        let valid = outside.as_ref().map_or(String::new(), |o| format!(" & ~{o}"));
        let text = format!("{{({low} | {high}){valid}, (({low} | {high}){valid}) ? {high} : {fill}}}");
        codes.push(c.comb("code", 2, Cost::Logic(bits + all.len() as u32 - 1), text, &all));
    }
    codes.reverse();
    let text: Vec<String> = (0..codes.len()).map(arg).collect();
    c.wire("select", 2 * codes.len() as u32, cat(&text), &codes)
}

/// Whether the `width` bits of argument 0, in two's complement where `signed`, exceed a constant: as logic, since a carry
/// chain would cost more.
fn exceeds(width: u32, least: i64, signed: bool) -> String {
    // With its top bit turned a number in two's complement orders as an unsigned one.
    let least = least + if signed { 1 << (width - 1) } else { 0 };
    if least >= 1 << width {
        return "1'b0".into();
    }
    let mut text = if least < 0 { "1'b1" } else { "1'b0" }.to_string();
    for k in (0..width).filter(|_| least >= 0) {
        let turned = if signed && k == width - 1 { "~" } else { "" };
        let bit = format!("{turned}{}", slice(0, width, k as i64, k as i64));
        text = if least >> k & 1 == 1 { format!("({bit} & {text})") } else { format!("({bit} | {text})") };
    }
    text
}
