//! `fneg` and `fabs`: the sign of a float changed or dropped.

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Twice};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::{c_suffix, one_float, unpack};
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Fneg;
pub struct Fabs;

impl Operator for Fneg {
    fn name(&self) -> &'static str {
        "fneg"
    }

    fn summary(&self) -> &'static str {
        "float negation; that of 0 is 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_float("fneg", args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        inst.bounds(0)
    }

    fn twice(&self) -> Option<Twice> {
        Some(Twice::Undone)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Neg)
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
        let (format, x) = (inst.result, args[0]);
        let (w, m) = (format.width(), format.mant());
        let exp = field(c, "e", x, w - 2, m);
        // Zero keeps its sign bit clear.
        let sign = c.logic("sign", !c.x(x).msb() & c.x(exp).any());
        (c.logic("neg", cat([c.x(sign), c.x(x).low(w - 1)])), None)
    }
}

impl Operator for Fabs {
    fn name(&self) -> &'static str {
        "fabs"
    }

    fn summary(&self) -> &'static str {
        "float magnitude"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_float("fabs", args)
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

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Abs)
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

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("fabs{}({})", c_suffix(inst.result), args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        floats::magnitude(inst, c, 0, &args[0])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (w, x) = (inst.result.width(), args[0]);
        (c.logic("abs", c.x(x).low(w - 1).zext(w)), None)
    }
}
