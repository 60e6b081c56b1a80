//! The circuit of the logarithm: normalise, look up, one product, one sum, round.

use super::Prepared;
use crate::Flags;
use crate::circuit::{Circuit, Sig, X};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::normal::normalised;
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Inst, Operator};
use crate::rtl::cat;

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let format = p.format;
    let n = if format.is_float() { float_parts_of(p, inst, c, x) } else { fixed_parts_of(p, c, x) };
    let bits = p.bits;
    let looked = poly::circuit(&p.table, c, None, n.fraction);
    // t in half places of the fraction: twice the fraction below 1/2, the fraction less 1 from there on.
    let place = c.x(n.fraction);
    let (upper, below) = (place.msb(), place.low(bits - 1));
    let t = if bits == 1 {
        // -1/2 of a half, or 0.
        c.logic("t", place.repeat(2))
    } else {
        let negative = cat([X::flag(true), upper.clone(), below.clone()]);
        c.logic("t", upper.mux(&negative, &below.shl(1).zext(bits + 1)))
    };
    let product = poly::product(c, t, true, looked.h);
    let top = c.width(product) - 1;
    let product = field(c, "product", product, top, p.cut);
    let whole = p.multiples.circuit(c, n.index);
    // The sum is as wide as its span; the multiple's low bits are zeros.
    let right = p.sum_frac - p.multiples.frac;
    let width = p.span().bits();
    let high = width - right;
    let product = resize(c, product, width);
    let low = field(c, "low", product, right - 1, 0);
    let top = field(c, "top", product, width - 1, right);
    let whole = resize(c, whole, high);
    let top = c.logic("sum", c.x(top) + c.x(whole));
    let sum = c.logic("sum", c.cat(&[top, low]));
    let invalid = n.dead;
    if format.is_float() {
        let range = Flags(flags.0 & !Flags::INVALID.0);
        let packed = float_circuit(c, format, &p.known(), sum, None, range);
        let (mut q, mut above, mut below) = (packed.bits, packed.above, packed.below);
        if let Some(dead) = invalid {
            q = parts::clear_if(c, "log", q, dead);
            let live = |c: &mut Circuit, s: Sig| c.logic("live", c.x(s) & !c.x(dead));
            (above, below) = (above.map(|s| live(c, s)), below.map(|s| live(c, s)));
        }
        let conditions = [(Flags::OVERFLOW, above), (Flags::UNDERFLOW, below), (Flags::INVALID, invalid)];
        return (q, flag_port(c, flags, &conditions));
    }
    let cast = p.cast();
    let right = p.sum_frac - format.frac().expect("a fixed") - 4;
    let cut = field(c, "cut", sum, width - 1, right);
    let cut = resize(c, cut, cast.args[0].width());
    let (mut q, mut saturation) = Xcast.circuit(&cast, c, &[cut]);
    if let Some(dead) = invalid {
        q = parts::clear_if(c, "log", q, dead);
        saturation = saturation.map(|s| c.logic("live", c.x(s) & !c.x(dead)));
    }
    (q, flag_port(c, flags, &[(Flags::SATURATION, saturation), (Flags::INVALID, invalid)]))
}

fn resize(c: &mut Circuit, s: Sig, width: u32) -> Sig {
    if c.width(s) > width { field(c, "low", s, width - 1, 0) } else { parts::extend(c, "wide", s, width, true) }
}

/// A normalised argument.
struct Normal {
    fraction: Sig,
    /// The place of the multiple of ln(2), the carry of an upper half included.
    index: Sig,
    /// Whether there is no logarithm; `None`: there always is.
    dead: Option<Sig>,
}

fn float_parts_of(p: &Prepared, inst: &Inst, c: &mut Circuit, x: Sig) -> Normal {
    let (e, m, w) = (p.format.exp(), p.format.mant(), p.format.width());
    let exponent = field(c, "exponent", x, w - 2, m);
    let fraction = field(c, "fraction", x, m - 1, 0);
    let live = float_parts::nonzero(c, inst, 0, exponent);
    let sign = (!inst.is_nonneg(0)).then(|| field(c, "sign", x, w - 1, w - 1));
    let dead = match (live, sign) {
        (Some(l), Some(s)) => Some(c.logic("dead", !c.x(l) | c.x(s))),
        (Some(l), None) => Some(parts::counted(c, "dead", !c.x(l), 1)),
        (None, s) => s,
    };
    // The least exponent has field 1.
    let upper = field(c, "upper", fraction, m - 1, m - 1);
    let index = c.logic("index", c.x(exponent) - X::constant(e, 1) + c.x(upper).zext(e));
    Normal { fraction, index, dead }
}

/// A fixed moved up to its leading one.
fn fixed_parts_of(p: &Prepared, c: &mut Circuit, x: Sig) -> Normal {
    let w = p.format.width();
    let none = c.x(x).none();
    let dead = if p.format.is_signed() { c.x(x).msb() | none } else { none };
    let dead = parts::counted(c, "dead", dead, w);
    let (value, digits) = normalised(c, x);
    let fraction = if w == 1 { c.logic("fraction", X::flag(false)) } else { field(c, "fraction", value, w - 2, 0) };
    // The leading one's place: w - 1 less the places moved, and the carry of the upper half.
    let bits = float_parts::shift::bits_of(w);
    let upper = field(c, "upper", fraction, p.bits - 1, p.bits - 1);
    if digits.is_empty() {
        let index = c.logic("index", c.x(upper).zext(bits));
        return Normal { fraction, index, dead: Some(dead) };
    }
    let count = c.logic("count", c.cat(&digits));
    let n = bits.max(c.width(count));
    let count = parts::extend(c, "count", count, n, false);
    let last = X::constant(n, w as i128 - 1);
    let index = c.logic("index", last - c.x(count) + c.x(upper).zext(n));
    let index = field(c, "index", index, bits - 1, 0);
    Normal { fraction, index, dead: Some(dead) }
}
