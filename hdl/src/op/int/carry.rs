//! `carry`, `borrow` and `total`: sums of the terms that one pair adds to an output (RULES N7).
//!
//! The terms are added modulo 2^W, and beside them their carries: how often 2^W was left out. `total` is the sum where the
//! carries cancel, and raises `wrap` where they do not; so neither bits nor flags depend on the order of the terms.

use crate::circuit::{Circuit, Sig, X};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::{CText, CType, CVar};
use crate::op::facts::Fold;
use crate::op::pieces::parts;
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Bounds, Flags, Format};

pub struct Carry;
pub struct Borrow;
pub struct Total;

/// The format of a carry: -1, 0 or 1.
const CARRY: Format = Format::Int { width: 2, signed: true };

/// The least and the greatest exact result.
fn range(inst: &Inst, subtracts: bool) -> (i128, i128) {
    let (a, b) = (inst.bounds(0), inst.bounds(1));
    if subtracts { (a.low - b.high, a.high - b.low) } else { (a.low + b.low, a.high + b.high) }
}

/// The least and the greatest carry of these results.
fn bounds(inst: &Inst, subtracts: bool) -> Bounds {
    let (low, high) = range(inst, subtracts);
    Bounds::ints(of(inst.args[0], low), of(inst.args[0], high))
}

/// The number of times that 2^W lies between an exact result of two values and what is left of it in the format.
fn of(format: Format, exact: i128) -> i128 {
    let kept = format.to_int(exact as u64 & format.mask());
    (exact - kept) >> format.width()
}

fn fold(inst: &Inst, subtracts: bool) -> Option<Fold> {
    let b = bounds(inst, subtracts);
    (b.low == b.high).then_some(Fold::Const(b.low as u64 & CARRY.mask()))
}

fn bits(inst: &Inst, args: &[u64], subtracts: bool) -> (u64, Flags) {
    let [a, b] = [0, 1].map(|k| inst.args[k].to_int(args[k]));
    (of(inst.args[0], if subtracts { a - b } else { a + b }) as u64 & CARRY.mask(), Flags::NONE)
}

/// C: by the signs of the arguments and of what is left, or by comparison where nothing is negative.
fn c_expr(inst: &Inst, args: &[&str], subtracts: bool) -> String {
    let (f, [a, b]) = (inst.args[0], [args[0], args[1]]);
    let sign = if subtracts { "-" } else { "+" };
    if !f.is_signed() {
        let left = parts::c_wrap(f, &format!("((uint64_t){a} {sign} (uint64_t){b})"));
        return match subtracts {
            true => format!("(-(int64_t)({a} < {b}))"),
            false => format!("((int64_t)({left} < {a}))"),
        };
    }
    let left = parts::c_wrap(f, &format!("((uint64_t){a} {sign} (uint64_t){b})"));
    // Two that count alike, and a result of the other sign.
    let second = if subtracts { format!("({b} >= 0)") } else { format!("({b} < 0)") };
    format!("((({a} < 0) == {second} && ({left} < 0) != ({a} < 0)) ? ({a} < 0 ? -1LL : 1LL) : 0LL)")
}

fn c_bits(inst: &Inst, c: &mut CText, args: &[CVar], subtracts: bool) -> CVar {
    let (f, sign) = (inst.args[0], if subtracts { "-" } else { "+" });
    let kind = CType::of(CARRY);
    let left = c.wrap(f, format!("{} {sign} {}", args[0], args[1]));
    if !f.is_signed() {
        return match subtracts {
            true => c.set(kind, format!("{} < {} ? 3 : 0", args[0], args[1])),
            false => c.set(kind, format!("{left} < {} ? 1 : 0", args[0])),
        };
    }
    let top = f.width() - 1;
    let [a, b, q] = [&args[0], &args[1], &left].map(|x| c.test(format!("({x} >> {top}) != 0")));
    let alike = c.test(if subtracts { format!("{a} != {b}") } else { format!("{a} == {b}") });
    let leaves = c.test(format!("{alike} & ({q} != {a})"));
    c.set(kind, format!("{leaves} ? ({a} ? 3 : 1) : 0"))
}

