//! Exact numbers (rationals of any length) and their way into and out of formats: literals, CSV fields.

use num_rational::BigRational;

/// An exact number.
pub type Exact = BigRational;
