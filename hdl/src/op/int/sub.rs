//! `sub`: int and fixed subtraction, which wraps without a flag (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Unwrapped};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Sub;

impl Operator for Sub {
    fn name(&self) -> &'static str {
        "sub"
    }

    fn summary(&self) -> &'static str {
        "int and fixed subtraction; wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_alike(self.name(), args)
    }

    fn unwrapped(&self, inst: &Inst) -> Option<Unwrapped> {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        Some(Unwrapped { what: "difference", low: a.low - b.high, high: a.high - b.low })
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::difference(inst, constants)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Sub)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].wrapping_sub(args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Difference)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} - (uint64_t){})", args[0], args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} - {}", args[0], args[1]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (c.logic("sub", c.x(args[0]) - c.x(args[1])), None)
    }
}
