//! `tolog`: a float of few fraction bits as the nearest log, or the one below (RULES N5), by a table of the significand's logarithm.

use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{self, Parts, float_frac, pack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::Range;
use crate::op::pieces::float_parts::{max_field, nonzero, unpack};
use crate::op::pieces::log_parts::{Unbounded, c_type, field_bits, finish};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Tolog;

impl Operator for Tolog {
    fn name(&self) -> &'static str {
        "tolog"
    }

    fn summary(&self) -> &'static str {
        "float of at most F + 2 fraction bits to log; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_float() && to.is_log() && a.mant() <= float_frac(to.log_frac()) => Ok(to),
            _ => Err("`tolog` takes a float of at most F + 2 fraction bits to a log".into()),
        }
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

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (from, to) = (inst.args[0], inst.result);
        let Some(x) = unpack(from, args[0]) else { return (0, Flags::NONE) };
        let fraction = x.sig & ((1 << from.mant()) - 1);
        let whole = (x.exp as i64 + from.mant() as i64) << to.log_frac();
        let log = whole + lns::logs(to.log_frac(), from.mant(), inst.attrs.round)[fraction as usize] as i64;
        pack(to, Parts { negative: x.negative, log }, Flags::SATURATION)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        (args[0], Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Same, inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("(({}){})", c_type(inst.result), args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (from, to) = (inst.args[0], inst.result);
        let table = lns::logs(to.log_frac(), from.mant(), inst.attrs.round);
        let fraction = format!("(uint32_t)({} & {:#x}u)", args[0], (1u32 << from.mant()) - 1);
        let log = c.look_up(table.iter().map(|t| *t as i64).collect(), fraction);
        let field = floats::field(c, from, inst.is_nonneg(0), &args[0]);
        let scale = 1 << to.log_frac();
        let field = c.set(I32, format!("({field} - {}) * {scale} + (int32_t){log} + {}", from.bias(), to.bias()));
        let (sign, live) = (logs::sign(inst, c, &args[0]), floats::none_zero(inst, c, args, &[0]));
        logs::bound(c, to, &field, sign, live, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to, x) = (inst.args[0], inst.result, args[0]);
        let (w, m, frac) = (from.width(), from.mant(), to.log_frac());
        let exp = field(c, "exp", x, w - 2, m);
        let address = field(c, "address", x, m - 1, 0);
        let table: Vec<u64> = lns::logs(frac, m, inst.attrs.round).iter().map(|l| *l as u64).collect();
        // Close to 2 a logarithm may round up to 1.
        let carries = table.iter().any(|l| l >> frac != 0);
        let row = c.rom("log", frac + carries as u32, address, table);
        let fraction = field(c, "fraction", row, frac - 1, 0);
        let whole = field_bits(to) - frac;
        let offset = (1i64 << (whole - 1)) - from.bias() as i64;
        let range = Range { low: (1 + offset).min(-1), high: (max_field(from) + offset + 1).max(1 << whole) };
        let bits = range.bits(from).max(whole + 2);
        let (power, offset) = (c.x(exp), X::constant(bits, offset as i128));
        let power = if carries {
            let one = cat([power, X::flag(true)]).zext(bits + 1);
            let sum = c.logic("sum", one + cat([offset, c.x(row).bit(frac)]));
            c.logic("power", c.x(sum).slice(bits, 1))
        } else {
            c.logic("power", power.zext(bits) + offset)
        };
        let field_ = c.logic("log", c.cat(&[power, fraction]));
        let mark = nonzero(c, inst, 0, exp);
        let sign = (!inst.is_nonneg(0)).then(|| field(c, "sign", x, w - 1, w - 1));
        finish(self, inst, c, &Unbounded { field: field_, sign, mark }, &[])
    }
}
