//! `tofloat`: an int or fixed as the nearest float (RULES N2, N5).

use super::float_parts::pack::{Range, Rounded, finish};
use super::float_parts::shift::{any, normalise};
use super::float_parts::text::{arg, cat, constant, field, ones, repeat, zeros};
use super::float_parts::{Value, c_suffix, c_type, max_field, round};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::target::Cost;
use crate::{Bounds, Flags, Format};

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
        let (least, greatest) = extremes(inst);
        self.bits(inst, &[least]).1 | self.bits(inst, &[greatest]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (least, greatest) = extremes(inst);
        Bounds::floats(inst.result, self.bits(inst, &[least]).0, self.bits(inst, &[greatest]).0, inst.bounds(0).zero)
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
        let (from, format) = (inst.args[0], inst.result);
        let m = format.mant();
        let x = magnitude(inst, c, args[0]);
        let width = c.width(x.value);
        let most = if x.complement.is_some() { width } else { width - 1 };
        let n = normalise(c, x.value, x.complement, most);
        let nonzero = field(c, "nonzero", n.value, width - 1, width - 1);
        let fraction = match width - 1 {
            0 => c.wire("fraction", m, pad(m, x.complement, 0), x.complement.as_slice()),
            below if below >= m => field(c, "fraction", n.value, width - 2, width - 1 - m),
            below => {
                let rest = field(c, "fraction", n.value, below - 1, 0);
                let args: Vec<Sig> = [rest].into_iter().chain(x.complement).collect();
                c.wire("fraction", m, cat(&[arg(0), pad(m - below, x.complement, 1)]), &args)
            }
        };
        let up = round_up(c, n.value, m, x.complement);
        // The exponent of the top bit, less the count of zeros above the leading one.
        let flags = self.flags(inst);
        let lowest = format.bias() as i64 - from.frac().expect("an int or fixed") as i64;
        let range = Range { low: lowest, high: lowest + width as i64 };
        let range = if flags.is_empty() { Range { low: 1, high: max_field(format) } } else { range };
        let steps = n.count.map_or(0, |s| c.width(s));
        let bits = range.bits(format);
        let top = lowest + width as i64 - 1;
        let (start, count) = match n.count {
            // Minus the count is plus its complement plus 1.
            Some(_) => (top + 1, cat(&[ones(bits - steps), "~{2}".into()])),
            None => (top, zeros(bits)),
        };
        let first = cat(&[constant(bits, start), arg(0)]);
        let text = format!("{first} + {}", cat(&[count, zeros(m - 1), arg(1)]));
        let args: Vec<Sig> = [fraction, up].into_iter().chain(n.count).collect();
        let packed = c.comb("rounded", bits + m, Cost::Add(bits + m), text, &args);
        finish(self, inst, c, &Rounded { format, range, packed, sign: x.sign, nonzero: Some(nonzero) })
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

/// The argument as sign and magnitude.
struct Magnitude {
    /// The magnitude, or one less where `complement` is set.
    value: Sig,
    /// The sign, if `value` is the ones' complement of negative arguments. The missing 1 is then made up for by
    /// ones shifted in from the right and by the rounding.
    complement: Option<Sig>,
    sign: Option<Sig>,
}

fn magnitude(inst: &Inst, c: &mut Circuit, x: Sig) -> Magnitude {
    let width = inst.args[0].width();
    if !inst.args[0].is_signed() {
        return Magnitude { value: x, complement: None, sign: None };
    }
    if width == 1 {
        // 0 and -1 are their own magnitudes.
        return Magnitude { value: x, complement: None, sign: (!inst.is_nonneg(0)).then_some(x) };
    }
    let low = field(c, "low", x, width - 2, 0);
    if inst.is_nonneg(0) {
        return Magnitude { value: low, complement: None, sign: None };
    }
    let sign = field(c, "sign", x, width - 1, width - 1);
    let text = format!("{{0}} ^ {}", repeat(width - 1, &arg(1)));
    let value = c.comb("magnitude", width - 1, Cost::Logic(2), text, &[low, sign]);
    Magnitude { value, complement: Some(sign), sign: Some(sign) }
}

/// `n` bits of what comes in from the right: the complement's sign as argument `k`, or zeros.
fn pad(n: u32, complement: Option<Sig>, k: usize) -> String {
    if complement.is_some() { repeat(n, &arg(k)) } else { zeros(n) }
}

/// Whether the fraction of a normalised magnitude is to be rounded up, to nearest even.
fn round_up(c: &mut Circuit, value: Sig, m: u32, complement: Option<Sig>) -> Sig {
    let width = c.width(value);
    if width < m + 2 {
        // Nothing lies below the fraction but the missing 1.
        return complement.unwrap_or_else(|| c.wire("up", 1, "1'b0", &[]));
    }
    let rest = width - 1 - m;
    let near = field(c, "near", value, rest, rest - 1);
    let tail = match rest {
        1 => c.wire("any", 1, "1'b0", &[]),
        _ => any(c, value, rest - 2, 0, complement),
    };
    // With the missing 1 the rest is over half if it reaches half, and half if it is one short of it.
    match complement {
        Some(s) => {
            let text = "{2} ? {0}[0] | (~{1} & {0}[1]) : {0}[0] & ({1} | {0}[1])";
            c.comb("up", 1, Cost::Logic(4), text, &[near, tail, s])
        }
        None => c.comb("up", 1, Cost::Logic(3), "{0}[0] & ({1} | {0}[1])", &[near, tail]),
    }
}
