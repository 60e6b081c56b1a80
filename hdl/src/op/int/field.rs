//! `field`: some neighbouring bits of an int, as an unsigned int (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::Fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

/// The bits from `d` up to and with `n`.
pub struct Field;

impl Operator for Field {
    fn name(&self) -> &'static str {
        "field"
    }

    fn summary(&self) -> &'static str {
        "bits n down to d of an int"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let (high, low) = (attrs.n as i64, attrs.d as i64);
        match args {
            [a] if a.is_int() && 0 <= low && low <= high && high < a.width() as i64 => {
                Format::int((high - low + 1) as u32, false)
            }
            _ => Err("`field` takes an int and two of its bits, the higher one first".into()),
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        match a.low >= 0 && a.high >> inst.attrs.n < 2 {
            true => Bounds::ints(a.low >> inst.attrs.d, a.high >> inst.attrs.d),
            false => Bounds::of(inst.result),
        }
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (inst.args[0] == inst.result).then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, inst: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros).saturating_sub(inst.attrs.d as u32)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0] >> inst.attrs.d & inst.result.mask(), Flags::NONE)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Field(inst.attrs.n as u32, inst.attrs.d as u32))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("((uint64_t){} >> {} & {:#x}ULL)", args[0], inst.attrs.d, inst.result.mask())
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (kind, x) = (CType::of(inst.result), &args[0]);
        c.set(kind, format!("{x} >> {} & {}", inst.attrs.d, x.kind.number(inst.result.mask() as i128)))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (high, low) = (inst.attrs.n as u32, inst.attrs.d as u32);
        parts::unused_bits(c, args[0], low as i64 - 1, 0);
        parts::unused_bits(c, args[0], inst.args[0].width() as i64 - 1, high + 1);
        (parts::slice(c, "field", args[0], high, low), None)
    }
}
