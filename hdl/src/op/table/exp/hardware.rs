//! The circuit of the exponential: the product with log2(e), the table, and the rounding at a distance.

use super::Prepared;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::shift::{Fill, any, bits_of, shift_right};
use crate::op::pieces::float_parts::text::{arg, cat, constant, field, repeat, zeros};
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let bits = 64 - p.factor.leading_zeros();
    let factor = c.wire("log2_e", bits, format!("{bits}'d{}", p.factor), &[]);
    if p.format.is_float() { floats(p, inst, flags, c, x, factor) } else { fixeds(p, flags, c, x, factor) }
}

fn floats(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig, factor: Sig) -> (Sig, Option<Sig>) {
    let (format, frac) = (p.format, p.frac);
    let (e, m) = (format.exp(), format.mant());
    let f = float_parts::fields(c, format, x);
    let significand = c.wire("significand", m + 1, "{{0}, {1}}", &[f.nonzero, f.fraction]);
    // y at the largest exponent, and how many places lower the number's own is.
    let product = c.mul("product", significand, factor, false);
    let width = e + frac;
    let top = p.least_shift() + width;
    let y = if c.width(product) >= top {
        field(c, "y", product, top - 1, p.least_shift())
    } else {
        let high = field(c, "y", product, c.width(product) - 1, p.least_shift());
        parts::extend(c, "y", high, width, false)
    };
    let text = format!("{} - {{1'd0, {{0}}}}", constant(e + 1, p.last_field() as i64));
    let distance = c.comb("distance", e + 1, Cost::Add(e + 1), text, &[f.exp]);
    let (_, most) = inst.bounds(0).fields(format);
    let beyond = (most > p.last_field() as i64).then(|| field(c, "beyond", distance, e, e));
    let near = bits_of(width).min(e);
    let mut y = y;
    if near < e {
        let far = any(c, distance, e - 1, near, None);
        y = parts::clear_if(c, "y", y, far);
    }
    let amount = field(c, "amount", distance, near - 1, 0);
    let moved = shift_right(c, y, amount, width, Fill::Zeros).value;
    let sign = (!inst.is_nonneg(0)).then_some(f.sign);
    let y = match sign {
        Some(sign) => {
            let text = format!("{{{{1}}, {{0}} ^ {}}}", repeat(width, &arg(1)));
            c.comb("y", width + 1, Cost::Logic(2), text, &[moved, sign])
        }
        None => c.wire("y", width + 1, "{1'd0, {0}}", &[moved]),
    };
    let fraction = field(c, "fraction", y, frac - 1, 0);
    let mut exponent = field(c, "exponent", y, width, frac);
    if let Some(beyond) = beyond {
        let far = match sign {
            Some(_) => cat(&[arg(2), repeat(e, "~{2}")]),
            None => format!("{{1'd0, {{{e}{{1'd1}}}}}}"),
        };
        let args: Vec<Sig> = [exponent, beyond].into_iter().chain(sign).collect();
        exponent = c.comb("exponent", e + 1, Cost::Mux(2), format!("{{1}} ? {far} : {{0}}"), &args);
    }
    let looked = poly::circuit(&p.table, c, None, fraction);
    let packed = float_circuit(c, format, &p.known(), looked.h, Some((exponent, true)), flags);
    let conditions = [(Flags::OVERFLOW, packed.above), (Flags::UNDERFLOW, packed.below)];
    (packed.bits, flag_port(c, flags, &conditions))
}

fn fixeds(p: &Prepared, flags: Flags, c: &mut Circuit, x: Sig, factor: Sig) -> (Sig, Option<Sig>) {
    let (format, frac) = (p.format, p.format.frac().expect("a fixed"));
    let signed = format.is_signed();
    let product = poly::product(c, x, signed, factor);
    let low = frac + p.scale - p.frac;
    let width = c.width(product);
    // Enough of it for an integer part with a sign.
    let product = if width < low + p.frac + 2 || !signed {
        parts::extend(c, "product", product, (low + p.frac + 2).max(width + 1), signed)
    } else {
        product
    };
    let top = c.width(product) - 1;
    let fraction = field(c, "fraction", product, low + p.frac - 1, low);
    let exponent = field(c, "exponent", product, top, low + p.frac);
    let looked = poly::circuit(&p.table, c, None, fraction);
    // How many places the result lies below those of the greatest exponent.
    let most = p.most_exponent();
    let n = c.width(exponent).max(bits_of(most.unsigned_abs() as u32) + 1) + 1;
    let wide = parts::extend(c, "wide", exponent, n, true);
    let distance = c.comb("distance", n, Cost::Add(n), format!("{} - {{0}}", constant(n, most)), &[wide]);
    let beyond = field(c, "beyond", distance, n - 1, n - 1);
    let h = looked.h;
    let hw = c.width(h);
    let near = bits_of(hw + 1).min(n - 1);
    let amount = field(c, "amount", distance, near - 1, 0);
    let mut h = h;
    if near < n - 1 {
        let far = any(c, distance, n - 2, near, None);
        h = parts::clear_if(c, "h", h, far);
    }
    let shifted = shift_right(c, h, amount, hw, Fill::Zeros);
    let sticky = shifted.sticky.unwrap_or_else(|| c.wire("sticky", 1, "1'd0", &[]));
    // h at the greatest exponent has so many bits below the result's last place, and the sticky bit.
    let below = (-(most + p.table.quanta().0 as i64) - frac as i64) as u32 + 1;
    let from_frac = frac + below;
    let from_width = (hw + 1).max(from_frac);
    let text = cat(&[zeros(from_width - hw - 1), arg(0), arg(1)]);
    let value = c.wire("value", from_width, text, &[shifted.value, sticky]);
    let from = Format::Fixed { width: from_width as u8, frac: from_frac as u8, signed: false };
    let cast = Inst::new(&Xcast, &[from], Attrs { to: Some(format), ..Attrs::default() }).expect("a cast of fixeds");
    let (q, saturation) = Xcast.circuit(&cast, c, &[value]);
    if flags.is_empty() {
        return (q, None);
    }
    let w = format.width();
    let q = c.comb("result", w, Cost::Mux(2), format!("{{1}} ? {w}'d{} : {{0}}", format.max_bits()), &[q, beyond]);
    let saturation = match saturation {
        Some(s) => c.comb("saturation", 1, Cost::Logic(2), "{0} | {1}", &[s, beyond]),
        None => beyond,
    };
    (q, Some(saturation))
}
