//! The circuit of the exponential: the product with log2(e), the table, and the rounding at a distance.

use super::Prepared;
use crate::circuit::{Circuit, Sig, X};
use crate::op::int::xcast::Xcast;
use crate::op::pieces::float_parts;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::flag_port;
use crate::op::pieces::float_parts::shift::{Fill, any, bits_of, shift_right};
use crate::op::pieces::parts;
use crate::op::table::poly::hardware as poly;
use crate::op::table::poly::result::float_circuit;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub fn circuit(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    if p.format.is_float() { floats(p, inst, flags, c, x) } else { fixeds(p, flags, c, x) }
}

/// A number times log2 of the base.
fn scaled(p: &Prepared, c: &mut Circuit, x: Sig, signed: bool) -> Sig {
    if p.binary {
        let places = p.factor.ilog2();
        return c.logic("product", c.x(x).shl(places));
    }
    let bits = 128 - p.factor.leading_zeros();
    let factor = c.logic("log2_e", X::constant(bits, p.factor as i128));
    if signed { poly::product(c, x, true, factor) } else { c.mul("product", x, factor, false) }
}

fn floats(p: &Prepared, inst: &Inst, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (format, frac) = (p.format, p.frac);
    let e = format.exp();
    let f = float_parts::fields(c, format, x);
    let significand = c.logic("significand", c.cat(&[f.nonzero, f.fraction]));
    // y at the largest exponent, and how many places lower the number's own is.
    let product = scaled(p, c, significand, false);
    let width = e + frac;
    let top = p.least_shift() + width;
    let y = if c.width(product) >= top {
        field(c, "y", product, top - 1, p.least_shift())
    } else {
        let high = field(c, "y", product, c.width(product) - 1, p.least_shift());
        parts::extend(c, "y", high, width, false)
    };
    let last = X::constant(e + 1, p.last_field() as i128);
    let distance = c.logic("distance", last - c.x(f.exp).zext(e + 1));
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
        Some(sign) => c.logic("y", cat([c.x(sign), c.x(moved) ^ c.x(sign).repeat(width)])),
        None => c.logic("y", c.x(moved).zext(width + 1)),
    };
    let fraction = field(c, "fraction", y, frac - 1, 0);
    let mut exponent = field(c, "exponent", y, width, frac);
    if let Some(beyond) = beyond {
        let far = match sign {
            Some(sign) => cat([c.x(sign), (!c.x(sign)).repeat(e)]),
            None => X::ones(e).zext(e + 1),
        };
        exponent = c.logic("exponent", c.x(beyond).mux(&far, &c.x(exponent)));
    }
    let looked = poly::circuit(&p.table, c, None, fraction);
    let packed = float_circuit(c, format, &p.known(), looked.h, Some((exponent, true)), flags);
    let conditions = [(Flags::OVERFLOW, packed.above), (Flags::UNDERFLOW, packed.below)];
    (packed.bits, flag_port(c, flags, &conditions))
}

fn fixeds(p: &Prepared, flags: Flags, c: &mut Circuit, x: Sig) -> (Sig, Option<Sig>) {
    let (format, frac) = (p.format, p.format.frac().expect("a fixed"));
    let signed = format.is_signed();
    let product = scaled(p, c, x, signed);
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
    let distance = c.logic("distance", X::constant(n, most as i128) - c.x(wide));
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
    let sticky = shifted.sticky.map_or(X::flag(false), |s| c.x(s));
    // h at the greatest exponent has so many bits below the result's last place, and the sticky bit.
    let below = (-(most + p.table.quanta().0 as i64) - frac as i64) as u32 + 1;
    let from_frac = frac + below;
    let from_width = (hw + 1).max(from_frac);
    let value = c.logic("value", cat([c.x(shifted.value), sticky]).zext(from_width));
    let from = Format::Fixed { width: from_width as u8, frac: from_frac as u8, signed: false };
    let cast = Inst::new(&Xcast, &[from], Attrs { to: Some(format), ..Attrs::default() }).expect("a cast of fixeds");
    let (q, saturation) = Xcast.circuit(&cast, c, &[value]);
    if flags.is_empty() {
        return (q, None);
    }
    let greatest = X::constant(format.width(), format.max_bits() as i128);
    let q = c.logic("result", c.x(beyond).mux(&greatest, &c.x(q)));
    let saturation = match saturation {
        Some(s) => c.logic("saturation", c.x(s) | c.x(beyond)),
        None => beyond,
    };
    (q, Some(saturation))
}
