//! Exact numbers (rationals of any length) and their way into and out of formats: literals, CSV fields (RULES L2, N8).
//!
//! [`to_bits`] rounds an exact number once; [`parse`] does the same from text without making the number where it can;
//! [`print()`] writes the text that reads back; [`check_raw`] takes patterns from outside.

mod decimal;
mod log;
mod shortest;
pub use decimal::{ParseError, parse, parse_decimal};
use shortest::layout;
pub use shortest::print;

use crate::Format;
use crate::number::lns;
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::fmt;

/// An exact number.
pub type Exact = BigRational;

/// The outcome of converting a number to a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The pattern stands for the number itself.
    Exact,
    /// The pattern stands for the nearest value.
    Rounded,
    /// Not zero, but below the smallest normal float after rounding: it became 0 (RULES N2).
    Underflow,
}

/// Why a number has no place in a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// A fraction given to an int.
    Fraction,
    /// Outside the range, after rounding.
    OutOfRange,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Misfit::Fraction => "an integer format takes no fraction",
            Misfit::OutOfRange => "out of range",
        })
    }
}

/// The pattern nearest to `x`, ties to even, for every format. Ints take integers only. A float is rounded with unbounded
/// exponent before its range is checked.
pub fn to_bits(format: Format, x: &Exact) -> Result<(u64, Fit), Misfit> {
    if format.is_int() && !x.is_integer() {
        return Err(Misfit::Fraction);
    }
    match format.frac() {
        Some(frac) => {
            let (n, exact) = nearest(x.numer().magnitude(), x.denom().magnitude(), frac as i64);
            let bits = pack_integer(format, x.is_negative(), &n).ok_or(Misfit::OutOfRange)?;
            Ok((bits, if exact { Fit::Exact } else { Fit::Rounded }))
        }
        None if x.is_zero() => Ok((0, Fit::Exact)),
        None if format.is_log() => log::from_exact(format, x),
        None => {
            let (numer, denom) = (x.numer().magnitude(), x.denom().magnitude());
            // 2^(e-1) < |x| < 2^(e+1): one comparison finds the binade, so that the rounding below happens once.
            let e = numer.bits() as i64 - denom.bits() as i64;
            let below = if e >= 0 { numer < &(denom << e as u64) } else { &(numer << (-e) as u64) < denom };
            let exponent = e - below as i64;
            let (significand, exact) = nearest(numer, denom, format.mant() as i64 - exponent);
            let significand = significand.to_u64().expect("a significand has at most 54 bits");
            pack_float(format, x.is_negative(), significand, exponent, exact)
        }
    }
}

/// `numer / denom * 2^shift` rounded to nearest even, and whether nothing was lost.
fn nearest(numer: &BigUint, denom: &BigUint, shift: i64) -> (BigUint, bool) {
    let (n, d) = match shift {
        0.. => (numer << shift as u64, denom.clone()),
        _ => (numer.clone(), denom << shift.unsigned_abs()),
    };
    let q = &n / &d;
    let r = n - &q * &d;
    let exact = r.is_zero();
    let up = match (r << 1u8).cmp(&d) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => q.bit(0),
        std::cmp::Ordering::Greater => true,
    };
    (if up { q + BigUint::one() } else { q }, exact)
}

/// The pattern of an integer number of last places, if the format has it.
fn pack_integer(format: Format, negative: bool, magnitude: &BigUint) -> Option<u64> {
    let n = magnitude.to_u64()? as i128;
    let n = if negative { -n } else { n };
    let inside = format.to_int(format.min_bits()) <= n && n <= format.to_int(format.max_bits());
    inside.then_some(n as u64 & format.mask())
}

/// The pattern of a rounded significand in 2^M..=2^(M+1) times 2^(exponent - M).
fn pack_float(
    format: Format,
    negative: bool,
    significand: u64,
    exponent: i64,
    exact: bool,
) -> Result<(u64, Fit), Misfit> {
    let mant = format.mant();
    let carry = significand >> (mant + 1);
    let field = exponent + carry as i64 + format.bias() as i64;
    if field < 1 {
        return Ok((0, Fit::Underflow));
    }
    if field > (1 << format.exp()) - 2 {
        return Err(Misfit::OutOfRange);
    }
    // After a carry the fraction bits are all 0.
    let fraction = significand & ((1 << mant) - 1);
    let bits = (negative as u64) << (format.width() - 1) | (field as u64) << mant | fraction;
    Ok((bits, if exact { Fit::Exact } else { Fit::Rounded }))
}

/// The number that a valid pattern stands for. A float's exponent field 0 is zero. A log's, which may be irrational, is right to
/// 60 bits.
pub fn from_bits(format: Format, bits: u64) -> Exact {
    match format.frac() {
        Some(frac) => Exact::new(BigInt::from(format.to_int(bits)), BigInt::one() << frac),
        None if format.is_log() => log::to_exact(format, bits),
        None => match parts(format, bits) {
            None => Exact::zero(),
            Some((negative, significand, power)) => {
                let n = if negative { -BigInt::from(significand) } else { BigInt::from(significand) };
                let scale = BigInt::one() << power.unsigned_abs();
                if power < 0 { Exact::new(n, scale) } else { Exact::from(n * scale) }
            }
        },
    }
}

/// A float as (negative, significand with its hidden bit, power of two of the significand's last place); `None` for zero.
fn parts(format: Format, bits: u64) -> Option<(bool, u64, i32)> {
    let mant = format.mant();
    let field = bits >> mant & ((1 << format.exp()) - 1);
    let significand = bits & ((1 << mant) - 1) | 1 << mant;
    let negative = bits >> (format.width() - 1) & 1 == 1;
    (field != 0).then(|| (negative, significand, field as i32 - format.bias() - mant as i32))
}

/// Takes a pattern from outside: canonical, with exponent field 0 read as zero; the error says what is wrong with it
/// (RULES N1).
pub fn check_raw(format: Format, bits: u64) -> Result<u64, String> {
    if bits & !format.mask() != 0 {
        return Err(format!("{bits:#x} has more than the {} bits of {format}", format.width()));
    }
    if format.is_log() {
        return Ok(lns::canonical(format, bits));
    }
    if !format.is_float() {
        return Ok(bits);
    }
    let top = (1u64 << format.exp()) - 1;
    match bits >> format.mant() & top {
        0 => Ok(0),
        field if field == top => Err(format!("{bits:#x} is no {format}: exponent field {top} (all ones) is not used")),
        _ => Ok(bits),
    }
}
