//! `mul`: int multiplication, which wraps without a flag (RULES N3).

use super::parts;
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
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

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        let ends = [a.low, a.high].map(|x| [b.low, b.high].map(|y| x.checked_mul(y)));
        let ends: Option<Vec<i128>> = ends.into_iter().flatten().collect();
        let (low, high) = match &ends {
            Some(ends) => (ends.iter().min().copied(), ends.iter().max().copied()),
            None => (None, None),
        };
        Bounds::wrapped(inst.result, low, high)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0].wrapping_mul(args[1]) & inst.result.mask(), Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0] * args[1]
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} * (uint64_t){})", args[0], args[1]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let width = inst.result.width();
        // The low half of a product does not depend on the signs.
        let product = c.mul("product", args[0], args[1], false);
        parts::unused_bits(c, product, 2 * width as i64 - 1, width);
        (parts::slice(c, "mul", product, width - 1, 0), None)
    }
}
