//! `min`: the lesser of two values of one format, floats too (RULES L9).

use crate::circuit::{Circuit, Sig};
use crate::number::reduce;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::order;
use crate::op::pieces::parts;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Test;
use crate::{Bounds, Flags, Format};

pub struct Min;

/// The number of bits of the second argument, if that is known to be 2^bits - 1 and the first one never negative.
fn mask(inst: &Inst) -> Option<u32> {
    let (a, b) = (inst.bounds(0), inst.bounds(1));
    if inst.result.is_sign_magnitude() || a.low < 0 || b.low != b.high || b.low <= 0 {
        return None;
    }
    let bits = 128 - b.low.leading_zeros();
    (b.low.count_ones() == bits && bits < inst.result.width()).then_some(bits)
}

/// The lesser of `a` and 2^bits - 1: all of the low bits where any other one is set.
fn bounded(c: &mut Circuit, a: Sig, bits: u32) -> Sig {
    let width = c.width(a);
    let more = any(c, a, width - 1, bits, None);
    c.logic("min", (c.x(a).low(bits) | c.x(more).repeat(bits)).zext(width))
}

impl Operator for Min {
    fn name(&self) -> &'static str {
        "min"
    }

    fn summary(&self) -> &'static str {
        "the lesser of two values; any format"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_of_any(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, b) = (inst.bounds(0), inst.bounds(1));
        if inst.result.is_sign_magnitude() { a.or(b) } else { Bounds::ints(a.low.min(b.low), a.high.min(b.high)) }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        inst.same.then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Min)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (if reduce::less(inst.result, args[1], args[0]) { args[1] } else { args[0] }, Flags::NONE)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64().min(args[1].f64()))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Min)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({1} < {0} ? {1} : {0})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let less = ints::compare(inst, c, ">", args);
        c.set(args[0].kind, format!("{less} ? {} : {}", args[1], args[0]))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        if let Some(bits) = mask(inst) {
            return (bounded(c, args[0], bits), None);
        }
        let second = order::compare(inst, c, Test::Lt, args[1], args[0]);
        (c.logic("min", c.x(second).mux(&c.x(args[1]), &c.x(args[0]))), None)
    }
}
