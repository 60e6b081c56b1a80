//! `lcast`: a log as the nearest log of another format (RULES N5): its logarithm rounded, to even where it lies half-way.

use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::accuracy::Accuracy;
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::facts::Fold;
use crate::op::pieces::fold;
use crate::op::pieces::log_parts::{Unbounded, c_type, field_bits, fields, finish, one_log};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Lcast;

impl Operator for Lcast {
    fn name(&self) -> &'static str {
        "lcast"
    }

    fn summary(&self) -> &'static str {
        "log to log; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        one_log("lcast", args)?;
        attrs.to.filter(|to| to.is_log()).ok_or_else(|| "`lcast` casts to a log".into())
    }

    fn rounds(&self) -> bool {
        true
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_one(inst)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::cast(inst)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let (from, to) = (inst.args[0].log_frac(), inst.result.log_frac());
        let log = if to >= from {
            x.log << (to - from)
        } else {
            let drop = from - to;
            let (kept, rest, half) = (x.log >> drop, x.log & ((1 << drop) - 1), 1 << (drop - 1));
            kept + (!inst.truncates() && (rest > half || rest == half && kept & 1 == 1)) as i64
        };
        pack(inst.result, Parts { log, ..x }, Flags::SATURATION)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        (args[0], Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::cast(inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("(({}){})", c_type(inst.result), args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (from, to) = (inst.args[0].log_frac(), inst.result.log_frac());
        let field = logs::field(c, inst.args[0], &args[0]);
        let log = c.set(I32, format!("{field} - {}", inst.args[0].bias()));
        let log = match from.checked_sub(to) {
            None => format!("{log} * {}", 1 << (to - from)),
            Some(0) => log.text,
            Some(drop) if inst.truncates() => format!("({log} >> {drop})"),
            Some(drop) => format!("(({log} + {} + (({log} >> {drop}) & 1)) >> {drop})", (1 << (drop - 1)) - 1),
        };
        let field = c.set(I32, format!("{log} + {}", inst.result.bias()));
        let (sign, live) = (logs::sign(inst, c, &args[0]), floats::none_zero(inst, c, args, &[0]));
        logs::bound(c, inst.result, &field, sign, live, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to) = (inst.args[0], inst.result);
        let (w, shift) = (field_bits(from), to.log_frac() as i64 - from.log_frac() as i64);
        let a = fields(inst, c, 0, args[0]);
        // Signed, without the bias, at the new point; a bit above for what rounding carries.
        let kept = (w as i64 + shift.min(0)) as u32;
        let (x, left, right) = (c.x(a.field), shift.max(0) as u32, (-shift).max(0) as u32);
        let bits = (kept + left).max(field_bits(to)) + 3;
        let digits = x.slice(w - 2, right);
        let moved = cat([(!x.msb()).repeat(bits + 1 - kept - left), digits, X::zeros(left)]);
        let bias = X::constant(bits, to.bias() as i128);
        let field = if shift >= 0 || inst.truncates() {
            c.logic("power", moved + bias)
        } else {
            let odd = x.bit(right);
            let low = if right > 1 { odd | x.low(right - 1).any() } else { odd };
            let up = c.logic("up", x.bit(right - 1) & low);
            let sum = c.logic("rounded", cat([moved, X::flag(true)]) + cat([bias, c.x(up)]));
            c.logic("power", c.x(sum).slice(bits, 1))
        };
        finish(self, inst, c, &Unbounded { field, sign: a.sign, mark: a.mark }, &[])
    }
}
