//! `tofloat`: an int or fixed as the nearest float (RULES N2, N5).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::Accuracy;
use crate::op::ctext::floats;
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Loss};
use crate::op::pieces::float_parts::leading::leading;
use crate::op::pieces::float_parts::logic::{constant_if, field};
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::{Value, c_suffix, c_type, max_field, round};
use crate::op::pieces::monotone::Ends;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
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
            ([a], Some(to)) if a.is_integral() && to.is_float() => Ok(to),
            _ => Err("`tofloat` takes an int or fixed to a float".into()),
        }
    }

    fn rounds(&self) -> bool {
        true
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        let (least, greatest) = extremes(inst);
        Some(Ends { least: vec![least], greatest: vec![greatest], zero: inst.bounds(0).zero })
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn loss(&self, inst: &Inst, _: u32) -> Option<Loss> {
        let b = inst.bounds(0);
        let ends = [b.low, b.high].map(|x| x as u64 & inst.args[0].mask());
        ends.iter().any(|x| self.bits(inst, &[*x]).1.contains(Flags::SATURATION)).then_some(Loss::Range)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Cast)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let from = inst.args[0];
        let x = from.to_int(args[0]);
        let exp = -(from.frac().expect("an int or fixed") as i64);
        let value = Value { negative: x < 0, mag: x.unsigned_abs(), exp, sticky: false };
        round(inst.result, inst.attrs.round, value, Flags::SATURATION)
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].value(inst.args[0]))
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::cast(inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let unsigned = if inst.args[0].is_signed() { "" } else { "(uint64_t)" };
        let integer = format!("({}){unsigned}({})", c_type(inst.result), args[0]);
        match inst.args[0].frac() {
            None | Some(0) => format!("({integer})"),
            Some(frac) => format!("({integer} * 0x1p-{frac}{})", c_suffix(inst.result)),
        }
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (from, to, x) = (inst.args[0], inst.result, &args[0]);
        let (bits, least) = floats::bits_of(inst.bounds(0));
        let (_, magnitude) = ints::magnitude(inst, c, 0, x);
        let value = floats::Value {
            magnitude,
            bits,
            least,
            sticky: false,
            exp: "0".into(),
            offset: to.bias() as i64 - from.frac().unwrap_or(0) as i64,
            sign: floats::moved_sign(inst, c, 0, x),
            live: floats::none_zero(inst, c, args, &[0]),
        };
        floats::round(c, to, inst.truncates(), value, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, format) = (inst.args[0], inst.result);
        let m = format.mant();
        let x = Argument::new(inst, c, args[0]);
        let width = c.width(x.value);
        let most = if x.complement.is_some() { width } else { width - 1 };
        let n = leading(c, x.value, x.complement, most, m, inst.attrs.round);
        // The exponent of the top bit, less the count of zeros above the leading one.
        let flags = self.flags(inst);
        let lowest = format.bias() as i64 - from.frac().expect("an int or fixed") as i64;
        let range = Range { low: lowest, high: lowest + width as i64 };
        let range = if flags.is_empty() { Range { low: 1, high: max_field(format) } } else { range };
        let bits = range.bits(format);
        let top = lowest + width as i64 - 1;
        let digits = n.unmoved.map_or(0, |s| c.width(s));
        let start = top + 1 - (1i64 << digits);
        // Of a longer count the upper bits do not reach the exponent, which lies within the format then.
        let count = n.unmoved.map(|s| {
            parts::unused_bits(c, s, digits as i64 - 1, bits);
            if digits > bits { field(c, "count", s, bits - 1, 0) } else { s }
        });
        let zero = inst.bounds(0).zero;
        // Of a zero nothing is set but the constant, which then must not be.
        let some = c.x(n.nonzero);
        let start = constant_if(bits, start, (flags.is_empty() && zero).then_some(&some));
        let nonzero = (zero && !flags.is_empty()).then_some(n.nonzero);
        let count = count.map_or(X::zeros(0), |s| c.x(s)).zext(bits);
        let packed = match n.up {
            None => {
                let exp = c.logic("exp", count + start);
                c.logic("cut", c.cat(&[exp, n.fraction]))
            }
            Some(up) => {
                let ups = cat([start, c.x(up).zext(m)]);
                c.logic("rounded", cat([count, c.x(n.fraction)]) + ups)
            }
        };
        finish(self, inst, c, &Rounded { format, range, packed, sign: x.sign, nonzero })
    }
}

/// The arguments of the least magnitude other than 0 and of the greatest one.
fn extremes(inst: &Inst) -> (u64, u64) {
    let (b, mask) = (inst.bounds(0), inst.args[0].mask());
    let least = match (b.low, b.high) {
        (1.., _) => b.low,
        (_, ..=-1) => b.high,
        (_, 1..) => 1,
        (..=-1, _) => -1,
        _ => 0,
    };
    let greatest = if -b.low > b.high { b.low } else { b.high };
    (least as u64 & mask, greatest as u64 & mask)
}

/// The argument as bits below a sign.
struct Argument {
    value: Sig,
    /// The sign that `value` is the two's complement of.
    complement: Option<Sig>,
    /// The sign of the result.
    sign: Option<Sig>,
}

impl Argument {
    fn new(inst: &Inst, c: &mut Circuit, x: Sig) -> Argument {
        let signed = inst.args[0].is_signed();
        let width = used(inst);
        let x = field(c, "used", x, width - 1, 0);
        if !signed {
            return Argument { value: x, complement: None, sign: None };
        }
        if width == 1 {
            // 0 and -1 are their own magnitudes.
            return Argument { value: x, complement: None, sign: (!inst.is_nonneg(0)).then_some(x) };
        }
        let value = field(c, "low", x, width - 2, 0);
        if inst.is_nonneg(0) {
            return Argument { value, complement: None, sign: None };
        }
        let sign = field(c, "sign", x, width - 1, width - 1);
        Argument { value, complement: Some(sign), sign: Some(sign) }
    }
}

/// The bits that the argument needs within its bounds, with a sign bit if its format has one; those above are copies.
fn used(inst: &Inst) -> u32 {
    let bounds = inst.bounds(0);
    let bits = |n: i128| 128 - n.max(0).leading_zeros();
    let magnitude = bits(bounds.high).max(bits(-1 - bounds.low));
    (magnitude + inst.args[0].is_signed() as u32).max(1)
}
