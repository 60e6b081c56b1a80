//! Folding of sums, differences and products with special arguments. A constant comes last where an operator commutes.

use crate::op::Inst;
use crate::op::facts::Fold;
use crate::op::pieces::parts::fixed_one;

/// x + 0 is x.
pub fn sum(constants: &[Option<u64>]) -> Option<Fold> {
    (constants[1] == Some(0)).then_some(Fold::Arg(0))
}

/// x - 0 is x, and x - x is 0.
pub fn difference(inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
    if inst.same { Some(Fold::Const(0)) } else { sum(constants) }
}

/// x * 0 is 0.
pub fn product(constants: &[Option<u64>]) -> Option<Fold> {
    (constants[1] == Some(0)).then_some(Fold::Const(0))
}

/// x * 1 and x / 1 are x, of ints and fixeds.
pub fn by_one(inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
    let f = inst.args[1];
    let one = if f.is_fixed() { fixed_one(f) } else { (f.to_int(1) == 1).then_some(1) };
    (one.is_some() && constants[1] == one).then_some(Fold::Arg(0))
}

/// A cast to its own format.
pub fn cast(inst: &Inst) -> Option<Fold> {
    (inst.result == inst.args[0]).then_some(Fold::Arg(0))
}

/// A shift or scaling by a constant that is 0.
pub fn shift(inst: &Inst) -> Option<Fold> {
    (inst.attrs.n == 0).then_some(Fold::Arg(0))
}
