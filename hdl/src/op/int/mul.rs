//! `mul`: int multiplication, which wraps without a flag (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Unwrapped};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Mul;

impl Operator for Mul {
    fn name(&self) -> &'static str {
        "mul"
    }

    fn summary(&self) -> &'static str {
        "int multiplication; wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_ints(self.name(), args)
    }

    fn unwrapped(&self, inst: &Inst) -> Option<Unwrapped> {
        let (low, high) = parts::product_range(inst)?;
        Some(Unwrapped { what: "product", low, high })
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::product(constants).or_else(|| fold::by_one(inst, constants))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        zeros[0] + zeros[1]
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Mul)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].wrapping_mul(args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Product)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} * (uint64_t){})", args[0], args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} * {}", args[0], args[1]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        if let Some(product) = parts::times_constant(inst, c, args, width) {
            return (product, None);
        }
        // Where both factors are known to be short, so is the product.
        let signed = (0..2).any(|k| inst.bounds(k).low < 0);
        let bits = [0, 1].map(|k| significant(inst.bounds(k), signed).min(width));
        let a = parts::slice(c, "factor", args[0], bits[0] - 1, 0);
        let b = if inst.same { a } else { parts::slice(c, "factor", args[1], bits[1] - 1, 0) };
        if signed && bits[0] + bits[1] <= width {
            let product = c.mul("product", a, b, true);
            return (parts::extend(c, "mul", product, width, true), None);
        }
        // The low half of a product does not depend on the signs.
        let (a, b) = if signed { (args[0], if inst.same { args[0] } else { args[1] }) } else { (a, b) };
        let most = width.min(c.width(a) + c.width(b));
        let product = c.mul_low("product", a, b, most);
        (parts::extend(c, "mul", product, width, false), None)
    }
}

/// How many bits hold every number within the bounds, with a sign bit or without.
fn significant(bounds: Bounds, signed: bool) -> u32 {
    let magnitude = bounds.high.max(if bounds.low < 0 { -1 - bounds.low } else { 0 });
    (128 - magnitude.leading_zeros() + signed as u32).max(1)
}
