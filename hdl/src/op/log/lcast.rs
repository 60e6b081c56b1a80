//! `lcast`: a log as the nearest log of another format (RULES N5): its logarithm rounded, to even where it lies half-way.

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::meaning::Real;
use crate::op::pieces::float_parts::text::{arg, cat, constant, repeat, slice, zeros};
use crate::op::pieces::log_parts::{self, Unbounded, c_type, field_bits, fields, finish, one_log};
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Lcast;

impl Operator for Lcast {
    fn name(&self) -> &'static str {
        "lcast"
    }

    fn summary(&self) -> &'static str {
        "log to log; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        one_log("lcast", args)?;
        attrs.to.filter(|to| to.is_log()).ok_or_else(|| "`lcast` casts to a log".into())
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let (low, high) = inst.magnitudes(0);
        log_parts::flags(self, inst, &[low], &[high])
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let (low, high) = inst.magnitudes(0);
        log_parts::bounds(self, inst, &[low], &[high], inst.bounds(0).zero)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let (from, to) = (inst.args[0].log_frac(), inst.result.log_frac());
        let log = if to >= from {
            x.log << (to - from)
        } else {
            let drop = from - to;
            let (kept, rest, half) = (x.log >> drop, x.log & ((1 << drop) - 1), 1 << (drop - 1));
            kept + (!inst.truncates() && (rest > half || rest == half && kept & 1 == 1)) as i64
        };
        pack(inst.result, Parts { log, ..x }, Flags::SATURATION)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        (args[0], Flags::NONE)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        format!("(({}){})", c_type(inst.result), args[0])
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (from, to) = (inst.args[0], inst.result);
        let (w, shift) = (field_bits(from), to.log_frac() as i64 - from.log_frac() as i64);
        let a = fields(inst, c, 0, args[0]);
        // Signed, without the bias, at the new point; a bit above for what rounding carries.
        let kept = (w as i64 + shift.min(0)) as u32;
        let sign = format!("~{}", slice(0, w, w as i64 - 1, w as i64 - 1));
        let bits = (kept + shift.max(0) as u32).max(field_bits(to)) + 3;
        let digits = slice(0, w, w as i64 - 2, (-shift).max(0));
        let fill = bits + 1 - kept - shift.max(0) as u32;
        let moved = cat(&[repeat(fill, &sign), digits, zeros(shift.max(0) as u32)]);
        let bias = constant(bits, to.bias() as i64);
        let field = if shift >= 0 || inst.truncates() {
            c.comb("power", bits, Cost::Add(bits), format!("{moved} + {bias}"), &[a.field])
        } else {
            let drop = -shift;
            let bit = |k: i64| slice(0, w, k, k);
            let rest = slice(0, w, drop - 2, 0);
            let low = if rest.is_empty() { bit(drop) } else { format!("({} | (|{rest}))", bit(drop)) };
            let up = c.comb("up", 1, Cost::Logic(drop as u32 + 1), format!("{} & {low}", bit(drop - 1)), &[a.field]);
            let text = format!("{} + {}", cat(&[moved, "1'b1".into()]), cat(&[bias, arg(1)]));
            let sum = c.comb("rounded", bits + 1, Cost::Add(bits + 1), text, &[a.field, up]);
            c.wire("power", bits, slice(0, bits + 1, bits as i64, 1), &[sum])
        };
        finish(self, inst, c, &Unbounded { field, sign: a.sign, mark: a.mark }, &[])
    }
}
