//! The exact result that an operator stands for, and how far its bits can be from it: what error bounds are made of.

use super::{Inst, Way};
use crate::Format;
use crate::number::real::{Call, exp2, log2};

/// The function of real numbers that an operator's bits stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// None but its bits: of integers, whose rounding is their meaning, and of bits.
    Bits,
    /// The argument, in another format.
    Same,
    Sum,
    Difference,
    Product,
    Quotient,
    Negative,
    Magnitude,
    Min,
    Max,
    SumOfSquares,
    /// The second or the third argument, by the first.
    Choice,
    /// x 2^n.
    Scaled(i32),
    /// x 2^n or x 2^-n, for the second argument n.
    ScaledBy(i32),
    /// x^(n/d), and 0 of 0 for n < 0.
    Power(i32, i32),
    Exp,
    /// The natural logarithm.
    Log,
    Sin,
    Cos,
    /// Another function of one argument.
    Real(Call),
    /// The angle of the point (second, first argument).
    Angle,
    /// [`super::Attrs::function`].
    Function,
    /// A whole number near the argument.
    Whole(Way),
    /// The zeros above the highest 1 of an int, which has none if it is negative.
    Zeros,
    /// The bits from the second number up to and with the first one of an int, which has as many to the left as are asked for.
    Field(u32, u32),
    /// The pattern as an unsigned int.
    Pattern,
    /// The value of a pattern.
    OfPattern,
    /// The entry of [`super::Attrs::lookup`] at the arguments, and 0 outside.
    Entry,
    Less,
    LessOrEqual,
    Equal,
    Unequal,
}

/// The distance of an operator's bits from its meaning for the same arguments, where it raises no flag and does not wrap.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    pub meaning: Meaning,
    /// The greatest distance, in units of the last place of the larger one of the two; of a log of its logarithm.
    pub ulps: f64,
    /// Where given, results below this magnitude are off by up to `ulps` last places of this one.
    pub floor: Option<f64>,
}

impl Accuracy {
    /// The result is the meaning itself.
    pub const fn exact(meaning: Meaning) -> Accuracy {
        Accuracy { meaning, ulps: 0.0, floor: None }
    }

    /// The meaning rounded once, as the use rounds.
    pub fn rounded(meaning: Meaning, inst: &Inst) -> Accuracy {
        Accuracy { ulps: if inst.truncates() { 1.0 } else { 0.5 }, ..Accuracy::exact(meaning) }
    }

    /// A cast: exact where the result's format has a place for every bit of the argument's.
    pub fn cast(inst: &Inst) -> Accuracy {
        let (from, to) = (inst.args[0], inst.result);
        let is_exact = match (from.frac(), to.frac()) {
            (Some(from), Some(to)) => to >= from,
            (Some(_), None) => to.is_float() && from.width() - from.is_signed() as u32 <= to.mant() + 1,
            (None, Some(_)) => false,
            (None, None) => to.mant() >= from.mant() && to.log_frac() >= from.log_frac(),
        };
        if is_exact { Accuracy::exact(Meaning::Same) } else { Accuracy::rounded(Meaning::Same, inst) }
    }

    /// A function by a table.
    pub fn table(meaning: Meaning, table: Option<super::TableUse>) -> Accuracy {
        // A fixed is rounded once more than the table says, a float of a direct table not at all.
        table.map_or(Accuracy { ulps: 1.0, ..Accuracy::exact(meaning) }, |table| Accuracy {
            meaning,
            ulps: table.error,
            floor: table.floor,
        })
    }

    /// The distance of a result whose magnitude, and that of its meaning, is at most `most`.
    pub fn absolute(&self, format: Format, most: f64) -> f64 {
        if self.ulps == 0.0 {
            return 0.0;
        }
        match format {
            Format::Log { .. } => self.relative(format) * most,
            _ => self.ulps * last_place(format, most.max(self.floor.unwrap_or(0.0))),
        }
    }

    /// The distance as a part of the meaning's magnitude, of floats and logs above the floor.
    pub fn relative(&self, format: Format) -> f64 {
        if self.ulps == 0.0 {
            return 0.0;
        }
        match format {
            // 2^x - 1 <= x for x <= 1.
            Format::Log { frac, .. } if self.ulps <= exp2(frac as i32) => {
                let step = self.ulps * exp2(-(frac as i32));
                step.exp2().next_up() - 1.0 + f64::EPSILON
            }
            Format::Log { frac, .. } => (self.ulps * exp2(-(frac as i32))).exp2(),
            _ => {
                let part = self.ulps * exp2(-(format.mant() as i32));
                // A result in the next octave has the larger last place.
                if self.ulps <= 0.5 { part / (1.0 + part) * (1.0 + f64::EPSILON) } else { part * (1.0 + part) }
            }
        }
    }
}

/// The unit in the last place of a number; of one below a float's range that of the least one.
pub fn last_place(format: Format, x: f64) -> f64 {
    match format.frac() {
        Some(frac) => exp2(-(frac as i32)),
        None if x.is_finite() => {
            let least = 1 - format.bias();
            let octave = if x > 0.0 { log2(x).max(least) } else { least };
            exp2(octave - format.mant() as i32).max(f64::MIN_POSITIVE)
        }
        None => f64::INFINITY,
    }
}

/// The least magnitude other than 0 and the greatest one of a float or log.
pub fn range(format: Format) -> (f64, f64) {
    match format {
        Format::Log { .. } => {
            (format.to_f64(1 << (format.width() - 2)).next_down(), format.to_f64(format.max_bits()).next_up())
        }
        _ => (exp2(1 - format.bias()), format.to_f64(format.max_bits())),
    }
}
