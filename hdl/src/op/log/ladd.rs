//! `ladd` and `lsub`: sums and differences of two logs, the exact real ones rounded once, by tables (RULES N2).
//!
//! With d the larger logarithm less the smaller one, the logarithm of the sum is the larger one plus log2(1 + 2^-d), and that
//! of the difference is it less -log2(1 - 2^-d). Both corrections depend on d alone and vanish where it is large; but where results are
//! cut off toward zero, a difference is never its larger part, however small the other one is.

use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{self, Parts, pack, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32, U32};
use crate::op::facts::Fold;
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::sum_bounds;
use crate::op::pieces::fold;
use crate::op::pieces::log_parts::{Unbounded, field_bits, finish, same_logs};
use crate::op::semantics::Real;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::expr::Binary;
use crate::{Bounds, Flags, Format};

pub struct Ladd;
pub struct Lsub;

impl Operator for Ladd {
    fn name(&self) -> &'static str {
        "ladd"
    }

    fn summary(&self) -> &'static str {
        "log addition, rounded once"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_logs("ladd", args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        flags(inst, false)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        match can_differ(inst, false) {
            true => signed_bounds(inst),
            false => sum_bounds(inst, |x, y| total(inst, x, y, false).0),
        }
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

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        total(inst, args[0], args[1], false)
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
        c_total(inst, c, args, false, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, false)
    }
}

impl Operator for Lsub {
    fn name(&self) -> &'static str {
        "lsub"
    }

    fn summary(&self) -> &'static str {
        "log subtraction, rounded once"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        same_logs("lsub", args)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        flags(inst, true)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        signed_bounds(inst)
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        fold::difference(inst, constants)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        total(inst, args[0], args[1], true)
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
        c_total(inst, c, args, true, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(self, inst, c, args, true)
    }
}

/// Whether magnitudes can be subtracted, and whether they can be added.
fn can_differ(inst: &Inst, subtract: bool) -> bool {
    subtract || !(inst.is_nonneg(0) && inst.is_nonneg(1))
}

fn can_agree(inst: &Inst, subtract: bool) -> bool {
    !(subtract && inst.is_nonneg(0) && inst.is_nonneg(1))
}

fn flags(inst: &Inst, subtract: bool) -> Flags {
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    // A number less itself is 0, and one added to itself has no unlike signs.
    let above =
        !(inst.same && subtract) && can_agree(inst, subtract) && total(inst, ha, hb, false).1.contains(Flags::OVERFLOW);
    let below =
        !inst.same && can_differ(inst, subtract) && least_difference(inst, la.min(lb)) < -(inst.result.bias() as i64);
    Flags::OVERFLOW.when(above) | Flags::UNDERFLOW.when(below)
}

/// The least logarithm of a difference where neither magnitude is less than `least`: that of neighbours.
fn least_difference(inst: &Inst, least: u64) -> i64 {
    let next = unpack(inst.result, least).map_or(0, |x| x.log) + 1;
    next - lns::differences(inst.result.log_frac(), inst.attrs.round)[1] as i64
}

fn signed_bounds(inst: &Inst) -> Bounds {
    let ((la, ha), (lb, hb)) = (inst.magnitudes(0), inst.magnitudes(1));
    // No difference is less than that of neighbours, and no argument is.
    let log = least_difference(inst, la.min(lb));
    let least = pack(inst.result, Parts { negative: false, log }, Flags::NONE).0.min(la.min(lb));
    let (greatest, _) = total(inst, ha, hb, false);
    Bounds::floats(inst.result, least, greatest, true)
}

