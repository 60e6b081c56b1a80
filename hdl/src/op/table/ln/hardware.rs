//! The circuit of the logarithm: normalise, look up, one product, one sum, round.

use super::Prepared;
use crate::Flags;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::text::{arg, cat, field, repeat, slice, zeros};
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Inst, Operator};

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let format = p.format;
    let n = if format.is_float() { float_parts_of(p, inst, c, x) } else { fixed_parts_of(p, c, x) };
    let bits = p.bits;
    let looked = poly::circuit(&p.table, c, None, n.fraction);
    // t in half places of the fraction: twice the fraction below 1/2, the fraction less 1 from there on.
    let below = slice(0, bits, bits as i64 - 2, 0);
    let upper = slice(0, bits, bits as i64 - 1, bits as i64 - 1);
    let t = if bits == 1 {
        // -1/2 of a half, or 0.
        c.wire("t", 2, "{{0}, {0}}", &[n.fraction])
    } else {
        let text = format!(
            "{upper} ? {} : {}",
            cat(&["1'd1".into(), upper.clone(), below.clone()]),
            cat(&[zeros(1), below, zeros(1)])
        );
        c.comb("t", bits + 1, Cost::Mux(2), text, &[n.fraction])
    };
    let product = poly::product(c, t, true, looked.h);
    let top = c.width(product) - 1;
    let product = field(c, "product", product, top, p.cut);
    // With a sign, even where no multiple is negative.
    let whole_width = p.multiples.iter().fold(super::Span::of(-1), |s, m| s.or(super::Span::of(*m))).bits().max(2);
    let mask = u64::MAX >> (64 - whole_width);
    let count = 1usize << c.width(n.index);
    let data = (0..count).map(|k| p.multiples.get(k).map_or(0, |m| *m as u64 & mask)).collect();
    let whole = c.rom("whole", whole_width, n.index, data);
    // The sum is as wide as its span; the multiple's low bits are zeros.
    let right = p.sum_frac - p.frac;
    let width = p.span().bits();
    let high = width - right;
    let product = resize(c, product, width);
    let low = field(c, "low", product, right - 1, 0);
    let top = field(c, "top", product, width - 1, right);
    let whole = resize(c, whole, high);
    let top = c.comb("sum", high, Cost::Add(high), "{0} + {1}", &[top, whole]);
    let sum = c.wire("sum", width, "{{0}, {1}}", &[top, low]);
    let invalid = n.dead;
    if format.is_float() {
        let range = Flags(flags.0 & !Flags::INVALID.0);
        let packed = float_circuit(c, format, &p.known(), sum, None, range);
        let (mut q, mut above, mut below) = (packed.bits, packed.above, packed.below);
        if let Some(dead) = invalid {
            q = parts::clear_if(c, "log", q, dead);
            let live = |c: &mut Circuit, s: Sig| c.comb("live", 1, Cost::Logic(2), "{0} & ~{1}", &[s, dead]);
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
        saturation = saturation.map(|s| c.comb("live", 1, Cost::Logic(2), "{0} & ~{1}", &[s, dead]));
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
        (Some(l), Some(s)) => Some(c.comb("dead", 1, Cost::Logic(2), "~{0} | {1}", &[l, s])),
        (Some(l), None) => Some(c.comb("dead", 1, Cost::Logic(1), "~{0}", &[l])),
        (None, s) => s,
    };
    // The least exponent has field 1.
    let text =
        format!("{{0}} - {} + {}", crate::op::pieces::float_parts::text::constant(e, 1), cat(&[zeros(e - 1), arg(1)]));
    let upper = field(c, "upper", fraction, m - 1, m - 1);
    let index = c.comb("index", e, Cost::Add(e), text, &[exponent, upper]);
    Normal { fraction, index, dead }
}

/// A fixed moved up to its leading one, by halves of the remaining places.
fn fixed_parts_of(p: &Prepared, c: &mut Circuit, x: Sig) -> Normal {
    let w = p.format.width();
    let dead = if p.format.is_signed() {
        c.comb("dead", 1, Cost::Logic(w), format!("{} | ~|{{0}}", slice(0, w, w as i64 - 1, w as i64 - 1)), &[x])
    } else {
        c.comb("dead", 1, Cost::Logic(w), "~|{0}", &[x])
    };
    let mut value = x;
    let mut digits: Vec<Sig> = Vec::new();
    let mut places = (w - 1).next_power_of_two().max(1);
    if places >= w {
        places /= 2;
    }
    while places > 0 {
        let clear = c.comb(
            "clear",
            1,
            Cost::Logic(places),
            format!("~|{}", slice(0, w, w as i64 - 1, (w - places) as i64)),
            &[value],
        );
        let text = format!("{{1}} ? {} : {{0}}", cat(&[slice(0, w, (w - places) as i64 - 1, 0), zeros(places)]));
        value = c.comb("moved", w, Cost::Mux(2), text, &[value, clear]);
        digits.push(clear);
        places /= 2;
    }
    let fraction = if w == 1 { c.wire("fraction", 1, "1'd0", &[]) } else { field(c, "fraction", value, w - 2, 0) };
    // The leading one's place: w - 1 less the places moved, and the carry of the upper half.
    let bits = float_parts::shift::bits_of(w);
    let upper = field(c, "upper", fraction, p.bits - 1, p.bits - 1);
    if digits.is_empty() {
        let index = c.wire("index", bits, cat(&[zeros(bits - 1), arg(0)]), &[upper]);
        return Normal { fraction, index, dead: Some(dead) };
    }
    let count = c.wire("count", digits.len() as u32, cat(&(0..digits.len()).map(arg).collect::<Vec<_>>()), &digits);
    let n = bits.max(c.width(count));
    let count = parts::extend(c, "count", count, n, false);
    let text = format!(
        "{} - {{0}} + {}",
        crate::op::pieces::float_parts::text::constant(n, w as i64 - 1),
        cat(&[repeat(n - 1, "1'd0"), arg(1)])
    );
    let index = c.comb("index", n, Cost::Add(n), text, &[count, upper]);
    let index = field(c, "index", index, bits - 1, 0);
    Normal { fraction, index, dead: Some(dead) }
}
