//! `bits` and `frombits`: the pattern of a value as an unsigned int, and the value of a pattern (RULES N3).

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CVar};
use crate::op::facts::Fold;
use crate::op::pieces::float_parts;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Bits;
pub struct Frombits;

/// Offset from an exponent field to that of a C double.
fn rebias(f: Format) -> u64 {
    (1023 - f.bias()) as u64
}

impl Operator for Bits {
    fn name(&self) -> &'static str {
        "bits"
    }

    fn summary(&self) -> &'static str {
        "the pattern of an int, fixed or float as an unsigned int"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [a] if !a.is_log() => Format::int(a.width(), false),
            _ => Err("`bits` takes one int, fixed or float".into()),
        }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        match inst.never_negative(0) {
            false => Bounds::of(inst.result),
            true if inst.args[0].is_integral() => Bounds::ints(a.low.max(0), a.high),
            true => Bounds::ints(if a.zero { 0 } else { a.low }, a.high),
        }
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (inst.args[0] == inst.result).then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0], Flags::NONE)
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Pattern)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (f, a) = (inst.args[0], args[0]);
        if f.is_integral() {
            return format!("((uint64_t){a} & {:#x}ULL)", f.mask());
        }
        let (m, low) = (f.mant(), rebias(f) << f.mant());
        let word = format!("(uint64_t)__double_as_longlong((double){a})");
        let magnitude = format!("({word} & 0x7fffffffffffffffULL)");
        let drop = 52 - m;
        // C's number may have more places than the format: to nearest even.
        let rounded = match drop {
            0 => magnitude,
            _ => {
                format!("(({magnitude} + {:#x}ULL + ({magnitude} >> {drop} & 1)) >> {drop})", (1u64 << (drop - 1)) - 1)
            }
        };
        let (least, most) = (low + (1 << m), f.max_bits());
        format!(
            "({rounded} < {least:#x}ULL ? 0ULL : ({rounded} > {:#x}ULL ? {most:#x}ULL : {rounded} - {low:#x}ULL) \
             | {word} >> 63 << {})",
            low + most,
            f.width() - 1
        )
    }

    fn c_bits(&self, _: &Inst, _: &mut CText, args: &[CVar]) -> CVar {
        args[0].clone()
    }

    fn circuit(&self, _: &Inst, _: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        (args[0], None)
    }
}

impl Operator for Frombits {
    fn name(&self) -> &'static str {
        "frombits"
    }

    fn summary(&self) -> &'static str {
        "the int, fixed or float of a pattern; 0 and `invalid` of one that no float has"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_int() && !to.is_log() && a.width() == to.width() => Ok(to),
            _ => Err("`frombits` takes an int as wide as the int, fixed or float that it gives".into()),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let (infinity, a) = (inst.result.max_bits() as i128 + 1, inst.bounds(0));
        Flags::INVALID.when(inst.result.is_float() && (a.low < 0 || a.high >= infinity))
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (a, all) = (inst.bounds(0), Bounds::of(inst.result));
        if inst.result.is_integral() && a.low >= all.low && a.high <= all.high {
            Bounds::ints(a.low, a.high)
        } else {
            all
        }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        let a = inst.bounds(0);
        a.low >= 0 && a.high <= inst.result.mask() as i128 >> 1
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (inst.args[0] == inst.result).then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        parts::least(zeros)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let f = inst.result;
        if f.is_integral() {
            return (args[0], Flags::NONE);
        }
        let (field, top) = (args[0] >> f.mant() & ((1 << f.exp()) - 1), (1 << f.exp()) - 1);
        (if field == 0 || field == top { 0 } else { args[0] }, Flags::INVALID.when(field == top))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::OfPattern)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (f, a) = (inst.result, args[0]);
        if f.is_integral() {
            return parts::c_wrap(f, a);
        }
        let (m, e, w) = (f.mant(), f.exp(), f.width());
        let a = format!("((uint64_t){a} & {:#x}ULL)", f.mask());
        let field = format!("({a} >> {m} & {:#x}ULL)", (1u64 << e) - 1);
        let magnitude = format!("(({a} & {:#x}ULL) << {}) + {:#x}ULL", f.mask() >> 1, 52 - m, rebias(f) << 52);
        let word = format!("(long long)(({a} >> {} << 63) | ({magnitude}))", w - 1);
        let kind = float_parts::c_type(f);
        format!(
            "({field} == 0 || {field} == {:#x}ULL ? ({kind})0 : ({kind})__longlong_as_double({word}))",
            (1u64 << e) - 1
        )
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (f, x) = (inst.result, &args[0]);
        if f.is_integral() {
            return x.clone();
        }
        let top = x.kind.number((1 << f.exp()) - 1);
        let field = c.set(x.kind, format!("{x} >> {} & {top}", f.mant()));
        let mut value = format!("{field} == 0 ? 0 : {x}");
        if !self.flags(inst).is_empty() {
            let invalid = c.test(format!("{field} == {top}"));
            c.raise(Flags::INVALID, &invalid);
            value = format!("{invalid} ? 0 : {value}");
        }
        c.set(x.kind, value)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let f = inst.result;
        if f.is_integral() {
            return (args[0], None);
        }
        let field = parts::slice(c, "field", args[0], f.width() - 2, f.mant());
        let mut keep = c.x(field).any();
        let invalid = (!self.flags(inst).is_empty()).then(|| c.logic("invalid", c.x(field).all()));
        if let Some(invalid) = invalid {
            keep = keep & !c.x(invalid);
        }
        let keep = c.logic("keep", keep);
        (c.logic("value", c.x(keep).repeat(f.width()) & c.x(args[0])), invalid)
    }
}
