//! `xmul`: multiplication of fixeds of one format: rounded to nearest even, then wrapped without a flag (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::number::rounding;
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::{Fold, Unwrapped};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Flags, Format};

pub struct Xmul;

impl Operator for Xmul {
    fn name(&self) -> &'static str {
        "xmul"
    }

    fn summary(&self) -> &'static str {
        "fixed multiplication; rounds, then wraps"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        parts::two_fixeds(self.name(), args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn unwrapped(&self, inst: &Inst) -> Option<Unwrapped> {
        let (low, high) = parts::product_range(inst)?;
        let frac = inst.result.frac().unwrap_or(0);
        let rounded = |x: i128| {
            let magnitude = rounding::rescale(x.unsigned_abs(), frac, inst.attrs.round) as i128;
            if x < 0 { -magnitude } else { magnitude }
        };
        Some(Unwrapped { what: "product", low: rounded(low), high: rounded(high) })
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::product(constants).or_else(|| fold::by_one(inst, constants))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let (a, b) = (format.to_int(args[0]), format.to_int(args[1]));
        let magnitude =
            rounding::rescale(a.unsigned_abs() * b.unsigned_abs(), format.frac().unwrap_or(0), inst.attrs.round);
        (parts::wrap_signed(format, (a < 0) != (b < 0), magnitude), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Product, inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (format, frac) = (inst.result, inst.result.frac().unwrap_or(0));
        let wide = match (format.width() <= 32, format.is_signed()) {
            (true, true) => "int64_t",
            (true, false) => "uint64_t",
            (false, true) => "__int128",
            (false, false) => "unsigned __int128",
        };
        let product = format!("(({wide}){} * {})", args[0], args[1]);
        let rounded = match inst.truncates() {
            true => parts::c_shift_cut(&product, frac, format.is_signed()),
            false => parts::c_shift_round(&product, frac),
        };
        parts::c_wrap(format, &rounded)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (width, frac) = (inst.result.width(), inst.result.frac().unwrap_or(0));
        let signed = inst.result.is_signed();
        let kind = if signed { CType::signed(2 * width) } else { CType::unsigned(2 * width) };
        let (a, b) = (c.int(inst.result, &args[0]), c.int(inst.result, &args[1]));
        let p = c.set(kind, format!("({kind}){a} * ({kind}){b}"));
        if frac == 0 {
            return c.wrap(inst.result, p);
        }
        // Rounding to even is the same on either side of zero; cutting off goes toward zero.
        let add = match (inst.truncates(), signed) {
            (false, _) => format!("{} + (({p} >> {frac}) & 1)", kind.number((1 << (frac - 1)) - 1)),
            (true, true) => format!("({p} < 0 ? {} : 0)", kind.number((1 << frac) - 1)),
            (true, false) => "0".into(),
        };
        c.wrap(inst.result, format!("({p} + {add}) >> {frac}"))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (width, frac) = (inst.result.width(), inst.result.frac().unwrap_or(0));
        let signed = inst.result.is_signed();
        let product = match parts::times_constant(inst, c, args, 2 * width) {
            Some(product) => product,
            None => c.mul("product", args[0], args[1], signed),
        };
        if inst.truncates() {
            let sign = signed.then_some(2 * width - 1);
            parts::unused_bits(c, product, 2 * width as i64 - 1 - signed as i64, width + frac);
            return (parts::cut_at(c, product, frac, width, sign), None);
        }
        parts::unused_bits(c, product, 2 * width as i64 - 1, width + frac);
        (parts::round_at(c, product, frac, width), None)
    }
}
