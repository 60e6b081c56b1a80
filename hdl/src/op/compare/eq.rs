//! `eq`: whether two values of one format are equal, floats too (RULES L5).

use crate::circuit::{Circuit, Sig};
use crate::number::format::UINT1;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar, U32};
use crate::op::facts::{Fast, Fold, Outcome};
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Test;
use crate::{Flags, Format};

pub struct Eq;

impl Operator for Eq {
    fn name(&self) -> &'static str {
        "eq"
    }

    fn summary(&self) -> &'static str {
        "1 if a and b are equal, else 0; any format"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_of_any(self.name(), args).map(|_| UINT1)
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        inst.same.then_some(Fold::Const(1))
    }

    fn outcome(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Outcome> {
        Some(order::outcome(inst, constants, Test::Eq))
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Eq)
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0] == args[1]) as u64, Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::truth(args[0].f64() == args[1].f64())
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Equal)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("((uint64_t)({} == {}))", args[0], args[1])
    }

    fn c_bits(&self, _: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.set(U32, format!("{} == {}", args[0], args[1]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (order::compare(inst, c, Test::Eq, args[0], args[1]), None)
    }
}
