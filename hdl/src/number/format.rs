//! The number formats: `intW`, `uintW`, `fixedW.F`, `ufixedW.F`, `floatW.M`, `logW.F` (RULES N1).
//!
//! A value is always carried as the unsigned integer of its bit pattern in a `u64`, zero-extended from
//! the format's width. The interpretation of the pattern is up to the format alone.

use std::fmt;
use std::str::FromStr;

/// A number format. Construct it with [`Format::int`], [`Format::fixed`], [`Format::float`], [`Format::log`], which check
/// the limits, or by parsing its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Two's complement (or unsigned) integer of `width` bits, 1 to 64.
    Int { width: u8, signed: bool },
    /// An integer times 2^-frac, 0 <= frac <= width.
    Fixed { width: u8, frac: u8, signed: bool },
    /// Sign, `width - 1 - mant` exponent bits (2 to 11), `mant` fraction bits (1 to 52).
    Float { width: u8, mant: u8 },
    /// Sign, a mark of numbers other than 0, and the binary logarithm of the magnitude: an integer of `width - 2` bits less
    /// 2^(width - 3), times 2^-frac.
    Log { width: u8, frac: u8 },
}

/// The most fraction bits of a logarithm.
pub const MAX_LOG_FRAC: u32 = 12;

/// One bit, as comparisons give.
pub const UINT1: Format = Format::Int { width: 1, signed: false };

impl Format {
    /// `intW` or `uintW`; the error says which limit is broken.
    pub fn int(width: u32, signed: bool) -> Result<Format, String> {
        if !(1..=64).contains(&width) {
            return Err(format!("an integer has 1 to 64 bits, not {width}"));
        }
        Ok(Format::Int { width: width as u8, signed })
    }

    /// `fixedW.F` or `ufixedW.F`.
    pub fn fixed(width: u32, frac: u32, signed: bool) -> Result<Format, String> {
        if !(1..=64).contains(&width) {
            return Err(format!("a fixed-point number has 1 to 64 bits, not {width}"));
        }
        if frac > width {
            return Err(format!("{frac} fraction bits do not fit in {width} bits"));
        }
        Ok(Format::Fixed { width: width as u8, frac: frac as u8, signed })
    }

    /// `floatW.M`.
    pub fn float(width: u32, mant: u32) -> Result<Format, String> {
        if !(1..=52).contains(&mant) {
            return Err(format!("a float has 1 to 52 fraction bits, not {mant}"));
        }
        let exp = width as i64 - 1 - mant as i64;
        if !(2..=11).contains(&exp) {
            return Err(format!(
                "float{width}.{mant} would have {exp} exponent bits; 2 to 11 are possible, \
                 that is a width of {} to {}",
                mant + 3,
                mant + 12
            ));
        }
        Ok(Format::Float { width: width as u8, mant: mant as u8 })
    }

    /// `logW.F`.
    pub fn log(width: u32, frac: u32) -> Result<Format, String> {
        if !(1..=MAX_LOG_FRAC).contains(&frac) {
            return Err(format!("a log has 1 to {MAX_LOG_FRAC} fraction bits, not {frac}"));
        }
        let whole = width as i64 - 2 - frac as i64;
        if !(2..=10).contains(&whole) {
            return Err(format!(
                "log{width}.{frac} would have {whole} bits before the point of its logarithm; 2 to 10 are possible, \
                 that is a width of {} to {}",
                frac + 4,
                frac + 12
            ));
        }
        Ok(Format::Log { width: width as u8, frac: frac as u8 })
    }

    /// Bits in all.
    pub fn width(self) -> u32 {
        match self {
            Format::Int { width, .. }
            | Format::Fixed { width, .. }
            | Format::Float { width, .. }
            | Format::Log { width, .. } => width as u32,
        }
    }

    /// 32-bit words on the stream: ceil(width / 32).
    pub fn words(self) -> u32 {
        self.width().div_ceil(32)
    }

    /// All `width` bits set.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// Whether values can be negative.
    pub fn is_signed(self) -> bool {
        match self {
            Format::Int { signed, .. } | Format::Fixed { signed, .. } => signed,
            Format::Float { .. } | Format::Log { .. } => true,
        }
    }

    pub fn is_int(self) -> bool {
        matches!(self, Format::Int { .. })
    }

    pub fn is_fixed(self) -> bool {
        matches!(self, Format::Fixed { .. })
    }

    pub fn is_float(self) -> bool {
        matches!(self, Format::Float { .. })
    }

    pub fn is_log(self) -> bool {
        matches!(self, Format::Log { .. })
    }

    /// Whether patterns are a sign and a magnitude that grows with the value's: of floats and logs.
    pub fn is_sign_magnitude(self) -> bool {
        self.is_float() || self.is_log()
    }

    /// Whether patterns are integers in two's complement or unsigned: of ints and fixeds.
    pub fn is_integral(self) -> bool {
        self.is_int() || self.is_fixed()
    }

