//! Pieces of C text for ints and fixeds: signs and magnitudes, rounding by shifts, and the order of values.

use super::{CText, CType, CVar};
use crate::Format;
use crate::op::Inst;

/// Whether argument `k` is negative (`None`: it never is), and its magnitude, as a pattern of its width.
pub fn magnitude(inst: &Inst, c: &mut CText, k: usize, x: &CVar) -> (Option<CVar>, CVar) {
    if inst.never_negative(k) {
        return (None, x.clone());
    }
    let format = inst.args[k];
    let negative = c.test(format!("({x} >> {}) != 0", format.width() - 1));
    let magnitude = c.wrap(format, format!("{negative} ? 0 - {x} : {x}"));
    (Some(negative), magnitude)
}

/// The pattern of a magnitude with a sign, wrapped to the format.
pub fn with_sign(c: &mut CText, format: Format, negative: Option<&CVar>, magnitude: &CVar) -> CVar {
    let kind = CType::of(format);
    match negative {
        None => c.wrap(format, magnitude),
        Some(n) => c.wrap(format, format!("{n} ? 0 - ({kind}){magnitude} : ({kind}){magnitude}")),
    }
}

/// Whether one of two arguments alone is negative; `None`: never.
pub fn unlike(c: &mut CText, a: Option<CVar>, b: Option<CVar>) -> Option<CVar> {
    match (a, b) {
        (Some(a), Some(b)) => Some(c.test(format!("{a} != {b}"))),
        (a, b) => a.or(b),
    }
}

/// An unsigned number below 2^`bits` over 2^`by`, rounded to nearest even or cut off.
pub fn shift_round(c: &mut CText, x: &CVar, bits: u32, by: u32, cut: bool) -> CVar {
    if by == 0 {
        return x.clone();
    }
    if by > bits {
        return CVar::new(x.kind.number(0), x.kind);
    }
    let kind = CType::unsigned((bits + 1).max(by + 1).min(128)).max(x.kind);
    assert!(by < kind.bits, "a number of {bits} bits over 2^{by}");
    if cut {
        return c.set(kind, format!("({kind}){x} >> {by}"));
    }
    let (wide, half) = (c.set(kind, x), 1i128 << (by - 1));
    if bits < kind.bits {
        return c.set(kind, format!("({wide} + {} + (({wide} >> {by}) & 1)) >> {by}", kind.number(half - 1)));
    }
    let rest = kind.number((1i128 << by) - 1);
    let whole = c.set(kind, format!("{wide} >> {by}"));
    c.set(kind, format!("{whole} + (({wide} & {rest}) + ({whole} & 1) > {})", kind.number(half)))
}

impl CType {
    /// The wider one of two unsigned types.
    pub fn max(self, other: CType) -> CType {
        if other.bits > self.bits { other } else { self }
    }
}

/// C of a test of two values of format `inst.args[0]`, such as `<`, in the order of the values.
pub fn compare(inst: &Inst, c: &mut CText, test: &str, args: &[CVar]) -> String {
    let (a, b) = (key(inst, c, &args[0]), key(inst, c, &args[1]));
    format!("{a} {test} {b}")
}

/// An integer that orders argument patterns as their values.
fn key(inst: &Inst, c: &mut CText, x: &CVar) -> CVar {
    let unsigned = inst.none_negative();
    if unsigned { x.clone() } else { order_key(c, inst.args[0], x) }
}

/// An integer that orders patterns of a format as their values.
pub fn order_key(c: &mut CText, format: Format, x: &CVar) -> CVar {
    if !format.is_sign_magnitude() {
        return c.int(format, x);
    }
    let kind = CType::of(format);
    let (kind, mask) = (CType { signed: true, ..kind }, kind.number((format.mask() >> 1) as i128));
    let magnitude = c.set(kind, format!("{x} & {mask}"));
    c.set(kind, format!("({x} >> {}) != 0 ? -{magnitude} : {magnitude}", format.width() - 1))
}
