//! `fcast`: a float as the nearest float of another format (RULES N2, N5).

use super::float_parts::{Value, c_type, one_float, round, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::{Flags, Format};

pub struct Fcast;

impl Operator for Fcast {
    fn name(&self) -> &'static str {
        "fcast"
    }

    fn summary(&self) -> &'static str {
        "float to float; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        one_float("fcast", args)?;
        attrs.to.filter(|to| to.is_float()).ok_or_else(|| "`fcast` casts to a float".into())
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // The largest and the smallest magnitude decide, since rounding is monotone.
        let from = inst.args[0];
        self.bits(inst, &[from.max_bits()]).1 | self.bits(inst, &[1 << from.mant()]).1
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let value = Value { negative: x.negative, mag: x.sig as u128, exp: x.exp as i64, sticky: false };
        round(inst.result, value, Flags::SATURATION)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0]
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("(({}){})", c_type(inst.result), args[0])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}
