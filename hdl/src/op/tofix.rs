//! `tofix`: a float as the nearest int or fixed, ties to even; saturates (RULES N5).

use super::float_parts::unpack;
use super::{Attrs, Inst, Operator};
use crate::circuit::{Circuit, Sig};
use crate::{Flags, Format};

pub struct Tofix;

impl Operator for Tofix {
    fn name(&self) -> &'static str {
        "tofix"
    }

    fn summary(&self) -> &'static str {
        "float to int or fixed; rounds, saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_float() && !to.is_float() => Ok(to),
            _ => Err("`tofix` takes a float to an int or fixed".into()),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        // The greatest and the least value decide, since the conversion is monotone.
        let from = inst.args[0];
        let least = if inst.is_nonneg(0) { 0 } else { from.min_bits() };
        self.bits(inst, &[from.max_bits()]).1 | self.bits(inst, &[least]).1
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let to = inst.result;
        let Some(x) = unpack(inst.args[0], args[0]) else { return (0, Flags::NONE) };
        let up = x.exp + to.frac().expect("an int or fixed") as i32;
        let mag = if up >= 0 {
            // A shift of more than 64 exceeds every format and needs no exact value.
            (x.sig as i128) << up.min(65)
        } else {
            let down = (-up).min(64) as u32;
            let (kept, rest, half) = (x.sig as i128 >> down, x.sig as i128 & ((1 << down) - 1), 1i128 << (down - 1));
            kept + (rest > half || rest == half && kept & 1 == 1) as i128
        };
        let value = if x.negative { -mag } else { mag };
        let (least, greatest) = (to.to_int(to.min_bits()), to.to_int(to.max_bits()));
        let bounded = value.clamp(least, greatest);
        (bounded as u64 & to.mask(), Flags::SATURATION.when(bounded != value))
    }

    fn real(&self, _: &Inst, args: &[f64]) -> f64 {
        args[0]
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let to = inst.result;
        let scaled = match to.frac() {
            None | Some(0) => format!("(double)({})", args[0]),
            Some(frac) => format!("(double)({}) * 0x1p{frac}", args[0]),
        };
        // The bounds are the outermost doubles inside the format, so that the conversion to an integer is defined.
        let (least, greatest) = (to.to_int(to.min_bits()), to.to_int(to.max_bits()));
        let inner = if greatest >= 1 << 53 { greatest - (greatest >> 53) } else { greatest };
        let bounded = format!("fmin(fmax(rint({scaled}), {least}.0), {inner}.0)");
        if to.is_signed() { format!("(int64_t){bounded}") } else { format!("(int64_t)(uint64_t){bounded}") }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        todo!()
    }
}
