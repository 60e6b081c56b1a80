//! Integers and fixed-point numbers: arithmetic, bits, shifts and casts.

pub(super) mod abs;
pub(super) mod add;
pub(super) mod and;
pub(super) mod carry;
pub(super) mod count;
pub(super) mod div;
pub(super) mod field;
pub(super) mod icast;
pub(super) mod mul;
pub(super) mod neg;
pub(super) mod not;
pub(super) mod or;
pub(super) mod pattern;
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
pub(super) mod xwhole;

use super::pieces::whole::Way;

super::operators! {
    ADD: add::Add,
    SUB: sub::Sub,
    MUL: mul::Mul,
    XMUL: xmul::Xmul,
    DIV: div::Div,
    REM: rem::Rem,
    XDIV: xdiv::Xdiv,
    NEG: neg::Neg,
    ABS: abs::Abs,
    AND: and::And,
    OR: or::Or,
    XOR: xor::Xor,
    NOT: not::Not,
    SHL: shl::Shl,
    SHR: shr::Shr,
    SHLV: shlv::Shlv,
    SHRV: shrv::Shrv,
    ICAST: icast::Icast,
    XCAST: xcast::Xcast,
    XFLOOR: xwhole::Xwhole(Way::Floor),
    XCEIL: xwhole::Xwhole(Way::Ceil),
    XTRUNC: xwhole::Xwhole(Way::Trunc),
    XROUND: xwhole::Xwhole(Way::Round),
    POPCOUNT: count::Popcount,
    CLZ: count::Clz,
    CARRY: carry::Carry,
    BORROW: carry::Borrow,
    TOTAL: carry::Total,
    FIELD: field::Field,
    BITS: pattern::Bits,
    FROMBITS: pattern::Frombits,
}
