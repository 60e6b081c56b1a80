//! The circuit of a function by octaves: the line, the table, and the rounding.

use super::Prepared;
use super::lines::{Below, PERIOD};
use crate::Flags;
use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::rtl::cat;
use crate::rtl::expr::Test;

/// 2^13 / 3, rounded up: its product with a number below 2^13 has the number's third in front of the point.
const THIRD_PLACES: u32 = 13;

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (format, l) = (p.format, &p.layout);
    let (w, m) = (format.width(), format.mant());
    let exponent = field(c, "exponent", x, w - 2, m);
    let magnitude = field(c, "magnitude", x, w - 2, 0);
    let sign = (!inst.is_nonneg(0)).then(|| field(c, "sign", x, w - 1, w - 1));
    let Octave { number, shift } = octave(p, c, exponent, magnitude);
    let mut fraction = field(c, "fraction", x, m - 1, 0);
    let mut line = number;
    if let Some(fold) = l.fold {
        (line, fraction) = folded(p, c, fold, exponent, line, fraction);
    }
    if l.signed {
        let sign = sign.unwrap_or_else(|| c.logic("sign", X::flag(false)));
        line = Some(c.logic("line", c.cat(&[Some(sign), line].into_iter().flatten().collect::<Vec<_>>())));
    }
    let looked = poly::circuit(&p.table, c, line, fraction);
    let range = Flags(flags.0 & !Flags::INVALID.0);
    let offset = match (looked.offset, shift) {
        (Some(row), Some(shift)) => {
            let width = c.width(row).max(c.width(shift)) + 2;
            let row = parts::extend(c, "row", row, width, false);
            let shift = parts::extend(c, "shift", shift, width, true);
            Some((c.logic("offset", c.x(row) + c.x(shift)), true))
        }
        (row, shift) => row.map(|s| (s, false)).or(shift.map(|s| (s, true))),
    };
    let packed = float_circuit(c, format, &p.known, looked.h, offset, range);

    let (least, _) = inst.bounds(0).fields(format);
    let first = X::constant(format.exp(), l.first as i128);
    let owns = l.below == Below::Own && (least < l.first as i64 || inst.bounds(0).zero);
    let own = owns.then(|| c.logic("own", c.x(exponent).compare(Test::Lt, false, &first)));
    let one = X::constant(w - 1, l.one as i128);
    let invalid =
        flags.contains(Flags::INVALID).then(|| c.logic("invalid", c.x(magnitude).compare(Test::Gt, false, &one)));
    let zeros = l.below != Below::Own && l.vanishes && inst.bounds(0).zero;
    let zero = zeros.then(|| parts::counted(c, "zero", c.x(exponent).none(), format.exp()));
    let dead: Vec<Sig> = [own, invalid, zero].into_iter().flatten().collect();
    let mut live = |s: Option<Sig>| s.map(|s| c.logic("live", dead.iter().fold(c.x(s), |live, d| live & !c.x(*d))));
    let (above, below) = (live(packed.above), live(packed.below));
    let mut value = match sign.filter(|_| !l.signed) {
        // Underflow leaves a plain 0.
        Some(sign) => {
            let sign = below.map_or(c.x(sign), |b| c.x(sign) & !c.x(b));
            let magnitude = field(c, "size", packed.bits, w - 2, 0);
            cat([sign, c.x(magnitude)])
        }
        None => c.x(packed.bits),
    };
    for clear in [invalid, zero].into_iter().flatten() {
        value = value & (!c.x(clear)).repeat(w);
    }
    if let Some(own) = own {
        value = c.x(own).mux(&c.x(x), &value);
    }
    let q = c.logic("q", value);
    let conditions = [(Flags::OVERFLOW, above), (Flags::UNDERFLOW, below), (Flags::INVALID, invalid)];
    (q, flag_port(c, flags, &conditions))
}

/// The octave's number (`None`: there is but one) and what is added to the quantum.
struct Octave {
    number: Option<Sig>,
    shift: Option<Sig>,
}

