//! Exact compile-time numbers: reading, folding within bounds, and taking a format (RULES L2).

use crate::syntax::ast::{BinaryOp, UnaryOp};
use hdl::Format;
use hdl::number::exact::{self, Exact, Fit, to_bits};
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

/// The most bits of a numerator or denominator. Every value of every format needs fewer.
const MAX_BITS: u64 = 2300;

/// The largest amount by which an exact number is shifted.
pub const MAX_SHIFT: i64 = 2048;

/// Steps of arithmetic that the constants of one file may take: about half a second.
const BUDGET: u64 = 400_000_000;

/// An exact number of the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Literal {
    pub value: Exact,
    /// Bits: written in hexadecimal or binary, or made of such by `& | ^ ~ <<`, so that it may fill all bits of an int.
    pub bits: bool,
}

/// Why an exact computation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldError {
    /// Too many bits.
    TooLarge,
    /// The constants of the file take too long.
    TooCostly,
    ZeroDivision,
    /// A conditional of too many numbers.
    TooManyArms,
    /// An operator of integers on a fraction.
    Fraction,
    Malformed,
}

/// Why a number cannot take a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    Fraction,
    Range,
    /// Not zero, but nearer to it than the smallest float.
    Tiny,
}

/// Exact arithmetic with a bound on its cost.
#[derive(Debug, Default)]
pub struct Folder {
    spent: u64,
}

type Folded = Result<Literal, FoldError>;

impl Folder {
    /// Checks the size of a result and books its cost.
    fn keep(&mut self, value: Exact) -> Folded {
        self.reduce(value.numer().bits() + value.denom().bits())?;
        if value.numer().bits().max(value.denom().bits()) > MAX_BITS {
            return Err(FoldError::TooLarge);
        }
        Ok(Literal { value, bits: false })
    }

    /// Reducing a fraction of that many bits takes about the square of them.
    fn reduce(&mut self, bits: u64) -> Result<(), FoldError> {
        self.book(bits * bits / 16 + 50)
    }

    /// Books steps of arithmetic.
    pub fn book(&mut self, steps: u64) -> Result<(), FoldError> {
        self.spent += steps;
        if self.spent > BUDGET { Err(FoldError::TooCostly) } else { Ok(()) }
    }

    /// Reads a number as the lexer found it.
    pub fn number(&mut self, text: &str) -> Folded {
        let lower = text.to_ascii_lowercase();
        let radix = match lower.get(..2) {
            Some("0x") => Some(16),
            Some("0b") => Some(2),
            _ => None,
        };
        if let Some(radix) = radix {
            let digits = &lower.as_bytes()[2..];
            let clean = digits.first().is_some_and(|d| *d != b'_');
            let digits: Vec<u8> = digits.iter().copied().filter(|d| *d != b'_').collect();
            if !clean || !digits.iter().all(|d| (*d as char).is_digit(radix)) {
                return Err(FoldError::Malformed);
            }
            if digits.len() as u64 > MAX_BITS {
                return Err(FoldError::TooLarge);
            }
            let value = BigInt::parse_bytes(&digits, radix).ok_or(FoldError::Malformed)?;
            return Ok(Literal { bits: true, ..self.keep(Exact::from(value))? });
        }
        let value = self.decimal(&lower)?;
        self.keep(value)
    }

    /// Digits, perhaps a point, perhaps an exponent.
    fn decimal(&mut self, text: &str) -> Result<Exact, FoldError> {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        // C reads a leading zero as octal, others do not: it is refused.
        let octal = mantissa.len() > 1 && mantissa.starts_with('0') && !mantissa.contains('.');
        if !digits(mantissa) || !digits(power) || octal {
            return Err(FoldError::Malformed);
        }
        // What is longer could not be kept, and would take long to reduce.
        if mantissa.len() > 1000 || power.len() > 5 || power.parse().is_ok_and(|p: u32| p > 1000) {
            return Err(FoldError::TooLarge);
        }
        self.reduce(4 * text.len() as u64 + 4 * power.parse().unwrap_or(0))?;
        hdl::number::exact::parse_decimal(text).map_err(|_| FoldError::Malformed)
    }

