//! The prepared table of one power in one format, and the evaluation that is the specification of its bits.

use super::search::{Found, search};
use crate::op::table::once::Once;
use crate::op::table::poly::Table;
use crate::{Flags, Format};

/// A power x^(n/d), reduced, none of x^0, x^1 and x^2, in a float format. The numbers depend on the format, n and d alone.
///
/// The evaluation of a positive pattern `x`, step by step:
///
/// 1. `field` is the exponent field. For d = 2 its lowest bit is the line of the table, for d = 1 there is one line; the
///    fraction is the fraction. [`Table::eval`] gives `h` and its quantum.
/// 2. `carry = h >> (mant + guard + 1)` (0 or 1); the fraction is `h >> (guard + carry)` (lowest `mant` bits).
/// 3. `q = field - bias` for d = 1, `((field + 1) >> 1) - (bias + 1) / 2` for d = 2;
///    the result's exponent field is `n * q + octave + carry + bias`, with the octave of the row.
/// 4. Above 2^E - 2 it overflows, below 1 it underflows. The sign is that of `x` if n is odd and d = 1.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    pub n: i32,
    pub d: i32,
    pub table: Table,
    /// Bits of column 0 below the last place.
    pub guard: u32,
    /// The exponent of every row, where they are all equal.
    pub octave: Option<i32>,
    /// Whether some piece has values of two octaves.
    pub wide: bool,
}

impl Prepared {
    /// Searches the table; [`prepared`] keeps it.
    pub fn new(format: Format, n: i32, d: i32) -> Prepared {
        let Found { table, wide } = search(format.mant(), n, d);
        let guard = table.leading.ilog2() - format.mant();
        let mut p = Prepared { format, n, d, table, guard, octave: None, wide };
        let (least, most) = p.octaves();
        p.octave = (least == most).then_some(least);
        p
    }

    /// The exponent of a row: that of its power of two, or one less than that of its greatest values.
    pub fn octave_of(&self, quantum: i32) -> i32 {
        quantum + (self.format.mant() + self.guard) as i32
    }

    /// The least exponent of a row, and the greatest.
    pub fn octaves(&self) -> (i32, i32) {
        let (least, most) = self.table.quanta();
        (self.octave_of(least), self.octave_of(most))
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let (mant, width) = (self.format.mant(), self.format.width());
        let fields = (1u64 << (width - 1 - mant)) - 1;
        let field = x >> mant & fields;
        let negative = x >> (width - 1) & 1;
        if field == 0 {
            return (0, Flags::NONE);
        }
        if self.d == 2 && negative == 1 {
            return (0, Flags::INVALID);
        }
        let sign = (negative & self.n as u64 & 1) << (width - 1);
        let (power, fraction) = self.magnitude(x, field);
        if power >= fields as i32 {
            (sign | ((fields - 1) << mant | ((1 << mant) - 1)), Flags::OVERFLOW)
        } else if power < 1 {
            (0, Flags::UNDERFLOW)
        } else {
            (sign | (power as u64) << mant | fraction, Flags::NONE)
        }
    }

    /// The unbounded exponent field and the fraction of |x|^(n/d).
    #[inline]
    fn magnitude(&self, x: u64, field: u64) -> (i32, u64) {
        let mant = self.format.mant();
        let line = if self.d == 2 { field & 1 } else { 0 };
        let (h, quantum) = self.table.eval(line as usize, x & ((1 << mant) - 1));
        let carry = h as u64 >> (mant + self.guard + 1);
        let fraction = h as u64 >> (self.guard + carry as u32) & ((1 << mant) - 1);
        let bias = self.format.bias();
        let q = if self.d == 2 { ((field as i32 + 1) >> 1) - (bias + 1) / 2 } else { field as i32 - bias };
        (self.n * q + self.octave_of(quantum) + carry as i32 + bias, fraction)
    }
}

/// The tables of a power. `n/d` must be reduced and none of 0, 1 and 2, and within the limits of the operator.
pub fn prepared(format: Format, n: i32, d: i32) -> &'static Prepared {
    static ALL: Once<(Format, i32, i32), Prepared> = Once::new();
    ALL.get((format, n, d), || Prepared::new(format, n, d))
}
