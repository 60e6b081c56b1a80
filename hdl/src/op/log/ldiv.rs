//! `ldiv`: the quotient of two logs, exact within the range; x/0 is 0 and invalid (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::log_parts::{Unbounded, both, c_type, field_bits, fields, finish, same_logs, unbias};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::{Real, quotient};
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::rtl::expr::Binary;
use crate::{Flags, Format};

pub struct Ldiv;

impl Operator for Ldiv {
    fn name(&self) -> &'static str {
        "ldiv"
    }

    fn summary(&self) -> &'static str {
        "log division: exact within the range; x/0 is 0 and invalid"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_logs("ldiv", args)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // A number by itself is 1.
        let ends = self.ends(inst).filter(|_| !inst.same);
        ends.map_or(Flags::NONE, |ends| ends.flags(self, inst)) | Flags::INVALID.when(inst.bounds(1).zero)
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_two(inst, true)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let Some(b) = unpack(format, args[1]) else { return (0, Flags::INVALID) };
        let Some(a) = unpack(format, args[0]) else { return (0, Flags::NONE) };
        let quotient = Parts { negative: a.negative != b.negative, log: a.log - b.log };
        pack(format, quotient, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        quotient(args[0], args[1])
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Quotient)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("({1} != 0 ? {0} / {1} : ({2})0)", args[0], args[1], c_type(inst.result))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (a, b) = (logs::field(c, inst.result, &args[0]), logs::field(c, inst.result, &args[1]));
        let field = c.set(I32, format!("{a} - {b} + {}", inst.result.bias()));
        if inst.bounds(1).zero {
            c.raise(Flags::INVALID, format!("{} == 0", args[1]));
        }
        let (sign, live) = (floats::sign_of_product(inst, c, args), floats::none_zero(inst, c, args, &[0, 1]));
        logs::bound(c, inst.result, &field, sign, live, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let w = field_bits(inst.result);
        let (a, b) = (fields(inst, c, 0, args[0]), fields(inst, c, 1, args[1]));
        let less = c.logic("less", c.x(a.field).zext(w + 1) - c.x(b.field).zext(w + 1));
        // The biases cancel: with one more than is wanted the sign is the top bit inverted.
        let top = c.logic("top", cat([!c.x(less).bit(w), c.x(less).bit(w - 1)]));
        let low = field(c, "low", less, w - 2, 0);
        let field = unbias(c, top, low);
        let (sign, mark) = (both(c, "sign", Binary::Xor, a.sign, b.sign), both(c, "mark", Binary::And, a.mark, b.mark));
        let invalid = b.mark.map(|m| c.logic("invalid", !c.x(m)));
        finish(self, inst, c, &Unbounded { field, sign, mark }, &[(Flags::INVALID, invalid)])
    }
}