/// a + b, or a - b.
fn total(inst: &Inst, a: u64, b: u64, subtract: bool) -> (u64, Flags) {
    let format = inst.result;
    let y = unpack(format, b).map(|y| Parts { negative: y.negative ^ subtract, ..y });
    let (big, small) = match (unpack(format, a), y) {
        (None, None) => return (0, Flags::NONE),
        (Some(one), None) | (None, Some(one)) => return pack(format, one, Flags::NONE),
        (Some(x), Some(y)) if x.log >= y.log => (x, y),
        (Some(x), Some(y)) => (y, x),
    };
    let distance = (big.log - small.log) as usize;
    let (frac, mode) = (format.log_frac(), inst.attrs.round);
    let correction = |table: &[u32], far: u32| table.get(distance).copied().unwrap_or(far) as i64;
    let log = if big.negative == small.negative {
        big.log + correction(lns::sums(frac, mode), 0)
    } else if distance == 0 {
        return (0, Flags::NONE);
    } else {
        big.log - correction(lns::differences(frac, mode), lns::far_difference(mode))
    };
    pack(format, Parts { log, ..big }, Flags::OVERFLOW)
}

fn circuit(op: &dyn Operator, inst: &Inst, c: &mut Circuit, args: &[Sig], subtract: bool) -> (Sig, Option<Sig>) {
    let format = inst.result;
    let (w, frac) = (field_bits(format), format.log_frac());
    // With the mark above the logarithm a zero is less than all else, and too far below it to matter.
    let magnitudes = [0, 1].map(|k| field(c, "magnitude", args[k], w, 0));
    let less = c.logic("less", c.x(magnitudes[0]).zext(w + 2) - c.x(magnitudes[1]).zext(w + 2));
    let swap = field(c, "swap", less, w + 1, w + 1);
    let swapped = c.x(swap);
    let turned = c.x(less).low(w + 1) ^ swapped.repeat(w + 1);
    let distance = c.logic("distance", turned + swapped.zext(w + 1));
    let big = c.logic("big", swapped.mux(&c.x(magnitudes[1]), &c.x(magnitudes[0])));

    let top = w + 1;
    let mut signs = [0, 1].map(|k| (!inst.is_nonneg(k)).then(|| field(c, "sign", args[k], top, top)));
    if subtract {
        signs[1] = Some(match signs[1] {
            Some(s) => c.logic("minus", !c.x(s)),
            None => c.logic("minus", X::flag(true)),
        });
    }
    let (agree, differ) = (can_agree(inst, subtract), can_differ(inst, subtract));
    let zero = c.logic("zero", X::flag(false));
    let [a, b] = signs.map(|s| s.unwrap_or(zero));
    let sign = differ.then(|| c.logic("sign", swapped.mux(&c.x(b), &c.x(a))));
    let unlike = (differ && agree).then(|| c.logic("unlike", c.x(a) ^ c.x(b)));

    // The tables, and whether the distance lies beyond them.
    let mode = inst.attrs.round;
    let sums: &[u32] = if agree { lns::sums(frac, mode) } else { &[] };
    let differences: &[u32] = if differ { lns::differences(frac, mode) } else { &[] };
    let rows = sums.len().max(differences.len()).next_power_of_two();
    let bits = rows.ilog2().min(w);
    let far = any(c, distance, w, bits, None);
    let address = field(c, "address", distance, bits - 1, 0);
    let address = match unlike {
        Some(unlike) => c.logic("address", c.cat(&[unlike, address])),
        None => address,
    };
    // A difference's correction is stored as its complement, so that adding it and 1 subtracts it.
    let most = sums.iter().chain(differences).max().copied().unwrap_or(1);
    let width = 32 - most.leading_zeros() + differ as u32;
    let mask = (1u64 << width) - 1;
    let half = |table: &'static [u32], negative: bool| {
        let far = if negative { lns::far_difference(mode) } else { 0 };
        let entry = move |k: usize| {
            let t = table.get(k).copied().unwrap_or(far);
            if negative { -(t as i64) as u64 & mask } else { t as u64 }
        };
        (0..1usize << bits).map(entry)
    };
    let (sums, differences) = (lns::sums(frac, mode), lns::differences(frac, mode));
    let data: Vec<u64> = match (agree, differ) {
        (true, true) => half(sums, false).chain(half(differences, true)).collect(),
        (true, false) => half(sums, false).collect(),
        (false, _) => half(differences, true).collect(),
    };
    let table = c.rom("correction", width, address, data);
    let (beyond, apart) = (c.x(far), c.x(distance));
    let near = c.x(table) & (!&beyond).repeat(width);
    let correction = if differ && mode.truncates() {
        // One place less, but for a zero, which is as far as the mark's place.
        let less = beyond & !apart.msb();
        let less = unlike.map_or(less.clone(), |u| less & c.x(u));
        let less = c.logic("less", less);
        c.logic("near", near | c.x(less).repeat(width))
    } else {
        c.logic("near", near)
    };

    let total = w + 3;
    let logarithm = c.x(big).low(w).zext(total);
    let sum = c.logic("sum", logarithm + c.x(correction).extend(total, differ));
    let some = inst.bounds(0).zero && inst.bounds(1).zero;
    let mut mark = some.then(|| field(c, "mark", big, w, w));
    if differ {
        // Equal magnitudes cancel.
        let equal = any(c, distance, w, 0, None);
        let kept = match unlike {
            Some(unlike) => c.logic("kept", c.x(equal) | !c.x(unlike)),
            None => equal,
        };
        mark = crate::op::pieces::log_parts::both(c, "mark", Binary::And, mark, Some(kept));
    }
    finish(op, inst, c, &Unbounded { field: sum, sign, mark }, &[])
}

