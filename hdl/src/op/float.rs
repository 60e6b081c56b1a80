//! Floats: arithmetic, scaling, and conversions from and to other formats.

pub(super) mod fadd;
pub(super) mod fcast;
pub(super) mod fdiv;
pub(super) mod fmul;
pub(super) mod fscale;
pub(super) mod fsign;
pub(super) mod fwhole;
pub(super) mod sumsq;
pub(super) mod tofix;
pub(super) mod tofloat;

use super::pieces::whole::Way;
pub use tofix::pointed::{POINT_BITS, pointed};

super::operators! {
    FADD: fadd::Fadd,
    FSUB: fadd::Fsub,
    FCAST: fcast::Fcast,
    FDIV: fdiv::Fdiv,
    FMUL: fmul::Fmul,
    FSCALE: fscale::Fscale,
    FSCALEV: fscale::Fscalev,
    FABS: fsign::Fabs,
    FNEG: fsign::Fneg,
    FFLOOR: fwhole::Fwhole(Way::Floor),
    FCEIL: fwhole::Fwhole(Way::Ceil),
    FTRUNC: fwhole::Fwhole(Way::Trunc),
    FROUND: fwhole::Fwhole(Way::Round),
    SUMSQ: sumsq::Sumsq,
    TOFIX: tofix::Tofix,
    TOFLOAT: tofloat::Tofloat,
}
