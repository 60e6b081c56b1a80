//! `lneg` and `labs`: the sign of a log changed or dropped.

use crate::circuit::{Circuit, Sig};
use crate::number::lns::unpack;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::Twice;
use crate::op::pieces::log_parts::one_log;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Lneg;
pub struct Labs;

impl Operator for Lneg {
    fn name(&self) -> &'static str {
        "lneg"
    }

    fn summary(&self) -> &'static str {
        "log negation; that of 0 is 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_log("lneg", args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        inst.bounds(0)
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Undone)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let sign = 1 << (inst.result.width() - 1);
        (unpack(inst.result, args[0]).map_or(0, |_| args[0] ^ sign), Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(-args[0].f64())
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Negative)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("(-{})", args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let flipped = format!("{} ^ {}", args[0], floats::sign_bit(inst.result));
        match inst.bounds(0).zero {
            true => c.set(args[0].kind, format!("{} != 0 ? {flipped} : 0", args[0])),
            false => c.set(args[0].kind, flipped),
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let w = inst.result.width();
        let x = c.x(args[0]);
        (c.logic("neg", cat([!x.bit(w - 1) & x.bit(w - 2), x.low(w - 1)])), None)
    }
}

impl Operator for Labs {
    fn name(&self) -> &'static str {
        "labs"
    }

    fn summary(&self) -> &'static str {
        "log magnitude"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_log("labs", args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        inst.bounds(0)
    }

    fn nonneg(&self, _: &Inst) -> bool {
        true
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Same)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0] & (inst.result.mask() >> 1), Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64().abs())
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Magnitude)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("fabs({})", args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        floats::magnitude(inst, c, 0, &args[0])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let w = inst.result.width();
        (c.logic("abs", c.x(args[0]).low(w - 1).zext(w)), None)
    }
}
