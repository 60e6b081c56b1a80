//! One circuit for conversions to formats that differ in nothing but their point, which is an input of it.

use super::convert;
use crate::Format;
use crate::circuit::Circuit;
use crate::circuit::target::Clock;
use crate::op::pieces::float_parts::max_field;
use crate::op::{Attrs, Inst};

/// Bits of the input that gives the point: fraction bits of the result, at most as many as it has bits.
pub const POINT_BITS: u32 = 7;

/// The circuit of a conversion with its point as the input `b`; the fraction bits of the result in `inst` do not matter. `None` where
/// the largest float is within the format, and so the circuit depends on the point in more than the place of the number.
pub fn pointed(inst: &Inst, clock: Clock) -> Option<Circuit> {
    let (from, to) = (inst.args[0], inst.result);
    let (width, signed) = (to.width(), to.is_signed());
    let highest = width as i64 - 1 - signed as i64;
    let largest = max_field(from) - from.bias() as i64;
    if width < 2 || largest < highest || highest + (from.bias() as i64) < width as i64 {
        return None;
    }
    let whole = Format::Int { width: width as u8, signed };
    let attrs = Attrs { to: Some(whole), ..inst.attrs.clone() };
    let general = Inst { args: vec![from], attrs, result: whole, nonneg: 0, bounds: Vec::new(), same: false };
    let mut c = Circuit::new(clock);
    let x = c.input("a", from.width());
    let point = c.input("b", POINT_BITS);
    let (q, f) = convert(&general, &mut c, x, Some(point));
    c.output("q", q);
    if let Some(f) = f {
        c.output("f", f);
    }
    Some(c)
}
