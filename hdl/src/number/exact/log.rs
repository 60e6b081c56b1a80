//! Numbers of the logarithmic number system from and to exact ones, and their decimals.

use super::{Exact, Fit, Misfit};
use crate::number::lns::{LOG_BITS, Parts, Q, log2, pack, rounded, significand, to_f64, unpack};
use crate::{Flags, Format, Rounding};
use num_bigint::{BigInt, BigUint};
use num_traits::{One, Signed, ToPrimitive, Zero};

/// The pattern nearest to a number.
pub fn from_exact(format: Format, x: &Exact) -> Result<(u64, Fit), Misfit> {
    let (numer, denom) = (x.numer().magnitude(), x.denom().magnitude());
    // The significand, cut off: only a power of two is a whole number of last places, and that loses nothing.
    let shift = Q as i64 + 2 + denom.bits() as i64 - numer.bits() as i64;
    let quotient = if shift >= 0 { (numer << shift as u64) / denom } else { numer / (denom << (-shift) as u64) };
    let top = quotient.bits() as i64 - 1;
    let significand = (quotient >> (top - Q as i64) as u64).to_u64().expect("Q + 1 bits");
    let frac = format.log_frac();
    let log = (top - shift) * (1 << frac) + rounded(log2(significand), frac, Rounding::Nearest) as i64;
    let power_of_two = numer.count_ones() == 1 && denom.count_ones() == 1;
    let (bits, flags) = pack(format, Parts { negative: x.is_negative(), log }, Flags::OVERFLOW);
    match flags {
        Flags::OVERFLOW => Err(Misfit::OutOfRange),
        Flags::UNDERFLOW => Ok((0, Fit::Underflow)),
        _ => Ok((bits, if power_of_two { Fit::Exact } else { Fit::Rounded })),
    }
}

/// The number that a pattern stands for, right to 60 bits.
pub fn to_exact(format: Format, bits: u64) -> Exact {
    let Some(parts) = unpack(format, bits) else { return Exact::zero() };
    let (significand, exponent) = significand(format, parts);
    let n = if parts.negative { -BigInt::from(significand) } else { BigInt::from(significand) };
    let power = exponent - Q as i64;
    let scale = BigInt::from(BigUint::one() << power.unsigned_abs());
    if power < 0 { Exact::new(n, scale) } else { Exact::from(n * scale) }
}

/// The shortest decimal that reads back to the same pattern (RULES N8).
pub fn print(format: Format, bits: u64) -> String {
    let x = to_f64(format, bits);
    if x == 0.0 {
        return "0".into();
    }
    for digits in 0..17 {
        let text = format!("{:.digits$e}", x.abs());
        let signed = if x < 0.0 { format!("-{text}") } else { text.clone() };
        if super::parse(format, &signed) == Ok(bits) {
            let (number, exponent) = text.split_once('e').expect("it was asked for");
            let digits: Vec<u8> = number.bytes().filter(u8::is_ascii_digit).map(|d| d - b'0').collect();
            return super::layout(x < 0.0, &digits, exponent.parse().expect("an integer"));
        }
    }
    unreachable!("17 digits tell f64 apart, and a log of at most {LOG_BITS} bits more so")
}
