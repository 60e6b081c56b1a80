//! `shrv`: an int or fixed shifted right by a variable; an amount of W or more, or below 0, gives 0, or the sign if signed (RULES N4).

use crate::circuit::{Circuit, Sig};
use crate::op::ctext::{CText, CVar};
use crate::op::pieces::parts;
use crate::op::pieces::shift;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Shift;
use crate::{Flags, Format};

pub struct Shrv;

impl Operator for Shrv {
    fn name(&self) -> &'static str {
        "shrv"
    }

    fn summary(&self) -> &'static str {
        "int or fixed >> int; amounts outside 0..W-1 give 0, or the sign if signed"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        crate::op::pieces::shift::result(self.name(), args)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let value = inst.result.to_int(args[0]);
        let bits = match shift::amount(inst, args[1]) {
            Some(n) => value >> n,
            None => value >> 64,
        };
        (bits as u64 & inst.result.mask(), Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let in_range = shift::c_in_range(inst, args[1]);
        if inst.result.is_signed() {
            format!("({} >> ({in_range} ? {} : 63))", args[0], args[1])
        } else {
            format!("({in_range} ? {} >> {} : 0)", args[0], args[1])
        }
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (x, width) = (c.int(inst.result, &args[0]), inst.result.width());
        let (n, inside) = shift::c_amount(inst, c, &args[1]);
        // All places of a signed number leave its sign.
        match inst.result.is_signed() {
            true => c.wrap(inst.result, format!("{x} >> ({inside} ? (uint32_t){n} : {}u)", width - 1)),
            false => c.wrap(inst.result, format!("{inside} ? {x} >> ({n} & {}) : ({})0", x.kind.bits - 1, x.kind)),
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (amount, outside) = shift::decode(inst, c, args[1]);
        let (width, signed) = (inst.result.width(), inst.result.is_signed());
        let how = if signed { Shift::Arithmetic } else { Shift::Right };
        let shifted = match amount {
            None => args[0],
            Some(n) => c.logic("shifted", c.x(args[0]).shift(how, &c.x(n))),
        };
        let Some(outside) = outside else { return (shifted, None) };
        if !signed {
            return (parts::clear_if(c, "shrv", shifted, outside), None);
        }
        if width == 1 {
            // One signed bit is its own sign.
            parts::unused(c, outside);
            return (shifted, None);
        }
        let sign = parts::slice(c, "sign", args[0], width - 1, width - 1);
        (c.logic("shrv", c.x(outside).mux(&c.x(sign).repeat(width), &c.x(shifted))), None)
    }
}
