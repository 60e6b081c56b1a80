//! Decimal text to exact numbers and to patterns.

use super::{Exact, Fit, Misfit, pack_float, to_bits};
use crate::Format;
use crate::number::rounding::shift_round;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Zero};
use std::fmt;

/// The most digits of a number that [`parse_decimal`] makes exactly.
const MAX_DIGITS: usize = 10_000;
/// The largest power of ten, either way, of the last digit of such a number.
const MAX_POWER: i64 = 10_000;

/// Digits that decide the rounding of any format: a number half-way between two floats of 11 exponent and 52 fraction bits
/// has at most 768 of them, one between two fixeds fewer. What follows matters only by not being 0.
const DECIDING_DIGITS: usize = 800;
/// Numbers below 10^-TINY are nearer to 0 than to any other value of any format, those from 10^TINY are in no range.
const TINY: i64 = 400;

/// Why a text is no value of a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// Not a decimal number.
    Syntax,
    /// A number that has no place in the format.
    Misfit { format: Format, why: Misfit },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ParseError::Syntax => f.write_str("not a decimal number"),
            ParseError::Misfit { format, why: Misfit::Fraction } => write!(f, "a fraction is not possible in {format}"),
            ParseError::Misfit { format, why: Misfit::OutOfRange } => write!(f, "out of the range of {format}"),
        }
    }
}

impl std::error::Error for ParseError {}

/// A decimal number as it stands in a text: digits with a point, times a power of ten.
struct Scanned<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    /// The exponent as written; huge ones are cut to +-2^62.
    exponent: i64,
    /// All digits as one number, if they fit.
    digits: Option<u64>,
}

/// Reads a sign, digits with or without a point, and an exponent; `None` if that is not what the text is.
fn scan(text: &[u8]) -> Option<Scanned<'_>> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let mut digits = 0u64;
    let mut run = |text: &[u8]| {
        let mut n = 0;
        while n < text.len() && text[n].is_ascii_digit() {
            // Garbage from the 20th digit on, and not used then.
            digits = digits.wrapping_mul(10).wrapping_add((text[n] - b'0') as u64);
            n += 1;
        }
        n
    };
    let whole = run(text);
    let mut end = whole;
    let mut fraction = &text[whole..whole];
    if text.get(whole) == Some(&b'.') {
        let n = run(&text[whole + 1..]);
        fraction = &text[whole + 1..whole + 1 + n];
        end = whole + 1 + n;
    }
    if whole + fraction.len() == 0 {
        return None;
    }
    let exponent = match &text[end..] {
        [] => 0,
        [b'e' | b'E', rest @ ..] => exponent(rest)?,
        _ => return None,
    };
    let short = whole + fraction.len() <= 19;
    Some(Scanned { negative, whole: &text[..whole], fraction, exponent, digits: short.then_some(digits) })
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n = digits.iter().fold(0i64, |n, d| (n.saturating_mul(10).saturating_add((d - b'0') as i64)).min(1 << 62));
    Some(if negative { -n } else { n })
}

/// The exact number of a decimal text (sign, digits, point, exponent), or of a hexadecimal integer `0x...`. Numbers beyond
/// some thousand digits are an error, at once.
pub fn parse_decimal(text: &str) -> Result<Exact, String> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if text.len() > MAX_DIGITS {
        return Err(format!("a number of more than {MAX_DIGITS} characters"));
    }
    if let Some(hex) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let clean = !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
        let value = clean.then(|| BigInt::parse_bytes(hex.as_bytes(), 16)).flatten();
        return value.map(|v| Exact::from(v * sign)).ok_or_else(|| format!("`{text}` is not a hexadecimal number"));
    }
    let scanned = scan(text.as_bytes()).ok_or_else(|| format!("`{text}` is not a number"))?;
    let digits = [scanned.whole, scanned.fraction].concat();
    let power = scanned.exponent - scanned.fraction.len() as i64;
    if digits.iter().all(|d| *d == b'0') {
        return Ok(Exact::zero());
    }
    if power.abs() > MAX_POWER {
        return Err(format!("the exponent of `{text}` is out of range"));
    }
    Ok(exact(scanned.negative, &digits, power))
}

/// The number of ASCII digits times 10^power.
fn exact(negative: bool, digits: &[u8], power: i64) -> Exact {
    let n = BigInt::parse_bytes(digits, 10).expect("a scanned number has digits only");
    let n = if negative { -n } else { n };
    let scale = BigInt::from(10).pow(power.unsigned_abs());
    if power < 0 { BigRational::new(n, scale) } else { Exact::from(n * scale) }
}

