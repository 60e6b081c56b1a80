//! `ffloor`, `fceil`, `ftrunc`, `fround`: a float as a whole number in its own format (RULES N3).

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::facts::Twice;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::shift::{Fill, any, bits_of, shift_right};
use crate::op::pieces::float_parts::{self, Value, c_suffix, fields, one_float, unpack};
use crate::op::pieces::whole::Way;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format, Rounding};

pub struct Fwhole(pub Way);

impl Operator for Fwhole {
    fn name(&self) -> &'static str {
        match self.0 {
            Way::Floor => "ffloor",
            Way::Ceil => "fceil",
            Way::Trunc => "ftrunc",
            Way::Round => "fround",
        }
    }

    fn summary(&self) -> &'static str {
        match self.0 {
            Way::Floor => "float rounded down to a whole number",
            Way::Ceil => "float rounded up to a whole number",
            Way::Trunc => "float rounded toward zero to a whole number",
            Way::Round => "float rounded to the nearest whole number, halves away from zero",
        }
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        one_float(self.name(), args)
    }

    fn flags(&self, inst: &Inst) -> Flags {
        self.ends_of(inst).iter().fold(Flags::NONE, |all, end| all | self.bits(inst, &[end[1]]).1)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let format = inst.result;
        let mut all = Bounds { low: i128::MAX, high: 0, zero: inst.bounds(0).zero };
        for end in self.ends_of(inst) {
            let [low, high] = end.map(|x| (self.bits(inst, &[x]).0 & (format.mask() >> 1)) as i128);
            // The least whole number other than 0 is 1.
            all.zero |= low == 0;
            if high > 0 {
                all.low = all.low.min(low.max(one(format) as i128));
                all.high = all.high.max(high);
            }
        }
        if all.high == 0 { Bounds::floats(format, 0, 0, true) } else { all }
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn twice(&self) -> Option<Twice> {
        // The others may overflow again.
        (self.0 == Way::Trunc).then_some(Twice::Same)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let format = inst.result;
        let Some(x) = unpack(format, args[0]) else { return (0, Flags::NONE) };
        if x.exp >= 0 {
            return (args[0], Flags::NONE);
        }
        // What is below a quarter is far from a half.
        let places = (-x.exp).min(format.mant() as i32 + 2) as u32;
        let signed = if x.negative { -(x.sig as i128) } else { x.sig as i128 };
        let mag = self.0.of(signed, places).unsigned_abs();
        let whole = Value { negative: x.negative, mag, exp: 0, sticky: false };
        float_parts::round(format, Rounding::Nearest, whole, Flags::OVERFLOW)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(self.0.of_f64(args[0].f64()))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Whole(self.0))
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        // Minus zero is zero.
        format!("({}{}({}) + 0)", self.0.name(), c_suffix(inst.result), args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (format, flags, x) = (inst.result, self.flags(inst), &args[0]);
        let (m, bias, kind) = (format.mant(), format.bias(), x.kind);
        let exp = floats::field(c, format, inst.is_nonneg(0), x);
        let sign = floats::sign(inst, c, 0, x);
        let magnitude = floats::magnitude(inst, c, 0, x);
        let below = c.test(format!("{exp} < {bias}"));
        // Bits of the fraction behind the point.
        let most = bias + m as i32;
        let places = c.set(I32, format!("{below} ? {m} : {exp} > {most} ? 0 : {most} - {exp}"));
        let rest = c.set(kind, format!("({} << {places}) - 1", kind.number(1)));
        let fraction = c.set(kind, format!("{magnitude} & {rest}"));
        let signed = |fraction: &CVar, of_negative: bool| match (&sign, of_negative) {
            (Some(sign), true) => Some(format!("({sign} != 0) & ({fraction} != 0)")),
            (Some(sign), false) => Some(format!("({sign} == 0) & ({fraction} != 0)")),
            (None, true) => None,
            (None, false) => Some(format!("{fraction} != 0")),
        };
        let half = one(format) - (1 << m);
        let (rises, small) = match self.0 {
            Way::Floor => (signed(&fraction, true), signed(&magnitude, true)),
            Way::Ceil => (signed(&fraction, false), signed(&magnitude, false)),
            Way::Trunc => (None, None),
            Way::Round => {
                let small = format!("({magnitude} != 0) & ({magnitude} >= {})", kind.number(half as i128));
                (Some(format!("{fraction} + {fraction} > {rest}")), Some(small))
            }
        };
        let whole = format!("({magnitude} & ~{rest})");
        let whole = c.set(kind, rises.map_or(whole.clone(), |up| format!("{whole} + ({up} ? {rest} + 1 : 0)")));
        let one = kind.number(one(format) as i128);
        let small = small.map_or("0".to_string(), |small| format!("({small} ? {one} : 0)"));
        let mut value = c.set(kind, format!("{below} ? {small} : {whole}"));
        if !flags.is_empty() {
            let most = CVar::constant(format, format.max_bits());
            let over = c.test(format!("{value} > {most}"));
            c.raise(Flags::OVERFLOW, &over);
            value = c.set(kind, format!("{over} ? {most} : {value}"));
        }
        match sign {
            Some(sign) => c.set(kind, format!("{value} != 0 ? {value} | {sign} : 0")),
            None => value,
        }
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let format = inst.result;
        let (e, m, bias) = (format.exp(), format.mant(), format.bias() as i128);
        let f = fields(c, format, args[0]);
        let sign = if inst.is_nonneg(0) { X::flag(false) } else { c.x(f.sign) };
        let below = c.logic("below", c.x(f.exp).lt(&X::constant(e, bias)));
        let rest = behind_point(c, format, f.exp);
        let cut = c.logic("cut", c.x(f.fraction) & c.x(rest));
        let rises = match self.0 {
            Way::Trunc => None,
            Way::Round => {
                let shorter = cat([X::flag(false), c.x(rest)]).top(m);
                let half = c.logic("half", c.x(cut) & !shorter);
                Some(any(c, half, m - 1, 0, None))
            }
            _ => Some(any(c, cut, m - 1, 0, None)),
        };
        // Below 1 the result is 1 or 0.
        let (rises, small) = match (self.0, rises) {
            (Way::Floor, Some(some)) => (&sign & c.x(some), &sign & c.x(f.nonzero)),
            (Way::Ceil, Some(some)) => (!&sign & c.x(some), !&sign & c.x(f.nonzero)),
            (Way::Round, Some(some)) if bias > 1 => (c.x(some), c.x(f.exp).is_number(bias - 1)),
            (Way::Round, Some(some)) => (c.x(some), X::flag(false)),
            _ => (X::flag(false), X::flag(false)),
        };
        let (rises, small) = (c.logic("rises", rises), c.logic("small", small));
        // Ones behind the point carry what rises to the place before it.
        let up = c.x(rises);
        let body = cat([c.x(f.exp), c.x(f.fraction) & !c.x(rest) | c.x(rest) & up.repeat(m)]);
        let body = c.logic("body", body);
        let whole = c.logic("whole", c.x(body) + up.zext(e + m));
        let under_one = c.x(small).repeat(e + m) & X::constant(e + m, one(format) as i128);
        let mut value = c.x(below).mux(&under_one, &c.x(whole));
        let over = (!self.flags(inst).is_empty()).then(|| {
            let top = field(c, "top", whole, e + m - 1, m);
            c.logic("over", c.x(top).all() & !c.x(below))
        });
        if let Some(over) = over {
            value = c.x(over).mux(&X::constant(e + m, format.max_bits() as i128), &value);
        }
        let sign = sign & (!c.x(below) | c.x(small));
        (c.logic("result", cat([sign, value])), over)
    }
}

