//! Arithmetic: vector code, scaling by powers of two, sums of any magnitude, and numbers as bit patterns.

pub mod encode;
pub mod lanes;
pub mod ranges;
pub mod scale;
pub mod vector;
pub mod wide;
