//! `div`: int division, truncated towards zero; a zero divisor gives 0 and `invalid` (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::Fold;
use crate::op::pieces::division;
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Div;

impl Operator for Div {
    fn name(&self) -> &'static str {
        "div"
    }

    fn summary(&self) -> &'static str {
        "int division, truncated; x/0 is 0 and invalid"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_ints(self.name(), args)
    }

    fn flags(&self, _: &Inst) -> Flags {
        Flags::INVALID
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        let least = if b.low > 0 { b.low } else { (-b.high).max(1) };
        let most = a.high.max(-a.low) / least;
        Bounds::wrapped(inst.result, Some(if a.low >= 0 && b.low >= 0 { 0 } else { -most }), Some(most))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::by_one(inst, constants)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (a, b) = (inst.result.to_int(args[0]), inst.result.to_int(args[1]));
        match a.checked_div(b) {
            Some(q) => (q as u64 & inst.result.mask(), Flags::NONE),
            None => (0, Flags::INVALID),
        }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (a, b) = (args[0], args[1]);
        if !inst.result.is_signed() {
            return format!("({b} == 0 ? 0 : {a} / {b})");
        }
        // Minus one apart: C leaves the least value over it undefined.
        let negated = parts::c_wrap(inst.result, &format!("(0 - (uint64_t){a})"));
        format!("({b} == 0 ? 0 : {b} == -1 ? {negated} : {a} / {b})")
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (a_negative, a) = ints::magnitude(inst, c, 0, &args[0]);
        let (b_negative, b) = ints::magnitude(inst, c, 1, &args[1]);
        let zero = c.test(format!("{b} == 0"));
        c.raise(Flags::INVALID, &zero);
        let q = c.set(a.kind, format!("{zero} ? 0 : {a} / ({zero} ? 1 : {b})"));
        let negative = ints::unlike(c, a_negative, b_negative);
        ints::with_sign(c, inst.result, negative.as_ref(), &q)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        let zero = parts::counted(c, "zero", c.x(args[1]).none(), width);
        let (negative, a, b) = division::magnitudes(inst, c, args);
        let (quotient, rest) = parts::divide(c, a, 0, b, width);
        parts::unused_bits(c, rest, width as i64 - 1, 0);
        let mut q = quotient.expect("all bits of the quotient were asked for");
        if let Some((a, b)) = negative {
            let negative = c.logic("negative", c.x(a) ^ c.x(b));
            q = parts::negate_if(c, "signed_q", q, negative);
        }
        (parts::clear_if(c, "div", q, zero), Some(zero))
    }
}
