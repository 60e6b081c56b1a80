//! `mux`: one of two values of one format, by a condition (RULES L6).

use crate::circuit::{Circuit, Sig};
use crate::number::format::UINT1;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::Fast;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Mux;

impl Operator for Mux {
    fn name(&self) -> &'static str {
        "mux"
    }

    fn summary(&self) -> &'static str {
        "b if the condition a is 1, else c; any format"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [UINT1, a, b] if a == b => Ok(*a),
            _ => Err("`mux` takes a uint1 and two values of one format".into()),
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        inst.bounds(1).or(inst.bounds(2))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(1) && inst.never_negative(2)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        zeros[1].min(zeros[2])
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Select)
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        (if args[0] == 1 { args[1] } else { args[2] }, Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        (if args[0].bits() != 0 { args[1] } else { args[2] }, Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Choice)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} ? {} : {})", args[0], args[1], args[2])
    }

    fn c_bits(&self, _: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.set(args[1].kind, format!("{} != 0 ? {} : {}", args[0], args[1], args[2]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (c.logic("mux", c.x(args[0]).mux(&c.x(args[1]), &c.x(args[2]))), None)
    }
}