/// By the highest bits of the arguments and of what is left: the adder is that of the sum or difference itself.
fn circuit(inst: &Inst, c: &mut Circuit, args: &[Sig], subtracts: bool) -> (Sig, Option<Sig>) {
    let [x, y] = [0, 1].map(|k| c.x(args[k]));
    let left = if subtracts { c.logic("sub", &x - &y) } else { c.logic("sum", &x + &y) };
    let width = c.width(left);
    parts::unused_bits(c, left, width as i64 - 2, 0);
    let (a, b, left) = (x.msb(), y.msb(), c.x(left).msb());
    let carry = match (inst.args[0].is_signed(), subtracts) {
        // Where the result's sign is not that of the first argument though the second one counts alike.
        (true, _) => {
            let alike = if subtracts { &a ^ &b } else { !(&a ^ &b) };
            let leaves = alike & (&left ^ &a);
            cat([&leaves & &a, leaves])
        }
        (false, false) => cat([X::flag(false), &a & &b | (&a | &b) & !&left]),
        (false, true) => (!&a & &b | (!&a | &b) & &left).repeat(2),
    };
    (c.logic("carry", carry), None)
}

/// Result of two values of one int or fixed format.
fn result(name: &str, args: &[Format]) -> Result<Format, String> {
    parts::two_alike(name, args).map(|_| CARRY)
}

impl Operator for Carry {
    fn name(&self) -> &'static str {
        "carry"
    }

    fn summary(&self) -> &'static str {
        "int or fixed: -1 where a sum is below the format, 1 where it is above, else 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        result(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        bounds(inst, false)
    }

    fn commutes(&self) -> bool {
        true
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        fold(inst, false)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        bits(inst, args, false)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        c_expr(inst, args, false)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_bits(inst, c, args, false)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(inst, c, args, false)
    }
}

impl Operator for Borrow {
    fn name(&self) -> &'static str {
        "borrow"
    }

    fn summary(&self) -> &'static str {
        "int or fixed: -1 where a difference is below the format, 1 where it is above, else 0"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        result(self.name(), args)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        bounds(inst, true)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        if inst.same { Some(Fold::Const(0)) } else { fold(inst, true) }
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        bits(inst, args, true)
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        c_expr(inst, args, true)
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        c_bits(inst, c, args, true)
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        circuit(inst, c, args, true)
    }
}

impl Operator for Total {
    fn name(&self) -> &'static str {
        "total"
    }

    fn summary(&self) -> &'static str {
        "a sum modulo 2^W, and `wrap` where its carries are not 0 together"
    }

    fn result(&self, args: &[Format], _: &Attrs) -> Result<Format, String> {
        match args {
            [a, b] if a.is_integral() && b.is_int() => Ok(*a),
            _ => Err("`total` takes an int or fixed, and an int".into()),
        }
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let carries = inst.bounds(1);
        Flags::WRAP.when(carries.low != 0 || carries.high != 0)
    }

    fn bounds(&self, inst: &Inst) -> Bounds {
        inst.bounds(0)
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        inst.never_negative(0)
    }

    fn fold(&self, inst: &Inst, constants: &[Option<u64>]) -> Option<Fold> {
        let none = constants[1] == Some(0) || self.flags(inst).is_empty();
        none.then_some(Fold::Arg(0))
    }

    fn low_zeros(&self, _: &Inst, zeros: &[u32]) -> u32 {
        zeros[0]
    }

    fn bits(&self, _: &Inst, args: &[u64]) -> (u64, Flags) {
        (args[0], Flags::WRAP.when(args[1] != 0))
    }

    fn accuracy(&self, _: &Inst) -> Accuracy {
        Accuracy::exact(Meaning::Same)
    }

    fn c_expr(&self, _: &Inst, args: &[&str]) -> String {
        args[0].to_string()
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        if !self.flags(inst).is_empty() {
            let wraps = c.test(format!("{} != 0", args[1]));
            c.raise(Flags::WRAP, &wraps);
        }
        args[0].clone()
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let wraps = (!self.flags(inst).is_empty()).then(|| c.logic("wraps", c.x(args[1]).any()));
        (args[0], wraps)
    }
}
