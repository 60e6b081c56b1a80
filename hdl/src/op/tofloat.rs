//! `tofloat`: an int or fixed as the nearest float (RULES N2, N5).

use super::float_parts::{Value, c_suffix, c_type, round};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::{Flags, Format};

pub struct Tofloat;

impl Operator for Tofloat {
    fn name(&self) -> &'static str {
        "tofloat"
    }

    fn summary(&self) -> &'static str {
        "int or fixed to float; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if !a.is_float() && to.is_float() => Ok(to),
            _ => Err("`tofloat` takes an int or fixed to a float".into()),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // The largest magnitude and the smallest one decide, since rounding is monotone.
        let from = inst.args[0];
        let largest = if from.is_signed() && !inst.is_nonneg(0) { from.min_bits() } else { from.max_bits() };
        self.bits(inst, &[largest]).1 | self.bits(inst, &[1]).1
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let from = inst.args[0];
        let x = from.to_int(args[0]);
        let exp = -(from.frac().expect("an int or fixed") as i64);
        let value = Value { negative: x < 0, mag: x.unsigned_abs(), exp, sticky: false };
        round(inst.result, value, Flags::SATURATION)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0]
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let unsigned = if inst.args[0].is_signed() { "" } else { "(uint64_t)" };
        let integer = format!("({}){unsigned}({})", c_type(inst.result), args[0]);
        match inst.args[0].frac() {
            None | Some(0) => format!("({integer})"),
            Some(frac) => format!("({integer} * 0x1p-{frac}{})", c_suffix(inst.result)),
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}
