//! A converted float as the term of a sum: placed among groups of bits, and neither rounded nor negated, which are left to
//! the carry into the sum.
//!
//! The number is cut to an integer, (-1)^s (R + up) with R its floor and `up` its rounding. R lies somewhere in a grid of
//! groups of G bits; shifted by its place within a group it meets two neighbouring ones, and all others are zeros. Minus
//! (R + up) is ~R + (1 - up), so a negative number is the complement in all groups, and s ^ up is carried in. A
//! number that is too large fills the groups with the largest magnitude.

use super::{Tofix, either};
use crate::circuit::{Circuit, Sig};
use crate::op::float_parts::pack::Range;
use crate::op::float_parts::shift::{any, bits_of};
use crate::op::float_parts::text::{arg, cat, constant, field, repeat, slice, zeros};
use crate::op::float_parts::{fields, max_field};
use crate::op::{Inst, Operator};
use crate::target::Cost;
use crate::term::{Term, TermShape};

/// The term of a conversion to a format much wider than the significand; `None` where the plain form is as good.
pub(super) fn term(inst: &Inst, c: &mut Circuit, x: Sig) -> Option<Term> {
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
    let above = (inst.magnitudes(0).1 >> m) as i64 + offset > most;
    let fits = (to.is_signed() || inst.is_nonneg(0)) && n > 2 * group && n >= m + 3;
    if !fits || above != saturates || max_field(from) + offset <= group as i64 {
        return None;
    }
    let f = fields(c, from, x);
    let range = Range { low: offset, high: (max_field(from) + offset).max(0) };
    let bits = range.bits(from);
    let text = format!("{} + {}", cat(&[zeros(bits - from.exp()), arg(0)]), constant(bits, offset));
    let place = c.comb("place", bits, Cost::Add(bits), text, &[f.exp]);
    let over = above.then(|| {
        let text = exceeds(from.exp(), most - offset);
        c.comb("over", 1, Cost::Logic(from.exp()), text, &[f.exp])
    });
    let small = (offset < 0).then(|| field(c, "small", place, bits - 1, bits - 1));
    let top = bits - 1 - (offset < 0) as u32;
    let low_bits = group.ilog2();
    let index_bits = bits_of(most as u32 / group).min(top + 1 - low_bits);
    let index = field(c, "index", place, low_bits + index_bits - 1, low_bits);
    let outside = either(c, over, small);
    let sign = signed.then_some(f.sign);
    let window = window(
        c,
        &shape,
        place,
        &Significand { nonzero: (offset >= 0).then_some(f.nonzero), ..Significand::of(&f, sign) },
    );
    let rounding = Rounding { window, index, outside, over, sign };
    let carry = if inst.truncates() { cut(c, &rounding) } else { carry(c, &shape, below, &rounding) };
    let select = select(c, &shape, below, &rounding);
    let round = match sign {
        Some(s) => c.wire("round", 2, "{{1}, {0}}", &[carry, s]),
        None => c.wire("round", 2, "{1'b0, {0}}", &[carry]),
    };
    let flag = over.map(|over| match sign {
        // The least number of a signed format counts as too large and is not.
        Some(s) => {
            let part = any(c, f.fraction, m - 1, 0, None);
            let least = format!("({{2}} & ({{3}} == {}) & ~{{1}})", constant(from.exp(), most + 1 - offset));
            let text = format!("{{0}} & ~{least}");
            c.comb("sat", 1, Cost::Logic(from.exp() + 3), text, &[over, part, s, f.exp])
        }
        None => over,
    });
    Some(Term { window, select, round, flag })
}

/// The significand, and the sign by which it is complemented.
struct Significand {
    fraction: Sig,
    /// `None`: where it is zero its place is outside.
    nonzero: Option<Sig>,
    sign: Option<Sig>,
}

impl Significand {
    fn of(f: &crate::op::float_parts::Fields, sign: Option<Sig>) -> Significand {
        Significand { fraction: f.fraction, nonzero: None, sign }
    }
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
    let mut args = vec![s.fraction, s.nonzero.unwrap_or(s.fraction)];
    let plain = cat(&[hidden.to_string(), arg(0)]);
    let mut value = match s.sign {
        Some(sign) => {
            args.push(sign);
            c.comb("turned", m + 1, Cost::Logic(2), format!("{plain} ^ {}", repeat(m + 1, &arg(2))), &args)
        }
        None => c.wire("turned", m + 1, plain, &args),
    };
    for k in 0..shape.group.ilog2() {
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

/// Whether the `width` bits of argument 0 exceed a constant, as logic: a carry chain would cost more.
fn exceeds(width: u32, least: i64) -> String {
    if least >= 1 << width {
        return "1'b0".into();
    }
    let mut text = "1'b0".to_string();
    for k in 0..width {
        let bit = slice(0, width, k as i64, k as i64);
        text = if least >> k & 1 == 1 { format!("({bit} & {text})") } else { format!("({bit} | {text})") };
    }
    text
}
