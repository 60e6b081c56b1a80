//! Two's complement to significand: shifting past the leading sign bits, keeping only what rounding can still see.
//!
//! The number is never negated. Its bits move as they are, and those that are kept are inverted at the very end where it is
//! negative; the 1 that the ones' complement lacks goes into the rounding. Each step drops the bits that no later step
//! can move into the window, and a sticky bit collects them.

use super::shift::{any, bits_of};
use super::text::{arg, cat, field, one_of_four, repeat, slice, zeros};
use crate::Rounding;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};

/// A magnitude as significand, to be rounded: the hidden bit (which is `nonzero`) and `fraction`, plus one last place
/// where `up` is set (`None`: it never is).
pub struct Leading {
    pub fraction: Sig,
    pub up: Option<Sig>,
    pub nonzero: Sig,
    /// The complement of the number of places moved: all of its bits are clear where the number is 0. `None` where it
    /// cannot move.
    pub unmoved: Option<Sig>,
}

/// The number as far as it is normalised: `value` from the top of the window down.
struct Step {
    value: Sig,
    sticky: Option<Sig>,
    /// Complements of the digits of the count, the highest first.
    digits: Vec<Sig>,
}

/// Normalises the bits `x` below the sign bit `sign` (`None`: not negative) to `m` fraction bits. Non-zero magnitudes
/// have at most `most` leading zeros, the ones' complement of a negative one counted.
pub fn leading(c: &mut Circuit, x: Sig, sign: Option<Sig>, most: u32, m: u32, rounding: Rounding) -> Leading {
    // Two bits of the count a step, but the last one alone: it and the inversion fit one 4-input table.
    let mut low = bits_of(most);
    let width = c.width(x);
    let value = match (m + 3).saturating_sub(width) {
        0 => x,
        n => c.wire("padded", width + n, cat(&[arg(0), zeros(n)]), &[x]),
    };
    let mut step = Step { value, sticky: None, digits: Vec::new() };
    while low > 1 {
        let two = low > 2;
        low -= 1 + two as u32;
        let window = c.width(step.value).min(m + 1 + (1 << low));
        step = if two { four_ways(c, step, sign, low, window) } else { two_ways(c, step, sign, low, window) };
    }
    finish(c, step, sign, low == 1, m, rounding)
}

/// The text of `value` (argument 0, `width` bits) moved up by `places`, `window` bits of it.
fn moved(width: u32, places: u32, window: u32) -> String {
    let high = width as i64 - 1 - places as i64;
    if high < 0 {
        return zeros(window);
    }
    let kept = window.min(high as u32 + 1);
    cat(&[slice(0, width, high, high + 1 - kept as i64), zeros(window - kept)])
}

/// Whether the `places` bits from place `from` below the top are all copies of the sign. Zeros follow the last bit.
fn clear(c: &mut Circuit, value: Sig, sign: Option<Sig>, from: u32, places: u32) -> Sig {
    let width = c.width(value);
    let real = places.min(width.saturating_sub(from));
    let mut terms = Vec::new();
    // As many bits at a time as one table takes beside the sign.
    let most = 4 - sign.is_some() as u32;
    for first in (0..real).step_by(most as usize) {
        let n = most.min(real - first);
        let high = (width - 1 - from - first) as i64;
        let bits = slice(0, width, high, high + 1 - n as i64);
        terms.push(match sign {
            Some(_) => format!("~|({bits} ^ {})", repeat(n, &arg(1))),
            None => format!("~|{bits}"),
        });
    }
    if real < places && sign.is_some() {
        terms.push(format!("~{}", arg(1)));
    }
    if terms.is_empty() {
        terms.push("1'b1".into());
    }
    let args: Vec<Sig> = [value].into_iter().chain(sign).collect();
    c.comb("clear", 1, Cost::Logic(real + 1), terms.join(" & "), &args)
}

/// Bits that leave the window: those of `places` places from place `from` below the top.
fn leaving(c: &mut Circuit, value: Sig, from: u32, places: u32) -> Option<Sig> {
    let width = c.width(value);
    let last = (from + places).min(width);
    (from < last).then(|| any(c, value, width - 1 - from, width - last, None))
}

/// Moves by 0 to 3 times 2^low places.
fn four_ways(c: &mut Circuit, s: Step, sign: Option<Sig>, low: u32, window: u32) -> Step {
    let (places, width) = (1u32 << low, c.width(s.value));
    let clear: Vec<Sig> = (0..3).map(|k| clear(c, s.value, sign, k * places, places)).collect();
    let high = c.comb("high", 1, Cost::Logic(2), "~({0} & {1})", &clear[..2]);
    let low = c.comb("low", 1, Cost::Logic(3), "~{0} | ({1} & ~{2})", &clear);
    let way = |k: u32| moved(width, k * places, window);
    let ways = [way(0), way(1), way(2), way(3)];
    let text = one_of_four(window, "~{1}", "~{2}", ways);
    let value = c.comb("norm", window, Cost::Mux(4), text, &[s.value, high, low]);
    // What leaves by the smaller moves, beside what leaves by the larger ones too.
    let mut terms: Vec<&str> = Vec::new();
    let mut args = vec![high, low];
    for (k, when) in [(0, "{0} & {1}"), (1, "{0}"), (2, "({0} | {1})")] {
        if let Some(gone) = leaving(c, s.value, window + k * places, places) {
            args.push(gone);
            terms.push(when);
        }
    }
    let sticky = gather(c, s.sticky, &terms, args);
    Step { value, sticky, digits: [s.digits, vec![high, low]].concat() }
}

