//! C text for floats that single precision computes exactly enough: as wide an exponent, and so few fraction bits that
//! rounding its result once more gives the rounded exact one.
//!
//! A pattern is then a number of single precision moved to the right. A product of two significands of p bits has 2 p bits,
//! which single precision holds. A sum that it has rounded to 24 bits, at least 2 p + 2, rounds to p bits as the exact one
//! does (Figueroa, 1995).

use super::floats;
use super::{CText, CVar, U32};
use crate::op::Inst;
use crate::{Flags, Format};

/// Fraction bits of single precision beyond the format's, where all of this holds.
fn spare(inst: &Inst) -> Option<u32> {
    let format = inst.args[0];
    let fits = format.is_float() && format.exp() == 8 && format.mant() <= 10;
    (fits && !inst.truncates()).then(|| 23 - format.mant())
}

/// The product of two floats.
pub fn product(inst: &Inst, c: &mut CText, args: &[CVar], flags: Flags) -> Option<CVar> {
    let spare = spare(inst)?;
    let [a, b] = [0, 1].map(|k| format!("{} << {spare}", args[k]));
    let a = c.set(U32, a);
    let b = if inst.same { a.clone() } else { c.set(U32, b) };
    let exact = c.set(U32, format!("pf_mulf({a}, {b})"));
    let zeros: &[usize] = if inst.same { &[0] } else { &[0, 1] };
    let signed = !(inst.same || inst.is_nonneg(0) && inst.is_nonneg(1));
    let live = floats::none_zero(inst, c, args, zeros);
    Some(rounded_pattern(c, inst.result, spare, &exact, signed, live, flags))
}

/// The sum of two floats, or their difference.
pub fn sum(inst: &Inst, c: &mut CText, args: &[CVar], subtract: bool, flags: Flags) -> Option<CVar> {
    let spare = spare(inst)?;
    let a = c.set(U32, format!("{} << {spare}", args[0]));
    let minus = if subtract { " ^ 0x80000000u" } else { "" };
    let b = c.set(U32, format!("({} << {spare}){minus}", args[1]));
    let exact = c.set(U32, format!("pf_addf({a}, {b})"));
    let signed = subtract || !inst.none_negative();
    // What is not 0 has no zero but the positive one.
    let live = flags.contains(Flags::UNDERFLOW).then(|| c.test(format!("{exact} != 0")));
    Some(rounded_pattern(c, inst.result, spare, &exact, signed, live, flags))
}

/// A number of single precision rounded to the format and bounded; `live` says whether the exact one is other than 0.
fn rounded_pattern(
    c: &mut CText,
    format: Format,
    spare: u32,
    exact: &CVar,
    signed: bool,
    live: Option<CVar>,
    flags: Flags,
) -> CVar {
    let half = (1u32 << (spare - 1)) - 1;
    let rounded = c.set(U32, format!("({exact} + {half:#x}u + (({exact} >> {spare}) & 1)) >> {spare}"));
    let and_live = |test: &str| live.as_ref().map_or(test.to_string(), |l| format!("{l} & {test}"));
    let magnitude = |c: &mut CText, x: &CVar, mask: u64| match signed {
        true => c.set(U32, format!("{x} & {mask:#x}u")),
        false => x.clone(),
    };
    let mut value = rounded.clone();
    if flags.contains(Flags::OVERFLOW) {
        let size = magnitude(c, &rounded, format.mask() >> 1);
        let most = format.max_bits();
        let above = c.test(format!("{size} > {most:#x}u"));
        c.raise(Flags::OVERFLOW, &above);
        let sign = if signed { format!("({rounded} & {}) | ", floats::sign_bit(format)) } else { String::new() };
        value = c.set(U32, format!("{above} ? ({sign}{most:#x}u) : {rounded}"));
    }
    if flags.contains(Flags::UNDERFLOW) {
        // The least normal number is what rounds up to it with an unbounded exponent: half a place of numbers below it.
        let size = magnitude(c, exact, 0x7fff_ffff);
        let below = c.test(format!("{size} < {:#x}u", (1u32 << 23) - (1 << (spare - 2))));
        c.raise(Flags::UNDERFLOW, and_live(below.text.as_str()));
        return c.set(U32, format!("{below} ? 0 : {value}"));
    }
    match (live, signed) {
        // Single precision has a negative zero.
        (Some(live), true) => c.set(U32, format!("{live} ? {value} : 0")),
        _ => value,
    }
}

/// A float as the nearest int or fixed, by the conversion that every GPU has.
pub fn rounded(inst: &Inst, c: &mut CText, x: &CVar, flags: Flags) -> Option<CVar> {
    let (from, to) = (inst.args[0], inst.result);
    if from.exp() != 8 || from.mant() > 23 || inst.truncates() {
        return None;
    }
    let spare = 23 - from.mant();
    let frac = to.frac().expect("an int or fixed") as i64;
    let (_, most) = inst.bounds(0).fields(from);
    let full = to.width() == 64 || to.width() == 32;
    if !to.is_signed() || !full || most + frac > 254 {
        return None;
    }
    // A fixed's point is so many exponents away; that of 0 stays.
    let single = c.set(U32, format!("{x} << {spare}"));
    let scaled = match frac {
        0 => single,
        _ if inst.bounds(0).zero => c.set(U32, format!("{single} != 0 ? {single} + {:#x}u : 0", frac << 23)),
        _ => c.set(U32, format!("{single} + {:#x}u", frac << 23)),
    };
    if !flags.is_empty() {
        // The magnitude 2^(W-1) is the first that does not fit, but for the negative one.
        let limit = (127 + to.width() as u64 - 1) << 23;
        let outside = match inst.is_nonneg(0) {
            true => c.test(format!("{scaled} >= {limit:#x}u")),
            false => c.test(format!("({scaled} & 0x7fffffffu) >= {limit:#x}u & {scaled} != {:#x}u", limit | 1 << 31)),
        };
        c.raise(Flags::SATURATION, &outside);
    }

    let convert = if to.width() == 64 { "pf_roundf" } else { "pf_roundf32" };
    Some(c.wrap(to, format!("{convert}({scaled})")))
}
