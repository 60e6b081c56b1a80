//! `lpow`: a power of a log, x^(n/d) with d of 1 or 2, as `pow` is of floats (RULES N6): its logarithm times n/d, rounded.

use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::number::lns::{Parts, pack, unpack};
use crate::op::accuracy::{Accuracy, Meaning};
use crate::op::ctext::floats;
use crate::op::ctext::logs;
use crate::op::ctext::{CText, CVar, I32};
use crate::op::facts::Fold;
use crate::op::pieces::log_parts::{Unbounded, c_type, field_bits, fields, finish, one_log};
use crate::op::pieces::monotone::Ends;
use crate::op::pieces::power::{self, reduced};
use crate::op::semantics::{self, Real};
use crate::op::{Attrs, Inst, Operator};
use crate::rtl::cat;
use crate::{Flags, Format};

pub struct Lpow;

impl Operator for Lpow {
    fn name(&self) -> &'static str {
        "lpow"
    }

    fn summary(&self) -> &'static str {
        "log to the power n/d: exact but for one rounding of the logarithm"
    }

    fn result(&self, args: &[Format], attrs: &Attrs) -> Result<Format, String> {
        let format = one_log("lpow", args)?;
        power::exponent(attrs).map(|_| format)
    }

    fn rounds(&self) -> bool {
        true
    }

    fn flags(&self, inst: &Inst) -> Flags {
        let (_, d) = reduced(&inst.attrs);
        let range = self.ends(inst).map_or(Flags::NONE, |ends| ends.flags(self, inst));
        range | Flags::INVALID.when(d == 2 && !inst.is_nonneg(0))
    }

    fn ends(&self, inst: &Inst) -> Option<Ends> {
        let (n, d) = reduced(&inst.attrs);
        let (low, high) = inst.magnitudes(0);
        let (least, greatest) = if n < 0 { (vec![high], vec![low]) } else { (vec![low], vec![high]) };
        Some(Ends { least, greatest, zero: n != 0 && (inst.bounds(0).zero || d == 2 && !inst.is_nonneg(0)) })
    }

    fn nonneg(&self, inst: &Inst) -> bool {
        power::nonneg(inst)
    }

    fn fold(&self, inst: &Inst, _: &[Option<u64>]) -> Option<Fold> {
        power::fold(inst)
    }

    fn bits(&self, inst: &Inst, args: &[u64]) -> (u64, Flags) {
        let (n, d) = reduced(&inst.attrs);
        let x = match unpack(inst.result, args[0]) {
            _ if n == 0 => Parts { negative: false, log: 0 },
            None => return (0, Flags::NONE),
            Some(x) => x,
        };
        if d == 2 && x.negative {
            return (0, Flags::INVALID);
        }
        let product = n as i64 * x.log;
        let log = match d {
            1 => product,
            // Half a last place goes to the even one; a magnitude that is cut off goes down.
            _ => (product + (!inst.truncates() && product & 2 != 0) as i64) >> 1,
        };
        pack(inst.result, Parts { negative: x.negative && n & 1 == 1, log }, Flags::OVERFLOW)
    }

    fn real(&self, inst: &Inst, args: &[Real]) -> (Real, Flags) {
        let (x, (n, d)) = (args[0].f64(), reduced(&inst.attrs));
        semantics::power(x, n, d)
    }

    fn accuracy(&self, inst: &Inst) -> Accuracy {
        let (n, d) = reduced(&inst.attrs);
        let meaning = Meaning::Power(n, d);
        if d == 1 { Accuracy::exact(meaning) } else { Accuracy::rounded(meaning, inst) }
    }

    fn c_expr(&self, inst: &Inst, args: &[&str]) -> String {
        let (n, d) = reduced(&inst.attrs);
        let (x, t) = (args[0], c_type(inst.result));
        match (n, d) {
            (0, _) => format!("(({t})1)"),
            (_, 1) => format!("({x} == 0 ? ({t})0 : ({t})pow({x}, {n}))"),
            _ => format!("({x} <= 0 ? ({t})0 : ({t})pow({x}, {n} / 2.0))"),
        }
    }

    fn c_bits(&self, inst: &Inst, c: &mut CText, args: &[CVar]) -> CVar {
        let ((n, d), format) = (reduced(&inst.attrs), inst.result);
        if n == 0 {
            return CVar::constant(format, 1 << (format.width() - 2) | format.bias() as u64);
        }
        let field = logs::field(c, format, &args[0]);
        let product = c.set(I32, format!("({field} - {}) * {n}", format.bias()));
        let log = match (d, inst.truncates()) {
            (1, _) => product.text,
            (_, true) => format!("({product} >> 1)"),
            (_, false) => format!("(({product} + (({product} & 2) >> 1)) >> 1)"),
        };
        let field = c.set(I32, format!("{log} + {}", format.bias()));
        let mut live = floats::none_zero(inst, c, args, &[0]);
        let mut sign = None;
        if d == 2 && !inst.is_nonneg(0) {
            let positive = c.test(format!("({} >> {}) == 0", args[0], format.width() - 1));
            c.raise(Flags::INVALID, format!("!{positive}"));
            live = Some(live.map_or(positive.clone(), |l| c.test(format!("{l} & {positive}"))));
        } else if n & 1 == 1 {
            sign = floats::sign(inst, c, 0, &args[0]);
        }
        logs::bound(c, format, &field, sign, live, self.flags(inst))
    }

    fn circuit(&self, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
        let (n, d) = reduced(&inst.attrs);
        let (w, bias) = (field_bits(inst.result), inst.result.bias() as i64);
        let a = fields(inst, c, 0, args[0]);
        if n == 0 {
            let one = (1i128 << w) | bias as i128;
            return (c.logic("one", X::constant(w + 2, one)), None);
        }
        let field = power(inst, c, a.field, n, d);
        let (sign, invalid) = match (a.sign, d) {
            (Some(s), 2) => (None, Some(s)),
            (s, _) => (s.filter(|_| n & 1 == 1), None),
        };
        let mark = match (a.mark, invalid) {
            (Some(m), Some(s)) => Some(c.logic("mark", c.x(m) & !c.x(s))),
            (None, Some(s)) => Some(c.logic("mark", !c.x(s))),
            (m, None) => m,
        };
        finish(self, inst, c, &Unbounded { field, sign, mark }, &[(Flags::INVALID, invalid)])
    }
}

