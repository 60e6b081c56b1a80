//! The sum of two floats of any sign.
//!
//! One path: the exponents alone decide which argument is the larger one, so that a difference of equal exponents may
//! come out negative. Negative addends are complemented without adding 1. What is then missing at the last place is
//! made good by the rounding, since the ones that follow the difference when it is moved to the left carry it there; a
//! negative difference, which is exact, is complemented again and misses nothing.

use super::{ByExponent, by_exponent};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};
use crate::op::pieces::float_parts::max_field;
use crate::op::pieces::float_parts::pack::{Range, Rounded, finish};
use crate::op::pieces::float_parts::shift::{any, bits_of};
use crate::op::pieces::float_parts::text::{arg, cat, field, repeat, slice, zeros};
use crate::op::{Inst, Operator};

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
    let (e, m) = (format.exp(), format.mant());
    let o = order(inst, c, args, subtract);
    // Below the larger one's last place there is nothing to add to: the smaller one's guard bits are the sum's.
    let addend = field(c, "addend", o.small, m + 2, 2);
    let guards = field(c, "guards", o.small, 1, 0);
    let text = format!("{} + {{{{2}}, {{1}}}}", cat(&["2'b01".into(), arg(0)]));
    let sum = c.comb("sum", m + 2, Cost::Add(m + 2), text, &[o.big, addend, o.differ]);
    // The top bit is the carry of a sum and the sign of a difference.
    let top = field(c, "top", sum, m + 1, m + 1);
    let negative = c.comb("negative", 1, Cost::Logic(2), "{0} & {1}", &[top, o.differ]);
    let up = if inst.truncates() { borrow(c, sum, guards, &o, m) } else { round(c, sum, guards, &o, m) };
    let first = field(c, "guard", guards, 1, 1);
    let value = c.wire("value", m + 3, "{{0}, {1}}", &[sum, first]);
    let n = normalise(c, value, negative, o.differ, m);

    // From the larger one's place there is one to the left for the carry, less 2 for each of the pairs of places.
    let range = Range { low: -(m as i64) - 1, high: max_field(format) + 1 };
    let bits = range.bits(format);
    let pairs = minus(c, n.pairs, bits - 1);
    let text =
        format!("{} + {}", cat(&[zeros(bits - e), arg(0), arg(1)]), cat(&[arg(2), arg(3), zeros(m - 1), arg(4)]));
    let args = [o.exp, n.fraction, pairs, n.top, up];
    let packed = c.comb("rounded", bits + m, Cost::Add(bits + m), text, &args);
    let sign = match o.sign {
        Some(sign) => c.comb("sign", 1, Cost::Logic(2), "{0} ^ {1}", &[sign, negative]),
        None => negative,
    };
    let nonzero = c.comb("nonzero", 1, Cost::Logic(2), "{0} & {1}", &[n.nonzero, o.nonzero]);
    finish(op, inst, c, &Rounded { format, range, packed, sign: Some(sign), nonzero: Some(nonzero) })
}

