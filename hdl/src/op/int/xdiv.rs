//! `xdiv`: division of fixeds of one format: rounded to nearest even, then wrapped; a zero divisor gives 0 and `invalid` (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::Fold;
use crate::op::pieces::division;
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Xdiv;

impl Operator for Xdiv {
    fn name(&self) -> &'static str {
        "xdiv"
    }

    fn summary(&self) -> &'static str {
        "fixed division; rounds, then wraps; x/0 is 0 and invalid"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_fixeds(self.name(), args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, _: &Inst) -> Flags {
        Flags::INVALID
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::by_one(inst, constants)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let (a, b) = (format.to_int(args[0]), format.to_int(args[1]));
        if b == 0 {
            return (0, Flags::INVALID);
        }
        let (n, d) = (a.unsigned_abs() << format.frac().unwrap_or(0), b.unsigned_abs());
        let (q, r) = (n / d, n % d);
        let up = !inst.truncates() && (2 * r > d || (2 * r == d && q & 1 == 1));
        (parts::wrap_signed(format, (a < 0) != (b < 0), q.wrapping_add(up as u128)), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Quotient, inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (format, a, b) = (inst.result, args[0], args[1]);
        let frac = format.frac().unwrap_or(0);
        let wide = if format.width() + frac <= 63 { "uint64_t" } else { "unsigned __int128" };
        let d = parts::c_magnitude(format, b);
        let n = format!("(({wide}){} << {frac})", parts::c_magnitude(format, a));
        let (q, r) = (format!("({n} / {d})"), format!("({n} % {d})"));
        let rounded = match inst.truncates() {
            true => q,
            false => format!("({q} + ({r} > {d} - {r} || ({r} == {d} - {r} && ({q} & 1))))"),
        };
        let sign = if format.is_signed() { format!("(({a} < 0) != ({b} < 0) ? ~0ULL : 1ULL)") } else { "1ULL".into() };
        format!("({b} == 0 ? 0 : {})", parts::c_wrap(format, &format!("((uint64_t){rounded} * {sign})")))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (a_negative, a) = ints::magnitude(inst, c, 0, &args[0]);
        let (b_negative, b) = ints::magnitude(inst, c, 1, &args[1]);
        let zero = c.test(format!("{b} == 0"));
        c.raise(Flags::INVALID, &zero);
        let frac = inst.result.frac().unwrap_or(0);
        let kind = CType::unsigned(inst.result.width() + frac);
        let n = c.set(kind, format!("({kind}){a} << {frac}"));
        let d = c.set(kind, format!("{zero} ? 1 : {b}"));
        let q = c.set(kind, format!("{n} / {d}"));
        let q = match inst.truncates() {
            true => q,
            false => {
                // Twice the rest may not fit.
                let r = c.set(kind, format!("{n} - {q} * {d}"));
                c.set(kind, format!("{q} + ({r} > {d} - {r} || ({r} == {d} - {r} && ({q} & 1)))"))
            }
        };
        let q = c.set(kind, format!("{zero} ? 0 : {q}"));
        let negative = ints::unlike(c, a_negative, b_negative);
        ints::with_sign(c, inst.result, negative.as_ref(), &q)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (width, frac) = (inst.result.width(), inst.result.frac().unwrap_or(0));
        let zero = parts::counted(c, "zero", c.x(args[1]).none(), width);
        let (negative, a, b) = division::magnitudes(inst, c, args);
        if inst.truncates() {
            let (quotient, _) = parts::divide(c, a, frac, b, width);
            let mut q = quotient.expect("the low bits of the quotient were asked for");
            if let Some((a, b)) = negative {
                let negative = c.logic("negative", c.x(a) ^ c.x(b));
                q = parts::negate_if(c, "signed", q, negative);
            }
            return (parts::clear_if(c, "xdiv", q, zero), Some(zero));
        }
        // One quotient bit more than the result has, to round by.
        let (quotient, rest) = parts::divide(c, a, frac + 1, b, width + 1);
        let quotient = quotient.expect("the low bits of the quotient were asked for");
        let whole = parts::slice(c, "whole", quotient, width, 1);
        let guard = parts::slice(c, "guard", quotient, 0, 0);
        let lsb = parts::slice(c, "lsb", whole, 0, 0);
        // The sticky bit counts only under a guard bit of 1, and then the last remainder is not negative.
        let low = parts::slice(c, "rest", rest, width - 1, 0);
        let up = parts::round_up(c, lsb, guard, Some(low));
        let q = match negative {
            None => parts::add_bit(c, "rounded", whole, up),
            Some((a, b)) => {
                // -(q + up) is ~q + 1 - up, which takes one adder.
                let negative = c.logic("negative", c.x(a) ^ c.x(b));
                let folded = c.logic("folded", c.x(whole) ^ c.x(negative).repeat(width));
                let carry = c.logic("carry", c.x(up) ^ c.x(negative));
                parts::add_bit(c, "rounded", folded, carry)
            }
        };
        (parts::clear_if(c, "xdiv", q, zero), Some(zero))
    }
}
