//! The sum of two floats that are never negative.
//!
//! The exponents alone decide which argument is the larger one: of two with one exponent it does not matter. The larger
//! one's hidden bit is not made: the sum's only use of it is the carry, and the sum of two zeros, which has none, comes
//! out right without it.

use super::{ByExponent, by_exponent};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::float_parts::logic::{field, one_of_four};
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::{max_field, nonzero};
use crate::op::{Inst, Operator};
use crate::rtl::cat;

/// The arguments in order of their exponents.
struct Ordered {
    /// Exponent field and fraction of the larger one.
    exp: Sig,
    big: Sig,
    /// The smaller one's significand at the larger one's exponent, m + 1 bits and a guard bit, and whether anything is
    /// below that. Where nothing is left of the significand, the latter does not matter and may be wrong.
    small: Sig,
    sticky: Sig,
}

pub(super) fn circuit(op: &dyn Operator, inst: &Inst, c: &mut Circuit, args: &[Sig]) -> (Sig, Option<Sig>) {
    let format = inst.result;
    let (e, m) = (format.exp(), format.mant());
    let o = order(inst, c, args);
    let addend = field(c, "addend", o.small, m + 1, 1);
    let guard = field(c, "guard", o.small, 0, 0);
    let sum = c.logic("sum", cat([X::constant(2, 1), c.x(o.big)]) + c.x(addend).zext(m + 2));
    let carry = field(c, "carry", sum, m + 1, m + 1);
    let (sum_bits, carried) = (c.x(sum), c.x(carry));
    let fraction = c.logic("fraction", carried.mux(&sum_bits.slice(m, 1), &sum_bits.low(m)));
    let range = Range { low: 1, high: max_field(format) + 1 };
    if inst.truncates() {
        let exp = c.logic("exp", c.x(o.exp) + carried.zext(e));
        let packed = c.logic("cut", c.cat(&[exp, fraction]));
        return finish(op, inst, c, &Rounded { format, range, packed, sign: None, nonzero: None });
    }
    let near = field(c, "near", sum, 1, 0);
    let (near, guard, sticky) = (c.x(near), c.x(guard), c.x(o.sticky));
    let raised = near.bit(0) & (&guard | &sticky | near.bit(1));
    let up = c.logic("up", carried.mux(&raised, &(guard & (sticky | near.bit(0)))));
    // The carry raises the exponent, the rounding the last place.
    let ups = cat([carried.zext(e), c.x(up).zext(m)]);
    let packed = c.logic("rounded", c.cat(&[o.exp, fraction]) + ups);
    finish(op, inst, c, &Rounded { format, range, packed, sign: None, nonzero: None })
}

fn order(inst: &Inst, c: &mut Circuit, args: &[Sig]) -> Ordered {
    let format = inst.result;
    let (e, m) = (format.exp(), format.mant());
    let ByExponent { exps, fractions, distance, swap, exp, big } = by_exponent(format, c, args);

    // A negative distance is complemented, which makes it one too small: the other place is in the choice.
    let window = m + 2;
    let near = reach(window).min(e);
    // A first argument that is 0 lies too far below the second one to be seen, if that one's exponents are large.
    let far = inst.bounds(1).fields(format).0 > 1 << near;
    let some = [if far { None } else { nonzero(c, inst, 0, exps[0]) }, nonzero(c, inst, 1, exps[1])];
    let [of_a, of_b] = some.map(|s| s.map_or(X::flag(true), |s| c.x(s)));
    let (first, second) = (cat([of_a, c.x(fractions[0])]), cat([of_b, c.x(fractions[1])]));
    let small = c.logic("small", c.x(swap).mux(&first.zext(window), &second.shl(1)));
    let amount = Amount { distance, swap, near, far: near < e };
    let (small, sticky) = align(c, small, &amount);
    Ordered { exp, big, small, sticky }
}

/// Bits of an amount whose highest two, or the highest one where their number is odd, move everything out of the window
/// when they are set.
fn reach(window: u32) -> u32 {
    let full = |near: u32| if near.is_multiple_of(2) { 3u32 << (near - 2) } else { 1 << (near - 1) };
    (1..).find(|near| full(*near) >= window).expect("some power of two is large enough")
}

/// How far the smaller significand moves: `distance`, or its complement where `swap` is set.
struct Amount {
    distance: Sig,
    swap: Sig,
    /// Bits of it that reach through the window.
    near: u32,
    /// Whether there are bits above those.
    far: bool,
}

impl Amount {
    /// Bits `high` to `low` of the amount.
    fn digit(&self, c: &mut Circuit, high: u32, low: u32) -> Sig {
        let raw = field(c, "raw", self.distance, high, low);
        c.logic("digit", c.x(raw) ^ c.x(self.swap).repeat(high - low + 1))
    }
}

/// Moves `x` to the right within its width, by two bits of the amount a step, the small moves first. What is beyond the
/// window moves as far as the last step can, which leaves nothing.
fn align(c: &mut Circuit, x: Sig, amount: &Amount) -> (Sig, Sig) {
    let mut s = Shifted { value: x, sticky: None };
    for low in (0..amount.near).step_by(2) {
        let last = low + 2 >= amount.near;
        let high = (low + 1).min(amount.near - 1);
        let mut digit = amount.digit(c, high, low);
        if last && amount.far {
            let e = c.width(amount.distance) - 1;
            let far = any(c, amount.distance, e - 1, amount.near, Some(amount.swap));
            let n = c.width(digit);
            digit = c.logic("bounded", c.x(digit) | c.x(far).repeat(n));
        }
        s = step(c, s, digit, low, last);
    }
    (s.value, s.sticky.unwrap_or_else(|| c.logic("sticky", X::flag(false))))
}

struct Shifted {
    value: Sig,
    sticky: Option<Sig>,
}

/// Moves to the right by `digit` (one or two bits) times 2^low.
fn step(c: &mut Circuit, s: Shifted, digit: Sig, low: u32, last: bool) -> Shifted {
    let (x, digit) = (c.x(s.value), c.x(digit));
    let width = x.width();
    let way = |k: u32| x.top(width - (k << low).min(width)).zext(width);
    let four = digit.width() == 2;
    let value = match four {
        true => {
            let ways = [0, 1, 2, 3].map(way);
            let why = "two tables a bit, however many inputs one has";
            c.logic_at("shifted", one_of_four(&digit.bit(1), &digit.bit(0), ways), Cost::Mux(4), why)
        }
        false => c.logic("shifted", digit.mux(&way(1), &way(0))),
    };
    // What leaves by moves of more than k steps, but not by k. After the last step nothing is left of what moved
    // through the window.
    let conditions = if four { vec![digit.any(), digit.bit(1), digit.all()] } else { vec![digit] };
    let mut terms = Vec::new();
    for (k, when) in (0..).zip(conditions) {
        let (from, to) = (k << low, ((k + 1) << low).min(width));
        if from < to && !(last && (k + 1) << low >= width) {
            let gone = any(c, s.value, to - 1, from, None);
            terms.push(when & c.x(gone));
        }
    }
    terms.extend(s.sticky.map(|before| c.x(before)));
    let inputs = terms.len() as u32 + 1;
    let sticky = terms.into_iter().reduce(|a, b| a | b);
    let why = "a digit is one input";
    Shifted { value, sticky: sticky.map(|s| c.logic_at("sticky", s, Cost::Logic(inputs), why)) }
}
