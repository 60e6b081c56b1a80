//! `fadd` and `fsub`: correctly rounded float addition and subtraction (RULES N2).

mod signed;

use super::float_parts::pack::{Range, Rounded, finish};
use super::float_parts::shift::{Fill, any, bits_of, shift_right};
use super::float_parts::text::{arg, cat, field, slice, zeros};
use super::float_parts::{Value, max_field, round, same_floats, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::target::Cost;
use crate::{Bounds, Flags, Format};

pub struct Fadd;
pub struct Fsub;

impl Operator for Fadd {
    fn name(&self) -> &'static str {
        "fadd"
    }

    fn summary(&self) -> &'static str {
        "float addition"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fadd", args)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        flags(inst)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        if !both_nonneg(inst) {
            return signed_bounds(inst);
        }
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let sum = |x: u64, y: u64| self.bits(inst, &[x, y]).0;
        let low = match (a.zero, b.zero) {
            (true, true) => la.min(lb),
            (true, false) => lb,
            (false, true) => la,
            (false, false) => sum(la, lb),
        };
        Bounds::floats(inst.result, low, sum(ha, hb), a.zero && b.zero)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        sum(inst.result, args[0], args[1], false)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0] + args[1]
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} + {})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, false)
    }
}

impl Operator for Fsub {
    fn name(&self) -> &'static str {
        "fsub"
    }

    fn summary(&self) -> &'static str {
        "float subtraction"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fsub", args)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // A difference of numbers that are not negative is what a sum of unlike signs is.
        flags(&Inst { nonneg: 0, ..inst.clone() })
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        signed_bounds(inst)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        sum(inst.result, args[0], args[1], true)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0] - args[1]
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} - {})", args[0], args[1])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, true)
    }
}

fn flags(inst: &Inst) -> Flags {
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    // Nothing cancels between numbers of one sign. Otherwise what is left is a multiple of the last place of either.
    let least = (la.min(lb) >> inst.result.mant()) as i64 - inst.result.mant() as i64;
    sum(inst.result, ha, hb, false).1 | Flags::UNDERFLOW.when(!both_nonneg(inst) && least < 1)
}

/// The bounds of a sum or difference of numbers of any sign.
fn signed_bounds(inst: &Inst) -> Bounds {
    let m = inst.result.mant();
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    let least = (la.min(lb) >> m).saturating_sub(m as u64).max(1) << m;
    Bounds::floats(inst.result, least, sum(inst.result, ha, hb, false).0, true)
}

fn both_nonneg(inst: &Inst) -> bool {
    inst.is_nonneg(0) && inst.is_nonneg(1)
}

/// a + b, or a - b.
fn sum(format: Format, a: u64, b: u64, subtract: bool) -> (u64, Flags) {
    let (Some(x), Some(mut y)) = (unpack(format, a), unpack(format, b)) else {
        let sign = 1 << (format.width() - 1);
        let b = if subtract && unpack(format, b).is_some() { b ^ sign } else { b };
        return (a | b, Flags::NONE);
    };
    y.negative ^= subtract;
    let (big, small) = if x.exp >= y.exp { (x, y) } else { (y, x) };
    // 64 bits below the larger one hold the smaller one exactly, or else it lies so far below that any
    // value above zero and under half a last place rounds alike.
    let distance = (big.exp - small.exp) as u32;
    let near = if distance <= 64 { (small.sig as i128) << (64 - distance) } else { 1 };
    let signed = |negative: bool, m: i128| if negative { -m } else { m };
    let total = signed(big.negative, (big.sig as i128) << 64) + signed(small.negative, near);
    let value = Value { negative: total < 0, mag: total.unsigned_abs(), exp: big.exp as i64 - 64, sticky: false };
    round(format, value, Flags::OVERFLOW)
}

/// The two magnitudes in order, ready to be added.
struct Ordered {
    /// Exponent field and significand (hidden bit first) of the larger one.
    exp: Sig,
    big: Sig,
    /// The smaller significand moved to the larger one's exponent: significand, guard bits, sticky.
    small: Sig,
}

fn circuit(op: &dyn Operator, inst: &Inst, c: &mut Circuit, args: &[Sig], subtract: bool) -> (Sig, Option<Sig>) {
    if both_nonneg(inst) && !subtract {
        let ordered = order(inst.result, c, args);
        return add_magnitudes(op, inst, c, &ordered);
    }
    signed::circuit(op, inst, c, args, subtract)
}

