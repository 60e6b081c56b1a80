//! `lscale` and `lscalev`: a log times a power of two, fixed or given at run time (RULES N4).

use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::facts::Fold;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::fold;
use crate::op::pieces::log_parts::{Unbounded, field_bits, fields, finish, one_log};
use crate::op::pieces::monotone::Ends;
use crate::op::pieces::scale;
use crate::op::pieces::scale::{Amount, amount, beyond, c_amount, directions, extremes, times_power};
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Lscale;
pub struct Lscalev;

impl Operator for Lscale {
    fn name(&self) -> &'static str {
        "lscale"
    }

    fn summary(&self) -> &'static str {
        "log times a constant power of two"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_log("lscale", args)
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
        format!("ldexp({}, {})", args[0], inst.attrs.n)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_scaled(inst, c, &args[0], &inst.attrs.n.clamp(-4096, 4096).to_string(), self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        if inst.attrs.n == 0 {
            return (args[0], None);
        }
        let whole = field_bits(inst.result) - inst.result.log_frac();
        // Beyond the range every amount has the same effect.
        let n = (inst.attrs.n as i64).clamp(-(1 << whole), 1 << whole);
        let bits = whole + 3;
        place(self, inst, c, args[0], |_, c, power| {
            c.logic("power", c.x(power).zext(bits) + X::constant(bits, n as i128))
        })
    }
}

impl Operator for Lscalev {
    fn name(&self) -> &'static str {
        "lscalev"
    }

    fn summary(&self) -> &'static str {
        "log times a variable power of two"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match args {
            [a, b] if a.is_log() && b.is_int() && attrs.d.abs() == 1 => Ok(*a),
            _ => Err("`lscalev` takes a log and an integer amount".into()),
        }
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Some(extremes(inst))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
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
        format!("ldexp({}, {})", args[0], c_amount(inst, args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let amount = scale::c_amount_of(inst, c, &args[1], 4096);
        c_scaled(inst, c, &args[0], &amount, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let whole = field_bits(inst.result) - inst.result.log_frac();
        let amount = Amount::new(inst, c, args[1], whole + 1);
        let bits = whole + 4;
        place(self, inst, c, args[0], |inst, c, power| {
            let (power, by) = (c.x(power).zext(bits), c.x(amount.low).extend(bits, amount.signed));
            let power = c.logic("power", if inst.attrs.d > 0 { power + by } else { power - by });
            match (&amount.huge, directions(inst)) {
                (None, _) => power,
                // The top bit is a sign, and must stay clear here.
                (Some(huge), (true, false)) => {
                    let (power, far) = (c.x(power), c.x(huge.huge));
                    c.logic("power", cat([X::flag(false), power.bit(bits - 2) | far, power.low(bits - 2)]))
                }
                (Some(huge), _) => beyond(inst, c, power, huge),
            }
        })
    }
}

fn scaled(format: Format, bits: u64, amount: i64) -> (u64, Flags) {
    let Some(x) = unpack(format, bits) else { return (0, Flags::NONE) };
    pack(format, Parts { log: x.log + (amount << format.log_frac()), ..x }, Flags::OVERFLOW)
}

/// The result whose logarithm has the whole part that `change` makes of the argument's.
fn place(
    op: &dyn Operator,
    inst: &Inst,
    c: &mut Circuit,
    x: Sig,
    change: impl Fn(&Inst, &mut Circuit, Sig) -> Sig,
) -> (Sig, Option<Sig>) {
    let (w, f) = (field_bits(inst.result), inst.result.log_frac());
    let a = fields(inst, c, 0, x);
    let power = field(c, "whole", a.field, w - 1, f);
    let fraction = field(c, "fraction", a.field, f - 1, 0);
    let power = change(inst, c, power);
    let field = c.logic("scaled", c.cat(&[power, fraction]));
    finish(op, inst, c, &Unbounded { field, sign: a.sign, mark: a.mark }, &[])
}

/// C: the logarithm plus an amount of whole ones, which is at most 2^12 either way.
fn c_scaled(inst: &Inst, c: &mut CText, x: &CVar, amount: &str, flags: Flags) -> CVar {
    let field = logs::field(c, inst.result, x);
    let field = c.set(I32, format!("{field} + ({amount}) * {}", 1 << inst.result.log_frac()));
    let (sign, live) = (floats::sign(inst, c, 0, x), floats::none_zero(inst, c, std::slice::from_ref(x), &[0]));
    logs::bound(c, inst.result, &field, sign, live, flags)
}
