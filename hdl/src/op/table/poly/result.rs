//! The last step: h * 2^quantum rounded to a float, to nearest even. (To a fixed it is the cast `xcast`.)

use super::{Span, Table};
use crate::Rounding;
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::float_parts::leading::leading;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::{Packed, Range, Rounded, pack};
use crate::op::pieces::float_parts::shift::{any, bits_of};
use crate::op::pieces::float_parts::{Value, max_field, round};
use crate::op::pieces::parts;
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

/// The result's pattern and flags.
#[inline]
pub fn to_float(format: Format, h: i64, quantum: i32) -> (u64, Flags) {
    let value = Value { negative: h < 0, mag: h.unsigned_abs() as u128, exp: quantum as i64, sticky: false };
    round(format, Rounding::Nearest, value, Flags::OVERFLOW)
}

/// The same of a number of more bits.
pub fn wide_to_float(format: Format, h: i128, quantum: i32) -> (u64, Flags) {
    let value = Value { negative: h < 0, mag: h.unsigned_abs(), exp: quantum as i64, sticky: false };
    round(format, Rounding::Nearest, value, Flags::OVERFLOW)
}

/// The properties of h * 2^quantum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Known {
    pub span: Span,
    /// The least magnitude of h other than 0.
    pub least: i128,
    /// Exponents of the least and the greatest magnitude: floor(log2).
    pub low: i32,
    pub high: i32,
    /// The least quantum.
    pub quantum: i32,
    /// The greatest result's pattern, without its sign.
    pub greatest: u64,
}

impl Known {
    pub fn of(t: &Table, format: Format) -> Known {
        let mut known = Known {
            span: t.span(),
            least: i64::MAX.into(),
            low: i32::MAX,
            high: i32::MIN,
            quantum: t.quanta().0,
            greatest: 0,
        };
        for (row, q) in t.rows.iter().zip(&t.quantum) {
            let Some(h) = row.h else { continue };
            let most = h.low.abs().max(h.high.abs());
            known.least = known.least.min(row.least.into());
            if most > 0 {
                known.low = known.low.min(q + most.min(row.least.into()).ilog2() as i32);
                known.high = known.high.max(q + most.ilog2() as i32);
                known.greatest = known.greatest.max(wide_to_float(format, most, *q).0);
            }
        }
        if known.high == i32::MIN {
            (known.low, known.high) = (known.quantum, known.quantum);
        }
        known
    }

    pub fn has_zero(&self) -> bool {
        self.span.low <= 0 && self.span.high >= 0
    }

    /// The flags that rounding can raise.
    pub fn flags(&self, format: Format) -> Flags {
        let bias = format.bias();
        // Rounding may reach the next power of two.
        Flags::OVERFLOW.when((self.high + 1 + bias) as i64 > max_field(format))
            | Flags::UNDERFLOW.when(self.low + bias < 1)
    }

    pub fn bounds(&self, format: Format) -> Bounds {
        if self.greatest == 0 {
            return Bounds::floats(format, 0, 0, true);
        }
        let field = (self.low + format.bias()).clamp(1, max_field(format) as i32);
        let zero = self.has_zero() || self.flags(format).contains(Flags::UNDERFLOW);
        Bounds::floats(format, (field as u64) << format.mant(), self.greatest, zero)
    }
}

/// Rounds `h`, with `offset` (an unsigned number, or a signed one) added to its least quantum. `flags` are those that
/// are to be checked.
pub fn float_circuit(
    c: &mut Circuit,
    format: Format,
    known: &Known,
    h: Sig,
    offset: Option<(Sig, bool)>,
    flags: Flags,
) -> Packed {
    let (m, width) = (format.mant(), c.width(h));
    let signed = known.span.is_signed();
    let sign = signed.then(|| field(c, "sign", h, width - 1, width - 1));
    let value = if signed { field(c, "value", h, width - 2, 0) } else { h };
    let width = c.width(value);
    let size = |n: i128| 128 - n.leading_zeros();
    // The ones' complement of a negative number is its magnitude less 1.
    let most = width - size((known.least - signed as i128).max(0)).min(width);
    let most = if signed { most } else { most.min(width - 1) };
    let (value, most) = trimmed(c, value, most, m);
    let n = leading(c, value, sign, most, m, Rounding::Nearest);
    let checked = flags.intersects(Flags::OVERFLOW | Flags::UNDERFLOW);
    let bias = format.bias();
    let digits = n.unmoved.map_or(0, |s| c.width(s));
    let mut range = if checked {
        Range { low: (known.low + bias) as i64, high: (known.high + 1 + bias) as i64 }
    } else {
        Range { low: 1, high: max_field(format) }
    };
    if digits > range.bits(format) {
        range.low = -(1 << digits);
    }
    let bits = range.bits(format);
    let start = (bias + known.quantum) as i64 + width as i64 - (1i64 << digits);
    let up = n.up.expect("rounding to nearest has it");
    let start = X::constant(bits, start as i128);
    let origin = match offset {
        None => start,
        Some((offset, signed)) => {
            let wide = c.width(offset).max(bits);
            let offset = parts::extend(c, "offset", offset, wide, signed);
            let offset = field(c, "offset", offset, bits - 1, 0);
            let origin = c.logic("origin", c.x(offset) + start);
            c.x(origin)
        }
    };
    let count = n.unmoved.map_or(X::zeros(0), |s| c.x(s)).zext(bits);
    let ups = cat([origin, c.x(up).zext(m)]);
    let packed = c.logic("rounded", cat([count, c.x(n.fraction)]) + ups);
    // An exponent that is not checked is that of some number, also where the number is 0.
    let nonzero = known.has_zero().then_some(n.nonzero);
    pack(c, &Rounded { format, range, packed, sign, nonzero }, flags)
}

/// A number whose low bits matter to the rounding alone: they become one bit. [`leading`] looks at as many bits as its
/// moves can reach and no more; where these would not hold that one too, it is given one move more than it needs.
fn trimmed(c: &mut Circuit, value: Sig, most: u32, m: u32) -> (Sig, u32) {
    let (width, mut most) = (c.width(value), most);
    let reach = |most: u32| m + 1 + (1 << bits_of(most));
    if width <= reach(most) {
        return (value, most);
    }
    while reach(most) < m + 3 + most {
        most += 1;
    }
    let limit = reach(most);
    if width <= limit {
        return (value, most);
    }
    let rest = any(c, value, width - limit, 0, None);
    let high = field(c, "high", value, width - 1, width - limit + 1);
    (c.logic("trimmed", c.cat(&[high, rest])), most)
}
