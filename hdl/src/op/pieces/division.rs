//! Operand handling common to the three divisions: unsigned operands and the signs to put back.

use crate::circuit::{Circuit, Sig};
use crate::op::Inst;
use crate::op::pieces::parts;

/// The signs of both arguments (none where no sign can be set), and the magnitudes.
pub fn magnitudes(inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Option<(Sig, Sig)>, Sig, Sig) {
    if !inst.result.is_signed() || (inst.is_nonneg(0) && inst.is_nonneg(1)) {
        return (None, args[0], args[1]);
    }
    let (sign_a, a) = parts::sign_and_magnitude(c, "a", args[0]);
    let (sign_b, b) = parts::sign_and_magnitude(c, "b", args[1]);
    (Some((sign_a, sign_b)), a, b)
}
