//! `add`: int and fixed addition, which wraps without a flag (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Unwrapped};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Add;

impl Operator for Add {
    fn name(&self) -> &'static str {
        "add"
    }

    fn summary(&self) -> &'static str {
        "int and fixed addition; wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_alike(self.name(), args)
    }

    fn unwrapped(&self, inst: &Inst) -> Option<Unwrapped> {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        Some(Unwrapped { what: "sum", low: a.low + b.low, high: a.high + b.high })
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, _: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::sum(constants)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Add)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].wrapping_add(args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Sum)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} + (uint64_t){})", args[0], args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} + {}", args[0], args[1]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (c.logic("sum", c.x(args[0]) + c.x(args[1])), None)
    }
}
