//! `fscale` and `fscalev`: a float times a power of two, fixed or given at run time (RULES N4).

use super::float_parts::{Value, c_suffix, one_float, round, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
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

    fn flags(&self, inst: &Inst) -> Flags {
        Flags::OVERFLOW.when(inst.attrs.n > 0) | Flags::UNDERFLOW.when(inst.attrs.n < 0)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        scaled(inst.result, args[0], inst.attrs.n as i64)
    }

    fn real(&self, inst: &Inst, args: &[f64]) -> f64 {
        times_power(args[0], inst.attrs.n as f64)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("ldexp{}({}, {})", c_suffix(inst.result), args[0], inst.attrs.n)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
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

    fn flags(&self, inst: &Inst) -> Flags {
        let (up, down) = directions(inst);
        Flags::OVERFLOW.when(up) | Flags::UNDERFLOW.when(down)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        // Beyond 2^20 every amount has the same effect as 2^20.
        let amount = inst.args[1].to_int(args[1]).clamp(-(1 << 20), 1 << 20) as i64;
        scaled(inst.result, args[0], amount * inst.attrs.d as i64)
    }

    fn real(&self, inst: &Inst, args: &[f64]) -> f64 {
        times_power(args[0], args[1] * inst.attrs.d as f64)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let sign = if inst.attrs.d < 0 { "-" } else { "" };
        // The amount is bounded first, since it is a 64-bit integer and ldexp takes an int.
        let bounded = match inst.args[1] {
            Format::Int { width: 64, signed: false } => {
                format!("(int)((uint64_t)({0}) > 4096 ? 4096 : ({0}))", args[1])
            }
            _ => format!("(int)(({0}) > 4096 ? 4096 : ({0}) < -4096 ? -4096 : ({0}))", args[1]),
        };
        format!("ldexp{}({}, {sign}{bounded})", c_suffix(inst.result), args[0])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}

/// Whether a variable amount can make the result larger, and whether it can make it smaller.
fn directions(inst: &Inst) -> (bool, bool) {
    let signed = inst.args[1].is_signed() && !inst.is_nonneg(1);
    (inst.attrs.d > 0 || signed, inst.attrs.d < 0 || signed)
}

fn scaled(format: Format, bits: u64, amount: i64) -> (u64, Flags) {
    let Some(x) = unpack(format, bits) else { return (0, Flags::NONE) };
    let value = Value { negative: x.negative, mag: x.sig as u128, exp: x.exp as i64 + amount, sticky: false };
    round(format, value, Flags::OVERFLOW)
}

/// x * 2^n, in two steps since 2^n alone may leave f64's range.
fn times_power(x: f64, n: f64) -> f64 {
    let half = (n / 2.0).trunc();
    x * half.exp2() * (n - half).exp2()
}