/// The pattern of a decimal text, rounded once to nearest even (RULES N8); white space around it is skipped. A float below
/// the smallest normal is 0. The time does not grow with the exponent, and with the length only by reading.
pub fn parse(format: Format, text: &str) -> Result<u64, ParseError> {
    let text = text.trim_ascii();
    let number = scan(text.as_bytes()).ok_or(ParseError::Syntax)?;
    let fast = match format {
        Format::Float { .. } => fast_float(format, text),
        Format::Log { .. } => None,
        _ => fast_integer(format, &number),
    };
    let result = fast.unwrap_or_else(|| slow(format, &number).map(|(bits, _)| bits));
    result.map_err(|why| ParseError::Misfit { format, why })
}

const POWERS: [u64; 20] = {
    let mut table = [1u64; 20];
    let mut k = 1;
    while k < 20 {
        table[k] = table[k - 1] * 10;
        k += 1;
    }
    table
};

/// Ints and fixeds of few digits, in 128 bits.
fn fast_integer(format: Format, number: &Scanned) -> Option<Result<u64, Misfit>> {
    let digits = number.digits?;
    let power = number.exponent.checked_sub(number.fraction.len() as i64)?;
    let frac = format.frac()?;
    let scale = *POWERS.get(usize::try_from(power.unsigned_abs()).ok()?)?;
    let magnitude: u128 = if power >= 0 {
        // Below 2^64 * 2^64, and then compared before the shift.
        let n = digits as u128 * scale as u128;
        if frac > 0 && n >> (128 - frac) != 0 {
            return Some(Err(Misfit::OutOfRange));
        }
        n << frac
    } else {
        let (n, d) = ((digits as u128) << frac, scale as u128);
        // A 64-bit division is several times as fast.
        let (q, r) = match u64::try_from(n) {
            Ok(n) => ((n / scale) as u128, (n % scale) as u128),
            Err(_) => (n / d, n % d),
        };
        if format.is_int() && r != 0 {
            return Some(Err(Misfit::Fraction));
        }
        q + (2 * r > d || 2 * r == d && q & 1 == 1) as u128
    };
    let limit = format.to_int(if number.negative { format.min_bits() } else { format.max_bits() }).unsigned_abs();
    let low = magnitude as u64;
    let bits = if number.negative { low.wrapping_neg() } else { low } & format.mask();
    Some(if magnitude <= limit { Ok(bits) } else { Err(Misfit::OutOfRange) })
}

/// Floats by way of the nearest f64. It lies on the same side of a format's rounding boundary as the number itself, unless
/// it is that boundary; then, and at the ends of f64's range, the slow way decides.
fn fast_float(format: Format, text: &str) -> Option<Result<u64, Misfit>> {
    let x: f64 = text.parse().ok()?;
    let bits = x.to_bits();
    let field = bits >> 52 & 0x7ff;
    // Subnormals lack bits, the first normals may be rounded up from there, and infinity hides the number.
    if field <= 1 || field >= 0x7fe {
        return if x == 0.0 && !text.bytes().any(|b| matches!(b, b'1'..=b'9')) { Some(Ok(0)) } else { None };
    }
    let drop = 52 - format.mant();
    let significand = bits & ((1 << 52) - 1) | 1 << 52;
    if drop > 0 && significand & ((1 << drop) - 1) == 1 << (drop - 1) {
        return None;
    }
    let rounded = shift_round(significand as u128, drop) as u64;
    Some(pack_float(format, x < 0.0, rounded, field as i64 - 1023, true).map(|(bits, _)| bits))
}

/// Any number, by exact arithmetic on the digits that decide.
fn slow(format: Format, number: &Scanned) -> Result<(u64, Fit), Misfit> {
    let count = number.whole.len() + number.fraction.len();
    let all = || number.whole.iter().chain(number.fraction);
    let Some(zeros) = all().position(|d| *d != b'0') else { return Ok((0, Fit::Exact)) };
    // The power of ten of the first digit that is not 0.
    let leading = number.exponent.saturating_add(number.whole.len() as i64 - 1 - zeros as i64);
    if leading >= TINY {
        return Err(Misfit::OutOfRange);
    }
    if leading < -TINY {
        return to_bits(format, &exact(number.negative, b"1", -TINY));
    }
    let mut digits: Vec<u8> = all().skip(zeros).take(DECIDING_DIGITS).copied().collect();
    if count - zeros > DECIDING_DIGITS && all().skip(zeros + DECIDING_DIGITS).any(|d| *d != b'0') {
        digits.push(b'1');
    }
    let power = leading - (digits.len() as i64 - 1);
    to_bits(format, &exact(number.negative, &digits, power))
}
