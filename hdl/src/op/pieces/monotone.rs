//! Flags and bounds of operations whose magnitude grows or falls with the magnitudes of their arguments: the ends decide.

use crate::op::{Inst, Operator};
use crate::{Bounds, Flags};

/// The arguments of the least and of the greatest magnitude of a result, apart from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    pub least: Vec<u64>,
    pub greatest: Vec<u64>,
    /// Whether an argument can make it 0.
    pub zero: bool,
}

impl Ends {
    /// Those of an operation of one argument, which gives 0 for 0.
    pub fn of_one(inst: &Inst) -> Option<Ends> {
        let (low, high) = inst.magnitudes(0);
        Some(Ends { least: vec![low], greatest: vec![high], zero: inst.bounds(0).zero })
    }

    /// Those of a product, or of a quotient.
    pub fn of_two(inst: &Inst, divides: bool) -> Option<Ends> {
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let (first, last) = if divides { (hb, lb) } else { (lb, hb) };
        let zero = inst.bounds(0).zero || inst.bounds(1).zero;
        Some(Ends { least: vec![la, first], greatest: vec![ha, last], zero })
    }

    /// The flags of the operation.
    pub fn flags(&self, op: &(impl Operator + ?Sized), inst: &Inst) -> Flags {
        op.bits(inst, &self.least).1 | op.bits(inst, &self.greatest).1
    }

    /// Its bounds.
    pub fn bounds(&self, op: &(impl Operator + ?Sized), inst: &Inst) -> Bounds {
        Bounds::floats(inst.result, op.bits(inst, &self.least).0, op.bits(inst, &self.greatest).0, self.zero)
    }
}
