//! The sum of two floats that are never negative.
//!
//! The exponents alone decide which argument is the larger one: of two with one exponent it does not matter. The larger
//! one's hidden bit is not made: the sum's only use of it is the carry, and the sum of two zeros, which has none, comes
//! out right without it.

use super::{ByExponent, by_exponent};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::any;
use crate::op::pieces::float_parts::text::{arg, cat, field, one_of_four, repeat, slice, zeros};
use crate::op::pieces::float_parts::{max_field, nonzero};
use crate::op::{Inst, Operator};

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
    let sum = c.comb("sum", m + 2, Cost::Add(m + 2), "{2'b01, {0}} + {1'b0, {1}}", &[o.big, addend]);
    let carry = field(c, "carry", sum, m + 1, m + 1);
    let chosen = format!("{{1}} ? {} : {}", slice(0, m + 2, m as i64, 1), slice(0, m + 2, m as i64 - 1, 0));
    let fraction = c.comb("fraction", m, Cost::Mux(2), chosen, &[sum, carry]);
    let range = Range { low: 1, high: max_field(format) + 1 };
    if inst.truncates() {
        let text = if e > 1 { format!("{{0}} + {{{}'d0, {{1}}}}", e - 1) } else { "{0} + {1}".into() };
        let exp = c.comb("exp", e, Cost::Add(e), text, &[o.exp, carry]);
        let packed = c.wire("cut", e + m, "{{0}, {1}}", &[exp, fraction]);
        return finish(op, inst, c, &Rounded { format, range, packed, sign: None, nonzero: None });
    }
    let near = field(c, "near", sum, 1, 0);
    let text = "{3} ? {0}[0] & ({1} | {2} | {0}[1]) : {1} & ({2} | {0}[0])";
    let up = c.comb("up", 1, Cost::Logic(5), text, &[near, guard, o.sticky, carry]);
    // The carry raises the exponent, the rounding the last place.
    let ups = cat(&[zeros(e - 1), arg(2), zeros(m - 1), arg(3)]);
    let text = format!("{} + {ups}", cat(&[arg(0), arg(1)]));
    let packed = c.comb("rounded", e + m, Cost::Add(e + m), text, &[o.exp, fraction, carry, up]);
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
    let mut inputs = vec![fractions[0], fractions[1], swap];
    let mut hidden = |s: Option<Sig>| match s {
        None => "1'b1".to_string(),
        Some(s) => {
            inputs.push(s);
            arg(inputs.len() - 1)
        }
    };
    let (of_a, of_b) = (hidden(some[0]), hidden(some[1]));
    let text = format!("{{2}} ? {} : {}", cat(&[zeros(1), of_a, arg(0)]), cat(&[of_b, arg(1), zeros(1)]));
    let small = c.comb("small", window, Cost::Mux(2), text, &inputs);
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
        let n = high - low + 1;
        c.comb("digit", n, Cost::Logic(2), format!("{{0}} ^ {}", repeat(n, "{1}")), &[raw, self.swap])
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
            digit = c.comb("bounded", n, Cost::Logic(2), format!("{{0}} | {}", repeat(n, "{1}")), &[digit, far]);
        }
        s = step(c, s, digit, low, last);
    }
    (s.value, s.sticky.unwrap_or_else(|| c.wire("sticky", 1, "1'b0", &[])))
}

struct Shifted {
    value: Sig,
    sticky: Option<Sig>,
}

/// Moves to the right by `digit` (one or two bits) times 2^low.
fn step(c: &mut Circuit, s: Shifted, digit: Sig, low: u32, last: bool) -> Shifted {
    let width = c.width(s.value);
    let way = |k: u32| {
        let places = (k << low).min(width);
        cat(&[zeros(places), slice(0, width, width as i64 - 1, places as i64)])
    };
    let four = c.width(digit) == 2;
    let text = match four {
        true => one_of_four(width, "{1}[1]", "{1}[0]", [way(0), way(1), way(2), way(3)]),
        false => format!("{{1}} ? {} : {}", way(1), way(0)),
    };
    let value = c.comb("shifted", width, Cost::Mux(if four { 4 } else { 2 }), text, &[s.value, digit]);
    // What leaves by moves of more than k steps, but not by k. After the last step nothing is left of what moved
    // through the window.
    let conditions: &[&str] = if four { &["(|{0})", "{0}[1]", "(&{0})"] } else { &["{0}"] };
    let (mut terms, mut args) = (Vec::new(), vec![digit]);
    for (k, when) in (0..).zip(conditions) {
        let (from, to) = (k << low, ((k + 1) << low).min(width));
        if from < to && !(last && (k + 1) << low >= width) {
            args.push(any(c, s.value, to - 1, from, None));
            terms.push(format!("{when} & {}", arg(args.len() - 1)));
        }
    }
    if let Some(before) = s.sticky {
        args.push(before);
        terms.push(arg(args.len() - 1));
    }
    let sticky =
        (!terms.is_empty()).then(|| c.comb("sticky", 1, Cost::Logic(args.len() as u32), terms.join(" | "), &args));
    Shifted { value, sticky }
}
