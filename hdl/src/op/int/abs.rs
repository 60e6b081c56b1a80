//! `abs`: the magnitude of an int or fixed; the least value wraps to itself without a flag (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Twice};
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Abs;

impl Operator for Abs {
    fn name(&self) -> &'static str {
        "abs"
    }

    fn summary(&self) -> &'static str {
        "int and fixed magnitude; wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::one_number(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        let low = if a.low > 0 { a.low } else { (-a.high).max(0) };
        Bounds::wrapped(inst.result, Some(low), Some(a.high.max(-a.low)))
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (!inst.result.is_signed()).then_some(Fold::Arg(0))
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Same)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Abs)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let negative = inst.result.to_int(args[0]) < 0;
        ((if negative { args[0].wrapping_neg() } else { args[0] }) & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Magnitude)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &parts::c_magnitude(inst.result, args[0]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        ints::magnitude(inst, c, 0, &args[0]).1
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        if !inst.result.is_signed() || inst.is_nonneg(0) {
            return (args[0], None);
        }
        (parts::sign_and_magnitude(c, "a", args[0]).1, None)
    }
}