fn octave(p: &Prepared, c: &mut Circuit, exponent: Sig, magnitude: Sig) -> Octave {
    let (format, l) = (p.format, &p.layout);
    let (e, w) = (format.exp(), format.width());
    if let Below::Periodic { more, less } = l.below {
        return period(c, exponent, more, less);
    }
    if l.bits == 0 {
        return Octave { number: None, shift: None };
    }
    let from = l.first - l.tiny();
    let difference = c.logic("octave", c.x(exponent).zext(e + 1) - X::constant(e + 1, from as i128));
    let borrow = field(c, "borrow", difference, e, e);
    let low = field(c, "octave", difference, l.bits.min(e) - 1, 0);
    let mut number = match l.below {
        Below::Own => low,
        _ => parts::clear_if(c, "octave", low, borrow),
    };
    number = parts::extend(c, "octave", number, l.bits, false);
    let similar = l.below == Below::Similar && l.first > 1;
    let shift = similar.then(|| c.logic("shift", c.x(borrow).repeat(e + 1) & c.x(difference)));
    if l.tops {
        let last = X::constant(w - 1, l.last as i128);
        let above = c.logic("above", c.x(magnitude).compare(Test::Gt, false, &last));
        let top = X::constant(l.bits, l.top(format) as i128);
        number = c.logic("octave", c.x(above).mux(&top, &c.x(number)));
    }
    Octave { number: Some(number), shift }
}

/// The exponent divided by [`PERIOD`], and the rest.
fn period(c: &mut Circuit, exponent: Sig, more: u32, less: i32) -> Octave {
    let e = c.width(exponent);
    // 2731 n = (32 * 17 * 5 + 2 * 5 + 1) n
    let width = e + 1 + THIRD_PLACES;
    let n = c.logic("n", c.x(exponent).zext(e + 1) + X::constant(e + 1, more as i128));
    let n_wide = c.logic("n", c.x(n).zext(width));
    let five = c.logic("five", c.x(n_wide) + c.x(n_wide).low(width - 2).shl(2));
    let many = c.logic("many", c.x(five) + c.x(five).low(width - 4).shl(4));
    let rest = c.logic("rest", c.x(five).low(width - 1).shl(1) + c.x(n_wide));
    let product = c.logic("product", c.x(many).low(width - 5).shl(5) + c.x(rest));
    let third = field(c, "third", product, width - 1, THIRD_PLACES);
    // Of the rest two bits are enough: n - 4 third + third.
    let rest = c.x(n).low(2) + c.x(third).low(2);
    let number = c.logic("octave", rest);
    let shift = c.logic("shift", c.x(third).zext(e + 2) - X::constant(e + 2, less as i128));
    debug_assert_eq!(PERIOD, 3);
    Octave { number: Some(number), shift: Some(shift) }
}

/// The line and the fraction where 1 - |x| takes the place of x.
fn folded(
    p: &Prepared,
    c: &mut Circuit,
    fold: u32,
    exponent: Sig,
    number: Option<Sig>,
    fraction: Sig,
) -> (Option<Sig>, Sig) {
    let (format, l) = (p.format, &p.layout);
    let (e, m) = (format.exp(), format.mant());
    let folded = c.logic("folded", c.x(exponent).compare(Test::Ge, false, &X::constant(e, fold as i128)));
    let whole = c.logic("whole", c.x(exponent).compare(Test::Ge, false, &X::constant(e, format.bias() as i128)));
    // Exact: 2^M less the fraction, and nothing from 1 on.
    let rest = c.logic("rest", (!c.x(fraction)).zext(m + 1) + X::constant(m + 1, 1));
    let mut value = parts::clear_if(c, "rest", rest, whole);
    let mut digits = Vec::new();
    for digit in (0..bits_of(m + 1)).rev() {
        let places = 1u32 << digit;
        let bits = c.x(value);
        let clear = parts::counted(c, "clear", bits.top(places.min(m + 1)).none(), places);
        let moved = if places > m { X::zeros(m + 1) } else { bits.low(m + 1 - places).shl(places) };
        value = c.logic("moved", c.x(clear).mux(&moved, &bits));
        digits.push(clear);
    }
    let zeros = c.logic("zeros", c.cat(&digits));
    let zeros = parts::extend(c, "zeros", zeros, l.bits, false);
    let own = number.unwrap_or_else(|| c.logic("octave", X::zeros(l.bits)));
    let number = c.logic("octave", c.x(folded).mux(&c.x(zeros), &c.x(own)));
    let place = field(c, "place", value, m - 1, 0);
    let fraction = c.logic("fraction", c.x(folded).mux(&c.x(place), &c.x(fraction)));
    (Some(c.logic("line", c.cat(&[folded, number]))), fraction)
}
