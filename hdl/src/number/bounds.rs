//! Bounds of a value besides its format: how small and how large it can be.
//!
//! The compiler carries these bounds through the graph ([`crate::op::Operator::bounds`]). They shrink circuits: flags
//! that cannot be raised are not checked, and zeros that cannot occur need no care. They never change a bit.

use crate::Format;

/// Bounds of a value, inclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounds {
    /// Of an int or fixed the least and the greatest integer that its pattern stands for. Of a float or log the least and the
    /// greatest magnitude other than 0, as patterns without the sign.
    pub low: i128,
    pub high: i128,
    /// Whether the value can be 0.
    pub zero: bool,
}

impl Bounds {
    /// Every value of a format.
    pub fn of(format: Format) -> Bounds {
        let (low, high) = if format.is_log() {
            (1 << (format.width() - 2), format.max_bits() as i128)
        } else if format.is_float() {
            (1 << format.mant(), format.max_bits() as i128)
        } else {
            (format.to_int(format.min_bits()), format.to_int(format.max_bits()))
        };
        Bounds { low, high, zero: true }
    }

    /// The value of one pattern.
    pub fn exactly(format: Format, bits: u64) -> Bounds {
        if format.is_sign_magnitude() {
            Bounds::floats(format, bits, bits, false)
        } else {
            Bounds::ints(format.to_int(bits), format.to_int(bits))
        }
    }

    /// The integers from `low` to `high`.
    pub fn ints(low: i128, high: i128) -> Bounds {
        Bounds { low, high, zero: low <= 0 && high >= 0 }
    }

    /// The integers from `low` to `high` in a format that wraps what it cannot hold.
    pub fn wrapped(format: Format, low: Option<i128>, high: Option<i128>) -> Bounds {
        let all = Bounds::of(format);
        match (low, high) {
            (Some(low), Some(high)) if low >= all.low && high <= all.high => Bounds::ints(low, high),
            _ => all,
        }
    }

    /// The floats or logs between two results of one monotone operation, of any sign; `zero` says whether there is a 0 that is
    /// not one of them.
    pub fn floats(format: Format, least: u64, greatest: u64, zero: bool) -> Bounds {
        let all = Bounds::of(format);
        let magnitude = |bits: u64| (bits & (format.mask() >> 1)) as i128;
        let (low, high) = (magnitude(least), magnitude(greatest));
        Bounds { low: low.max(all.low), high: high.max(all.low), zero: zero || low < all.low }
    }

    /// The union of two sets of values.
    pub fn or(self, other: Bounds) -> Bounds {
        Bounds { low: self.low.min(other.low), high: self.high.max(other.high), zero: self.zero || other.zero }
    }

    /// The least and the greatest exponent field of a float other than 0.
    pub fn fields(self, format: Format) -> (i64, i64) {
        ((self.low >> format.mant()) as i64, (self.high >> format.mant()) as i64)
    }

    /// Whether a pattern lies within the bounds.
    pub fn contain(self, format: Format, bits: u64) -> bool {
        let x = if format.is_sign_magnitude() { (bits & (format.mask() >> 1)) as i128 } else { format.to_int(bits) };
        if x == 0 { self.zero } else { (self.low..=self.high).contains(&x) }
    }
}
