//! The circuit of sine and cosine: the product with a part of 1 / pi, the fold, the table, the rounding.

use super::reduce::{Fixeds, Floats};
use super::{Prepared, Reduction};
use crate::Flags;
use crate::circuit::{Circuit, Sig, X};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts::fields;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::shift::bits_of;
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Inst, Operator};
use crate::rtl::cat;
use crate::rtl::expr::Test;

/// The widest word of one memory.
const ROM_WIDTH: u32 = 64;

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    match &p.reduction {
        Reduction::Floats(floats) => floats_of(p, floats, inst, flags, c, x),
        Reduction::Fixeds(fixeds) => fixeds_of(p, fixeds, flags, c, x),
    }
}

fn floats_of(p: &Prepared, r: &Floats, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let format = p.format;
    let w = format.width();
    let f = fields(c, format, x);
    let (least, most) = inst.bounds(0).fields(format);
    // Which of the exponents that are reduced there can be; at least one, so that there is a circuit.
    let first = (r.first as i64).max(least.min(r.last as i64)) as u32;
    let last = (r.last as i64).min(most.max(first as i64)) as u32;
    let window = window(c, r, f.exp, first, last);
    let significand = c.logic("significand", cat([X::flag(true), c.x(f.fraction)]));
    let width = (r.unit + 1 + r.below).min(c.width(significand) + c.width(window));
    let product = c.mul_low("product", significand, window, width);
    let product = parts::extend(c, "product", product, r.unit + 1 + r.below, false);
    let turn = field(c, "turn", product, r.unit + r.below, r.below);
    let (negative, u) = fold(c, turn, p.cosine);
    let (line, fraction) = normalise(c, u, r);
    let looked = poly::circuit(&p.table, c, Some(line), fraction);
    let known = p.known.as_ref().expect("the result of a float");
    let offset = looked.offset.map(|s| (s, false));
    let packed = float_circuit(c, format, known, looked.h, offset, Flags(flags.0 & !Flags::INVALID.0));

    let mut compare = |possible: bool, test: Test, end: u32| {
        let end = X::constant(format.exp(), end as i128);
        possible.then(|| c.logic("outside", c.x(f.exp).compare(test, false, &end)))
    };
    let early = compare(least < r.first as i64 || inst.bounds(0).zero, Test::Lt, r.first);
    let invalid = compare(flags.contains(Flags::INVALID), Test::Gt, r.last);
    let mut live = |s: Option<Sig>| {
        s.map(|s| {
            let others = [early, invalid].into_iter().flatten();
            c.logic("live", others.fold(c.x(s), |live, other| live & !c.x(other)))
        })
    };
    let (above, below) = (live(packed.above), live(packed.below));
    let turned = c.x(negative);
    let turned = if p.cosine || inst.is_nonneg(0) { turned } else { turned ^ c.x(f.sign) };
    let sign = below.map_or(turned.clone(), |b| turned & !c.x(b));
    let sign = c.logic("sign", sign);
    let magnitude = field(c, "magnitude", packed.bits, w - 2, 0);
    let mut value = c.cat(&[sign, magnitude]);
    if let Some(invalid) = invalid {
        value = value & (!c.x(invalid)).repeat(w);
    }
    if let Some(early) = early {
        let own = if p.cosine { X::constant(w, p.one() as i128) } else { c.x(x) };
        value = c.x(early).mux(&own, &value);
    }
    let q = c.logic("q", value);
    let conditions = [(Flags::OVERFLOW, above), (Flags::UNDERFLOW, below), (Flags::INVALID, invalid)];
    (q, flag_port(c, flags, &conditions))
}

