//! Functions that are computed by tables of piecewise polynomials.

pub mod exp;
pub mod func;
pub mod ln;
pub mod poly;
pub mod pow;
pub mod sin_cos;

use super::Operator;

/// The operators of this room.
pub(super) static OPERATORS: &[&dyn Operator] =
    &[&func::Func, &exp::Exp, &ln::Log, &sin_cos::Sin, &sin_cos::Cos, &pow::Pow];
