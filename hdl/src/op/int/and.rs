//! `and`: bitwise and of two ints (RULES N3, L4).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct And;

impl Operator for And {
    fn name(&self) -> &'static str {
        "and"
    }

    fn summary(&self) -> &'static str {
        "bitwise and of two ints"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_ints(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        match (a.low >= 0, b.low >= 0) {
            (true, true) => Bounds::ints(0, a.high.min(b.high)),
            (true, false) => Bounds::ints(0, a.high),
            (false, true) => Bounds::ints(0, b.high),
            (false, false) => Bounds::of(inst.result),
        }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0) || inst.never_negative(1)
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        match constants[1] {
            _ if inst.same => Some(Fold::Arg(0)),
            Some(0) => Some(Fold::Const(0)),
            Some(c) if c == inst.result.mask() => Some(Fold::Arg(0)),
            _ => None,
        }
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        zeros[0].max(zeros[1])
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::And)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0] & args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} & (uint64_t){})", args[0], args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} & {}", args[0], args[1]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (c.logic("bits", c.x(args[0]) & c.x(args[1])), None)
    }
}
