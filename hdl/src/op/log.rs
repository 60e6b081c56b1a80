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

super::operators! {
    LADD: ladd::Ladd,
    LSUB: ladd::Lsub,
    LMUL: lmul::Lmul,
    LDIV: ldiv::Ldiv,
    LPOW: lpow::Lpow,
    LSCALE: lscale::Lscale,
    LSCALEV: lscale::Lscalev,
    LNEG: lsign::Lneg,
    LABS: lsign::Labs,
    LCAST: lcast::Lcast,
    TOLOG: tolog::Tolog,
    FROMLOG: fromlog::Fromlog,
}
