//! `xfloor`, `xceil`, `xtrunc`, `xround`: a fixed as a whole number in its own format; saturates (RULES N3).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::{Fold, Twice};
use crate::op::pieces::parts;
use crate::op::pieces::whole::Way;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Xwhole(pub Way);

impl Operator for Xwhole {
    fn name(&self) -> &'static str {
        match self.0 {
            Way::Floor => "xfloor",
            Way::Ceil => "xceil",
            Way::Trunc => "xtrunc",
            Way::Round => "xround",
        }
    }

    fn summary(&self) -> &'static str {
        match self.0 {
            Way::Floor => "fixed rounded down to a whole number; saturates",
            Way::Ceil => "fixed rounded up to a whole number; saturates",
            Way::Trunc => "fixed rounded toward zero to a whole number",
            Way::Round => "fixed rounded to the nearest whole number, halves away from zero; saturates",
        }
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [a] if a.is_fixed() => Ok(*a),
            _ => Err(format!("`{}` takes one fixed", self.name())),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let (below, above) = self.leaves(inst);
        Flags::SATURATION.when(below || above)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        Bounds::ints(self.of(inst, a.low).0, self.of(inst, a.high).0)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        (frac(inst) == 0).then_some(Fold::Arg(0))
    }

    fn twice(&self) -> Option<Twice> {
        // The others may saturate again.
        (self.0 == Way::Trunc).then_some(Twice::Same)
    }

    fn low_zeros(&self, inst: &Inst, zeros: &[u32]) -> u32 {
        if self.flags(inst).is_empty() { frac(inst).max(parts::least(zeros)) } else { 0 }
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (value, saturates) = self.of(inst, inst.result.to_int(args[0]));
        (value as u64 & inst.result.mask(), Flags::SATURATION.when(saturates))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Whole(self.0))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (a, f) = (args[0], inst.result);
        if frac(inst) == 0 {
            return a.to_string();
        }
        // Two bits more hold every whole number.
        let (kind, one) = if f.width() <= 62 { ("int64_t", "1LL") } else { ("__int128", "((__int128)1)") };
        let rest = format!("(({one} << {}) - 1)", frac(inst));
        let x = format!("({kind}){a}");
        let moved = match self.0 {
            Way::Floor => x,
            Way::Ceil => format!("{x} + {rest}"),
            Way::Trunc => format!("{x} + ({x} < 0 ? {rest} : 0)"),
            Way::Round => format!("{x} + ({one} << {}) - ({x} < 0)", frac(inst) - 1),
        };
        let mut text = format!("(({moved}) & ~{rest})");
        let number = |v: i128| match (f.is_signed(), v) {
            (true, v) if v == i64::MIN as i128 => "INT64_MIN".to_string(),
            (true, v) => format!("{v}LL"),
            (false, v) => format!("{v}ULL"),
        };
        let (whole, ends) = (text.clone(), Bounds::of(f));
        let (below, above) = self.leaves(inst);
        if above {
            text = format!("({whole} > ({kind}){0} ? ({kind}){0} : {text})", number(ends.high));
        }
        if below {
            text = format!("({whole} < ({kind}){0} ? ({kind}){0} : {text})", number(ends.low));
        }
        format!("(({}){text})", parts::c_type(f))
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (f, places) = (inst.result, frac(inst));
        if places == 0 {
            return args[0].clone();
        }
        let kind = CType::signed(f.width() + 2);
        let x = c.int(f, &args[0]);
        let x = c.set(kind, x);
        let rest = (1i128 << places) - 1;
        let moved = match self.0 {
            Way::Floor => x,
            Way::Ceil => c.set(kind, format!("{x} + {}", kind.number(rest))),
            Way::Trunc if inst.never_negative(0) => x,
            Way::Trunc => c.set(kind, format!("{x} + ({x} < 0 ? {} : 0)", kind.number(rest))),
            Way::Round => c.set(kind, format!("{x} + {} - ({x} < 0)", kind.number(1 << (places - 1)))),
        };
        let whole = c.set(kind, format!("{moved} & {}", kind.number(!rest)));
        let (below, above) = self.leaves(inst);
        let mut result = c.wrap(f, format!("({}){whole}", CType::of(f)));
        let ends = Bounds::of(f);
        for (leaves, test, end, bits) in [(above, ">", ends.high, f.max_bits()), (below, "<", ends.low, f.min_bits())] {
            if leaves {
                let outside = c.test(format!("{whole} {test} {}", kind.number(end)));
                c.raise(Flags::SATURATION, &outside);
                let end = CVar::constant(f, bits);
                result = c.set(CType::of(f), format!("{outside} ? {end} : {result}"));
            }
        }
        result
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (x, width, places) = (args[0], inst.result.width(), frac(inst));
        if places == 0 {
            return (x, None);
        }
        let (below, above) = self.leaves(inst);
        let signed = inst.result.is_signed();
        let whole = width - places;
        // A place more where the next whole number may leave the format, and one for the sign where only that is left.
        let bits = if whole == 0 { 2 } else { whole + above as u32 };
        let part = match whole {
            0 if signed => c.logic("whole", c.x(x).msb().repeat(bits)),
            0 => c.logic("whole", X::zeros(bits)),
            _ => {
                let whole = parts::slice(c, "whole", x, width - 1, places);
                parts::extend(c, "wide", whole, bits, signed)
            }
        };
        let sum = match self.up(inst, c, x) {
            Some(up) => parts::add_bit(c, "sum", part, up),
            None => part,
        };
        let s = c.x(sum);
        let over = above.then(|| match (signed, whole) {
            (true, 0) => !s.bit(1) & s.bit(0),
            (true, _) => !s.msb() & s.bit(whole - 1),
            (false, 0) => s.bit(0),
            (false, _) => s.msb(),
        });
        let over = over.map(|x| c.logic("over", x));
        let under = below.then(|| c.logic("under", s.msb()));
        let mut q = cat([s.low(whole.min(bits)), X::zeros(places)]);
        for (when, end) in [(over, inst.result.max_bits()), (under, inst.result.min_bits())] {
            if let Some(when) = when {
                q = c.x(when).mux(&X::constant(width, end as i128), &q);
            }
        }
        let q = c.logic("result", q);
        let flag = match (over, under) {
            (Some(o), Some(u)) => Some(c.logic("saturation", c.x(o) | c.x(u))),
            (o, u) => o.or(u),
        };
        (q, flag)
    }
}

