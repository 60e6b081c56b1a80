//! Patterns of formats as fractions, and fractions rounded into formats (rules N1, N2, N5).

use hdl::{Flags, Format};
use num_bigint::{BigInt, Sign};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// 2 to any power.
pub fn two_to(n: i64) -> BigRational {
    let power = BigInt::one() << n.unsigned_abs();
    if n < 0 { BigRational::new(BigInt::one(), power) } else { BigRational::from_integer(power) }
}

/// The integer that an int's or fixed's pattern stands for.
pub fn integer(format: Format, bits: u64) -> BigInt {
    let (width, signed) = match format {
        Format::Int { width, signed } | Format::Fixed { width, signed, .. } => (width as u32, signed),
        other => panic!("{other} is no int and no fixed"),
    };
    let negative = signed && bits >> (width - 1) & 1 == 1;
    BigInt::from(bits) - if negative { BigInt::one() << width } else { BigInt::zero() }
}

/// The pattern of an integer that wraps.
pub fn wrapped(format: Format, n: &BigInt) -> u64 {
    let modulus = BigInt::one() << bits_of(format);
    let rest = ((n % &modulus) + &modulus) % &modulus;
    rest.to_u64().expect("it is below 2^64")
}

fn bits_of(format: Format) -> u32 {
    match format {
        Format::Int { width, .. } | Format::Fixed { width, .. } => width as u32,
        Format::Float { width, .. } | Format::Log { width, .. } => width as u32,
    }
}

/// Fraction bits of an int or fixed.
pub fn places(format: Format) -> i64 {
    match format {
        Format::Fixed { frac, .. } => frac as i64,
        _ => 0,
    }
}

/// Exponent bits, fraction bits and bias of a float.
pub fn float(width: u8, mant: u8) -> (u32, u32, i64) {
    let exponent = width as u32 - 1 - mant as u32;
    (exponent, mant as u32, (1 << (exponent - 1)) - 1)
}

/// Sign and logarithm of a log's pattern, in last places; `None` of 0.
pub fn logarithm(format: Format, bits: u64) -> Option<(bool, i64)> {
    let Format::Log { width, .. } = format else { panic!("{format} is no log") };
    let marked = bits >> (width - 2) & 1 == 1;
    let field = bits & ((1 << (width - 2)) - 1);
    marked.then(|| (bits >> (width - 1) & 1 == 1, field as i64 - (1 << (width - 3))))
}

/// The pattern of a log; one that is beyond the format becomes the greatest and raises `above`, or 0 and raises `underflow`.
pub fn of_logarithm(format: Format, negative: bool, log: &BigInt, above: Flags) -> (u64, Flags) {
    let Format::Log { width, .. } = format else { panic!("{format} is no log") };
    let offset = BigInt::one() << (width - 3);
    let field = log + &offset;
    if field.is_negative() {
        return (0, Flags::UNDERFLOW);
    }
    let most = (1u64 << (width - 2)) - 1;
    let (field, raised) = match field.to_u64().filter(|f| *f <= most) {
        Some(field) => (field, Flags::NONE),
        None => (most, above),
    };
    ((negative as u64) << (width - 1) | 1 << (width - 2) | field, raised)
}

/// The pattern that an input with exponent field 0, or without a log's mark, is read as.
pub fn canonical(format: Format, bits: u64) -> u64 {
    match format {
        Format::Float { width, mant } if bits >> mant & ((1 << (width - 1 - mant)) - 1) == 0 => 0,
        Format::Log { .. } if logarithm(format, bits).is_none() => 0,
        _ => bits,
    }
}

/// The value of a pattern. Of a log, whose values are no fractions, a number that is ordered like it.
pub fn decode(format: Format, bits: u64) -> BigRational {
    match format {
        Format::Int { .. } | Format::Fixed { .. } => {
            BigRational::from_integer(integer(format, bits)) * two_to(-places(format))
        }
        Format::Float { width, mant } => {
            let (exponent_bits, mant, bias) = float(width, mant);
            let exponent = (bits >> mant & ((1 << exponent_bits) - 1)) as i64;
            if exponent == 0 {
                return BigRational::zero();
            }
            let significand = BigInt::from(1u64 << mant | bits & ((1 << mant) - 1));
            let value = BigRational::from_integer(significand) * two_to(exponent - bias - mant as i64);
            if bits >> (width - 1) & 1 == 1 { -value } else { value }
        }
        Format::Log { width, .. } => match logarithm(format, bits) {
            None => BigRational::zero(),
            Some((negative, log)) => {
                let order = BigRational::from_integer(BigInt::from(log + 1) + (BigInt::one() << width));
                if negative { -order } else { order }
            }
        },
    }
}

