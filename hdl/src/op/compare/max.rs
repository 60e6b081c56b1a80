//! `max`: the greater of two values of one format, floats too (RULES L9).

use crate::circuit::{Circuit, Sig};
use crate::number::reduce;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Test;
use crate::{Bounds, Flags, Format};

pub struct Max;

impl Operator for Max {
    fn name(&self) -> &'static str {
        "max"
    }

    fn summary(&self) -> &'static str {
        "the greater of two values; any format"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_of_any(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        if inst.result.is_sign_magnitude() { a.or(b) } else { Bounds::ints(a.low.max(b.low), a.high.max(b.high)) }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0) || inst.never_negative(1)
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        inst.same.then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Max)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (if reduce::less(inst.result, args[0], args[1]) { args[1] } else { args[0] }, Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64().max(args[1].f64()))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Max)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({0} < {1} ? {1} : {0})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let less = ints::compare(inst, c, "<", args);
        c.set(args[0].kind, format!("{less} ? {} : {}", args[1], args[0]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let second = order::compare(inst, c, Test::Lt, args[0], args[1]);
        (c.logic("max", c.x(second).mux(&c.x(args[1]), &c.x(args[0]))), None)
    }
}
