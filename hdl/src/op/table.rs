//! Functions that are computed by tables of piecewise polynomials.

pub mod exp;
pub mod func;
pub mod ln;
pub mod poly;
pub mod pow;
pub mod sin_cos;

super::operators! {
    FUNC: func::Func,
    EXP: exp::Exp,
    LOG: ln::Log,
    SIN: sin_cos::Sin,
    COS: sin_cos::Cos,
    POW: pow::Pow,
}