/// The integer nearest to a fraction, ties to even, or the next one toward zero.
pub fn round(x: &BigRational, truncates: bool) -> BigInt {
    let magnitude = x.abs();
    let mut whole = magnitude.floor().to_integer();
    let rest = (magnitude - BigRational::from_integer(whole.clone())) * BigRational::from_integer(2.into());
    let up = match rest.cmp(&BigRational::one()) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => &whole % 2 == BigInt::one(),
        std::cmp::Ordering::Greater => true,
    };
    if up && !truncates {
        whole += 1;
    }
    if x.is_negative() { -whole } else { whole }
}

/// A number rounded into an int, fixed or float. What is above it becomes the greatest number and raises `above`; of a negative
/// number the least one.
pub fn encode(format: Format, x: &BigRational, truncates: bool, above: Flags) -> (u64, Flags) {
    if let Format::Float { width, mant } = format {
        return encode_float((width, mant), x, truncates, above);
    }
    let rounded = round(&(x * two_to(places(format))), truncates);
    let (low, high) = (integer(format, least(format)), integer(format, greatest(format)));
    match rounded {
        n if n < low => (least(format), above),
        n if n > high => (greatest(format), above),
        n => (wrapped(format, &n), Flags::NONE),
    }
}

/// The power of two that a number other than 0 lies at or above, below the next one.
pub fn exponent(x: &BigRational) -> i64 {
    let x = x.abs();
    let mut e = x.numer().bits() as i64 - x.denom().bits() as i64;
    while x < two_to(e) {
        e -= 1;
    }
    while x >= two_to(e + 1) {
        e += 1;
    }
    e
}

fn encode_float((width, mant): (u8, u8), x: &BigRational, truncates: bool, above: Flags) -> (u64, Flags) {
    if x.is_zero() {
        return (0, Flags::NONE);
    }
    let (exponent_bits, mant, bias) = float(width, mant);
    let sign = (x.is_negative() as u64) << (width - 1);
    let mut e = exponent(x);
    let mut significand = round(&(x.abs() * two_to(mant as i64 - e)), truncates);
    if significand.bits() > mant as u64 + 1 {
        (significand, e) = (significand >> 1, e + 1);
    }
    let field = e + bias;
    if field >= (1 << exponent_bits) - 1 {
        return (sign | greatest(Format::Float { width, mant: mant as u8 }), above);
    }
    if field < 1 {
        return (0, Flags::UNDERFLOW);
    }
    let fraction = significand.to_u64().expect("it has at most 53 bits") - (1 << mant);
    (sign | (field as u64) << mant | fraction, Flags::NONE)
}

/// The pattern of the greatest number.
pub fn greatest(format: Format) -> u64 {
    match format {
        Format::Int { width, signed } | Format::Fixed { width, signed, .. } => {
            u64::MAX >> (64 - width as u32) >> signed as u32
        }
        Format::Float { width, mant } => {
            let (exponent_bits, mant, _) = float(width, mant);
            ((1 << exponent_bits) - 2) << mant | ((1 << mant) - 1)
        }
        Format::Log { width, .. } => (1 << (width - 1)) - 1,
    }
}

/// The pattern of the least number, the most negative one.
pub fn least(format: Format) -> u64 {
    match format {
        Format::Int { width, signed } | Format::Fixed { width, signed, .. } => (signed as u64) << (width - 1),
        Format::Float { width, .. } | Format::Log { width, .. } => greatest(format) | 1 << (width - 1),
    }
}

/// The nearest f64, for checks of bounds.
pub fn to_f64(x: &BigRational) -> f64 {
    if x.is_zero() {
        return 0.0;
    }
    // 64 bits of the quotient are more than f64 has.
    let shift = 63 - exponent(x);
    let digits = round(&(x.abs() * two_to(shift)), false).to_f64().expect("64 bits are an f64");
    // In two steps, since one alone may leave the range of f64.
    let half = -shift / 2;
    let magnitude = digits * 2f64.powi(half as i32) * 2f64.powi((-shift - half) as i32);
    if x.numer().sign() == Sign::Minus { -magnitude } else { magnitude }
}
