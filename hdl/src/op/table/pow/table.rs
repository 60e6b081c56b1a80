//! The prepared tables of one power in one format, and the evaluation that is the specification of its bits.

use super::search::{Tables, search};
use crate::op::table::once::Once;
use crate::{Flags, Format};

/// A power x^(n/d), reduced, none of x^0, x^1 and x^2, in a float format: plain data for [`Prepared::eval`] and for
/// anything that does the same in another way. The numbers depend on the format, n and d alone.
///
/// The evaluation of a positive pattern `x`, step by step, all in unsigned 64-bit integers except for the exponent:
///
/// 1. `field = x >> mant` (exponent bits), `index = x >> low_bits` (`index_bits` bits: for d = 2 the lowest
///    bit of the exponent field and the highest fraction bits; for d = 1 the latter only).
/// 2. `u = x` (lowest `low_bits` bits), all of them inverted if `flip`.
/// 3. `h = columns[degree][index]`; for i from degree - 1 down to 0:
///    `p = h * u >> shift[i]`, `h = columns[i][index] - p` if `subtract[i]`, else `columns[i][index] + p`.
/// 4. `carry = h >> (mant + guard + 1)` (0 or 1); the fraction is `h >> (guard + carry)` (lowest `mant` bits).
/// 5. `q = field - bias` for d = 1, `((field + 1) >> 1) - (bias + 1) / 2` for d = 2;
///    the result's exponent field is `n * q + octaves[index] + carry + bias`.
/// 6. Above 2^E - 2 it overflows, below 1 it underflows. The sign is that of `x` if n is odd and d = 1.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub format: Format,
    pub n: i32,
    pub d: i32,
    /// Fraction bits M of the format.
    pub mant: u32,
    pub index_bits: u32,
    pub low_bits: u32,
    pub flip: bool,
    pub degree: usize,
    /// `columns[i]`: the coefficients of u^i for each index.
    pub columns: Vec<Vec<u32>>,
    pub shift: [u32; 3],
    pub subtract: [bool; 3],
    /// Bits of column 0 below the last place.
    pub guard: u32,
    /// The exponent of each index, from the table; all equal in most cases (see [`Prepared::octave`]).
    pub octaves: Vec<i32>,
    /// The exponent of every index, where they are all equal.
    pub octave: Option<i32>,
    /// What the search found: widths, bound.
    pub tables: Tables,
}

impl Prepared {
    /// Searches the tables; [`prepared`] keeps them.
    pub fn new(format: Format, n: i32, d: i32) -> Prepared {
        let mant = format.mant();
        let tables = search(mant, n, d);
        let low_bits = mant - tables.split;
        let mut shift = [0; 3];
        for (i, s) in shift.iter_mut().enumerate().take(tables.degree) {
            *s = (tables.guard[i + 1] - tables.guard[i] + low_bits as i32) as u32;
        }
        let first = tables.octaves[0];
        Prepared {
            format,
            n,
            d,
            mant,
            index_bits: tables.split + (d == 2) as u32,
            low_bits,
            flip: n < 0,
            degree: tables.degree,
            columns: tables.columns.clone(),
            shift,
            subtract: tables.subtract,
            guard: tables.guard[0] as u32,
            octaves: tables.octaves.clone(),
            octave: tables.octaves.iter().all(|o| *o == first).then_some(first),
            tables,
        }
    }

    /// The result's pattern and flags: the specification.
    #[inline]
    pub fn eval(&self, x: u64) -> (u64, Flags) {
        let (mant, width) = (self.mant, self.format.width());
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
        let index = (x >> self.low_bits & ((1 << self.index_bits) - 1)) as usize;
        let low_mask = (1u64 << self.low_bits) - 1;
        let u = if self.flip { !x & low_mask } else { x & low_mask };
        let mut h = self.columns[self.degree][index] as u64;
        for i in (0..self.degree).rev() {
            let product = (h * u) >> self.shift[i];
            let c = self.columns[i][index] as u64;
            h = if self.subtract[i] { c - product } else { c + product };
        }
        let carry = h >> (self.mant + self.guard + 1);
        let fraction = h >> (self.guard + carry as u32) & ((1 << self.mant) - 1);
        let bias = self.format.bias();
        let q = if self.d == 2 { ((field as i32 + 1) >> 1) - (bias + 1) / 2 } else { field as i32 - bias };
        (self.n * q + self.octaves[index] + carry as i32 + bias, fraction)
    }
}

/// The tables of a power. `n/d` must be reduced and none of 0, 1 and 2, and within the limits of the operator.
pub fn prepared(format: Format, n: i32, d: i32) -> &'static Prepared {
    static ALL: Once<(Format, i32, i32), Prepared> = Once::new();
    ALL.get((format, n, d), || Prepared::new(format, n, d))
}
