//! `fadd` and `fsub`: correctly rounded float addition and subtraction (RULES N2).

mod magnitudes;
mod signed;

use crate::circuit::{Circuit, Sig};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::{CText, CType, CVar, I32, U32};
use crate::op::ctext::{double, single};
use crate::op::facts::{Fast, Fold};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::{Value, round, same_floats, sum_bounds, unpack};
use crate::op::pieces::fold;
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::{Bounds, Flags, Format};

pub struct Fadd;
pub struct Fsub;

impl Operator for Fadd {
    fn name(&self) -> &'static str {
        "fadd"
    }

    fn summary(&self) -> &'static str {
        "float addition"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fadd", args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        flags(inst)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        if !both_nonneg(inst) {
            return signed_bounds(inst);
        }
        sum_bounds(inst, |x, y| self.bits(inst, &[x, y]).0)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.none_negative()
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, _: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::sum(constants)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Add)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        sum(inst, args[0], args[1], false)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64() + args[1].f64())
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Sum, inst)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} + {})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_sum(inst, c, args, false, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, false)
    }
}

impl Operator for Fsub {
    fn name(&self) -> &'static str {
        "fsub"
    }

    fn summary(&self) -> &'static str {
        "float subtraction"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_floats("fsub", args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        if inst.same {
            return Flags::NONE;
        }
        // A difference of numbers that are not negative is what a sum of unlike signs is, and no larger than either.
        let any = flags(&Inst { nonneg: 0, ..inst.clone() });
        if both_nonneg(inst) { Flags(any.0 & !Flags::OVERFLOW.0) } else { any }
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        signed_bounds(inst)
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::difference(inst, constants)
    }

    fn fast(&self, _: &Inst) -> Option<Fast> {
        Some(Fast::Sub)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        sum(inst, args[0], args[1], true)
    }

    fn real(&self, _: &Inst, args: &[Real]) -> (Real, Flags) {
        Real::number(args[0].f64() - args[1].f64())
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        Accuracy::rounded(Meaning::Difference, inst)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        format!("({} - {})", args[0], args[1])
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_sum(inst, c, args, true, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, true)
    }
}

fn flags(inst: &Inst) -> Flags {
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    // Nothing cancels between numbers of one sign. Otherwise what is left is a multiple of the last place of either.
    let least = (la.min(lb) >> inst.result.mant()) as i64 - inst.result.mant() as i64;
    sum(inst, ha, hb, false).1 | Flags::UNDERFLOW.when(!one_sign(inst) && least < 1)
}

/// Whether the arguments never have unlike signs.
fn one_sign(inst: &Inst) -> bool {
    inst.same || both_nonneg(inst)
}

/// The bounds of a sum or difference of numbers of any sign.
fn signed_bounds(inst: &Inst) -> Bounds {
    let m = inst.result.mant();
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    let least = (la.min(lb) >> m).saturating_sub(m as u64).max(1) << m;
    Bounds::floats(inst.result, least, sum(inst, ha, hb, false).0, true)
}

fn both_nonneg(inst: &Inst) -> bool {
    inst.is_nonneg(0) && inst.is_nonneg(1)
}

/// a + b, or a - b.
fn sum(inst: &Inst, a: u64, b: u64, subtract: bool) -> (u64, Flags) {
    let format = inst.result;
    let (Some(x), Some(mut y)) = (unpack(format, a), unpack(format, b)) else {
        let sign = 1 << (format.width() - 1);
        let b = if subtract && unpack(format, b).is_some() { b ^ sign } else { b };
        return (a | b, Flags::NONE);
    };
    y.negative ^= subtract;
    let (big, small) = if x.exp >= y.exp { (x, y) } else { (y, x) };
    // 64 bits below the larger one hold the smaller one exactly, or else it lies so far below that any
    // value above zero and under half a last place rounds alike.
    let distance = (big.exp - small.exp) as u32;
    let near = if distance <= 64 { (small.sig as i128) << (64 - distance) } else { 1 };
    let signed = |negative: bool, m: i128| if negative { -m } else { m };
    let total = signed(big.negative, (big.sig as i128) << 64) + signed(small.negative, near);
    let value = Value { negative: total < 0, mag: total.unsigned_abs(), exp: big.exp as i64 - 64, sticky: false };
    round(format, inst.attrs.round, value, Flags::OVERFLOW)
}

fn circuit(op: &dyn Operator, inst: &Inst, c: &mut Circuit, args: &[Sig], subtract: bool) -> (Sig, Option<Sig>) {
    if both_nonneg(inst) && !subtract {
        return magnitudes::circuit(op, inst, c, args);
    }
    signed::circuit(op, inst, c, args, subtract)
}

