//! `shlv`: an int or fixed shifted left by a variable; an amount of W or more, or below 0, gives 0 (RULES N4).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::pieces::parts;
use crate::op::pieces::shift;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Shift;
use crate::{Flags, Format};

pub struct Shlv;

impl Operator for Shlv {
    fn name(&self) -> &'static str {
        "shlv"
    }

    fn summary(&self) -> &'static str {
        "int or fixed << int; amounts outside 0..W-1 give 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        crate::op::pieces::shift::result(self.name(), args)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let bits = match shift::amount(inst, args[1]) {
            Some(n) => args[0] << n & inst.result.mask(),
            None => 0,
        };
        (bits, Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let shifted = parts::c_wrap(inst.result, &format!("((uint64_t){} << {})", args[0], args[1]));
        format!("({} ? {shifted} : 0)", shift::c_in_range(inst, args[1]))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (x, kind) = (&args[0], CType::of(inst.result));
        let (n, inside) = shift::c_amount(inst, c, &args[1]);
        c.wrap(inst.result, format!("{inside} ? {x} << ({n} & {}) : ({kind})0", kind.bits - 1))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (amount, outside) = shift::decode(inst, c, args[1]);
        let shifted = match amount {
            None => args[0],
            Some(n) => c.logic("shifted", c.x(args[0]).shift(Shift::Left, &c.x(n))),
        };
        match outside {
            None => (shifted, None),
            Some(zero) => (parts::clear_if(c, "shlv", shifted, zero), None),
        }
    }
}
