//! Patterns to decimal text: exact for ints and fixeds, the shortest that reads back for floats.

use super::parts;
use crate::Format;
use num_bigint::BigUint;
use num_traits::{Num, pow};

/// The text of a valid pattern: an int as an integer, a fixed as its exact decimal, a float as the shortest decimal that
/// reads back to the same pattern, the nearest to the value among those (RULES N8).
pub fn print(format: Format, bits: u64) -> String {
    match format {
        Format::Int { .. } => format.to_int(bits).to_string(),
        Format::Fixed { frac, .. } => fixed(format.to_int(bits), frac as u32),
        Format::Log { .. } => super::log::print(format, bits),
        Format::Float { .. } => match parts(format, bits) {
            None => "0".into(),
            Some((negative, significand, power)) => {
                // The next float below a power of two is only half as far away, unbounded exponents included.
                let lowest = significand == 1 << format.mant();
                let (digits, exponent) = shortest(significand, power, lowest);
                layout(negative, &digits, exponent)
            }
        },
    }
}

/// n * 2^-frac, exactly.
fn fixed(n: i128, frac: u32) -> String {
    let magnitude = n.unsigned_abs();
    let mut text = format!("{}{}", if n < 0 { "-" } else { "" }, magnitude >> frac);
    let mask = (1u128 << frac) - 1;
    let mut rest = magnitude & mask;
    if rest != 0 {
        text.push('.');
    }
    while rest != 0 {
        rest *= 10;
        text.push((b'0' + (rest >> frac) as u8) as char);
        rest &= mask;
    }
    text
}

/// Digits d0 d1 ... of d0.d1... * 10^exponent: plain between 1e-5 and 1e16, with an exponent elsewhere.
pub(crate) fn layout(negative: bool, digits: &[u8], exponent: i32) -> String {
    let mut text = String::with_capacity(digits.len() + 8);
    if negative {
        text.push('-');
    }
    let digit = |k: usize| digits.get(k).map_or('0', |d| (b'0' + d) as char);
    match exponent {
        0..=15 => {
            text.extend((0..=exponent as usize).map(digit));
            if digits.len() > exponent as usize + 1 {
                text.push('.');
                text.extend((exponent as usize + 1..digits.len()).map(digit));
            }
        }
        -5..=-1 => {
            text.push_str("0.");
            text.extend((1..-exponent).map(|_| '0'));
            text.extend((0..digits.len()).map(digit));
        }
        _ => {
            text.push(digit(0));
            if digits.len() > 1 {
                text.push('.');
                text.extend((1..digits.len()).map(digit));
            }
            text.push_str(&format!("e{exponent}"));
        }
    }
    text
}

/// The shortest decimal within the rounding interval of `significand * 2^power`, the nearest among the shortest: its
/// digits and the power of ten of the first (Steele and White; Burger and Dybvig, "Printing floating-point numbers
/// quickly and accurately", 1996).
fn shortest(significand: u64, power: i32, lowest: bool) -> (Vec<u8>, i32) {
    // All quantities below are at most 2^(64 + |power|) times a small factor, or 10 times the value's own scale.
    if (-100..=50).contains(&power) {
        free_format::<u128>(significand, power, lowest)
    } else {
        free_format::<BigUint>(significand, power, lowest)
    }
}

fn free_format<T: Num + Clone + PartialOrd + From<u64>>(significand: u64, power: i32, lowest: bool) -> (Vec<u8>, i32) {
    let number = |n: u64| T::from(n);
    let two_to = |n: i32| pow(number(2), n.max(0) as usize);
    // The value is r/s, and the interval reaches from (r - minus)/s to (r + plus)/s.
    let narrow = if lowest { 2 } else { 1 };
    let up = two_to(power);
    let mut r = number(significand) * up.clone() * number(2 * narrow);
    let mut s = two_to(-power) * number(2 * narrow);
    let mut plus = up.clone() * number(narrow);
    let mut minus = up;
    // The ends read back to this value if its significand is even.
    let closed = significand.is_multiple_of(2);
    let past = |a: &T, b: &T| if closed { a >= b } else { a > b };
    let log = (significand as f64).log10() + power as f64 * std::f64::consts::LOG10_2;
    let mut exponent = log.floor() as i32;
    let scale = pow(number(10), exponent.unsigned_abs() as usize);
    if exponent >= 0 {
        s = s * scale;
    } else {
        r = r * scale.clone();
        plus = plus * scale.clone();
        minus = minus * scale;
    }
    // Now r/s is about 1 to 10. The logarithm may be off by one either way at powers of ten, and the interval may reach one.
    if past(&(r.clone() + plus.clone()), &(s.clone() * number(10))) {
        s = s * number(10);
        exponent += 1;
    } else if !past(&(r.clone() + plus.clone()), &s) {
        r = r * number(10);
        plus = plus * number(10);
        minus = minus * number(10);
        exponent -= 1;
    }
    let mut digits = Vec::with_capacity(17);
    loop {
        let mut digit = 0u8;
        while r >= s {
            r = r - s.clone();
            digit += 1;
        }
        let low = past(&minus, &r);
        let high = past(&(r.clone() + plus.clone()), &s);
        if low || high {
            let nearer_above = r.clone() + r.clone() >= s;
            let up = if low && high { nearer_above } else { high };
            digits.push(digit + up as u8);
            return (digits, exponent);
        }
        digits.push(digit);
        r = r * number(10);
        plus = plus * number(10);
        minus = minus * number(10);
    }
}