/// The biased logarithm times n/d, in as many bits as it takes.
fn power(inst: &Inst, c: &mut Circuit, field: Sig, n: i32, d: i32) -> Sig {
    let (w, bias) = (field_bits(inst.result), inst.result.bias() as i64);
    // The product of n and the logarithm, plus the bias of the result in units of 1/d.
    let bits = w + 33 - n.unsigned_abs().leading_zeros() + 1 + d as u32;
    let digits = signed_digits(n);
    let negative = digits.iter().filter(|(_, negative)| *negative).count() as i64;
    // Subtracting is adding the complement and 1.
    let mut start = Some(bias * d as i64 - n as i64 * bias + negative);
    // Rounding half to even adds the product's second bit, which the lowest bits of the logarithm tell at once.
    let round = (d == 2 && !inst.truncates()).then(|| {
        let (second, first) = (c.x(field).bit(1), c.x(field).bit(0));
        let odd = if n & 2 == 0 { second } else { second ^ first };
        let round = c.logic_at("round", odd, Cost::Logic(2), "the least that the general case takes");
        c.x(round)
    });
    let mut sum: Option<Sig> = None;
    for (k, (shift, minus)) in digits.iter().enumerate() {
        let mut term = c.x(field).shl(*shift).zext(bits);
        if *minus {
            term = !term;
        }
        let last = k + 1 == digits.len();
        let mut other = match (sum, start.take()) {
            (Some(s), _) => c.x(s),
            (None, Some(start)) => X::constant(bits, start as i128),
            (None, None) => unreachable!("the constant enters with the first digit"),
        };
        let rounds = round.as_ref().filter(|_| last);
        if let Some(round) = rounds {
            other = cat([other, X::flag(true)]);
            term = cat([term, round.clone()]);
        }
        let total = c.logic("power", other + term);
        sum = Some(if rounds.is_some() { c.logic("power", c.x(total).slice(bits, 1)) } else { total });
    }
    let sum = sum.expect("n is not 0");
    if d == 2 { c.logic("halved", c.x(sum).slice(bits - 1, 1)) } else { sum }
}

/// `n` as a sum of signed powers of two, no two of them adjacent: (exponent, whether it is subtracted).
fn signed_digits(n: i32) -> Vec<(u32, bool)> {
    let (mut rest, mut shift, mut digits) = (n, 0, Vec::new());
    while rest != 0 {
        if rest & 1 == 1 {
            let digit = if rest & 3 == 3 { -1 } else { 1 };
            digits.push((shift, digit < 0));
            rest -= digit;
        }
        rest >>= 1;
        shift += 1;
    }
    digits
}
