//! Powers of two that bring numbers into the ranges of kernels.

pub use fmm::arith::scale::{exponent, ldexp};

/// The least `e` with all of some numbers below 2^e in magnitude; 0 where there is none, or where one is not finite.
pub fn above<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> i32 {
    let most = numbers.into_iter().fold(0.0, |most: f64, x| if x.abs() <= most { most } else { x.abs() });
    if most > 0.0 && most.is_finite() { exponent(most * (1.0 + f64::EPSILON)) } else { 0 }
}
