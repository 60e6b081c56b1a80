//! Parts common to the two variable shifts: their formats and their amounts.

use crate::Format;
use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
use crate::op::ctext::{CText, CType, CVar};
use crate::op::pieces::parts::{counted, slice};
use crate::rtl::expr::Test;

/// An int or fixed, shifted by an int.
pub fn result(name: &str, args: &[Format]) -> Result<Format, String> {
    match args {
        [a, n] if a.is_integral() && n.is_int() => Ok(*a),
        _ => Err(format!("`{name}` takes an int or fixed and an int amount")),
    }
}

/// The amount if it lies in 0..W-1.
pub fn amount(inst: &Inst, bits: u64) -> Option<u32> {
    let n = inst.args[1].to_int(bits);
    (0..inst.result.width() as i128).contains(&n).then_some(n as u32)
}

/// C: whether the amount `n` lies in 0..W-1.
pub fn c_in_range(inst: &Inst, n: &str) -> String {
    format!("(uint64_t){n} < {}", inst.result.width())
}

/// The amount as an unsigned number of C, and a test of whether it lies in 0..W-1.
pub fn c_amount(inst: &Inst, c: &mut CText, n: &CVar) -> (CVar, CVar) {
    let (n, format) = (c.int(inst.args[1], n), inst.args[1]);
    let n = if format.is_signed() { c.set(CType { signed: false, ..n.kind }, n) } else { n };
    let inside = c.test(format!("{n} < {}", inst.result.width()));
    (n, inside)
}

/// The bits of an amount that shift within the width (none where the width is 1), and a signal that says that the
/// amount lies outside 0..W-1 (none where it never does).
pub fn decode(inst: &Inst, c: &mut Circuit, n: Sig) -> (Option<Sig>, Option<Sig>) {
    let (width, bits) = (inst.result.width(), c.width(n));
    let sign = inst.args[1].is_signed() as u32;
    // The amount's magnitude bits, and how many of them count to W - 1.
    let magnitude = bits - sign;
    let useful = (32 - (width - 1).leading_zeros()).min(magnitude);
    let amount = (useful > 0).then(|| slice(c, "amount", n, useful - 1, 0));
    if width.is_power_of_two() {
        let high = (useful < bits).then(|| slice(c, "beyond", n, bits - 1, useful));
        let outside = high.map(|h| counted(c, "outside", c.x(h).any(), c.width(h)));
        return (amount, outside);
    }
    // Not a power of two: the useful bits alone may reach W.
    let reaches = magnitude >= 32 || (1u64 << magnitude) > width as u64;
    let outside = match (reaches, sign) {
        (false, 0) => None,
        (false, _) => Some(slice(c, "negative", n, bits - 1, bits - 1)),
        // A negative amount's pattern is at least W too, since its magnitude bits alone can reach W.
        (true, _) => Some(c.logic("outside", c.x(n).compare(Test::Ge, false, &X::constant(bits, width as i128)))),
    };
    (amount, outside)
}
