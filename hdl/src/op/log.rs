//! Numbers in the logarithmic number system.

pub(super) mod fromlog;
pub(super) mod ladd;
pub(super) mod lcast;
pub(super) mod ldiv;
pub(super) mod lmul;
pub(super) mod lpow;
pub(super) mod lscale;
pub(super) mod lsign;
pub(super) mod tolog;

use super::Operator;

/// The operators of this room.
pub(super) static OPERATORS: &[&dyn Operator] = &[
    &ladd::Ladd,
    &ladd::Lsub,
    &lmul::Lmul,
    &ldiv::Ldiv,
    &lpow::Lpow,
    &lscale::Lscale,
    &lscale::Lscalev,
    &lsign::Lneg,
    &lsign::Labs,
    &lcast::Lcast,
    &tolog::Tolog,
    &fromlog::Fromlog,
];
