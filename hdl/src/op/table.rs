//! Functions that are computed by tables of piecewise polynomials, and tables of entries.

pub mod exp;
pub mod func;
pub mod ln;
pub mod lookup;
mod once;
pub mod place;
pub mod poly;
pub mod pow;
pub mod sin_cos;

/// The widest fraction of a float, and the widest fixed, that functions by tables take.
pub const MAX_MANT: u32 = 23;
pub const MAX_WIDTH: u32 = 32;

/// Bits of a block memory of common devices, and the widest word of one memory.
pub const BLOCK_BITS: u64 = 18 * 1024;
const ROM_WIDTH: u32 = 64;

super::operators! {
    FUNC: func::Func,
    EXP: exp::Exp,
    LOG: ln::Log,
    SIN: sin_cos::Sin,
    COS: sin_cos::Cos,
    POW: pow::Pow,
    LOOKUP: lookup::At,
    PLACE: place::Place,
}
