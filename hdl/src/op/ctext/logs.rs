//! Pieces of C text for logs: taking patterns apart, and bounding logarithms.

use super::{CText, CVar, I32, U32, floats};
use crate::op::Inst;
use crate::{Flags, Format};

/// The biased logarithm of a pattern other than 0.
pub fn field(c: &mut CText, format: Format, x: &CVar) -> CVar {
    c.set(I32, format!("{x} & {:#x}u", (1u32 << (format.width() - 2)) - 1))
}

/// The pattern with a biased logarithm that may be out of range; raises the flags that bounding it can.
pub fn bound(
    c: &mut CText,
    format: Format,
    field: &CVar,
    sign: Option<CVar>,
    live: Option<CVar>,
    flags: Flags,
) -> CVar {
    let and_live = |test: &CVar| live.as_ref().map_or(test.to_string(), |l| format!("{l} & {test}"));
    let (mark, mut value) = (1u32 << (format.width() - 2), field.clone());
    let above = Flags(flags.0 & (Flags::OVERFLOW | Flags::SATURATION).0);
    if !above.is_empty() {
        let test = c.test(format!("{field} > {}", mark - 1));
        c.raise(above, and_live(&test));
        value = c.set(I32, format!("{test} ? {} : {field}", mark - 1));
    }
    let mut keep = live.clone();
    if flags.contains(Flags::UNDERFLOW) {
        let below = c.test(format!("{field} < 0"));
        c.raise(Flags::UNDERFLOW, and_live(&below));
        let inside = format!("!{below}");
        keep = Some(c.test(live.map_or(inside.clone(), |l| format!("{l} & {inside}"))));
    }
    let sign = sign.map_or(String::new(), |s| format!(" | {s}"));
    let marked = format!("((uint32_t){value} | {mark:#x}u{sign})");
    match keep {
        Some(keep) => c.set(U32, format!("{keep} ? {marked} : 0")),
        None => c.set(U32, marked),
    }
}

/// The sign of argument 0 in the result's format, which may be another one.
pub fn sign(inst: &Inst, c: &mut CText, x: &CVar) -> Option<CVar> {
    floats::moved_sign(inst, c, 0, x)
}
