//! C text for floats that double precision computes exactly enough, where single precision does not.
//!
//! The magnitude of a pattern is the upper word of a double, moved to the right; that double is the number times one power of
//! two for all numbers of a format, and 0 is 0. As of single precision, a product is exact, and a sum of 53 bits, at least
//! 2 p + 2, rounds to p bits as the exact one does. Of the lower word it is enough to know whether it is 0.

use super::{CText, CType, CVar, U32, floats};
use crate::op::Inst;
use crate::{Flags, Format};

/// Fraction bits of a double's upper word.
const UPPER: u32 = 20;

/// Bits of the upper word below the pattern's last one, where all of this holds.
fn spare(inst: &Inst) -> Option<u32> {
    let format = inst.result;
    // Two at least: the lowest one stands for the lower word.
    let fits = format.is_float() && format.exp() <= 10 && format.mant() + 2 <= UPPER;
    (fits && !inst.truncates()).then(|| UPPER - format.mant())
}

/// The product of two floats.
pub fn product(inst: &Inst, c: &mut CText, args: &[CVar], flags: Flags) -> Option<CVar> {
    let (spare, format) = (spare(inst)?, inst.result);
    let a = floats::magnitude(inst, c, 0, &args[0]);
    let b = if inst.same { a.clone() } else { floats::magnitude(inst, c, 1, &args[1]) };
    // The second factor is the number itself, which 0 is not.
    let shift = ((1023 - format.bias()) as u32) << UPPER;
    let exact = c.set(U32, format!("pf_muld({a} << {spare}, ({b} << {spare}) + {shift:#x}u)"));
    let sign = floats::sign_of_product(inst, c, args);
    let live = match (inst.same, sign.is_some() || flags.contains(Flags::UNDERFLOW)) {
        (true, false) => None,
        (true, true) => floats::none_zero(inst, c, args, &[0]),
        (false, true) => floats::none_zero(inst, c, args, &[0, 1]),
        (false, false) => floats::none_zero(inst, c, args, &[1]),
    };
    Some(rounded(c, format, spare, &exact, sign, live, flags))
}

/// The sum of two floats, or their difference.
pub fn sum(inst: &Inst, c: &mut CText, args: &[CVar], subtract: bool, flags: Flags) -> Option<CVar> {
    let (spare, format) = (spare(inst)?, inst.result);
    let up = 32 - format.width();
    let word = |k: usize| {
        let x = &args[k];
        match inst.is_nonneg(k) {
            true => format!("({x} << {spare})"),
            false => {
                format!("((({x} << {spare}) & {:#x}u) | (({x} << {up}) & 0x80000000u))", magnitude_mask(format, spare))
            }
        }
    };
    let minus = if subtract { " ^ 0x80000000u" } else { "" };
    let exact = c.set(U32, format!("pf_addd({}, {}{minus})", word(0), word(1)));
    let live = flags.contains(Flags::UNDERFLOW).then(|| c.test(format!("{exact} != 0")));
    if !subtract && inst.none_negative() {
        return Some(rounded(c, format, spare, &exact, None, live, flags));
    }
    let sign = c.set(U32, format!("({exact} >> {up}) & {}", floats::sign_bit(format)));
    let magnitude = c.set(U32, format!("{exact} & 0x7fffffffu"));
    Some(rounded(c, format, spare, &magnitude, Some(sign), live, flags))
}

/// A float as the nearest int or fixed, or the one toward zero, by the conversion that every GPU has. It saturates, so what
/// lies outside of a format narrower than its result is seen there.
pub fn converted(inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> Option<CVar> {
    let (from, to) = (inst.args[0], inst.result);
    let frac = to.frac().expect("an int or fixed") as i32;
    let signed_width = to.width() + !to.is_signed() as u32;
    if from.mant() > UPPER || from.exp() > 10 || signed_width > 64 {
        return None;
    }
    let spare = UPPER - from.mant();
    let magnitude = floats::magnitude(inst, c, 0, x);
    let shift = ((1023 - from.bias() + frac) as u32) << UPPER;
    let placed = format!("((uint32_t)({magnitude} << {spare}) + {shift:#x}u)");
    let word = match inst.bounds(0).zero {
        true => c.set(U32, format!("{magnitude} != 0 ? {placed} : 0")),
        false => c.set(U32, placed),
    };
    let signed = match inst.is_nonneg(0) {
        true => word.clone(),
        false => c.set(U32, format!("{word} | (({x} << {}) & 0x80000000u)", 32 - from.width())),
    };
    let kind = CType::signed(signed_width);
    let way = if inst.truncates() { "cut" } else { "round" };
    let whole = c.set(kind, format!("pf_{way}d{}({signed})", kind.bits));
    if flags.is_empty() {
        return Some(c.wrap(to, whole));
    }
    let (least, most) = (kind.number(to.to_int(to.min_bits())), kind.number(to.to_int(to.max_bits())));
    let bounded = c.wrap(to, format!("{whole} < {least} ? {least} : {whole} > {most} ? {most} : {whole}"));
    if signed_width < kind.bits {
        c.raise(Flags::SATURATION, format!("{whole} < {least} | {whole} > {most}"));
        return Some(bounded);
    }
    // The result is at its own end as well: the first magnitude that does not fit is this one.
    let limit = (1023 + signed_width - 1) << UPPER;
    c.raise(
        Flags::SATURATION,
        match to.is_signed() {
            true => format!("{word} >= {limit:#x}u & {signed} != {:#x}u", limit | 1 << 31),
            false => format!("({word} >= {limit:#x}u & {whole} > 0) | {whole} < 0"),
        },
    );
    Some(bounded)
}

fn magnitude_mask(format: Format, spare: u32) -> u32 {
    ((format.mask() >> 1) as u32) << spare
}

/// The upper word of a magnitude rounded to the format and bounded.
fn rounded(
    c: &mut CText,
    format: Format,
    spare: u32,
    exact: &CVar,
    sign: Option<CVar>,
    live: Option<CVar>,
    flags: Flags,
) -> CVar {
    let kind = CType::of(format);
    let half = (1u32 << (spare - 1)) - 1;
    let mut value = c.set(U32, format!("({exact} + {half:#x}u + (({exact} >> {spare}) & 1)) >> {spare}"));
    if flags.contains(Flags::OVERFLOW) {
        let most = format.max_bits();
        let above = c.test(format!("{value} > {most:#x}u"));
        // Not even what stands for 0 is that large.
        c.raise(Flags::OVERFLOW, &above);
        value = c.set(U32, format!("{above} ? {most:#x}u : {value}"));
    }
    let mut keep = live.clone();
    if flags.contains(Flags::UNDERFLOW) {
        // Rounding has an unbounded exponent: numbers below the least normal one have a place of half the size.
        let least = (1u32 << UPPER) - (1 << (spare - 2));
        let below = c.test(format!("{exact} < {least:#x}u"));
        let inside = format!("!{below}");
        let (raised, kept) = match live {
            Some(l) => (format!("{l} & {below}"), format!("{l} & {inside}")),
            None => (below.text, inside),
        };
        c.raise(Flags::UNDERFLOW, raised);
        keep = Some(c.test(kept));
    }
    let signed = sign.map_or(value.text.clone(), |s| format!("{value} | {s}"));
    match keep {
        Some(keep) => c.set(kind, format!("{keep} ? ({signed}) : 0")),
        None => c.set(kind, signed),
    }
}