    /// Bits after the binary point of an int (0) or fixed; `None` for a float or a log.
    pub fn frac(self) -> Option<u32> {
        match self {
            Format::Int { .. } => Some(0),
            Format::Fixed { frac, .. } => Some(frac as u32),
            Format::Float { .. } | Format::Log { .. } => None,
        }
    }

    /// Fraction bits M of a float; 0 otherwise.
    pub fn mant(self) -> u32 {
        match self {
            Format::Float { mant, .. } => mant as u32,
            _ => 0,
        }
    }

    /// Fraction bits F of a log's logarithm; 0 otherwise.
    pub fn log_frac(self) -> u32 {
        match self {
            Format::Log { frac, .. } => frac as u32,
            _ => 0,
        }
    }

    /// Exponent bits E of a float; 0 otherwise.
    pub fn exp(self) -> u32 {
        match self {
            Format::Float { width, mant } => (width - 1 - mant) as u32,
            _ => 0,
        }
    }

    /// Exponent bias 2^(E-1) - 1 of a float; of a log what is added to its logarithm, 2^(W-3); 0 otherwise.
    pub fn bias(self) -> i32 {
        match self {
            Format::Float { .. } => (1 << (self.exp() - 1)) - 1,
            Format::Log { width, .. } => 1 << (width - 3),
            _ => 0,
        }
    }

    /// The two's complement value of an int's or fixed's pattern (zero-extended if unsigned), as the
    /// integer that the pattern stands for before any scaling by 2^-F.
    pub fn to_int(self, bits: u64) -> i128 {
        let width = self.width();
        if self.is_signed() { (((bits << (64 - width)) as i64) >> (64 - width)) as i128 } else { bits as i128 }
    }

    /// The pattern of the least value (for floats the most negative finite one).
    pub fn min_bits(self) -> u64 {
        match self {
            Format::Float { width, .. } | Format::Log { width, .. } => self.max_bits() | 1 << (width - 1),
            _ if self.is_signed() => 1 << (self.width() - 1),
            _ => 0,
        }
    }

    /// The pattern of the greatest value (for floats the largest finite one).
    pub fn max_bits(self) -> u64 {
        match self {
            Format::Log { .. } => self.mask() >> 1,
            Format::Float { width, mant } => (1u64 << (width - 1)) - 1 - (1u64 << mant),
            _ if self.is_signed() => self.mask() >> 1,
            _ => self.mask(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Format::Int { width, signed } => write!(f, "{}int{width}", if signed { "" } else { "u" }),
            Format::Fixed { width, frac, signed } => {
                write!(f, "{}fixed{width}.{frac}", if signed { "" } else { "u" })
            }
            Format::Float { width, mant } => write!(f, "float{width}.{mant}"),
            Format::Log { width, frac } => write!(f, "log{width}.{frac}"),
        }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Format {
    type Err = String;

    /// Parses `int32`, `uint1`, `fixed32.31`, `ufixed8.4`, `float18.9`.
    fn from_str(text: &str) -> Result<Format, String> {
        let unknown = || format!("`{text}` is not a format; write for example int32, uint8, fixed32.31, float18.9");
        let digits = text.find(|c: char| c.is_ascii_digit()).ok_or_else(unknown)?;
        let (name, numbers) = text.split_at(digits);
        // At most six digits: anything longer is out of range in any case, and this keeps u32 safe.
        let number = |s: &str| -> Result<u32, String> {
            if s.is_empty() || s.len() > 6 || !s.bytes().all(|b| b.is_ascii_digit()) {
                return Err(unknown());
            }
            s.parse().map_err(|_| unknown())
        };
        match (name, numbers.split_once('.')) {
            ("int" | "uint", None) => Format::int(number(numbers)?, name == "int"),
            ("fixed" | "ufixed", Some((w, f))) => Format::fixed(number(w)?, number(f)?, name == "fixed"),
            ("float", Some((w, m))) => Format::float(number(w)?, number(m)?),
            ("log", Some((w, f))) => Format::log(number(w)?, number(f)?),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["int32", "uint1", "fixed32.31", "ufixed8.8", "float18.9", "float32.23", "float64.52", "log17.8"] {
            assert_eq!(name.parse::<Format>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn limits_are_checked() {
        for name in [
            "log17.0",
            "log17.18",
            "log5.2",
            "log21.8",
            "log17",
            "int0",
            "int65",
            "fixed8.9",
            "float18",
            "float18.53",
            "float5.3",
            "float22.9",
            "int3.2",
            "",
            "float",
        ] {
            assert!(name.parse::<Format>().is_err(), "{name}");
        }
    }

    #[test]
    fn float32_23_is_laid_out_as_ieee_single() {
        let f: Format = "float32.23".parse().unwrap();
        for x in [1.0f32, -1.5, 3.402_823_5e38, 1.175_494_4e-38, 0.1] {
            assert_eq!(f.to_f64(x.to_bits() as u64), x as f64);
        }
        assert_eq!(f.max_bits(), f32::MAX.to_bits() as u64);
        assert_eq!(f.min_bits(), f32::MIN.to_bits() as u64);
    }
}