fn frac(inst: &Inst) -> u32 {
    inst.result.frac().unwrap_or(0)
}

impl Xwhole {
    /// The pattern's integer of the result for that of an argument, and whether it saturates.
    fn of(&self, inst: &Inst, x: i128) -> (i128, bool) {
        let (ends, value) = (Bounds::of(inst.result), self.0.of(x, frac(inst)) << frac(inst));
        let inside = value.clamp(ends.low, ends.high);
        (inside, inside != value)
    }

    /// Whether some result leaves the format downwards, or upwards. The ends decide: rounding is monotone.
    fn leaves(&self, inst: &Inst) -> (bool, bool) {
        let (ends, a) = (Bounds::of(inst.result), inst.bounds(0));
        let of = |x: i128| self.0.of(x, frac(inst)) << frac(inst);
        (of(a.low) < ends.low, of(a.high) > ends.high)
    }

    /// Whether the floor is one less than the result; `None`: it never is.
    fn up(&self, inst: &Inst, c: &mut Circuit, x: Sig) -> Option<Sig> {
        let places = frac(inst);
        let sign = (!inst.never_negative(0)).then(|| c.x(x).msb());
        let fraction = c.x(x).low(places);
        let up = match self.0 {
            Way::Floor => None,
            Way::Ceil => Some(fraction.any()),
            Way::Trunc => sign.map(|sign| sign & fraction.any()),
            // Of a negative number a half is not enough.
            Way::Round => Some(match (sign, places) {
                (None, _) => fraction.msb(),
                (Some(sign), 1) => fraction.msb() & !sign,
                (Some(sign), _) => fraction.msb() & (!sign | fraction.low(places - 1).any()),
            }),
        };
        up.map(|up| c.logic("up", up))
    }
}
