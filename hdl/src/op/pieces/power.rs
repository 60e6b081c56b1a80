//! Parts common to powers of floats and of logs (RULES N6).

use crate::op::Attrs;
use crate::op::Inst;
use crate::op::facts::Fold;

/// The largest numerator of an exponent in lowest terms.
pub const MAX_NUMERATOR: u32 = 16;

/// n/d in lowest terms, for d of 1 or 2.
pub fn reduced(attrs: &Attrs) -> (i32, i32) {
    if attrs.d == 2 && attrs.n % 2 == 0 { (attrs.n / 2, 1) } else { (attrs.n, attrs.d) }
}

/// The exponent in lowest terms, or what is wrong with it.
pub fn exponent(attrs: &Attrs) -> Result<(i32, i32), String> {
    match reduced(attrs) {
        (n, d @ 1..=2) if n.unsigned_abs() <= MAX_NUMERATOR => Ok((n, d)),
        (n, d) => Err(format!("x^({n}/{d}) is not available: d is 1 or 2, and |n| at most {MAX_NUMERATOR}")),
    }
}

/// Whether no result is negative: an even power, or a root, which gives 0 for a negative argument; 2/2 is neither.
pub fn nonneg(inst: &Inst) -> bool {
    match (inst.attrs.n, inst.attrs.d) {
        (n, 2) => n % 2 != 0 || n % 4 == 0 || inst.none_negative(),
        (n, _) => n % 2 == 0 || inst.none_negative(),
    }
}

/// x^1 is x.
pub fn fold(inst: &Inst) -> Option<Fold> {
    ((inst.attrs.n, inst.attrs.d) == (1, 1)).then_some(Fold::Arg(0))
}
