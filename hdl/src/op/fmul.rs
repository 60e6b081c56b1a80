//! `fmul`: correctly rounded float multiplication (RULES N2).

use super::float_parts::pack::{Range, Rounded, finish, sign_of_product};
use super::float_parts::shift::any;
use super::float_parts::text::{arg, cat, field, repeat, slice, zeros};
use super::float_parts::{Value, max_field, round, same_floats, unpack};
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::target::Cost;
use crate::{Bounds, Flags, Format};

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

    fn flags(&self, inst: &Inst) -> Flags {
        // The largest and the smallest magnitudes decide, since rounding is monotone.
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        self.bits(inst, &[la, lb]).1 | self.bits(inst, &[ha, hb]).1
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
        let zero = inst.bounds(0).zero || inst.bounds(1).zero;
        Bounds::floats(inst.result, self.bits(inst, &[la, lb]).0, self.bits(inst, &[ha, hb]).0, zero)
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
        let format = inst.result;
        let (w, e, m) = (format.width(), format.exp(), format.mant());
        let sign = sign_of_product(inst, c, args);
        let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
        let nonzero = c.comb("nonzero", 1, Cost::Logic(2 * e), "|{0} & |{1}", &exps);
        let range = Range { low: 2 - format.bias() as i64, high: 2 * max_field(format) - format.bias() as i64 + 1 };
        let bits = range.bits(format);
        // The bias is 2^(E-1) - 1: its power comes off by one exponent's top bit, its -1 off the step below.
        let top = format!("~{}", slice(0, e, e as i64 - 1, e as i64 - 1));
        let less = cat(&[repeat(bits - e + 1, &top), slice(0, e, e as i64 - 2, 0)]);
        let text = format!("{less} + {}", cat(&[zeros(bits - e), arg(1)]));
        let exp = c.comb("exp", bits, Cost::Add(bits), text, &exps);
        let significand = |c: &mut Circuit, x: Sig| {
            c.wire("significand", m + 1, cat(&["1'b1".into(), slice(0, w, m as i64 - 1, 0)]), &[x])
        };
        let (x, y) = (significand(c, args[0]), significand(c, args[1]));
        let product = c.mul("product", x, y, false);
        let (two, fraction, up) = round_product(c, product, m);
        // Of a product from 2 on the exponent is one more; both have the 1 that is missing above.
        let ups = cat(&[zeros(bits - 2), arg(2), "~{2}".into(), zeros(m - 1), arg(3)]);
        let text = format!("{} + {ups}", cat(&[arg(0), arg(1)]));
        let packed = c.comb("rounded", bits + m, Cost::Add(bits + m), text, &[exp, fraction, two, up]);
        finish(self, inst, c, &Rounded { format, range, packed, sign, nonzero: Some(nonzero) })
    }
}

/// Of a product of significands of `m` + 1 bits, 1 <= product < 4: whether it is 2 or more, its fraction, and
/// whether to round that up.
fn round_product(c: &mut Circuit, product: Sig, m: u32) -> (Sig, Sig, Sig) {
    let width = 2 * m + 2;
    let two = field(c, "two", product, width - 1, width - 1);
    let part = |hi: u32, lo: u32| slice(0, width, hi as i64, lo as i64);
    let chosen = format!("{{1}} ? {} : {}", part(2 * m, m + 1), part(2 * m - 1, m));
    let fraction = c.comb("fraction", m, Cost::Mux(2), chosen, &[product, two]);
    // The last place, the round bit and the first bit below, of the one alignment and the other.
    let near = field(c, "near", product, m + 1, m - 1);
    let text = "{1} ? {0}[1] & ({2} | {0}[0] | {0}[2]) : {0}[0] & ({2} | {0}[1])";
    let below = if m > 1 { any(c, product, m - 2, 0, None) } else { c.wire("any", 1, "1'b0", &[]) };
    let up = c.comb("up", 1, Cost::Logic(5), text, &[near, two, below]);
    (two, fraction, up)
}