/// C: a + b, or a - b.
fn c_total(inst: &Inst, c: &mut CText, args: &[CVar], subtract: bool, flags: Flags) -> CVar {
    let (format, mode) = (inst.result, inst.attrs.round);
    let (a, b) = (floats::magnitude(inst, c, 0, &args[0]), floats::magnitude(inst, c, 1, &args[1]));
    let swap = c.test(format!("{a} < {b}"));
    let (big, small) = (c.set(U32, format!("{swap} ? {b} : {a}")), c.set(U32, format!("{swap} ? {a} : {b}")));
    let distance = c.set(U32, format!("{big} - {small}"));
    // Behind the end of a table stands what holds for all larger distances.
    let mut correction = |table: &[u32], far: u32| {
        let values: Vec<i64> = table.iter().chain([&far]).map(|t| *t as i64).collect();
        let last = table.len();
        let index = c.set(U32, format!("{distance} < {last}u ? {distance} : {last}u"));
        let entry = c.look_up(values, index);
        c.set(I32, entry)
    };
    let frac = format.log_frac();
    let sum = can_agree(inst, subtract).then(|| correction(lns::sums(frac, mode), 0));
    let difference = (can_differ(inst, subtract) && (subtract || !inst.same))
        .then(|| correction(lns::differences(frac, mode), lns::far_difference(mode)));
    let bit = floats::sign_bit(format);
    let second = if subtract { format!("({} ^ {bit})", args[1]) } else { args[1].text.clone() };
    let unlike = match (&sum, &difference) {
        (Some(_), Some(_)) => Some(c.test(format!("(({} ^ {second}) & {bit}) != 0", args[0]))),
        (None, Some(_)) => Some(CVar::new("true", U32)),
        _ => None,
    };
    let change = match (sum, difference) {
        (Some(s), Some(d)) => format!("({} ? -{d} : {s})", unlike.as_ref().expect("both can be")),
        (Some(s), None) => s.text,
        (None, Some(d)) => format!("(-{d})"),
        (None, None) => unreachable!("numbers of like or unlike signs"),
    };
    let change = match inst.bounds(0).zero || inst.bounds(1).zero {
        true => format!("({small} != 0 ? {change} : 0)"),
        false => change,
    };
    let field = logs::field(c, format, &big);
    let field = c.set(I32, format!("{field} + {change}"));
    let sign = (unlike.is_some() || !inst.none_negative())
        .then(|| c.set(U32, format!("({swap} ? {second} : {}) & {bit}", args[0])));
    let mut live: Vec<String> = Vec::new();
    live.extend((inst.bounds(0).zero && inst.bounds(1).zero).then(|| format!("{big} != 0")));
    live.extend(unlike.map(|u| format!("!({u} & {distance} == 0)")));
    let live = (!live.is_empty()).then(|| c.test(live.join(" & ")));
    logs::bound(c, format, &field, sign, live, flags)
}
