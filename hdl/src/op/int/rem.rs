//! `rem`: the remainder of int division, with the dividend's sign; a zero divisor gives 0 and `invalid` (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::pieces::division;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Rem;

impl Operator for Rem {
    fn name(&self) -> &'static str {
        "rem"
    }

    fn summary(&self) -> &'static str {
        "int remainder, sign of the dividend; x%0 is 0 and invalid"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_ints(self.name(), args)
    }

    fn flags(&self, _: &Inst) -> Flags {
        Flags::INVALID
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        let most = |x: Bounds| x.high.max(-x.low);
        let rest = most(a).min((most(b) - 1).max(0));
        Bounds::ints(if a.low < 0 { -rest } else { 0 }, if a.high > 0 { rest } else { 0 })
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (a, b) = (inst.result.to_int(args[0]), inst.result.to_int(args[1]));
        match a.checked_rem(b) {
            Some(r) => (r as u64 & inst.result.mask(), Flags::NONE),
            None => (0, Flags::INVALID),
        }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (a, b) = (args[0], args[1]);
        // Minus one apart: C leaves the least value over it undefined.
        let minus_one = if inst.result.is_signed() { format!(" || {b} == -1") } else { String::new() };
        format!("({b} == 0{minus_one} ? 0 : {a} % {b})")
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (negative, a) = ints::magnitude(inst, c, 0, &args[0]);
        let (_, b) = ints::magnitude(inst, c, 1, &args[1]);
        let zero = c.test(format!("{b} == 0"));
        c.raise(Flags::INVALID, &zero);
        let r = c.set(a.kind, format!("{zero} ? 0 : {a} % ({zero} ? 1 : {b})"));
        ints::with_sign(c, inst.result, negative.as_ref(), &r)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        let zero = parts::counted(c, "zero", c.x(args[1]).none(), width);
        let (negative, a, b) = division::magnitudes(inst, c, args);
        let (_, rest) = parts::divide(c, a, 0, b, 0);
        let below = parts::slice(c, "below", rest, width, width);
        let low = parts::slice(c, "rest", rest, width - 1, 0);
        let mut r = c.logic("restored", c.x(low) + (c.x(b) & c.x(below).repeat(width)));
        if let Some((a, b)) = negative {
            if b != a {
                parts::unused(c, b);
            }
            r = parts::negate_if(c, "signed_r", r, a);
        }
        (parts::clear_if(c, "rem", r, zero), Some(zero))
    }
}
