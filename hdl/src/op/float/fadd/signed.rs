//! The sum of two floats of any sign.
//!
//! One path: the exponents alone decide which argument is the larger one, so that a difference of equal exponents may
//! come out negative. Negative addends are complemented without adding 1. What is then missing at the last place is
//! made good by the rounding, since the ones that follow the difference when it is moved to the left carry it there; a
//! negative difference, which is exact, is complemented again and misses nothing.

use super::{ByExponent, by_exponent};
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::float_parts::logic::field;
use crate::op::pieces::float_parts::max_field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::{any, bits_of};
use crate::op::pieces::parts::counted;
use crate::op::{Inst, Operator};
use crate::rtl::cat;

/// The arguments in order of their exponents.
struct Ordered {
    /// Exponent field and fraction of the larger one.
    exp: Sig,
    big: Sig,
    /// The smaller one's significand at the larger one's exponent, complemented where the two are subtracted: m + 1 bits,
    /// two guard bits, and a sticky bit apart.
    small: Sig,
    sticky: Sig,
    /// Whether the magnitudes are subtracted.
    differ: Sig,
    /// The larger one's sign.
    sign: Option<Sig>,
    /// Whether one of the two is other than 0.
    nonzero: Sig,
}

pub(super) fn circuit(
    op: &dyn Operator,
    inst: &Inst,
    c: &mut Circuit,
    args: &[Sig],
    subtract: bool,
) -> (Sig, Option<Sig>) {
    let format = inst.result;
    let m = format.mant();
    let o = order(inst, c, args, subtract);
    // Below the larger one's last place there is nothing to add to: the smaller one's guard bits are the sum's.
    let addend = field(c, "addend", o.small, m + 2, 2);
    let guards = field(c, "guards", o.small, 1, 0);
    let sum = c.logic("sum", cat([X::constant(2, 1), c.x(o.big)]) + c.cat(&[o.differ, addend]));
    // The top bit is the carry of a sum and the sign of a difference.
    let top = field(c, "top", sum, m + 1, m + 1);
    let negative = c.logic("negative", c.x(top) & c.x(o.differ));
    let up = if inst.truncates() { borrow(c, sum, guards, &o, m) } else { round(c, sum, guards, &o, m) };
    let first = field(c, "guard", guards, 1, 1);
    let value = c.logic("value", c.cat(&[sum, first]));
    let n = normalise(c, value, negative, o.differ, m);

    // From the larger one's place there is one to the left for the carry, less 2 for each of the pairs of places.
    let range = Range { low: -(m as i64) - 1, high: max_field(format) + 1 };
    let bits = range.bits(format);
    let pairs = minus(c, n.pairs, bits - 1);
    let ups = cat([c.x(pairs), c.x(n.top), c.x(up).zext(m)]);
    let packed = c.logic("rounded", c.cat(&[o.exp, n.fraction]).zext(bits + m) + ups);
    let sign = match o.sign {
        Some(sign) => c.logic("sign", c.x(sign) ^ c.x(negative)),
        None => negative,
    };
    let nonzero = c.logic("nonzero", c.x(n.nonzero) & c.x(o.nonzero));
    finish(op, inst, c, &Rounded { format, range, packed, sign: Some(sign), nonzero: Some(nonzero) })
}

