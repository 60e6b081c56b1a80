//! Floats: arithmetic, scaling, and conversions from and to other formats.

pub(super) mod fadd;
pub(super) mod fcast;
pub(super) mod fdiv;
pub(super) mod fmul;
pub(super) mod fscale;
pub(super) mod fsign;
pub(super) mod sumsq;
pub(super) mod tofix;
pub(super) mod tofloat;

use super::Operator;

/// The operators of this room.
pub(super) static OPERATORS: &[&dyn Operator] = &[
    &fadd::Fadd,
    &fadd::Fsub,
    &fcast::Fcast,
    &fdiv::Fdiv,
    &fmul::Fmul,
    &fscale::Fscale,
    &fscale::Fscalev,
    &fsign::Fabs,
    &fsign::Fneg,
    &sumsq::Sumsq,
    &tofix::Tofix,
    &tofloat::Tofloat,
];