/// The pattern of 1.
fn one(format: Format) -> u64 {
    (format.bias() as u64) << format.mant()
}

/// The bits of a fraction that stand behind the point, of a number of at least 1.
fn behind_point(c: &mut Circuit, format: Format, exp: Sig) -> Sig {
    let (e, m) = (format.exp(), format.mant());
    // The exponent of the number, by its field less the bias of 2^(e - 1) - 1.
    let next = c.logic("next", c.x(exp) + X::constant(e, 1));
    let near = bits_of(m).min(e - 1);
    let amount = field(c, "octave", next, near - 1, 0);
    let ones = c.logic("ones", X::ones(m));
    let rest = shift_right(c, ones, amount, m, Fill::Zeros).value;
    if near == e - 1 {
        return rest;
    }
    let far = any(c, next, e - 2, near, None);
    c.logic("rest", c.x(rest) & (!c.x(far)).repeat(m))
}

impl Fwhole {
    /// The arguments of the least and the greatest magnitude other than 0, of each sign that they can have.
    fn ends_of(&self, inst: &Inst) -> Vec<[u64; 2]> {
        let (low, high) = inst.magnitudes(0);
        let sign = 1u64 << (inst.result.width() - 1);
        if inst.is_nonneg(0) { vec![[low, high]] } else { vec![[low, high], [low | sign, high | sign]] }
    }
}