fn order(inst: &Inst, c: &mut Circuit, args: &[Sig], subtract: bool) -> Ordered {
    let format = inst.result;
    let (w, e, m) = (format.width(), format.exp(), format.mant());
    let ByExponent { exps, fractions, distance, swap, exp, big } = by_exponent(format, c, args);

    // A negative distance is complemented, which makes it one too small: the other place is in the choice.
    let text = "{2} ? {2'b01, {0}} : {1'b1, {1}, 1'b0}";
    let small = c.comb("small", m + 2, Cost::Mux(2), text, &[fractions[0], fractions[1], swap]);
    let window = m + 3;
    let near = bits_of(window - 1).min(e);
    let turned = |n: u32| format!("{{0}} ^ {}", repeat(n, "{1}"));
    let low = field(c, "low", distance, near - 1, 0);
    let amount = c.comb("amount", near, Cost::Logic(2), turned(near), &[low, swap]);
    let far = (near < e).then(|| any(c, distance, e - 1, near, Some(swap)));

    // A zero among the two is the smaller one, or both are.
    let some = [any(c, exps[0], e - 1, 0, None), any(c, exps[1], e - 1, 0, None)];
    let nonzero = c.comb("nonzero", 1, Cost::Logic(2), "{0} | {1}", &[some[0], swap]);
    let counts = c.comb("counts", 1, Cost::Mux(2), "{2} ? {0} : {1}", &[some[0], some[1], swap]);
    let far = far.unwrap_or_else(|| c.wire("far", 1, "1'b0", &[]));
    let invert = if subtract { "~" } else { "" };
    let sign_of = |c: &mut Circuit, k: usize| (!inst.is_nonneg(k)).then(|| field(c, "sign", args[k], w - 1, w - 1));
    let (differ, sign) = match (sign_of(c, 0), sign_of(c, 1)) {
        (Some(a), Some(b)) => {
            let differ = c.comb("differ", 1, Cost::Logic(2), format!("{{0}} ^ {invert}{{1}}"), &[a, b]);
            (differ, c.comb("sign", 1, Cost::Logic(3), format!("{{2}} ? {invert}{{1}} : {{0}}"), &[a, b, swap]))
        }
        (Some(a), None) => {
            let text = if subtract { "{0} | {1}" } else { "{0} & ~{1}" };
            (c.wire("differ", 1, format!("{invert}{{0}}"), &[a]), c.comb("sign", 1, Cost::Logic(2), text, &[a, swap]))
        }
        (None, Some(b)) => {
            let text = format!("{{1}} & {invert}{{0}}");
            (c.wire("differ", 1, format!("{invert}{{0}}"), &[b]), c.comb("sign", 1, Cost::Logic(2), text, &[b, swap]))
        }
        // Only a difference of two numbers that are never negative comes here.
        (None, None) => (c.wire("differ", 1, "1'b1", &[]), swap),
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
    let mut value = c.wire("padded", window, "{{0}, 1'b0}", &[x]);
    let drop = c.comb("drop", 1, Cost::Logic(2), "{0} | ~{1}", &[how.far, how.counts]);
    let mut sticky = None;
    let steps = c.width(how.amount);
    for k in (0..steps).rev() {
        let places = (1u32 << k).min(window);
        let step = field(c, "step", how.amount, k, k);
        let fallen = format!("{{1}} & (|{})", slice(0, window, places as i64 - 1, 0));
        sticky = Some(match sticky {
            None => {
                let text = format!("{{3}} & ({{2}} | {fallen})");
                c.comb("sticky", 1, Cost::Logic(places + 3), text, &[value, step, how.far, how.counts])
            }
            Some(s) => c.comb("sticky", 1, Cost::Logic(places + 2), format!("{{2}} | {fallen}"), &[value, step, s]),
        });
        let kept = cat(&[zeros(places), slice(0, window, window as i64 - 1, places as i64)]);
        let mut text = format!("({{1}} ? {kept} : {{0}})");
        let mut args = vec![value, step];
        if k == steps - 1 {
            args.push(drop);
            text = format!("{text} & {}", repeat(window, &format!("~{}", arg(args.len() - 1))));
        }
        if k == 0 {
            args.push(how.differ);
            text = format!("{text} ^ {}", repeat(window, &arg(args.len() - 1)));
        }
        value = c.comb("aligned", window, Cost::Logic(args.len() as u32 + 1), text, &args);
    }
    let sticky = sticky.expect("there is always a step");
    (value, c.comb("sticky", 1, Cost::Logic(2), "{0} ^ {1}", &[sticky, how.differ]))
}

/// Whether the result's last place is raised: by rounding to nearest even, and by the 1 that a difference misses. From the third
/// place of cancellation on all bits below are that 1's.
fn round(c: &mut Circuit, sum: Sig, guards: Sig, o: &Ordered, m: u32) -> Sig {
    let top = field(c, "tops", sum, m + 1, m);
    let last = field(c, "last", sum, 1, 0);
    // Arguments: guard bits, sticky bit, the two last places of the sum, its two top bits, whether this is a difference.
    let carried = "(~{4} & {2}[0] & ({2}[1] | {0}[1] | {0}[0] | {1}))";
    let here = "({4} ? {0}[1] | ({2}[0] & {0}[0] & {1}) : {0}[1] & ({2}[0] | {0}[0] | {1}))";
    let cancelled = "({0}[0] | ({0}[1] & {1}))";
    let text = format!("{{3}}[1] ? {carried} : {{3}}[0] ? {here} : {cancelled}");
    c.comb("up", 1, Cost::Logic(8), text, &[guards, o.sticky, last, top, o.differ])
}

/// The 1 that a difference misses, where it reaches the last place of a result that is cut off: through guard bits that are
/// all ones.
fn borrow(c: &mut Circuit, sum: Sig, guards: Sig, o: &Ordered, m: u32) -> Sig {
    let top = field(c, "tops", sum, m + 1, m);
    let text = "{3} & ~{2}[1] & {1} & {0}[0] & ({0}[1] | ~{2}[0])";
    c.comb("up", 1, Cost::Logic(6), text, &[guards, o.sticky, top, o.differ])
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
    let fill = c.comb("fill", 1, Cost::Logic(2), "{0} & ~{1}", &[differ, negative]);
    for k in (1..steps).rev() {
        let places = (1u32 << k).min(width);
        let first = k == steps - 1;
        let top = slice(0, width, width as i64 - 1, (width - places) as i64);
        let rest = |fill: &str| cat(&[slice(0, width, (width - places) as i64 - 1, 0), repeat(places, fill)]);
        let (clear, text, args) = if first {
            // Only a difference can begin with as many zeros, or with ones that will be complemented.
            let alike = format!("{{1}} & (&{top} | ~|{top})");
            let clear = c.comb("clear", 1, Cost::Logic(places + 1), alike, &[x, differ]);
            let text = format!("({{1}} ? {} : {{0}}) ^ {}", rest("{3}"), repeat(width, "{2}"));
            (clear, text, vec![x, clear, negative, differ])
        } else {
            let clear = c.comb("clear", 1, Cost::Logic(places), format!("~|{top}"), &[x]);
            (clear, format!("{{1}} ? {} : {{0}}", rest("{2}")), vec![x, clear, fill])
        };
        x = c.comb("norm", width, Cost::Logic(args.len().min(4) as u32), text, &args);
        pairs.push(clear);
    }
    let top = field(c, "top", x, width - 1, width - 1);
    let tops = field(c, "tops", x, width - 1, width - 2);
    let nonzero = c.comb("nonzero", 1, Cost::Logic(2), "|{0}", &[tops]);
    let here = slice(0, width, m as i64 + 1, 2);
    let text = format!("{{1}} ? {here} : {}", slice(0, width, m as i64, 1));
    let fraction = c.comb("fraction", m, Cost::Mux(2), text, &[x, top]);
    let text: Vec<String> = (0..pairs.len()).map(arg).collect();
    let pairs = c.wire("pairs", pairs.len() as u32, cat(&text), &pairs);
    Normalised { fraction, pairs, top, nonzero }
}

/// `-x` in `width` bits, of a short unsigned number: each bit turns where one below it is set.
fn minus(c: &mut Circuit, x: Sig, width: u32) -> Sig {
    let n = c.width(x);
    let set = |k: u32| format!("(|{})", slice(0, n, k as i64 - 1, 0));
    let bit = |k: u32| match k {
        0 => slice(0, n, 0, 0),
        _ => format!("{} ^ {}", slice(0, n, k as i64, k as i64), set(k)),
    };
    let parts: Vec<String> =
        std::iter::once(repeat(width.saturating_sub(n), &set(n))).chain((0..n.min(width)).rev().map(bit)).collect();
    c.comb("minus", width, Cost::Logic(n), cat(&parts), &[x])
}