/// The bits of 1 / pi for an exponent field from `first` to `last`, from memories as wide as they may be.
fn window(c: &mut Circuit, r: &Floats, exponent: Sig, first: u32, last: u32) -> Sig {
    let rows: Vec<u128> = (first..=last).map(|k| r.windows[(k - r.first) as usize]).collect();
    let width = rows.iter().map(|w| 128 - w.leading_zeros()).max().expect("there is one").max(1);
    let bits = bits_of(rows.len() as u32 - 1);
    let address = (bits > 0).then(|| {
        let e = c.width(exponent);
        let row = c.logic("row", c.x(exponent) - X::constant(e, first as i128));
        field(c, "row", row, bits - 1, 0)
    });
    let mut pieces = Vec::new();
    for low in (0..width).step_by(ROM_WIDTH as usize) {
        let n = ROM_WIDTH.min(width - low);
        let mask = u64::MAX >> (64 - n);
        let word = |w: &u128| (w >> low) as u64 & mask;
        pieces.push(match address {
            Some(address) => c.rom("over_pi", n, address, rows.iter().map(word).collect()),
            None => c.logic("over_pi", X::constant(n, word(&rows[0]) as i128)),
        });
    }
    pieces.reverse();
    c.logic("window", c.cat(&pieces))
}

/// The sign and u of a turn, to which a quarter is still to be added for a cosine.
fn fold(c: &mut Circuit, turn: Sig, cosine: bool) -> (Sig, Sig) {
    let unit = c.width(turn) - 1;
    let whole = field(c, "whole", turn, unit, unit);
    let half = field(c, "half", turn, unit - 1, unit - 1);
    let rest = field(c, "rest", turn, unit - 2, 0);
    let (second, rest) = (c.x(half), c.x(rest));
    let (negative, flip) = if cosine { (c.logic("negative", c.x(whole) ^ &second), !second) } else { (whole, second) };
    (negative, c.logic("u", rest ^ flip.repeat(unit - 1)))
}

/// The octave of u, which is its number of leading zeros, and the fraction behind the leading one.
fn normalise(c: &mut Circuit, u: Sig, r: &Floats) -> (Sig, Sig) {
    let mut value = u;
    let mut digits = Vec::new();
    for digit in (0..bits_of(r.octaves - 1)).rev() {
        let places = 1u32 << digit;
        let bits = c.x(value);
        let width = bits.width();
        let clear = parts::counted(c, "clear", bits.top(places).none(), places);
        // What no later move can bring up is not needed.
        let kept = width.min(r.places + places);
        let moved = bits.low(width - places).shl(places).top(kept);
        value = c.logic("moved", c.x(clear).mux(&moved, &bits.top(kept)));
        digits.push(clear);
    }
    let line = c.logic("line", c.cat(&digits));
    let width = c.width(value);
    (line, field(c, "fraction", value, width - 2, width - 1 - r.places))
}

fn fixeds_of(p: &Prepared, r: &Fixeds, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let signed = p.format.is_signed();
    let bits = 64 - r.factor.leading_zeros();
    let factor = c.logic("over_pi", X::constant(bits, r.factor as i128));
    let product = poly::product(c, x, signed, factor);
    let top = r.unit + r.below;
    let product = if c.width(product) <= top { parts::extend(c, "product", product, top + 1, signed) } else { product };
    let turn = field(c, "turn", product, top, r.below);
    let (negative, u) = fold(c, turn, p.cosine);
    let looked = poly::circuit(&p.table, c, None, u);
    let cast = p.cast.as_ref().expect("the result of a fixed");
    // A sign bit first, so that the greatest magnitude stays itself when negated.
    let width = c.width(looked.h) + !p.table.span().is_signed() as u32;
    let h = parts::extend(c, "h", looked.h, width, p.table.span().is_signed());
    let h = parts::negate_if(c, "h", h, negative);
    let to = cast.args[0].width();
    let h = if width > to { field(c, "h", h, to - 1, 0) } else { parts::extend(c, "h", h, to, true) };
    let (q, saturation) = Xcast.circuit(cast, c, &[h]);
    (q, flag_port(c, flags, &[(Flags::SATURATION, saturation)]))
}
