//! `xcast`: a cast with a fixed side and no float: keeps the real value, rounds to nearest even, saturates (RULES N5).

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::number::rounding;
use crate::op::accuracy::Accuracy;
use crate::op::ctext::ints;
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::{Fold, Loss};
use crate::op::pieces::fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Xcast;

impl Operator for Xcast {
    fn name(&self) -> &'static str {
        "xcast"
    }

    fn summary(&self) -> &'static str {
        "int or fixed to fixed, fixed to int; rounds, then saturates"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        match (args, attrs.to) {
            ([a], Some(to)) if a.is_integral() && to.is_integral() && (a.is_fixed() || to.is_fixed()) => Ok(to),
            _ => Err("`xcast` takes an int or fixed and a target of which one side is fixed".into()),
        }
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let plan = Plan::new(inst);
        Flags::SATURATION.when(plan.over || plan.under)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        let a = inst.bounds(0);
        let cast = |x: i128| inst.result.to_int(self.bits(inst, &[x as u64 & inst.args[0].mask()]).0);
        Bounds::ints(cast(a.low), cast(a.high))
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold::cast(inst)
    }

    fn low_zeros(&self, inst: &Inst, zeros: &[u32]) -> u32 {
        let (from, to) = fracs(inst);
        // The ends of the range have other low bits.
        let saturates = self.loss(inst, u32::MAX) == Some(Loss::Range);
        if saturates { 0 } else { (zeros[0] + to).saturating_sub(from) }
    }

    fn loss(&self, inst: &Inst, zeros: u32) -> Option<Loss> {
        let ((from, to), b, limits) = (fracs(inst), inst.bounds(0), Bounds::of(inst.result));
        let (up, down) = (to.saturating_sub(from), from.saturating_sub(to));
        let scaled = |x: i128| x.checked_mul(1 << up).map(|x| x >> down);
        let within = |x: i128| scaled(x).is_some_and(|x| (limits.low..=limits.high).contains(&x));
        if !within(b.low) || !within(b.high) {
            return Some(Loss::Range);
        }
        (inst.result.is_fixed() && zeros < down).then_some(Loss::Fraction(down))
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (to, value) = (inst.result, inst.args[0].to_int(args[0]));
        let magnitude = rescale(inst, value.unsigned_abs());
        let limit = if value < 0 { to.to_int(to.min_bits()) } else { to.to_int(to.max_bits()) };
        if magnitude <= limit.unsigned_abs() {
            (parts::wrap_signed(to, value < 0, magnitude), Flags::NONE)
        } else {
            (limit as u64 & to.mask(), Flags::SATURATION)
        }
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::cast(inst)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        c_text(inst, args[0])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let (to, flags) = (inst.result, self.flags(inst));
        let (from_frac, to_frac) = fracs(inst);
        let (left, right) = (to_frac.saturating_sub(from_frac), from_frac.saturating_sub(to_frac));
        let (negative, magnitude) = ints::magnitude(inst, c, 0, &args[0]);
        let width = inst.args[0].width();
        let mut scaled = ints::shift_round(c, &magnitude, width, right, inst.truncates());
        if left > 0 {
            let kind = CType::unsigned(width + left);
            scaled = c.set(kind, format!("({kind}){scaled} << {left}"));
        }
        let plain = ints::with_sign(c, to, negative.as_ref(), &scaled);
        if flags.is_empty() {
            return plain;
        }
        let limit = |bits: u64| to.to_int(bits).unsigned_abs() as i128;
        let (most, least) = (limit(to.max_bits()), limit(to.min_bits()));
        let kind = scaled.kind.max(CType::of(to));
        let choice =
            |yes: String, no: String| negative.as_ref().map_or(no.clone(), |n| format!("({n} ? {yes} : {no})"));
        let bound = choice(kind.number(least), kind.number(most));
        let outside = c.test(format!("({kind}){scaled} > {bound}"));
        c.raise(Flags::SATURATION, &outside);
        let pattern = CType::of(to);
        let end = choice(pattern.number(to.min_bits() as i128), pattern.number(to.max_bits() as i128));
        c.set(pattern, format!("{outside} ? {end} : {plain}"))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let plan = Plan::new(inst);
        let width = inst.result.width();
        if plan.width == 0 {
            parts::unused(c, args[0]);
            return (c.logic("xcast", X::zeros(width)), None);
        }
        let mut source = args[0];
        if plan.drop_sign {
            let top = c.width(source) - 1;
            parts::unused_bits(c, source, top as i64, top);
            source = parts::slice(c, "magnitude", source, top - 1, 0);
        }
        let value = if plan.right == 0 {
            source
        } else {
            let wide = parts::extend(c, "wide", source, c.width(source).max(plan.width + plan.right), plan.signed);
            match inst.truncates() {
                true => parts::cut_at(c, wide, plan.right, plan.width, plan.signed.then_some(c.width(wide) - 1)),
                false => parts::round_at(c, wide, plan.right, plan.width),
            }
        };
        place(inst, &plan, c, value)
    }
}

/// The source's integer moved to the target's point: exact, or rounded.
fn rescale(inst: &Inst, magnitude: u128) -> u128 {
    let (from, to) = fracs(inst);
    if to >= from { magnitude << (to - from) } else { rounding::rescale(magnitude, from - to, inst.attrs.round) }
}

fn fracs(inst: &Inst) -> (u32, u32) {
    (inst.args[0].frac().unwrap_or(0), inst.result.frac().unwrap_or(0))
}

