//! `icast`: int to int: the low bits, extended by the source's signedness (RULES N5).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Loss};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Icast;

impl Operator for Icast {
    fn name(&self) -> &'static str {
        "icast"
    }

    fn summary(&self) -> &'static str {
        "int to int: low bits, extended by the source's signedness"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_int() && to.is_int() => Ok(to),
            _ => Err("`icast` takes an int and a target int".into()),
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        Bounds::wrapped(inst.result, Some(a.low), Some(a.high))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        let a = inst.args[0];
        inst.never_negative(0) && inst.result.width() > a.width() - a.is_signed() as u32
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::cast(inst)
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn loss(&self, inst: &Inst, _: u32) -> Option<Loss> {
        let (b, (from, to)) = (inst.bounds(0), (inst.args[0].width(), inst.result.width()));
        let span = 1i128 << to;
        let kept = b.low >= 0 && b.high < span || b.low >= -span / 2 && b.high < span / 2;
        (to < from && !kept).then(|| Loss::High(from - to))
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Cast)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (inst.args[0].to_int(args[0]) as u64 & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Same)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let x = c.int(inst.args[0], &args[0]);
        c.wrap(inst.result, x)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to) = (inst.args[0].width(), inst.result.width());
        if from <= to {
            return (parts::extend(c, "icast", args[0], to, inst.args[0].is_signed()), None);
        }
        parts::unused_bits(c, args[0], from as i64 - 1, to);
        (parts::slice(c, "icast", args[0], to - 1, 0), None)
    }
}
