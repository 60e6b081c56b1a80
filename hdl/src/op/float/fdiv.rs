//! `fdiv`: correctly rounded float division; a zero divisor gives 0 and `invalid` (RULES N2, N3).

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::meaning::{Real, quotient};
use crate::op::pieces::float_parts::pack::{Range, Rounded, flag_port, pack, sign_of_product};
use crate::op::pieces::float_parts::text::{arg, cat, field, repeat, slice, zeros};
use crate::op::pieces::float_parts::{Value, c_suffix, max_field, round, same_floats, unpack};
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

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
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let range = self.bits(inst, &[la, hb]).1 | self.bits(inst, &[ha, lb]).1;
        range | Flags::INVALID.when(inst.bounds(1).zero)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let zero = inst.bounds(0).zero || inst.bounds(1).zero;
        Bounds::floats(inst.result, self.bits(inst, &[la, hb]).0, self.bits(inst, &[ha, lb]).0, zero)
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

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let zero = format!("0.0{}", c_suffix(inst.result));
        format!("({1} != {zero} ? {0} / {1} : {zero})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let (w, e, m) = (format.width(), format.exp(), format.mant());
        let sign = sign_of_product(inst, c, args);
        let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
        let nonzero = c.comb("nonzero", 1, Cost::Logic(2 * e), "|{0} & |{1}", &exps);
        let invalid = c.comb("invalid", 1, Cost::Logic(e), "~|{0}", &exps[1..]);
        let (largest, bias) = (max_field(format), format.bias() as i64);
        let range = Range { low: bias - largest, high: bias + largest };
        let bits = range.bits(format);
        // The bias is 2^(E-1) - 1, so that bias - exponent needs no adder.
        let top = slice(1, e, e as i64 - 1, e as i64 - 1);
        let less = cat(&[repeat(bits - e + 1, &top), format!("~{}", slice(1, e, e as i64 - 2, 0))]);
        let text = format!("{} + {less}", cat(&[zeros(bits - e), arg(0)]));
        let exp = c.comb("exp", bits, Cost::Add(bits), text, &exps);
        let fractions = [field(c, "fraction", args[0], m - 1, 0), field(c, "fraction", args[1], m - 1, 0)];
        // One place more than the result has in the lower octave, and one to round by.
        let places = m + 2 - inst.truncates() as u32;
        let quotient = divide(c, fractions, m, places);
        // A quotient below 1 has its fraction one place lower, and an exponent one less. No quotient of two
        // significands lies half-way between two others, so that the bit below the last place decides alone.
        let one = field(c, "one", quotient, places, places);
        let part = |hi: u32, lo: u32| slice(0, places + 1, hi as i64, lo as i64);
        let chosen = format!("{{1}} ? {} : {}", part(places - 1, 1), part(places - 2, 0));
        let chosen = c.comb("chosen", places - 1, Cost::Mux(2), chosen, &[quotient, one]);
        let packed = if inst.truncates() {
            let text = format!("{{0}} + {}", repeat(bits, "~{1}"));
            let exp = c.comb("exp", bits, Cost::Add(bits), text, &[exp, one]);
            c.wire("cut", bits + m, "{{0}, {1}}", &[exp, chosen])
        } else {
            let offset = cat(&[repeat(bits, "~{2}"), zeros(m - 1), slice(1, m + 1, 0, 0)]);
            let text = format!("{} + {offset}", cat(&[arg(0), slice(1, m + 1, m as i64, 1)]));
            c.comb("rounded", bits + m, Cost::Add(bits + m), text, &[exp, chosen, one])
        };
        let flags = self.flags(inst);
        let p = pack(c, &Rounded { format, range, packed, sign, nonzero: Some(nonzero) }, flags);
        let conditions = [(Flags::OVERFLOW, p.above), (Flags::UNDERFLOW, p.below), (Flags::INVALID, Some(invalid))];
        (p.bits, flag_port(c, flags, &conditions))
    }
}

/// The quotient of two significands, given by their fractions of `m` bits: one bit before the point and `places`
/// after it, cut off. A non-restoring array: each row adds or subtracts the divisor, and its sign is the next bit.
fn divide(c: &mut Circuit, fractions: [Sig; 2], m: u32, places: u32) -> Sig {
    let width = m + 2;
    let negative = slice(0, width, width as i64 - 1, width as i64 - 1);
    let first = "{2'b00, {0}} - {2'b00, {1}}";
    let mut rest = c.comb("rest", width, Cost::Add(width), first, &fractions);
    let mut digits = vec![c.wire("digit", 1, format!("~{negative}"), &[rest])];
    for _ in 0..places {
        let digit = digits[digits.len() - 1];
        let divisor = format!("({} ^ {})", cat(&["2'b01".into(), arg(1)]), repeat(width, &arg(2)));
        let text = format!("{} + {divisor}", cat(&[slice(0, width, m as i64, 0), arg(2)]));
        rest = c.comb("rest", width, Cost::Add(width + 1), text, &[rest, fractions[1], digit]);
        digits.push(c.wire("digit", 1, format!("~{negative}"), &[rest]));
    }
    let text: Vec<String> = (0..digits.len()).map(arg).collect();
    c.wire("quotient", places + 1, cat(&text), &digits)
}
