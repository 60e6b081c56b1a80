//! `xor`: bitwise xor of two ints (RULES N3, L4).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Xor;

impl Operator for Xor {
    fn name(&self) -> &'static str {
        "xor"
    }

    fn summary(&self) -> &'static str {
        "bitwise xor of two ints"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_ints(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        if a.low < 0 || b.low < 0 {
            return Bounds::of(inst.result);
        }
        Bounds::ints(0, parts::ones_above(a.high.max(b.high)))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::difference(inst, constants)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Xor)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        ((args[0] ^ args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} ^ (uint64_t){})", args[0], args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} ^ {}", args[0], args[1]))
    }

    fn circuit(&self, _: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (c.logic("bits", c.x(args[0]) ^ c.x(args[1])), None)
    }
}
