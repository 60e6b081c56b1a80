//! `fmul`: correctly rounded float multiplication (RULES N2).

use super::float_parts::{Value, round, same_floats, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::{Flags, Format};

pub struct Fmul;

impl Operator for Fmul {
    fn name(&self) -> &'static str {
        "fmul"
    }

    fn summary(&self) -> &'static str {
        "float multiplication"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fmul", args)
    }

    fn flags(&self, _: &Inst) -> Flags {
        Flags::OVERFLOW | Flags::UNDERFLOW
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let (Some(a), Some(b)) = (unpack(format, args[0]), unpack(format, args[1])) else {
            return (0, Flags::NONE);
        };
        let value = Value {
            negative: a.negative != b.negative,
            mag: a.sig as u128 * b.sig as u128,
            exp: (a.exp + b.exp) as i64,
            sticky: false,
        };
        round(format, value, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0] * args[1]
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} * {})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}
