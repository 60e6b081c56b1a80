//! `lmul`: the product of two logs, exact within the range (RULES N2).

use crate::circuit::{Circuit, Sig};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::facts::Fold;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::fold;
use crate::op::pieces::log_parts::{Unbounded, both, field_bits, fields, finish, same_logs, unbias};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Binary;
use crate::{Flags, Format};

pub struct Lmul;

impl Operator for Lmul {
    fn name(&self) -> &'static str {
        "lmul"
    }

    fn summary(&self) -> &'static str {
        "log multiplication: exact within the range"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_logs("lmul", args)
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_two(inst, false)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.same || inst.none_negative()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, _: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::product(constants)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let (Some(a), Some(b)) = (unpack(format, args[0]), unpack(format, args[1])) else {
            return (0, Flags::NONE);
        };
        let product = Parts { negative: a.negative != b.negative, log: a.log + b.log };
        pack(format, product, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64() * args[1].f64())
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Product)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} * {})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (a, b) = (logs::field(c, inst.result, &args[0]), logs::field(c, inst.result, &args[1]));
        let field = c.set(I32, format!("{a} + {b} - {}", inst.result.bias()));
        let (sign, live) = (floats::sign_of_product(inst, c, args), floats::none_zero(inst, c, args, &[0, 1]));
        logs::bound(c, inst.result, &field, sign, live, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let w = field_bits(inst.result);
        let a = fields(inst, c, 0, args[0]);
        let (sum, sign, mark) = if inst.same {
            (c.logic("sum", c.x(a.field).shl(1)), None, a.mark)
        } else {
            let b = fields(inst, c, 1, args[1]);
            let sum = c.logic("sum", c.x(a.field).zext(w + 1) + c.x(b.field).zext(w + 1));
            (sum, both(c, "sign", Binary::Xor, a.sign, b.sign), both(c, "mark", Binary::And, a.mark, b.mark))
        };
        let top = field(c, "top", sum, w, w - 1);
        let low = field(c, "low", sum, w - 2, 0);
        let field = unbias(c, top, low);
        finish(self, inst, c, &Unbounded { field, sign, mark }, &[])
    }
}
