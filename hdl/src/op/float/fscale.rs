//! `fscale` and `fscalev`: a float times a power of two, fixed or given at run time (RULES N4).

use crate::Rounding;
use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::{Value, c_suffix, fields, max_field, one_float, round, unpack};
use crate::op::pieces::fold;
use crate::op::pieces::monotone::Ends;
use crate::op::pieces::scale;
use crate::op::pieces::scale::{Amount, amount, beyond, c_amount, directions, extremes, times_power};
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Fscale;
pub struct Fscalev;

impl Operator for Fscale {
    fn name(&self) -> &'static str {
        "fscale"
    }

    fn summary(&self) -> &'static str {
        "float times a constant power of two"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_float("fscale", args)
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_one(inst)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::shift(inst)
    }

    fn vanishes(&self, inst: &Inst, _: u32) -> Option<bool> {
        Some(self.bits(inst, &[inst.bounds(0).high as u64]).0 == 0)
    }

    fn fast(&self, inst: &Inst) -> Option<Fast> {
        Some(Fast::Scale(inst.attrs.n))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        scaled(inst.result, args[0], inst.attrs.n as i64)
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        times_power(args[0], inst.attrs.n as i128)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Scaled(inst.attrs.n))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("ldexp{}({}, {})", c_suffix(inst.result), args[0], inst.attrs.n)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_scaled(inst, c, &args[0], &inst.attrs.n.to_string(), self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let e = format.exp();
        if inst.attrs.n == 0 {
            return (args[0], None);
        }
        // Beyond the exponent's range every amount has the same effect.
        let n = (inst.attrs.n as i64).clamp(-(1 << e), 1 << e);
        let range = Range { low: 1 + n, high: max_field(format) + n };
        let bits = range.bits(format);
        let f = fields(c, format, args[0]);
        let exp = c.logic("exp", c.x(f.exp).zext(bits) + X::constant(bits, n as i128));
        let packed = c.logic("scaled", c.cat(&[exp, f.fraction]));
        let sign = (!inst.is_nonneg(0)).then_some(f.sign);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero: Some(f.nonzero) })
    }
}

impl Operator for Fscalev {
    fn name(&self) -> &'static str {
        "fscalev"
    }

    fn summary(&self) -> &'static str {
        "float times a variable power of two"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match args {
            [a, b] if a.is_float() && b.is_int() && attrs.d.abs() == 1 => Ok(*a),
            _ => Err("`fscalev` takes a float and an integer amount".into()),
        }
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Some(extremes(inst))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
    }

    fn fast(&self, inst: &Inst) -> Option<Fast> {
        Some(Fast::ScaleBy(inst.attrs.d))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        scaled(inst.result, args[0], amount(inst, args[1]))
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        times_power(args[0], inst.args[1].to_int(args[1].bits()) * inst.attrs.d as i128)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::ScaledBy(inst.attrs.d))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("ldexp{}({}, {})", c_suffix(inst.result), args[0], c_amount(inst, args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let amount = scale::c_amount_of(inst, c, &args[1], 1 << (inst.result.exp() + 1));
        c_scaled(inst, c, &args[0], &amount, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let e = format.exp();
        let (up, down) = directions(inst);
        let amount = Amount::new(inst, c, args[1], e + 1);
        // An amount of up to E + 1 bits, either way, reaches beyond both ends of the exponent's range.
        let reach = 1i64 << (e + 1);
        let range =
            Range { low: 1 - if down { reach } else { 0 }, high: max_field(format) + if up { reach } else { 0 } };
        let bits = range.bits(format);
        let f = fields(c, format, args[0]);
        let (field, by) = (c.x(f.exp).zext(bits), c.x(amount.low).extend(bits, amount.signed));
        let mut exp = c.logic("exp", if inst.attrs.d > 0 { field + by } else { field - by });
        if let Some(huge) = amount.huge {
            exp = beyond(inst, c, exp, &huge);
        }
        let packed = c.logic("scaled", c.cat(&[exp, f.fraction]));
        let sign = (!inst.is_nonneg(0)).then_some(f.sign);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero: Some(f.nonzero) })
    }
}

fn scaled(format: Format, bits: u64, amount: i64) -> (u64, Flags) {
    let Some(x) = unpack(format, bits) else { return (0, Flags::NONE) };
    let value = Value { negative: x.negative, mag: x.sig as u128, exp: x.exp as i64 + amount, sticky: false };
    round(format, Rounding::Nearest, value, Flags::OVERFLOW)
}

/// C: the exponent field plus an amount.
fn c_scaled(inst: &Inst, c: &mut CText, x: &CVar, amount: &str, flags: Flags) -> CVar {
    let format = inst.result;
    let (sign, live) = (floats::sign(inst, c, 0, x), floats::none_zero(inst, c, std::slice::from_ref(x), &[0]));
    let (magnitude, kind) = (floats::magnitude(inst, c, 0, x), floats::packed_type(format, flags));
    let reach = 1 << (format.exp() + 1);
    let amount = amount.parse::<i64>().map_or(amount.to_string(), |n| n.clamp(-reach, reach).to_string());
    let packed = c.set(kind, format!("({kind}){magnitude} + ({kind})({amount}) * {}", 1u64 << format.mant()));
    floats::bound(c, format, &packed, sign, live, flags)
}