fn order(inst: &Inst, c: &mut Circuit, args: &[Sig], subtract: bool) -> Ordered {
    let format = inst.result;
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let ByExponent { exps, fractions, distance, swap, exp, big } = by_exponent(format, c, args);

    // A negative distance is complemented, which makes it one too small: the other place is in the choice.
    let significand = |k: usize| cat([X::flag(true), c.x(fractions[k])]);
    let small = c.x(swap).mux(&significand(0).zext(m + 2), &significand(1).shl(1));
    let small = c.logic("small", small);
    let window = m + 3;
    let near = bits_of(window - 1).min(e);
    let low = field(c, "low", distance, near - 1, 0);
    let amount = c.logic("amount", c.x(low) ^ c.x(swap).repeat(near));
    let far = (near < e).then(|| any(c, distance, e - 1, near, Some(swap)));

    // A zero among the two is the smaller one, or both are.
    let some = [any(c, exps[0], e - 1, 0, None), any(c, exps[1], e - 1, 0, None)];
    let nonzero = c.logic("nonzero", c.x(some[0]) | c.x(swap));
    let counts = c.logic("counts", c.x(swap).mux(&c.x(some[0]), &c.x(some[1])));
    let far = far.unwrap_or_else(|| c.logic("far", X::flag(false)));
    // The second argument's sign is turned where it is subtracted.
    let turned = |x: X| if subtract { !x } else { x };
    let sign_of = |c: &mut Circuit, k: usize| (!inst.is_nonneg(k)).then(|| field(c, "sign", args[k], w - 1, w - 1));
    let swapped = c.x(swap);
    let (differ, sign) = match (sign_of(c, 0), sign_of(c, 1)) {
        (Some(a), Some(b)) => {
            let (a, b) = (c.x(a), turned(c.x(b)));
            (c.logic("differ", &a ^ &b), c.logic("sign", swapped.mux(&b, &a)))
        }
        (Some(a), None) => {
            let a = c.x(a);
            let sign = if subtract { &a | swapped } else { &a & !swapped };
            (c.logic("differ", turned(a)), c.logic("sign", sign))
        }
        (None, Some(b)) => {
            let b = turned(c.x(b));
            (c.logic("differ", b.clone()), c.logic("sign", swapped & b))
        }
        // Only a difference of two numbers that are never negative comes here.
        (None, None) => (c.logic("differ", X::flag(true)), swap),
    };
    let (small, sticky) = align(c, small, Align { amount, far, counts, differ });
    Ordered { exp, big, small, sticky, differ, sign: Some(sign), nonzero }
}

/// How the smaller significand is moved to the larger one's place.
struct Align {
    amount: Sig,
    /// Whether it falls below the window as a whole.
    far: Sig,
    /// Whether it is other than 0.
    counts: Sig,
    /// Whether it is complemented in the end.
    differ: Sig,
}

/// Shifts to the right within one more bit than `x` has; what falls out is gathered. The large steps come first: they
/// leave most of their bits clear, which takes no multiplexer.
fn align(c: &mut Circuit, x: Sig, how: Align) -> (Sig, Sig) {
    let window = c.width(x) + 1;
    let mut value = c.logic("padded", c.x(x).shl(1));
    let (far, counts, differ) = (c.x(how.far), c.x(how.counts), c.x(how.differ));
    let drop = c.logic("drop", &far | !&counts);
    let mut sticky: Option<Sig> = None;
    let steps = c.width(how.amount);
    for k in (0..steps).rev() {
        let places = (1u32 << k).min(window);
        let step = field(c, "step", how.amount, k, k);
        let (x, step) = (c.x(value), c.x(step));
        let fallen = &step & x.low(places).any();
        sticky = Some(match sticky {
            None => c.logic("sticky", &counts & (&far | fallen)),
            Some(s) => c.logic("sticky", c.x(s) | fallen),
        });
        let mut moved = step.mux(&x.top(window - places).zext(window), &x);
        if k == steps - 1 {
            moved = moved & (!c.x(drop)).repeat(window);
        }
        if k == 0 {
            moved = moved ^ differ.repeat(window);
        }
        value = c.logic("aligned", moved);
    }
    let sticky = sticky.expect("there is always a step");
    (value, c.logic("sticky", c.x(sticky) ^ differ))
}

