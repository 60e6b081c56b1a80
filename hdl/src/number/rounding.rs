//! How results that a format does not hold are rounded.

/// How results that lie between two values of a format are rounded (RULES N2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounding {
    /// To the nearest value, ties to even.
    #[default]
    Nearest,
    /// Toward zero.
    Truncate,
}

impl Rounding {
    pub fn truncates(self) -> bool {
        self == Rounding::Truncate
    }
}

/// `n / 2^s` rounded to nearest even.
pub fn shift_round(n: u128, s: u32) -> u128 {
    if s == 0 {
        return n;
    }
    let whole = n.checked_shr(s).unwrap_or(0);
    let (rest, half) = (n & (u128::MAX >> (128 - s)), 1u128 << (s - 1));
    whole + (rest > half || (rest == half && whole & 1 == 1)) as u128
}

/// `n / 2^s` rounded as asked.
pub fn rescale(n: u128, s: u32, rounding: Rounding) -> u128 {
    if rounding.truncates() { n.checked_shr(s).unwrap_or(0) } else { shift_round(n, s) }
}
