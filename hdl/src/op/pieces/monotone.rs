//! Flags and bounds of operations whose magnitude grows with the magnitudes of their arguments: the ends decide.

use crate::op::{Inst, Operator};
use crate::{Bounds, Flags};

/// The flags of an operation that is least for the arguments `least` and greatest for `greatest`.
pub fn flags(op: &dyn Operator, inst: &Inst, least: &[u64], greatest: &[u64]) -> Flags {
    op.bits(inst, least).1 | op.bits(inst, greatest).1
}

/// Its bounds; `zero` says whether an argument can make it 0.
pub fn bounds(op: &dyn Operator, inst: &Inst, least: &[u64], greatest: &[u64], zero: bool) -> Bounds {
    Bounds::floats(inst.result, op.bits(inst, least).0, op.bits(inst, greatest).0, zero)
}

/// The flags of an operation of one argument.
pub fn flags_of_one(op: &dyn Operator, inst: &Inst) -> Flags {
    let (low, high) = inst.magnitudes(0);
    flags(op, inst, &[low], &[high])
}

/// The bounds of an operation of one argument, which gives 0 for 0.
pub fn bounds_of_one(op: &dyn Operator, inst: &Inst) -> Bounds {
    let (low, high) = inst.magnitudes(0);
    bounds(op, inst, &[low], &[high], inst.bounds(0).zero)
}
