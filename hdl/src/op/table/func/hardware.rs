//! The circuit of a function: into the interval, the table, and the rounding.

use super::Prepared;
use crate::Flags;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::text::{arg, cat, constant, field, zeros};
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Inst, Operator};

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (x, invalid) = clamp(p, inst, c, x);
    let (line, fraction) = place(p, c, x);
    let looked = poly::circuit(&p.table, c, line, fraction);
    let Some(cast) = &p.cast else {
        let known = p.known.as_ref().expect("the result of a float");
        let range = Flags(flags.0 & !Flags::INVALID.0);
        let offset = looked.offset.map(|s| (s, false));
        let packed = float_circuit(c, p.format, known, looked.h, offset, range);
        let conditions = [(Flags::OVERFLOW, packed.above), (Flags::UNDERFLOW, packed.below), (Flags::INVALID, invalid)];
        return (packed.bits, flag_port(c, flags, &conditions));
    };
    let h = parts::extend(c, "h", looked.h, cast.args[0].width(), cast.args[0].is_signed());
    let (q, saturation) = Xcast.circuit(cast, c, &[h]);
    // What the cast's formats allow the table's span may rule out.
    let conditions = [(Flags::SATURATION, saturation), (Flags::INVALID, invalid)];
    (q, flag_port(c, flags, &conditions))
}

/// The argument within the interval, and whether it was outside.
fn clamp(p: &Prepared, inst: &Inst, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (format, d) = (p.format, &p.domain);
    let (below, above) = d.outside(inst);
    let w = format.width();
    let mut test = |possible: bool, above: bool, end: u64| {
        possible.then(|| {
            let sign = if above { ">" } else { "<" };
            if !format.is_float() {
                let text = match format.is_signed() {
                    true => format!("$signed({{0}}) {sign} $signed({w}'d{end})"),
                    false => format!("{{0}} {sign} {w}'d{end}"),
                };
                return c.comb("outside", 1, Cost::Compare(w), text, &[x]);
            }
            let magnitude = field(c, "magnitude", x, w - 2, 0);
            let negative = field(c, "negative", x, w - 1, w - 1);
            let (end_negative, end) = (end >> (w - 1) & 1 == 1, end & (format.mask() >> 1));
            // Of two negative numbers the one of the greater magnitude is the lesser.
            let further = format!("{{0}} {} {}'d{end}", if end_negative == above { "<" } else { ">" }, w - 1);
            let text = match (above, end_negative) {
                (true, false) => format!("~{{1}} & ({further})"),
                (true, true) => format!("~{{1}} | ({further})"),
                (false, false) if end == 0 => "{1}".to_string(),
                (false, false) => format!("{{1}} | ({further})"),
                (false, true) => format!("{{1}} & ({further})"),
            };
            c.comb("outside", 1, Cost::Compare(w), text, &[magnitude, negative])
        })
    };
    let (below, above) = (test(below, false, d.lo), test(above, true, d.hi));
    let (mut text, mut args) = ("{0}".to_string(), vec![x]);
    for (s, end) in [(below, d.lo), (above, d.hi)] {
        if let Some(s) = s {
            args.push(s);
            text = format!("{{{}}} ? {w}'d{end} : ({text})", args.len() - 1);
        }
    }
    let inside = if args.len() > 1 { c.comb("inside", w, Cost::Mux(args.len() as u32), text, &args) } else { x };
    let invalid = match (below, above) {
        (Some(a), Some(b)) => Some(c.comb("invalid", 1, Cost::Logic(2), "{0} | {1}", &[a, b])),
        (a, b) => a.or(b),
    };
    (inside, invalid)
}

/// The line's number (`None`: there is one line) and the fraction.
fn place(p: &Prepared, c: &mut Circuit, x: Sig) -> (Option<Sig>, Sig) {
    let (format, lines) = (p.format, &p.lines);
    let w = format.width();
    if !format.is_float() {
        let low = constant(w, format.to_int(p.domain.lo) as i64);
        let from = if p.domain.lo == 0 { x } else { c.comb("from", w, Cost::Add(w), format!("{{0}} - {low}"), &[x]) };
        return (None, field(c, "fraction", from, lines.bits - 1, 0));
    }
    let (e, m) = (format.exp(), format.mant());
    let fraction = field(c, "fraction", x, m - 1, 0);
    if lines.lines.len() == 1 {
        return (None, fraction);
    }
    let bits = 32 - (lines.lines.len() as u32 - 1).leading_zeros();
    // The lines of one sign.
    let own = lines.sign.unwrap_or(bits);
    let octave = (own > 0).then(|| {
        let exponent = field(c, "exponent", x, w - 2, m);
        let first = lines.field - lines.tiny as u32;
        let octave = if first == 0 {
            exponent
        } else {
            let text = format!("{{1'd0, {{0}}}} - {}", constant(e + 1, first as i64));
            let less = c.comb("octave", e + 1, Cost::Add(e + 1), text, &[exponent]);
            let low = field(c, "octave", less, e - 1, 0);
            if lines.tiny {
                let borrow = field(c, "borrow", less, e, e);
                parts::clear_if(c, "octave", low, borrow)
            } else {
                low
            }
        };
        if own > e {
            c.wire("octave", own, cat(&[zeros(own - e), arg(0)]), &[octave])
        } else {
            field(c, "octave", octave, own - 1, 0)
        }
    });
    let sign = lines.sign.map(|_| field(c, "sign", x, w - 1, w - 1));
    let args: Vec<Sig> = [sign, octave].into_iter().flatten().collect();
    let text = cat(&(0..args.len()).map(arg).collect::<Vec<_>>());
    (Some(c.wire("line", bits, text, &args)), fraction)
}
