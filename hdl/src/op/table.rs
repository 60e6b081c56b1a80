//! Functions that are computed by tables of piecewise polynomials, and tables of entries.

pub mod angle;
pub mod exp;
pub mod func;
mod kept;
pub mod ln;
pub mod lookup;
pub mod octaves;
mod once;
pub mod place;
pub mod poly;
pub mod pow;
pub mod sin_cos;

/// The widest fraction of a float that powers, exponentials and logarithms take.
pub const MAX_WIDE: u32 = 52;

/// The widest fraction of a float, and the widest fixed, that the other functions by tables take.
pub const MAX_MANT: u32 = 23;
pub const MAX_WIDTH: u32 = 32;

/// Bits of a block memory of common devices, and the widest word of one memory.
pub const BLOCK_BITS: u64 = 18 * 1024;
const ROM_WIDTH: u32 = 64;

super::operators! {
    FUNC: func::Func,
    EXP: exp::Exp,
    EXP2: exp::Exp2,
    LOG: ln::Log,
    LOG2: ln::Log2,
    SIN: sin_cos::Sin,
    COS: sin_cos::Cos,
    TANH: octaves::TANH,
    ERF: octaves::ERF,
    ERFC: octaves::ERFC,
    CBRT: octaves::CBRT,
    ASIN: octaves::ASIN,
    ACOS: octaves::ACOS,
    ATAN: octaves::ATAN,
    ATAN2: angle::Atan2,
    POW: pow::Pow,
    LOOKUP: lookup::At,
    PLACE: place::Place,
}
