//! `shl`: an int or fixed shifted left by a constant; bits that leave are lost (RULES N4).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::{Fast, Fold, Unwrapped};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Shl;

impl Operator for Shl {
    fn name(&self) -> &'static str {
        "shl"
    }

    fn summary(&self) -> &'static str {
        "int or fixed << constant; wraps"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let format = parts::one_number(self.name(), args)?;
        match attrs.n {
            n if (0..format.width() as i32).contains(&n) => Ok(format),
            n => Err(format!("a shift of {format} by {n}; 0 to {} are possible", format.width() - 1)),
        }
    }

    fn unwrapped(&self, inst: &Inst) -> Option<Unwrapped> {
        let (a, n) = (inst.bounds(0), inst.attrs.n);
        Some(Unwrapped { what: "shift", low: a.low.checked_mul(1 << n)?, high: a.high.checked_mul(1 << n)? })
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::shift(inst)
    }

    fn low_zeros(&self, inst: &Inst, zeros: &[u32]) -> u32 {
        zeros[0] + inst.attrs.n as u32
    }

    fn vanishes(&self, inst: &Inst, zeros: u32) -> Option<bool> {
        let width = inst.result.width();
        Some(zeros < width && zeros + inst.attrs.n as u32 >= width)
    }

    fn fast(&self, inst: &Inst) -> Option<Fast> {
        Some(Fast::Shl(inst.attrs.n as u32))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0] << inst.attrs.n & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Scaled(inst.attrs.n))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        parts::c_wrap(inst.result, &format!("((uint64_t){} << {})", args[0], inst.attrs.n))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c.wrap(inst.result, format!("{} << {}", args[0], inst.attrs.n))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (width, n) = (inst.result.width(), inst.attrs.n as u32);
        if n == 0 {
            return (args[0], None);
        }
        parts::unused_bits(c, args[0], width as i64 - 1, width - n);
        let kept = parts::slice(c, "kept", args[0], width - 1 - n, 0);
        (c.logic("shl", c.x(kept).shl(n)), None)
    }
}
