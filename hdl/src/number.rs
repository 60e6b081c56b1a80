//! Numbers: the formats and their patterns, what is known of values, and exact and real arithmetic.
//!
//! Everything else is made of it, and it knows nothing of circuits. [`mod@format`] says what a pattern of bits stands for, [`flags`]
//! what can go wrong, [`bounds`] how small and large a value can be, [`reduce`] how an output combines its values. [`exact`]
//! takes numbers of any length into formats and out of them, [`lns`] holds the tables of the logarithmic number system, and
//! [`real`] evaluates real functions with bounds of their errors.

pub mod bounds;
pub mod exact;
pub mod flags;
pub mod format;
pub mod lns;
pub mod real;
pub mod reduce;
pub mod rounding;
pub mod select;
mod value;
