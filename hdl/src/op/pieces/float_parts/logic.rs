//! Forms of logic that float and log operators share.

pub use crate::op::pieces::parts::slice as field;

use crate::circuit::X;
use crate::rtl::cat;

/// The constant `value` modulo 2^width where `keep` is 1, else 0.
pub fn constant_if(width: u32, value: i64, keep: Option<&X>) -> X {
    let Some(keep) = keep else { return X::constant(width, value as i128) };
    let bit = |k: u32| if value >> k.min(63) & 1 == 1 { keep.clone() } else { X::flag(false) };
    cat((0..width).rev().map(bit))
}

/// One of four vectors, `ways[2 high + low]`, in the form that takes two 4-input tables a bit: where `high` is set the first
/// table hands on `low`. It is written without `?`, which synthesis would take apart.
pub fn one_of_four(high: &X, low: &X, ways: [X; 4]) -> X {
    let [a, b, x, y] = ways;
    let (h, l) = (high.repeat(a.width()), low.repeat(a.width()));
    let first = &h & &l | !&h & (&l & b | !&l & a);
    &h & (&first & y | !&first & x) | !&h & &first
}
