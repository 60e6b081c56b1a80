//! `fscale` and `fscalev`: a float times a power of two, fixed or given at run time (RULES N4).

use super::float_parts::pack::{Range, Rounded, finish};
use super::float_parts::shift::any;
use super::float_parts::text::{arg, cat, constant, field, repeat, slice, zeros};
use super::float_parts::{Value, c_suffix, fields, max_field, one_float, round, unpack};
use super::{Attrs, Inst, Operator, Rounding};
use crate::circuit::{Circuit, Sig};
use crate::target::Cost;
use crate::{Bounds, Flags, Format};

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
        let (low, high) = inst.magnitudes(0);
        self.bits(inst, &[low]).1 | self.bits(inst, &[high]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (low, high) = inst.magnitudes(0);
        Bounds::floats(inst.result, self.bits(inst, &[low]).0, self.bits(inst, &[high]).0, inst.bounds(0).zero)
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
        let format = inst.result;
        let (e, m) = (format.exp(), format.mant());
        if inst.attrs.n == 0 {
            return (args[0], None);
        }
        // Beyond the exponent's range every amount has the same effect.
        let n = (inst.attrs.n as i64).clamp(-(1 << e), 1 << e);
        let range = Range { low: 1 + n, high: max_field(format) + n };
        let bits = range.bits(format);
        let f = fields(c, format, args[0]);
        let text = format!("{} + {}", cat(&[zeros(bits - e), arg(0)]), constant(bits, n));
        let exp = c.comb("exp", bits, Cost::Add(bits), text, &[f.exp]);
        let packed = c.wire("scaled", bits + m, cat(&[arg(0), arg(1)]), &[exp, f.fraction]);
        let sign = (!inst.is_nonneg(0)).then_some(f.sign);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero: Some(f.nonzero) })
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
        let [least, greatest] = extremes(inst);
        self.bits(inst, &least).1 | self.bits(inst, &greatest).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let [least, greatest] = extremes(inst);
        let zero = inst.bounds(0).zero;
        Bounds::floats(inst.result, self.bits(inst, &least).0, self.bits(inst, &greatest).0, zero)
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
        let format = inst.result;
        let (e, m) = (format.exp(), format.mant());
        let (up, down) = directions(inst);
        let amount = Amount::new(inst, c, args[1], e + 1);
        // An amount of up to E + 1 bits, either way, reaches beyond both ends of the exponent's range.
        let reach = 1i64 << (e + 1);
        let range =
            Range { low: 1 - if down { reach } else { 0 }, high: max_field(format) + if up { reach } else { 0 } };
        let bits = range.bits(format);
        let f = fields(c, format, args[0]);
        let width = c.width(amount.low);
        let extended = if amount.signed {
            cat(&[repeat(bits - width, &slice(1, width, width as i64 - 1, width as i64 - 1)), arg(1)])
        } else {
            cat(&[zeros(bits - width), arg(1)])
        };
        let operation = if inst.attrs.d > 0 { "+" } else { "-" };
        let text = format!("{} {operation} {extended}", cat(&[zeros(bits - e), arg(0)]));
        let mut exp = c.comb("exp", bits, Cost::Add(bits), text, &[f.exp, amount.low]);
        if let Some(huge) = amount.huge {
            exp = beyond(inst, c, exp, &huge);
        }
        let packed = c.wire("scaled", bits + m, cat(&[arg(0), arg(1)]), &[exp, f.fraction]);
        let sign = (!inst.is_nonneg(0)).then_some(f.sign);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero: Some(f.nonzero) })
    }
}

/// Whether a variable amount can make the result larger, and whether it can make it smaller.
pub(super) fn directions(inst: &Inst) -> (bool, bool) {
    let signed = inst.args[1].is_signed() && !inst.is_nonneg(1);
    (inst.attrs.d > 0 || signed, inst.attrs.d < 0 || signed)
}

/// The arguments of the least and of the greatest magnitude that a variable scaling can give.
pub(super) fn extremes(inst: &Inst) -> [[u64; 2]; 2] {
    let (low, high) = inst.magnitudes(0);
    let (amounts, mask) = (inst.bounds(1), inst.args[1].mask());
    let (down, up) = if inst.attrs.d > 0 { (amounts.low, amounts.high) } else { (amounts.high, amounts.low) };
    [[low, down as u64 & mask], [high, up as u64 & mask]]
}

fn scaled(format: Format, bits: u64, amount: i64) -> (u64, Flags) {
    let Some(x) = unpack(format, bits) else { return (0, Flags::NONE) };
    let value = Value { negative: x.negative, mag: x.sig as u128, exp: x.exp as i64 + amount, sticky: false };
    round(format, Rounding::Nearest, value, Flags::OVERFLOW)
}

/// x * 2^n, in two steps since 2^n alone may leave f64's range.
pub(super) fn times_power(x: f64, n: f64) -> f64 {
    let half = (n / 2.0).trunc();
    x * half.exp2() * (n - half).exp2()
}

/// A variable amount cut down to what can matter.
pub(super) struct Amount {
    /// Two's complement if `signed`, else unsigned.
    pub(super) low: Sig,
    pub(super) signed: bool,
    pub(super) huge: Option<Huge>,
}

/// What is known of an amount beyond its low bits.
pub(super) struct Huge {
    /// Whether the amount's magnitude exceeds the low bits.
    pub(super) huge: Sig,
    sign: Option<Sig>,
}

impl Amount {
    /// Keeps `limit` bits and the sign.
    pub(super) fn new(inst: &Inst, c: &mut Circuit, amount: Sig, limit: u32) -> Amount {
        // A sign bit that is known to be clear is read like any other.
        let signed = inst.args[1].is_signed() && !inst.is_nonneg(1);
        let width = c.width(amount);
        let magnitude = width - signed as u32;
        if magnitude <= limit {
            return Amount { low: amount, signed, huge: None };
        }
        let sign = signed.then(|| field(c, "sign_n", amount, width - 1, width - 1));
        let huge = any(c, amount, magnitude - 1, limit, sign);
        let mut low = field(c, "low_n", amount, limit - 1, 0);
        if let Some(s) = sign {
            low = c.wire("low_n", limit + 1, "{{1}, {0}}", &[low, s]);
        }
        Amount { low, signed, huge: Some(Huge { huge, sign }) }
    }
}

/// Replaces the exponent by one far out of range, in the direction of a huge amount.
pub(super) fn beyond(inst: &Inst, c: &mut Circuit, exp: Sig, huge: &Huge) -> Sig {
    let bits = c.width(exp);
    let (up, down) = directions(inst);
    let top = slice(0, bits, bits as i64 - 1, bits as i64 - 1);
    let rest = slice(0, bits, bits as i64 - 2, 0);
    if !(up && down) {
        // The top bit is the sign where the exponent can fall, and else the first bit beyond the format.
        return c.comb("exp", bits, Cost::Logic(2), cat(&[format!("{top} | {{1}}"), rest]), &[exp, huge.huge]);
    }
    let sign = huge.sign.expect("only a signed amount goes both ways");
    let negative = if inst.attrs.d > 0 { ["{2}", "~{2}"] } else { ["~{2}", "{2}"] };
    let second = slice(0, bits, bits as i64 - 2, bits as i64 - 2);
    let rest = slice(0, bits, bits as i64 - 3, 0);
    let text = cat(&[format!("{{1}} ? {} : {top}", negative[0]), format!("{{1}} ? {} : {second}", negative[1]), rest]);
    c.comb("exp", bits, Cost::Logic(3), text, &[exp, huge.huge, sign])
}