/// Compares the magnitudes, exchanges them and aligns the smaller one, keeping a guard bit below the larger one's last
/// place and a sticky bit.
fn order(format: Format, c: &mut Circuit, args: &[Sig]) -> Ordered {
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let magnitude = |k: usize| slice(k, w, w as i64 - 2, 0);
    let less = format!("{} < {}", magnitude(0), magnitude(1));
    let swap = c.comb("swap", 1, Cost::Compare(w - 1), less, args);
    let choose = |first: usize, second: usize| format!("{{2}} ? {} : {}", magnitude(first), magnitude(second));
    let with_swap = [args[0], args[1], swap];
    let big = c.comb("larger", w - 1, Cost::Mux(2), choose(1, 0), &with_swap);
    let small = c.comb("smaller", w - 1, Cost::Mux(2), choose(0, 1), &with_swap);
    let exp = field(c, "exp_big", big, w - 2, m);
    let exp_small = field(c, "exp_small", small, w - 2, m);
    let distance = c.comb("distance", e, Cost::Add(e), "{0} - {1}", &[exp, exp_small]);
    let significand = |c: &mut Circuit, of: Sig, exp: Sig| {
        let fraction = field(c, "fraction", of, m - 1, 0);
        let hidden = any(c, exp, e - 1, 0, None);
        (c.wire("significand", m + 1, "{{0}, {1}}", &[hidden, fraction]), hidden)
    };
    let (big, _) = significand(c, big, exp);
    let (small, hidden) = significand(c, small, exp_small);
    // A distance beyond the window leaves the sticky bit alone.
    let window = m + 2;
    let near = bits_of(window).min(e);
    let amount = field(c, "amount", distance, near - 1, 0);
    let far = (near < e).then(|| any(c, distance, e - 1, near, None));
    let shifted = shift_right(c, small, amount, window, Fill::Zeros);
    let sticky = shifted.sticky.unwrap_or_else(|| c.wire("sticky", 1, "1'b0", &[]));
    let small = match far {
        Some(far) => {
            let text = format!("{{2}} ? {} : {}", cat(&[zeros(window), arg(3)]), cat(&[arg(0), arg(1)]));
            c.comb("aligned", window + 1, Cost::Logic(4), text, &[shifted.value, sticky, far, hidden])
        }
        None => c.wire("aligned", window + 1, cat(&[arg(0), arg(1)]), &[shifted.value, sticky]),
    };
    Ordered { exp, big, small }
}

/// The end of an addition of two numbers that are not negative: at most one place to the right.
fn add_magnitudes(op: &dyn Operator, inst: &Inst, c: &mut Circuit, o: &Ordered) -> (Sig, Option<Sig>) {
    let format = inst.result;
    let (e, m) = (format.exp(), format.mant());
    let tail = field(c, "tail", o.small, 1, 0);
    let addend = field(c, "addend", o.small, m + 2, 2);
    let sum = c.comb("sum", m + 2, Cost::Add(m + 2), "{1'b0, {0}} + {1'b0, {1}}", &[o.big, addend]);
    let carry = field(c, "carry", sum, m + 1, m + 1);
    let chosen = format!("{{1}} ? {} : {}", slice(0, m + 2, m as i64, 1), slice(0, m + 2, m as i64 - 1, 0));
    let fraction = c.comb("fraction", m, Cost::Mux(2), chosen, &[sum, carry]);
    let text = "{2} ? {0}[0] & (|{1} | {0}[1]) : {1}[1] & ({1}[0] | {0}[0])";
    let up = c.comb("up", 1, Cost::Logic(5), text, &[sum, tail, carry]);
    // The carry raises the exponent, the rounding the last place.
    let ups = cat(&[zeros(e - 1), arg(2), zeros(m - 1), arg(3)]);
    let text = format!("{} + {ups}", cat(&[arg(0), arg(1)]));
    let packed = c.comb("rounded", e + m, Cost::Add(e + m), text, &[o.exp, fraction, carry, up]);
    let range = Range { low: 1, high: max_field(format) + 1 };
    finish(op, inst, c, &Rounded { format, range, packed, sign: None, nonzero: None })
}