/// Moves by 0 or 2^low places.
fn two_ways(c: &mut Circuit, s: Step, sign: Option<Sig>, low: u32, window: u32) -> Step {
    let (places, width) = (1u32 << low, c.width(s.value));
    let clear = clear(c, s.value, sign, 0, places);
    let digit = c.wire("digit", 1, "~{0}", &[clear]);
    let text = format!("{{1}} ? {} : {}", moved(width, 0, window), moved(width, places, window));
    let value = c.comb("norm", window, Cost::Mux(2), text, &[s.value, digit]);
    let gone = leaving(c, s.value, window, places);
    let terms: &[&str] = if gone.is_some() { &["{0}"] } else { &[] };
    let sticky = gather(c, s.sticky, terms, [digit].into_iter().chain(gone).collect());
    Step { value, sticky, digits: [s.digits, vec![digit]].concat() }
}

/// The sticky bit: what it was, or any of the last arguments under its condition.
fn gather(c: &mut Circuit, before: Option<Sig>, terms: &[&str], mut args: Vec<Sig>) -> Option<Sig> {
    if terms.is_empty() {
        return before;
    }
    let first = args.len() - terms.len();
    let mut text: Vec<String> = terms.iter().enumerate().map(|(k, t)| format!("{t} & {}", arg(first + k))).collect();
    if let Some(before) = before {
        text.push(arg(args.len()));
        args.push(before);
    }
    Some(c.comb("sticky", 1, Cost::Logic(args.len() as u32), text.join(" | "), &args))
}

/// The last place (if it can move), the inversion, and what rounding needs.
fn finish(c: &mut Circuit, s: Step, sign: Option<Sig>, moves: bool, m: u32, rounding: Rounding) -> Leading {
    let (value, mut digits, mut sticky) = (s.value, s.digits, s.sticky);
    let width = c.width(value);
    let head = field(c, "head", value, width - 1, width - 2);
    // `text`, inverted where the last argument, the sign, is set.
    let flipped = |text: &str, bits: u32, k: usize| match sign {
        Some(_) => format!("({text}) ^ {}", repeat(bits, &arg(k))),
        None => text.to_string(),
    };
    let with = |first: &[Sig]| -> Vec<Sig> { first.iter().copied().chain(sign).collect() };
    // Below the hidden bit stand the fraction, a round bit, and one bit more where a move is left.
    let part = |hi: u32, lo: u32, from: u32| slice(0, width, (width - from - hi) as i64, (width - from - lo) as i64);
    let (fraction, round, nonzero) = if moves {
        let digit = c.comb("digit", 1, Cost::Logic(2), flipped("{0}[1]", 1, 1), &with(&[head]));
        let gone = leaving(c, value, m + 2, 1);
        let terms: &[&str] = if gone.is_some() { &["{0}"] } else { &[] };
        sticky = gather(c, sticky, terms, [digit].into_iter().chain(gone).collect());
        digits.push(digit);
        let choice = |hi: u32, lo: u32| format!("{{1}} ? {} : {}", part(hi, lo, 1), part(hi, lo, 2));
        let fraction = flipped(&choice(1, m), m, 2);
        let fraction = c.comb("fraction", m, Cost::Mux(2), fraction, &with(&[value, digit]));
        let round = c.comb("round", 1, Cost::Mux(2), choice(m + 1, m + 1), &[value, digit]);
        let nonzero = format!("|({})", flipped("{0}", 2, 1));
        (fraction, round, c.comb("nonzero", 1, Cost::Logic(3), nonzero, &with(&[head])))
    } else {
        let fraction = c.comb("fraction", m, Cost::Logic(2), flipped(&part(1, m, 1), m, 1), &with(&[value]));
        let round = c.wire("round", 1, part(m + 1, m + 1, 1), &[value]);
        (fraction, round, c.comb("nonzero", 1, Cost::Logic(2), flipped("{0}[1]", 1, 1), &with(&[head])))
    };
    let text: Vec<String> = (0..digits.len()).map(arg).collect();
    let unmoved = (!digits.is_empty()).then(|| c.wire("unmoved", digits.len() as u32, cat(&text), &digits));
    if rounding.truncates() {
        // The missing 1 reaches the last place through ones alone, which are zeros before the inversion.
        let up = sign.map(|sign| {
            let args: Vec<Sig> = [sign, round].into_iter().chain(sticky).collect();
            let rest = if sticky.is_some() { " & ~{2}" } else { "" };
            c.comb("up", 1, Cost::Logic(3), format!("{{0}} & ~{{1}}{rest}"), &args)
        });
        return Leading { fraction, up, nonzero, unmoved };
    }
    let least = field(c, "least", fraction, 0, 0);
    let args: Vec<Sig> = [round, least].into_iter().chain(sticky).chain(sign).collect();
    let rest = if sticky.is_some() { "{2}" } else { "1'b0" };
    // With the missing 1 the rest is over half where it reaches half, and half where it is one short of it.
    let text = match sign {
        Some(_) => {
            let s = arg(args.len() - 1);
            format!("{s} ^ ({{0}} & ({rest} | ({{1}} ^ {s})))")
        }
        None => format!("{{0}} & ({rest} | {{1}})"),
    };
    let up = Some(c.comb("up", 1, Cost::Logic(4), text, &args));
    Leading { fraction, up, nonzero, unmoved }
}
