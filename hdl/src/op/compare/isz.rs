//! `isz`: whether an int is zero (RULES L5).

use crate::circuit::{Circuit, Sig};
use crate::number::format::UINT1;
use crate::op::ctext::{CText, CVar, U32};
use crate::op::facts::{Fast, Outcome};
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Isz;

impl Operator for Isz {
    fn name(&self) -> &'static str {
        "isz"
    }

    fn summary(&self) -> &'static str {
        "1 if an int is zero, else 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::one_int(self.name(), args).map(|_| UINT1)
    }

    fn outcome(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Outcome> {
        let zero = order::zero(inst, constants);
        Some(zero.map_or(Outcome::Open, Outcome::Always))
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Zero)
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0] == 0) as u64, Flags::NONE)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("((uint64_t)({} == 0))", args[0])
    }

    fn c_bits(&self, _: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.set(U32, format!("{} == 0", args[0]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (parts::counted(c, "isz", c.x(args[0]).none(), inst.args[0].width()), None)
    }
}
