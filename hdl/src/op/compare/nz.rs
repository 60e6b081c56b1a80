//! `nz`: whether an int is not zero (RULES L5).

use crate::circuit::{Circuit, Sig};
use crate::number::format::UINT1;
use crate::op::ctext::{CText, CVar, U32};
use crate::op::facts::{Fast, Fold, Outcome};
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Nz;

impl Operator for Nz {
    fn name(&self) -> &'static str {
        "nz"
    }

    fn summary(&self) -> &'static str {
        "1 if an int is not zero, else 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::one_int(self.name(), args).map(|_| UINT1)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (inst.args[0] == inst.result).then_some(Fold::Arg(0))
    }

    fn outcome(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Outcome> {
        let zero = order::zero(inst, constants);
        Some(zero.map_or(Outcome::Open, |zero| Outcome::Always(!zero)))
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Nonzero)
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0] != 0) as u64, Flags::NONE)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("((uint64_t)({} != 0))", args[0])
    }

    fn c_bits(&self, _: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.set(U32, format!("{} != 0", args[0]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (parts::counted(c, "nz", c.x(args[0]).any(), inst.args[0].width()), None)
    }
}
