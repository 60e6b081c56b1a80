//! `not`: bitwise complement of an int (RULES N3).

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Twice};
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Not;

impl Operator for Not {
    fn name(&self) -> &'static str {
        "not"
    }

    fn summary(&self) -> &'static str {
        "bitwise complement of an int"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::one_int(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, all) = (inst.bounds(0), Bounds::of(inst.result));
        Bounds::ints(all.low + all.high - a.high, all.low + all.high - a.low)
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Undone)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Not)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (!args[0] & inst.result.mask(), Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("(~(uint64_t){})", args[0]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("~{}", args[0]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let why = "what reads the bits may be no table that takes the inverters in";
        (c.logic_at("bits", !c.x(args[0]), Cost::Logic(1), why), None)
    }
}