/// Whether the result's last place is raised: by rounding to nearest even, and by the 1 that a difference misses. From the third
/// place of cancellation on all bits below are that 1's.
fn round(c: &mut Circuit, sum: Sig, guards: Sig, o: &Ordered, m: u32) -> Sig {
    let top = field(c, "tops", sum, m + 1, m);
    let last = field(c, "last", sum, 1, 0);
    let [guards, sticky, last, top, differ] = [guards, o.sticky, last, top, o.differ].map(|s| c.x(s));
    let (first, second) = (guards.bit(1), guards.bit(0));
    let carried = !&differ & last.bit(0) & (last.bit(1) | &first | &second | &sticky);
    let of_difference = &first | (last.bit(0) & &second & &sticky);
    let here = differ.mux(&of_difference, &(&first & (last.bit(0) | &second | &sticky)));
    let cancelled = &second | (&first & &sticky);
    c.logic("up", top.bit(1).mux(&carried, &top.bit(0).mux(&here, &cancelled)))
}

/// The 1 that a difference misses, where it reaches the last place of a result that is cut off: through guard bits that are
/// all ones.
fn borrow(c: &mut Circuit, sum: Sig, guards: Sig, o: &Ordered, m: u32) -> Sig {
    let top = field(c, "tops", sum, m + 1, m);
    let [guards, sticky, top, differ] = [guards, o.sticky, top, o.differ].map(|s| c.x(s));
    c.logic("up", differ & !top.bit(1) & sticky & guards.bit(0) & (guards.bit(1) | !top.bit(0)))
}

struct Normalised {
    fraction: Sig,
    /// The places that it moved: twice `pairs`, and one more where `top` is clear.
    pairs: Sig,
    top: Sig,
    nonzero: Sig,
}

/// Moves a sum of m + 2 bits and its first guard bit to the left past its leading zeros. A negative one is complemented on the
/// way; what comes in from the right are ones where it is a difference and not negative.
fn normalise(c: &mut Circuit, value: Sig, negative: Sig, differ: Sig, m: u32) -> Normalised {
    let width = m + 3;
    // All of a difference may cancel but for the 1 that it misses.
    let steps = bits_of(width);
    let mut x = value;
    let mut pairs = Vec::new();
    let (negative, differ) = (c.x(negative), c.x(differ));
    let fill = c.logic("fill", &differ & !&negative);
    for k in (1..steps).rev() {
        let places = (1u32 << k).min(width);
        let first = k == steps - 1;
        let bits = c.x(x);
        let top = bits.top(places);
        let moved = |fill: &X| cat([bits.low(width - places), fill.repeat(places)]);
        if first {
            // Only a difference can begin with as many zeros, or with ones that will be complemented.
            let clear = c.logic("clear", &differ & (top.all() | top.none()));
            let norm = c.x(clear).mux(&moved(&differ), &bits) ^ negative.repeat(width);
            x = c.logic("norm", norm);
            pairs.push(clear);
        } else {
            let clear = c.logic("clear", top.none());
            x = c.logic("norm", c.x(clear).mux(&moved(&c.x(fill)), &bits));
            pairs.push(clear);
        }
    }
    let top = field(c, "top", x, width - 1, width - 1);
    let tops = field(c, "tops", x, width - 1, width - 2);
    let nonzero = c.logic("nonzero", c.x(tops).any());
    let bits = c.x(x);
    let fraction = c.logic("fraction", c.x(top).mux(&bits.slice(m + 1, 2), &bits.slice(m, 1)));
    let pairs = c.logic("pairs", c.cat(&pairs));
    Normalised { fraction, pairs, top, nonzero }
}

/// `-x` in `width` bits, of a short unsigned number: each bit turns where one below it is set.
fn minus(c: &mut Circuit, x: Sig, width: u32) -> Sig {
    let x = c.x(x);
    let n = x.width();
    let bit = |k: u32| if k == 0 { x.bit(0) } else { x.bit(k) ^ x.low(k).any() };
    let above = x.any().repeat(width.saturating_sub(n));
    counted(c, "minus", cat([above].into_iter().chain((0..n.min(width)).rev().map(bit))), n)
}
