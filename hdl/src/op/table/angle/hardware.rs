//! The circuit of the angle of a point: the quotient, the octant's line, the table, and the rounding.

use super::Prepared;
use crate::Flags;
use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
use crate::op::float::fdiv;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::rtl::cat;
use crate::rtl::expr::Test;

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
    let (format, places) = (p.format, p.places);
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let mut sign = |k: usize| match inst.is_nonneg(k) {
        true => None,
        false => Some(field(c, "sign", args[k], w - 1, w - 1)),
    };
    let (turned, behind) = (sign(0), sign(1));
    let (a, b) = (field(c, "a", args[0], w - 2, 0), field(c, "b", args[1], w - 2, 0));
    let exchanged = c.logic("exchanged", c.x(a).compare(Test::Gt, false, &c.x(b)));
    let low = c.logic("lesser", c.x(exchanged).mux(&c.x(b), &c.x(a)));
    let high = c.logic("greater", c.x(exchanged).mux(&c.x(a), &c.x(b)));
    let exponents = [field(c, "exponent", low, w - 2, m), field(c, "exponent", high, w - 2, m)];
    let fractions = [field(c, "fraction", low, m - 1, 0), field(c, "fraction", high, m - 1, 0)];
    let nothing = parts::counted(c, "nothing", c.x(exponents[0]).none(), e);
    let quotient = fdiv::divide(c, fractions, m, places + 1);
    let one = field(c, "one", quotient, places + 1, places + 1);
    let (digits, whole) = (c.x(quotient), c.x(one));
    let fraction = c.logic("fraction", whole.mux(&digits.slice(places, 1), &digits.slice(places - 1, 0)));
    // Never negative, and at most 2^E - 2: the lesser has no greater exponent.
    let distance = c.logic("distance", c.x(exponents[1]) - c.x(exponents[0]));
    let octave = c.logic("octave", c.x(distance).zext(e + 1) + (!whole).zext(e + 1));
    let bits = bits_of(p.last);
    let wide = (e + 1).max(bits) + 1;
    let octave = parts::extend(c, "octave", octave, wide, false);
    let last = X::constant(wide, p.last as i128);
    let beyond = c.logic("beyond", c.x(octave).compare(Test::Gt, false, &last));
    let ends = c.logic("ends", c.x(beyond) | c.x(nothing));
    let number = c.logic("number", c.x(ends).mux(&last.low(bits), &c.x(octave).low(bits)));
    let behind = behind.unwrap_or_else(|| c.logic("behind", X::flag(false)));
    let line = c.logic("line", c.cat(&[exchanged, behind, number]));
    let front = c.logic("front", !c.x(exchanged) & !c.x(behind));
    let looked = poly::circuit(&p.table, c, Some(line), fraction);
    let less = c.logic("less", last - c.x(octave));
    let moves = c.logic("moves", c.x(front) & c.x(beyond));
    let shift = c.logic("shift", c.x(moves).repeat(wide) & c.x(less));
    let offset = match looked.offset {
        Some(row) => {
            let width = c.width(row).max(wide) + 2;
            let row = parts::extend(c, "row", row, width, false);
            let shift = parts::extend(c, "shift", shift, width, true);
            c.logic("offset", c.x(row) + c.x(shift))
        }
        None => shift,
    };
    let packed = float_circuit(c, format, &p.known, looked.h, Some((offset, true)), flags);
    let dead = inst.bounds(0).zero.then(|| c.logic("dead", c.x(front) & c.x(nothing)));
    let mut live = |s: Option<Sig>| match (s, dead) {
        (Some(s), Some(dead)) => Some(c.logic("live", c.x(s) & !c.x(dead))),
        (s, _) => s,
    };
    let (above, below) = (live(packed.above), live(packed.below));
    let mut value = match turned {
        // Underflow leaves a plain 0.
        Some(sign) => {
            let sign = below.map_or(c.x(sign), |b| c.x(sign) & !c.x(b));
            let magnitude = field(c, "size", packed.bits, w - 2, 0);
            cat([sign, c.x(magnitude)])
        }
        None => c.x(packed.bits),
    };
    if let Some(dead) = dead {
        value = value & (!c.x(dead)).repeat(w);
    }
    let q = c.logic("q", value);
    (q, flag_port(c, flags, &[(Flags::OVERFLOW, above), (Flags::UNDERFLOW, below)]))
}
