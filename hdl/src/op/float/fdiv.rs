//! `fdiv`: correctly rounded float division; a zero divisor gives 0 and `invalid` (RULES N2, N3).

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::Fast;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, flag_port, pack, sign_of_product};
use crate::op::pieces::float_parts::{Value, c_suffix, max_field, round, same_floats, unpack};
use crate::op::pieces::monotone::Ends;
use crate::op::semantics::{Real, quotient};
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
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

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // A number by itself is 1.
        let ends = self.ends(inst).filter(|_| !inst.same);
        ends.map_or(Flags::NONE, |ends| ends.flags(self, inst)) | Flags::INVALID.when(inst.bounds(1).zero)
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        Ends::of_two(inst, true)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Div)
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
        round(format, inst.attrs.round, value, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        quotient(args[0], args[1])
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Quotient, inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let zero = format!("0.0{}", c_suffix(inst.result));
        format!("({1} != {zero} ? {0} / {1} : {zero})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (format, m) = (inst.result, inst.result.mant());
        let flags = Flags(self.flags(inst).0 & !Flags::INVALID.0);
        let parts = |c: &mut CText, k: usize| {
            (floats::field(c, format, inst.is_nonneg(k), &args[k]), floats::significand(c, format, &args[k]))
        };
        let ((ea, sa), (eb, sb)) = (parts(c, 0), parts(c, 1));
        // The quotient has three places more than the result, and the last one says whether there are others.
        let kind = CType::unsigned(2 * m + 4);
        let dividend = c.set(kind, format!("({kind}){sa} << {}", m + 3));
        let quotient = c.set(kind, format!("{dividend} / {sb}"));
        if inst.bounds(1).zero {
            c.raise(Flags::INVALID, format!("{} == 0", args[1]));
        }
        let value = floats::Value {
            magnitude: c.set(kind, format!("{quotient} | ({quotient} * {sb} != {dividend})")),
            bits: m + 4,
            least: m + 2,
            sticky: true,
            exp: format!("{ea} - {eb}"),
            offset: format.bias() as i64 - m as i64 - 3,
            sign: floats::sign_of_product(inst, c, args),
            live: floats::none_zero(inst, c, args, &[0, 1]),
        };
        floats::round(c, format, inst.truncates(), value, flags)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let (w, e, m) = (format.width(), format.exp(), format.mant());
        let sign = sign_of_product(inst, c, args);
        let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
        let nonzero = c.logic("nonzero", c.x(exps[0]).any() & c.x(exps[1]).any());
        let invalid = c.logic("invalid", c.x(exps[1]).none());
        let (largest, bias) = (max_field(format), format.bias() as i64);
        let range = Range { low: bias - largest, high: bias + largest };
        let bits = range.bits(format);
        // The bias is 2^(E-1) - 1, so that bias - exponent needs no adder.
        let divisor = c.x(exps[1]);
        let less = cat([divisor.msb().repeat(bits - e + 1), !divisor.low(e - 1)]);
        let exp = c.logic("exp", c.x(exps[0]).zext(bits) + less);
        let fractions = [field(c, "fraction", args[0], m - 1, 0), field(c, "fraction", args[1], m - 1, 0)];
        // One place more than the result has in the lower octave, and one to round by.
        let places = m + 2 - inst.truncates() as u32;
        let quotient = divide(c, fractions, m, places);
        // A quotient below 1 has its fraction one place lower, and an exponent one less. No quotient of two
        // significands lies half-way between two others, so that the bit below the last place decides alone.
        let one = field(c, "one", quotient, places, places);
        let (digits, whole) = (c.x(quotient), c.x(one));
        let chosen = c.logic("chosen", whole.mux(&digits.slice(places - 1, 1), &digits.slice(places - 2, 0)));
        let packed = if inst.truncates() {
            let exp = c.logic("exp", c.x(exp) + (!whole).repeat(bits));
            c.logic("cut", c.cat(&[exp, chosen]))
        } else {
            let chosen = c.x(chosen);
            let offset = cat([(!whole).repeat(bits), chosen.bit(0).zext(m)]);
            c.logic("rounded", cat([c.x(exp), chosen.slice(m, 1)]) + offset)
        };
        let flags = self.flags(inst);
        let p = pack(c, &Rounded { format, range, packed, sign, nonzero: Some(nonzero) }, flags);
        let conditions = [(Flags::OVERFLOW, p.above), (Flags::UNDERFLOW, p.below), (Flags::INVALID, Some(invalid))];
        (p.bits, flag_port(c, flags, &conditions))
    }
}

/// The quotient of two significands, given by their fractions of `m` bits: one bit before the point and `places`
/// after it, cut off. A non-restoring array: each row adds or subtracts the divisor, and its sign is the next bit.
pub(in crate::op) fn divide(c: &mut Circuit, fractions: [Sig; 2], m: u32, places: u32) -> Sig {
    let width = m + 2;
    let (dividend, divisor) = (c.x(fractions[0]), cat([X::constant(2, 1), c.x(fractions[1])]));
    let mut rest = c.logic("rest", dividend.zext(width) - c.x(fractions[1]).zext(width));
    let mut digits = vec![c.logic("digit", !c.x(rest).msb())];
    for _ in 0..places {
        let digit = c.x(digits[digits.len() - 1]);
        let sum = cat([c.x(rest).low(m + 1), digit.clone()]) + (&divisor ^ digit.repeat(width));
        rest = c.logic_at("rest", sum, Cost::Add(width + 1), "the carry into the chain takes a place of it");
        digits.push(c.logic("digit", !c.x(rest).msb()));
    }
    c.logic("quotient", c.cat(&digits))
}
