//! The sticky flags that come back with every result (RULES N7).

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of sticky flags; bit k is the k-th flag in the order of [`Flags::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// A float result exceeded the largest finite value and became it.
    pub const OVERFLOW: Flags = Flags(1);
    /// A non-zero float result fell below the smallest normal value and became 0.
    pub const UNDERFLOW: Flags = Flags(2);
    /// A cast left the range of its target and became the nearest end.
    pub const SATURATION: Flags = Flags(4);
    /// A zero divisor, or a root of a negative number.
    pub const INVALID: Flags = Flags(8);
    /// The exact sum over a run left the format of its output.
    pub const WRAP: Flags = Flags(16);
    /// The number of flags, and so the width of the flag port of a pipeline.
    pub const COUNT: u32 = 5;
    /// Names in bit order, as they appear in JSON.
    pub const NAMES: [&'static str; 5] = ["overflow", "underflow", "saturation", "invalid", "wrap"];

    /// Whether every flag of `other` is set here.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set here.
    pub fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no flag is set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// `self` if `condition`, else no flag.
    pub fn when(self, condition: bool) -> Flags {
        if condition { self } else { Flags::NONE }
    }

    /// The names of the flags that are set, in bit order.
    pub fn names(self) -> Vec<&'static str> {
        (0..5).filter(|k| self.0 >> k & 1 == 1).map(|k| Self::NAMES[k]).collect()
    }

    /// The single flags that are set, in bit order.
    pub fn iter(self) -> impl Iterator<Item = Flags> {
        (0..5).map(|k| Flags(1 << k)).filter(move |f| self.contains(*f))
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Flags({})", self.names().join("|"))
    }
}