    pub fn unary(&mut self, op: UnaryOp, a: &Literal) -> Folded {
        match op {
            UnaryOp::Plus => Ok(a.clone()),
            UnaryOp::Minus => self.keep(-&a.value),
            UnaryOp::BitNot => {
                let inverse = self.keep(Exact::from(-integer(a)? - 1))?;
                Ok(Literal { bits: a.bits, ..inverse })
            }
            UnaryOp::Not => Ok(truth(integer(a)?.is_zero())),
        }
    }

    pub fn binary(&mut self, op: BinaryOp, a: &Literal, b: &Literal) -> Folded {
        let bits = match op {
            BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => a.bits || b.bits,
            BinaryOp::Shl => a.bits,
            _ => false,
        };
        let result = self.combine(op, a, b)?;
        Ok(Literal { bits: bits && result.value.is_integer(), ..result })
    }

    fn combine(&mut self, op: BinaryOp, a: &Literal, b: &Literal) -> Folded {
        use BinaryOp::*;
        let (x, y) = (&a.value, &b.value);
        self.reduce(x.numer().bits() + x.denom().bits() + y.numer().bits() + y.denom().bits())?;
        match op {
            Add => self.keep(x + y),
            Sub => self.keep(x - y),
            Mul => self.keep(x * y),
            Div if y.is_zero() => Err(FoldError::ZeroDivision),
            Div => self.keep(x / y),
            Rem if integer(b)?.is_zero() => Err(FoldError::ZeroDivision),
            Rem => self.keep(Exact::from(integer(a)? % integer(b)?)),
            Shl | Shr => {
                let amount = small_integer(b).filter(|n| n.abs() <= MAX_SHIFT).ok_or(FoldError::TooLarge)?;
                self.shift(a, if op == Shl { amount } else { -amount })
            }
            BitAnd => self.keep(Exact::from(integer(a)? & integer(b)?)),
            BitOr => self.keep(Exact::from(integer(a)? | integer(b)?)),
            BitXor => self.keep(Exact::from(integer(a)? ^ integer(b)?)),
            Lt => Ok(truth(x < y)),
            Le => Ok(truth(x <= y)),
            Gt => Ok(truth(x > y)),
            Ge => Ok(truth(x >= y)),
            Eq => Ok(truth(x == y)),
            Ne => Ok(truth(x != y)),
            And => Ok(truth(!integer(a)?.is_zero() && !integer(b)?.is_zero())),
            Or => Ok(truth(!integer(a)?.is_zero() || !integer(b)?.is_zero())),
        }
    }

    /// Times 2^amount, exactly.
    fn shift(&mut self, a: &Literal, amount: i64) -> Folded {
        let power = BigInt::one() << amount.unsigned_abs();
        self.reduce(amount.unsigned_abs())?;
        let value = if amount < 0 { &a.value / Exact::from(power) } else { &a.value * Exact::from(power) };
        self.keep(value)
    }
}

fn truth(yes: bool) -> Literal {
    Literal { value: Exact::from(BigInt::from(yes as u8)), bits: false }
}

/// The number as an integer.
pub fn integer(a: &Literal) -> Result<BigInt, FoldError> {
    if a.value.is_integer() { Ok(a.value.to_integer()) } else { Err(FoldError::Fraction) }
}

/// The number as a machine integer, if it is one.
pub fn small_integer(a: &Literal) -> Option<i64> {
    integer(a).ok().and_then(|n| i64::try_from(n).ok())
}

/// The pattern of the number in a format: exact for ints, rounded to nearest even for others.
pub fn fit(a: &Literal, format: Format) -> Result<u64, Misfit> {
    if a.bits
        && format.is_int()
        && let Some(number) = a.value.to_integer().to_i128()
        && (!(format.mask() as i128)..=format.mask() as i128).contains(&number)
    {
        return Ok(number as u64 & format.mask());
    }
    match to_bits(format, &a.value) {
        Ok((_, Fit::Underflow)) => Err(Misfit::Tiny),
        Ok((pattern, _)) => Ok(pattern),
        Err(exact::Misfit::Fraction) => Err(Misfit::Fraction),
        Err(exact::Misfit::OutOfRange) => Err(Misfit::Range),
    }
}
