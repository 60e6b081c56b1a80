//! `fdiv`: correctly rounded float division; a zero divisor gives 0 and `invalid` (RULES N2, N3).

use super::float_parts::{Value, c_suffix, round, same_floats, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::{Flags, Format};

pub struct Fdiv;

impl Operator for Fdiv {
    fn name(&self) -> &'static str {
        "fdiv"
    }

    fn summary(&self) -> &'static str {
        "float division; by zero gives 0 and `invalid`"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fdiv", args)
    }

    fn flags(&self, _: &Inst) -> Flags {
        Flags::OVERFLOW | Flags::UNDERFLOW | Flags::INVALID
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let Some(b) = unpack(format, args[1]) else { return (0, Flags::INVALID) };
        let Some(a) = unpack(format, args[0]) else { return (0, Flags::NONE) };
        let (dividend, divisor) = ((a.sig as u128) << 64, b.sig as u128);
        let value = Value {
            negative: a.negative != b.negative,
            mag: dividend / divisor,
            exp: (a.exp - b.exp) as i64 - 64,
            sticky: dividend % divisor != 0,
        };
        round(format, value, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        if args[1] == 0.0 { 0.0 } else { args[0] / args[1] }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let zero = format!("0.0{}", c_suffix(inst.result));
        format!("({1} != {zero} ? {0} / {1} : {zero})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}
