//! The reductions of an output over the sources of a run: `+=`, `max=`, `min=` (RULES L9, L14, N7).

pub use super::select::{Ranked, Record, Selection};
use crate::{Flags, Format};
use std::fmt;

/// How an output gathers the values of all pairs of its target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduce {
    /// `+=`: the exact sum, then wrapped to the format; int and fixed only. Starts at 0.
    Sum,
    /// `max=`. Starts at the format's minimum.
    Max,
    /// `min=`. Starts at the format's maximum.
    Min,
    /// A place of a [`Selection`], which gathers all of its outputs together.
    Ranked(Ranked),
}

impl Reduce {
    /// The pattern that a run without sources returns.
    pub fn identity(self, format: Format) -> u64 {
        match self {
            Reduce::Sum => 0,
            Reduce::Max => format.min_bits(),
            Reduce::Min => format.max_bits(),
            Reduce::Ranked(place) => place.identity(format),
        }
    }

    /// Combines two finished results of an output that is gathered alone; [`Record::combine`] combines those of all. The flag is
    /// `wrap` when the sum of the two leaves the format.
    pub fn combine(self, format: Format, a: u64, b: u64) -> (u64, Flags) {
        match self {
            Reduce::Sum => {
                let mut sum = Accumulator::new(self, format);
                sum.add(a);
                sum.add(b);
                sum.finish()
            }
            Reduce::Max => (if less(format, a, b) { b } else { a }, Flags::NONE),
            Reduce::Min => (if less(format, b, a) { b } else { a }, Flags::NONE),
            Reduce::Ranked(_) => unreachable!("a selection is gathered as a whole"),
        }
    }
}

impl fmt::Display for Reduce {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Reduce::Sum => "+=",
            Reduce::Max | Reduce::Ranked(Ranked { greatest: true, .. }) => "max=",
            Reduce::Min | Reduce::Ranked(_) => "min=",
        })
    }
}

/// Whether the value of pattern `a` is less than that of `b`. Floats and logs are sign and magnitude.
pub fn less(format: Format, a: u64, b: u64) -> bool {
    order_key(format, a) < order_key(format, b)
}

/// An integer that orders patterns as their values.
pub fn order_key(format: Format, bits: u64) -> i128 {
    if format.is_sign_magnitude() {
        let magnitude = (bits & (format.mask() >> 1)) as i128;
        if bits >> (format.width() - 1) & 1 == 1 { -magnitude } else { magnitude }
    } else {
        format.to_int(bits)
    }
}

/// The exact accumulator of one output element of one target over one run: the specification of the
/// hardware's accumulator. 2^63 sources fit.
#[derive(Clone, Copy, Debug)]
pub struct Accumulator {
    reduce: Reduce,
    format: Format,
    exact: i128,
    best: u64,
}

impl Accumulator {
    pub fn new(reduce: Reduce, format: Format) -> Accumulator {
        Accumulator { reduce, format, exact: 0, best: reduce.identity(format) }
    }

    /// How it gathers.
    pub fn reduce(&self) -> Reduce {
        self.reduce
    }

    /// Takes the value of one pair.
    pub fn add(&mut self, bits: u64) {
        match self.reduce {
            Reduce::Sum => self.exact += self.format.to_int(bits),
            _ => self.best = self.reduce.combine(self.format, self.best, bits).0,
        }
    }

    /// The pattern that a place of a selection, a maximum or a minimum holds.
    pub(super) fn selected(&self) -> u64 {
        self.best
    }

    /// Gives a place of a selection its pattern.
    pub(super) fn select(&mut self, bits: u64) {
        self.best = bits;
    }

    /// Takes an exact partial sum (in units of the format's last place) made elsewhere; `Sum` only.
    pub fn add_exact(&mut self, sum: i128) {
        debug_assert_eq!(self.reduce, Reduce::Sum);
        self.exact += sum;
    }

    /// The result's pattern, and `wrap` if the exact sum left the format.
    pub fn finish(&self) -> (u64, Flags) {
        match self.reduce {
            Reduce::Sum => {
                let bits = self.exact as u64 & self.format.mask();
                (bits, Flags::WRAP.when(self.format.to_int(bits) != self.exact))
            }
            _ => (self.best, Flags::NONE),
        }
    }
}