/// Two arguments in order of their exponents alone, as both kinds of sum begin.
struct ByExponent {
    /// Exponent fields and fractions of the arguments.
    exps: [Sig; 2],
    fractions: [Sig; 2],
    /// The first exponent less the second, and whether that is negative.
    distance: Sig,
    swap: Sig,
    /// Exponent field and fraction of the larger one.
    exp: Sig,
    big: Sig,
}

fn by_exponent(format: Format, c: &mut Circuit, args: &[Sig]) -> ByExponent {
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let exps = [field(c, "exp_a", args[0], w - 2, m), field(c, "exp_b", args[1], w - 2, m)];
    let fractions = [field(c, "fraction_a", args[0], m - 1, 0), field(c, "fraction_b", args[1], m - 1, 0)];
    let distance = c.logic("distance", c.x(exps[0]).zext(e + 1) - c.x(exps[1]).zext(e + 1));
    let swap = field(c, "swap", distance, e, e);
    let exp = c.logic("exp_big", c.x(swap).mux(&c.x(exps[1]), &c.x(exps[0])));
    let big = c.logic("big", c.x(swap).mux(&c.x(fractions[1]), &c.x(fractions[0])));
    ByExponent { exps, fractions, distance, swap, exp, big }
}

/// C: a + b, or a - b, ordered by magnitude and aligned with three places below the larger one at least.
fn c_sum(inst: &Inst, c: &mut CText, args: &[CVar], subtract: bool, flags: Flags) -> CVar {
    let narrow = single::sum(inst, c, args, subtract, flags);
    if let Some(sum) = narrow.or_else(|| double::sum(inst, c, args, subtract, flags)) {
        return sum;
    }
    let (format, m) = (inst.result, inst.result.mant());
    let (a, b) = (floats::magnitude(inst, c, 0, &args[0]), floats::magnitude(inst, c, 1, &args[1]));
    let swap = c.test(format!("{a} < {b}"));
    let big = c.set(a.kind, format!("{swap} ? {b} : {a}"));
    let small = c.set(a.kind, format!("{swap} ? {a} : {b}"));
    let exp = c.set(I32, format!("{big} >> {m}"));
    let distance = c.set(U32, format!("(uint32_t){exp} - (uint32_t)({small} >> {m})"));
    // One bit above the larger significand for the carry; a bit fallen out is kept in the last one.
    let kind = CType::unsigned(m + 5);
    let below = kind.bits - 2 - m;
    let zero = inst.bounds(0).zero || inst.bounds(1).zero;
    let placed = |c: &mut CText, x: &CVar, zero: bool| {
        let (hidden, fraction) = (x.kind.number(1 << m), x.kind.number((1 << m) - 1));
        // Any magnitude but 0 is as large as the hidden bit.
        let hidden = if zero { format!("({x} < {hidden} ? {x} : {hidden})") } else { hidden };
        c.set(kind, format!("({kind})(({x} & {fraction}) | {hidden}) << {below}"))
    };
    let all_zero = inst.bounds(0).zero && inst.bounds(1).zero;
    let (sb, ss) = (placed(c, &big, all_zero), placed(c, &small, zero));
    let moved = c.set(kind, format!("pf_shr{}({ss}, {distance})", kind.bits));
    let moved = c.set(kind, format!("{moved} | (pf_shl{}({moved}, {distance}) != {ss})", kind.bits));
    let bit = floats::sign_bit(format);
    let minus = if subtract { format!(" ^ {bit}") } else { String::new() };
    let second = format!("({}{minus})", args[1]);
    let signs = !both_nonneg(inst);
    let sign = (signs || subtract).then(|| c.set(a.kind, format!("({swap} ? {second} : {}) & {bit}", args[0])));
    let differ = match (signs, subtract) {
        _ if inst.same => subtract.then(|| CVar::new("true", U32)),
        (false, subtract) => subtract.then(|| CVar::new("true", U32)),
        (true, _) => Some(c.test(format!("(({} ^ {second}) & {bit}) != 0", args[0]))),
    };
    let total = match &differ {
        None => c.set(kind, format!("{sb} + {moved}")),
        Some(d) => c.set(kind, format!("{d} ? {sb} - {moved} : {sb} + {moved}")),
    };
    let live = (differ.is_some() || all_zero).then(|| c.test(format!("{total} != 0")));
    let value = floats::Value {
        magnitude: total,
        bits: kind.bits,
        least: if differ.is_some() { 0 } else { m + below },
        sticky: true,
        exp: exp.text,
        offset: -((m + below) as i64),
        sign,
        live,
    };
    floats::round(c, format, inst.truncates(), value, flags)
}
