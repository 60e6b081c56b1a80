//! Real functions of one variable, to about 100 bits and with bounds: what tables of functions are made from.
//!
//! A table's numbers are bits of results, so every machine must find the same ones. Everything here is therefore made of
//! additions, multiplications, divisions and square roots of f64, which IEEE 754 rounds correctly. [`dd`] is arithmetic
//! on unevaluated sums of two f64, [`elementary`] the functions on it, [`value`] bounds their errors, [`interval`] encloses
//! ranges, [`jet`] Taylor coefficients, and [`expr`] holds the expressions that users write, which [`evaluator`] computes.
//! [`Smooth`] is what functions have in common: values with a bound of their error, ranges, and bounds of derivatives.
//! [`work`] counts what that takes.

pub mod dd;
pub mod elementary;
mod enclosure;
pub mod evaluator;
mod expansion;
pub mod expr;
pub mod interval;
pub mod jet;
pub mod value;
pub mod work;

pub use dd::Dd;
pub use evaluator::{Branches, Evaluator};
pub use expr::{Call, Expr, Node};
pub use interval::Interval;
pub use jet::MAX_ORDER;
pub use value::Value;
pub use work::{Meter, Metered};

/// A real function that polynomials can be fitted to.
pub trait Smooth {
    /// The value at a point; `None` where there is none, or none that can be computed.
    fn value(&self, x: Dd) -> Option<Value>;

    /// Encloses all values on an interval.
    fn range(&self, x: Interval) -> Interval;

    /// Encloses f^(k) / k! on an interval for k of 0 to `order`; unbounded where the function is not smooth there.
    fn coefficients(&self, x: Interval, order: usize) -> [Interval; MAX_ORDER + 1];

    /// One of several functions that have a table together, which counts them.
    fn branch(&self, _: usize) -> Option<&dyn Smooth> {
        None
    }

    /// [`Smooth::range`] of an interval whose coefficients, of an order of at least 1, are known.
    fn refined(&self, x: Interval, _: &[Interval; MAX_ORDER + 1]) -> Interval {
        self.range(x)
    }
}

/// 2^k, exactly, for k from -1074 to 1023; 0 and infinity beyond.
pub fn exp2(k: i32) -> f64 {
    match k {
        ..-1074 => 0.0,
        -1074..-1022 => f64::from_bits(1 << (k + 1074)),
        -1022..=1023 => f64::from_bits(((1023 + k) as u64) << 52),
        _ => f64::INFINITY,
    }
}

/// floor(log2(x)) of a positive finite number.
pub fn log2(x: f64) -> i32 {
    let field = (x.to_bits() >> 52) as i32;
    if field == 0 { x.to_bits().ilog2() as i32 - 1074 } else { field - 1023 }
}
