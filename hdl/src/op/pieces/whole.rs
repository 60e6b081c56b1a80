//! Ways to a whole number: `pg_floor`, `pg_ceil`, `pg_trunc` and `pg_round` (RULES N3).

/// A way from a number to a whole one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Down.
    Floor,
    /// Up.
    Ceil,
    /// Toward zero.
    Trunc,
    /// To the nearest; halves away from zero, as `round` of C.
    Round,
}

impl Way {
    /// Whether a magnitude rises to the next whole number: of a number that is `negative` or not, whose fraction is more than 0, and
    /// at least a half.
    pub fn rises(self, negative: bool, fraction: bool, half: bool) -> bool {
        match self {
            Way::Floor => negative && fraction,
            Way::Ceil => !negative && fraction,
            Way::Trunc => false,
            Way::Round => half,
        }
    }

    /// The whole number of an integer over 2^`places`.
    pub fn of(self, x: i128, places: u32) -> i128 {
        let one = 1i128 << places;
        let (whole, rest) = (x.unsigned_abs() as i128 >> places, x.unsigned_abs() as i128 & (one - 1));
        let whole = whole + self.rises(x < 0, rest > 0, 2 * rest >= one && rest > 0) as i128;
        if x < 0 { -whole } else { whole }
    }

    /// The same of an f64.
    pub fn of_f64(self, x: f64) -> f64 {
        match self {
            Way::Floor => x.floor(),
            Way::Ceil => x.ceil(),
            Way::Trunc => x.trunc(),
            Way::Round => x.round(),
        }
    }

    /// Its name in C, where a function of doubles has it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Floor => "floor",
            Way::Ceil => "ceil",
            Way::Trunc => "trunc",
            Way::Round => "round",
        }
    }
}
