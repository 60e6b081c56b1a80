//! The circuit of a function: into the interval, the table, and the rounding.

use super::Prepared;
use crate::Flags;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Inst, Operator};
use crate::rtl::expr::Test;

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
            let beyond = |above: bool| if above { Test::Gt } else { Test::Lt };
            let number = |width: u32| X::constant(width, (end & (u64::MAX >> (64 - width))) as i128);
            if !format.is_float() {
                return c.logic("outside", c.x(x).compare(beyond(above), format.is_signed(), &number(w)));
            }
            let magnitude = field(c, "magnitude", x, w - 2, 0);
            let negative = field(c, "negative", x, w - 1, w - 1);
            let (magnitude, negative) = (c.x(magnitude), c.x(negative));
            let (end_negative, zero) = (end >> (w - 1) & 1 == 1, end & (format.mask() >> 1) == 0);
            // Of two negative numbers the one of the greater magnitude is the lesser.
            let further = magnitude.compare(beyond(end_negative != above), false, &number(w - 1));
            let outside = match (above, end_negative) {
                (true, false) => !negative & further,
                (true, true) => !negative | further,
                (false, false) if zero => negative,
                (false, false) => negative | further,
                (false, true) => negative & further,
            };
            c.logic_at("outside", outside, Cost::Compare(w), "the sign is one bit of the comparison")
        })
    };
    let (below, above) = (test(below, false, d.lo), test(above, true, d.hi));
    let mut inside = c.x(x);
    for (s, end) in [(below, d.lo), (above, d.hi)] {
        if let Some(s) = s {
            inside = c.x(s).mux(&X::constant(w, end as i128), &inside);
        }
    }
    let ends = [below, above].iter().flatten().count() as u32;
    let why = "depths and clocks were measured with a table for each end";
    let inside = if ends > 0 { c.logic_at("inside", inside, Cost::Mux(1 + ends), why) } else { x };
    let invalid = match (below, above) {
        (Some(a), Some(b)) => Some(c.logic("invalid", c.x(a) | c.x(b))),
        (a, b) => a.or(b),
    };
    (inside, invalid)
}

/// The line's number (`None`: there is one line) and the fraction.
fn place(p: &Prepared, c: &mut Circuit, x: Sig) -> (Option<Sig>, Sig) {
    let (format, lines) = (p.format, &p.lines);
    let w = format.width();
    if !format.is_float() {
        let low = X::constant(w, format.to_int(p.domain.lo));
        let from = if p.domain.lo == 0 { x } else { c.logic("from", c.x(x) - low) };
        return match lines.ends {
            None => (None, field(c, "fraction", from, lines.bits - 1, 0)),
            Some(ends) => ends.circuit(c, from),
        };
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
            let less = c.logic("octave", c.x(exponent).zext(e + 1) - X::constant(e + 1, first as i128));
            let low = field(c, "octave", less, e - 1, 0);
            if lines.tiny {
                let borrow = field(c, "borrow", less, e, e);
                parts::clear_if(c, "octave", low, borrow)
            } else {
                low
            }
        };
        if own > e { c.logic("octave", c.x(octave).zext(own)) } else { field(c, "octave", octave, own - 1, 0) }
    });
    let sign = lines.sign.map(|_| field(c, "sign", x, w - 1, w - 1));
    let args: Vec<Sig> = [sign, octave].into_iter().flatten().collect();
    (Some(c.logic("line", c.cat(&args))), fraction)
}
