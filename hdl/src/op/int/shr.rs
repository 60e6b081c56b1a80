//! `shr`: an int or fixed shifted right by a constant, towards minus infinity (RULES N4).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Shr;

impl Operator for Shr {
    fn name(&self) -> &'static str {
        "shr"
    }

    fn summary(&self) -> &'static str {
        "int or fixed >> constant; arithmetic if signed"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let format = parts::one_number(self.name(), args)?;
        match attrs.n {
            n if (0..format.width() as i32).contains(&n) => Ok(format),
            n => Err(format!("a shift of {format} by {n}; 0 to {} are possible", format.width() - 1)),
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        Bounds::ints(a.low >> inst.attrs.n, a.high >> inst.attrs.n)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::shift(inst)
    }

    fn low_zeros(&self, inst: &Inst, zeros: &[u32]) -> u32 {
        zeros[0].saturating_sub(inst.attrs.n as u32)
    }

    fn vanishes(&self, inst: &Inst, _: u32) -> Option<bool> {
        let b = inst.bounds(0);
        Some(b.low >= 0 && b.high >> inst.attrs.n == 0)
    }

    fn fast(&self, inst: &Inst) -> Option<Fast> {
        Some(Fast::Shr(inst.attrs.n as u32))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        ((inst.result.to_int(args[0]) >> inst.attrs.n) as u64 & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy { ulps: if inst.attrs.n == 0 { 0.0 } else { 1.0 }, ..Accuracy::exact(Meaning::Scaled(-inst.attrs.n)) }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("({} >> {})", args[0], inst.attrs.n)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let x = c.int(inst.result, &args[0]);
        c.wrap(inst.result, format!("{x} >> {}", inst.attrs.n))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (width, n) = (inst.result.width(), inst.attrs.n as u32);
        parts::unused_bits(c, args[0], n as i64 - 1, 0);
        let kept = parts::slice(c, "kept", args[0], width - 1, n);
        (parts::extend(c, "shr", kept, width, inst.result.is_signed()), None)
    }
}
