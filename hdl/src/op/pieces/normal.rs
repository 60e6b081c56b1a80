//! An unsigned number moved up to its leading one.

use super::parts;
use crate::circuit::{Circuit, Sig};

/// The number, of which the top bit is its leading one, and the digits of the places that it was moved, the highest first; of one bit there
/// are none. A 0 stays one, and its digits are ones.
pub fn normalised(c: &mut Circuit, x: Sig) -> (Sig, Vec<Sig>) {
    let w = c.width(x);
    let mut value = x;
    let mut digits: Vec<Sig> = Vec::new();
    let mut places = (w - 1).next_power_of_two().max(1);
    if places >= w {
        places /= 2;
    }
    while places > 0 {
        let bits = c.x(value);
        let clear = parts::counted(c, "clear", bits.top(places).none(), places);
        value = c.logic("moved", c.x(clear).mux(&bits.low(w - places).shl(places), &bits));
        digits.push(clear);
        places /= 2;
    }
    (value, digits)
}
