//! `fcast`: a float as the nearest float of another format (RULES N2, N5).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::Accuracy;
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Loss};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::{Value, c_type, fields, max_field, one_float, round, unpack};
use crate::op::pieces::fold;
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
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

    fn loss(&self, inst: &Inst, _: u32) -> Option<Loss> {
        let fewer = inst.result.exp() < inst.args[0].exp();
        let largest = inst.bounds(0).high as u64;
        (fewer && self.bits(inst, &[largest]).1.contains(Flags::SATURATION)).then_some(Loss::Range)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Cast)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let value = Value { negative: x.negative, mag: x.sig as u128, exp: x.exp as i64, sticky: false };
        round(inst.result, inst.attrs.round, value, Flags::SATURATION)
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
        let (from, to) = (inst.args[0], inst.result);
        let m = from.mant();
        let value = floats::Value {
            magnitude: floats::significand(c, from, &args[0]),
            bits: m + 1,
            least: m,
            sticky: false,
            exp: floats::field(c, from, inst.is_nonneg(0), &args[0]).text,
            offset: (to.bias() - from.bias()) as i64 - m as i64,
            sign: floats::moved_sign(inst, c, 0, &args[0]),
            live: floats::none_zero(inst, c, args, &[0]),
        };
        floats::round(c, to, inst.truncates(), value, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to) = (inst.args[0], inst.result);
        let (e, m) = (from.exp(), to.mant());
        let f = fields(c, from, args[0]);
        let offset = (to.bias() - from.bias()) as i64;
        let range = Range { low: 1 + offset, high: max_field(from) + offset + 1 };
        // Where no result leaves the format, the exponent's upper bits are not needed.
        let range = if self.flags(inst).is_empty() { Range { low: 1, high: max_field(to) } } else { range };
        let bits = range.bits(to);
        // Of a longer exponent the upper bits only tell whether it is 0.
        let field_exp = if bits < e { field(c, "low_exp", f.exp, bits - 1, 0) } else { f.exp };
        let exp = c.x(field_exp).zext(bits);
        let offsets = X::constant(bits, offset as i128);
        let packed = if from.mant() <= m || inst.truncates() {
            let mut shifted = field_exp;
            if offset != 0 || bits != e {
                shifted = c.logic("exp", exp + offsets);
            }
            let kept = from.mant().min(m);
            let upper = field(c, "upper", f.fraction, from.mant() - 1, from.mant() - kept);
            c.logic("cast", c.cat(&[shifted, upper]).shl(m - kept))
        } else {
            let (fraction, up) = round_fraction(c, f.fraction, m);
            let ups = cat([offsets, c.x(up).zext(m)]);
            c.logic("rounded", cat([exp, c.x(fraction)]) + ups)
        };
        let sign = (!inst.is_nonneg(0)).then_some(f.sign);
        // With equal exponents a zero comes out as one by itself.
        let nonzero = (offset != 0).then_some(f.nonzero);
        finish(self, inst, c, &Rounded { format: to, range, packed, sign, nonzero })
    }
}

/// The upper `m` bits of a fraction and whether the rest rounds them up.
fn round_fraction(c: &mut Circuit, fraction: Sig, m: u32) -> (Sig, Sig) {
    let rest = c.width(fraction) - m;
    let upper = field(c, "upper", fraction, rest + m - 1, rest);
    let near = field(c, "near", fraction, rest, rest - 1);
    let (guard, least) = (c.x(near).bit(0), c.x(near).bit(1));
    let up = if rest > 1 {
        let below = any(c, fraction, rest - 2, 0, None);
        c.logic("up", guard & (least | c.x(below)))
    } else {
        c.logic("up", guard & least)
    };
    (upper, up)
}
