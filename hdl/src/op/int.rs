//! Integers and fixed-point numbers: arithmetic, bits, shifts and casts.

pub(super) mod abs;
pub(super) mod add;
pub(super) mod and;
pub(super) mod div;
pub(super) mod icast;
pub(super) mod mul;
pub(super) mod neg;
pub(super) mod not;
pub(super) mod or;
pub(super) mod rem;
pub(super) mod shl;
pub(super) mod shlv;
pub(super) mod shr;
pub(super) mod shrv;
pub(super) mod sub;
pub(super) mod xcast;
pub(super) mod xdiv;
pub(super) mod xmul;
pub(super) mod xor;

use super::Operator;

/// The operators of this room.
pub(super) static OPERATORS: &[&dyn Operator] = &[
    &add::Add,
    &sub::Sub,
    &mul::Mul,
    &xmul::Xmul,
    &div::Div,
    &rem::Rem,
    &xdiv::Xdiv,
    &neg::Neg,
    &abs::Abs,
    &and::And,
    &or::Or,
    &xor::Xor,
    &not::Not,
    &shl::Shl,
    &shr::Shr,
    &shlv::Shlv,
    &shrv::Shrv,
    &icast::Icast,
    &xcast::Xcast,
];
