//! The value of a pattern as an f64.

use super::lns;
use super::real::exp2;
use crate::Format;

impl Format {
    /// The real number a pattern stands for, exact up to f64's own rounding (only ints and fixeds of more
    /// than 53 bits can lose bits). A float pattern with exponent field 0 is 0.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Format::Log { .. } => lns::to_f64(self, bits),
            Format::Float { width, mant } => {
                let field = bits >> mant & ((1 << self.exp()) - 1);
                if field == 0 {
                    return 0.0;
                }
                let significand = (bits & ((1 << mant) - 1) | 1 << mant) as f64;
                let power = field as i32 - self.bias() - mant as i32;
                // Two steps, since 2^power alone may lie below f64's normal range.
                let magnitude = significand * exp2(power / 2) * exp2(power - power / 2);
                if bits >> (width - 1) & 1 == 1 { -magnitude } else { magnitude }
            }
            _ => self.to_int(bits) as f64 * exp2(-(self.frac().unwrap_or(0) as i32)),
        }
    }
}
