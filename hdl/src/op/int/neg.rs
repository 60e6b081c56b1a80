//! `neg`: int and fixed negation, which wraps without a flag (RULES N3).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Twice};
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Neg;

impl Operator for Neg {
    fn name(&self) -> &'static str {
        "neg"
    }

    fn summary(&self) -> &'static str {
        "int and fixed negation; wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::one_number(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        Bounds::wrapped(inst.result, Some(-a.high), Some(-a.low))
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Undone)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Neg)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].wrapping_neg() & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Negative)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("(0 - (uint64_t){})", args[0]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("0 - {}", args[0]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        (c.logic("neg", X::zeros(width) - c.x(args[0])), None)
    }
}