/// The facts about a cast that follow from the formats and known signs before any value is known.
struct Plan {
    /// The argument is signed but known not to be negative: its top bit is dropped.
    drop_sign: bool,
    /// Whether the argument, taken so, is signed.
    signed: bool,
    /// Places to shift right with rounding, and then left.
    right: u32,
    left: u32,
    /// Bits of the value after rounding; 0 if it is always 0.
    width: u32,
    /// Whether some value lies above, or below, the target's range.
    over: bool,
    under: bool,
}

impl Plan {
    fn new(inst: &Inst) -> Plan {
        let (source, target) = (inst.args[0], inst.result);
        let (from, to) = fracs(inst);
        let (right, left) = (from.saturating_sub(to), to.saturating_sub(from));
        let drop_sign = source.is_signed() && inst.is_nonneg(0) && source.width() > 1;
        let signed = source.is_signed() && !drop_sign;
        // The ends of the source's range after rounding, as magnitudes.
        let end = |bits: u64| rounding::rescale(source.to_int(bits).unsigned_abs(), right, inst.attrs.round);
        let (top, bottom) =
            (end(source.max_bits()), if signed && !inst.is_nonneg(0) { end(source.min_bits()) } else { 0 });
        let bits = |n: u128| 128 - n.leading_zeros();
        let width = match (top, bottom) {
            (0, 0) => 0,
            _ if signed => bits(top).max(bits(bottom.saturating_sub(1))) + 1,
            _ => bits(top),
        };
        let max = target.to_int(target.max_bits()).unsigned_abs();
        let min = target.to_int(target.min_bits()).unsigned_abs();
        Plan { drop_sign, signed, right, left, width, over: top << left > max, under: bottom << left > min }
    }
}

/// Shifts the rounded value to the left and saturates it.
fn place(inst: &Inst, plan: &Plan, c: &mut Circuit, value: Sig) -> (Sig, Option<Sig>) {
    let (target, width, w) = (inst.result, inst.result.width(), plan.width);
    // The value's bits that lie inside the target, and its magnitude bits that the target has.
    let kept = width - plan.left;
    let limit = if target.is_signed() { kept.saturating_sub(1) } else { kept };
    let magnitude = if plan.signed { w - 1 } else { w };
    let result = (kept > 0).then(|| {
        let low = parts::slice(c, "kept", value, kept.min(w) - 1, 0);
        let wide = parts::extend(c, "extended", low, kept, plan.signed);
        if plan.left == 0 { wide } else { c.logic("shifted", c.x(wide).shl(plan.left)) }
    });
    if !plan.over && !plan.under {
        return (result.expect("a value that is not always 0 and fits has a bit inside"), None);
    }
    let sign = plan.signed.then(|| parts::slice(c, "sign", value, w - 1, w - 1));
    let high = (limit < magnitude).then(|| parts::slice(c, "beyond", value, magnitude - 1, limit));
    let over = plan.over.then(|| {
        let high = high.expect("a value above the range has bits above it");
        let cost = Cost::Logic(c.width(high) + 1);
        let over = sign.map_or(c.x(high).any(), |s| c.x(high).any() & !c.x(s));
        c.logic_at("over", over, cost, "the sign is one input where there is one")
    });
    let under = plan.under.then(|| {
        let s = sign.expect("a value below the range has a sign");
        match high {
            Some(h) if target.is_signed() && kept > 0 => c.logic("under", !c.x(h).all() & c.x(s)),
            _ => s,
        }
    });
    let mut q = match result {
        Some(r) => r,
        None => c.logic("nothing", X::zeros(width)),
    };
    for (condition, end) in [(over, target.max_bits()), (under, target.min_bits())] {
        if let Some(s) = condition {
            q = c.logic("saturated", c.x(s).mux(&X::constant(width, end as i128), &c.x(q)));
        }
    }
    let flag = match (over, under) {
        (Some(o), Some(u)) => c.logic("saturation", c.x(o) | c.x(u)),
        (one, other) => one.or(other).expect("one of them was checked above"),
    };
    (q, Some(flag))
}

/// C: rounding by 64-bit shifts, then comparison with the ends of the range before the shift to the left.
fn c_text(inst: &Inst, a: &str) -> String {
    let (source, target) = (inst.args[0], inst.result);
    let (from, to) = fracs(inst);
    let (right, left) = (from.saturating_sub(to), to.saturating_sub(from));
    let value = match (right, source.is_signed()) {
        (64, _) if inst.truncates() => return format!("(({})0)", parts::c_type(target)),
        (64, true) => return "((int64_t)0)".into(),
        (64, false) => format!("((uint64_t)({a} > 0x8000000000000000ULL))"),
        (_, signed) if inst.truncates() => parts::c_shift_cut(a, right, signed),
        _ => parts::c_shift_round(a, right),
    };
    let (max, min) = (target.to_int(target.max_bits()), target.to_int(target.min_bits()));
    // The greatest and the least value that stay inside after the shift; the divisions round towards the inside.
    let (high, low) = (max.checked_shr(left).unwrap_or(0), -((-min).checked_shr(left).unwrap_or(0)));
    let number = |v: i128, f: Format| match f.is_signed() {
        true if v == i64::MIN as i128 => "INT64_MIN".to_string(),
        true => format!("{v}LL"),
        false => format!("{v}ULL"),
    };
    let mut text = if left >= 64 { "0".to_string() } else { format!("((uint64_t){value} << {left})") };
    text = format!("(({}){text})", parts::c_type(target));
    if high < source.to_int(source.max_bits()) {
        text = format!("({value} > {} ? {} : {text})", number(high, source), number(max, target));
    }
    if low > source.to_int(source.min_bits()) {
        text = format!("({value} < {} ? {} : {text})", number(low, source), number(min, target));
    }
    text
}
