//! `le`: whether the first of two values of one format is at most the second, floats too (RULES L5).

use crate::circuit::{Circuit, Sig};
use crate::number::format::UINT1;
use crate::number::reduce;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar, U32};
use crate::op::facts::{Fast, Fold, Outcome};
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Test;
use crate::{Flags, Format};

pub struct Le;

impl Operator for Le {
    fn name(&self) -> &'static str {
        "le"
    }

    fn summary(&self) -> &'static str {
        "1 if a is at most b, else 0; any format"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_of_any(self.name(), args).map(|_| UINT1)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        inst.same.then_some(Fold::Const(1))
    }

    fn outcome(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Outcome> {
        Some(order::outcome(inst, constants, Test::Le))
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Le)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        ((!reduce::less(inst.args[0], args[1], args[0])) as u64, Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::truth(args[0].f64() <= args[1].f64())
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::LessOrEqual)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("((uint64_t)({} <= {}))", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let holds = ints::compare(inst, c, "<=", args);
        c.set(U32, holds)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (order::compare(inst, c, Test::Le, args[0], args[1]), None)
    }
}
