//! `fromlog`: a log as the nearest float of few fraction bits, or the one below (RULES N5), by a table of the fraction's power of two.

use crate::Rounding;
use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{self, float_frac, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32, U32};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::{self, Value, c_type};
use crate::op::pieces::log_parts::{field_bits, fields};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Fromlog;

impl Operator for Fromlog {
    fn name(&self) -> &'static str {
        "fromlog"
    }

    fn summary(&self) -> &'static str {
        "log to float of at most F + 2 fraction bits; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_log() && to.is_float() && to.mant() <= float_frac(a.log_frac()) => Ok(to),
            _ => Err("`fromlog` takes a log to a float of at most F + 2 fraction bits".into()),
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
        let (frac, m) = (from.log_frac(), to.mant());
        let fraction = lns::powers(frac, m, inst.attrs.round)[(x.log & ((1 << frac) - 1)) as usize];
        let mag = (1u128 << m) + fraction as u128;
        let value = Value { negative: x.negative, mag, exp: (x.log >> frac) - m as i64, sticky: false };
        float_parts::round(to, Rounding::Nearest, value, Flags::SATURATION)
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
        let (frac, m) = (from.log_frac(), to.mant());
        let field = logs::field(c, from, &args[0]);
        let log = c.set(I32, format!("{field} - {}", from.bias()));
        let table = lns::powers(frac, m, inst.attrs.round).iter().map(|t| *t as i64 + (1 << m)).collect();
        let power = c.look_up(table, format!("{log} & {:#x}", (1 << frac) - 1));
        let value = floats::Value {
            magnitude: c.set(U32, power),
            bits: m + 2,
            least: m,
            sticky: false,
            exp: format!("({log} >> {frac})"),
            offset: to.bias() as i64 - m as i64,
            sign: logs::sign(inst, c, &args[0]),
            live: floats::none_zero(inst, c, args, &[0]),
        };
        floats::round(c, to, false, value, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to) = (inst.args[0], inst.result);
        let (w, frac, m) = (field_bits(from), from.log_frac(), to.mant());
        let a = fields(inst, c, 0, args[0]);
        let address = field(c, "address", a.field, frac - 1, 0);
        let table: Vec<u64> = lns::powers(frac, m, inst.attrs.round).iter().map(|p| *p as u64).collect();
        // Close to 2 a significand of few bits may round up to it.
        let carries = table.iter().any(|p| p >> m != 0);
        let row = c.rom("power", m + carries as u32, address, table);
        let fraction = field(c, "fraction", row, m - 1, 0);
        let whole = field(c, "whole", a.field, w - 1, frac);
        let n = w - frac;
        let offset = to.bias() as i64 - (1i64 << (n - 1));
        let range = Range { low: offset, high: offset + (1 << n) };
        let in_range = self.flags(inst).is_empty();
        let range = if in_range { Range { low: 1, high: float_parts::max_field(to) } } else { range };
        let bits = range.bits(to).max(n);
        let (power, offset) = (c.x(whole), X::constant(bits, offset as i128));
        let exp = if carries {
            let one = cat([power, X::flag(true)]).zext(bits + 1);
            let sum = c.logic("sum", one + cat([offset, c.x(row).bit(m)]));
            c.logic("exp", c.x(sum).slice(bits, 1))
        } else {
            c.logic("exp", power.zext(bits) + offset)
        };
        // As many bits as the range has.
        let exp = field(c, "exp", exp, range.bits(to) - 1, 0);
        let packed = c.logic("float", c.cat(&[exp, fraction]));
        finish(self, inst, c, &Rounded { format: to, range, packed, sign: a.sign, nonzero: a.mark })
    }
}
