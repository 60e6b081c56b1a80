//! Two's complement to significand: shifting past the leading sign bits, keeping only what rounding can still see.
//!
//! The number is never negated. Its bits move as they are, and those that are kept are inverted at the very end where it is
//! negative; the 1 that the ones' complement lacks goes into the rounding. Each step drops the bits that no later step
//! can move into the window, and a sticky bit collects them.

use super::logic::{field, one_of_four};
use super::shift::{any, bits_of};
use crate::Rounding;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::parts::counted;
use crate::rtl::cat;

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
        n => c.logic("padded", c.x(x).shl(n)),
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

/// `x` moved up by `places`, `window` bits of it.
fn moved(x: &X, places: u32, window: u32) -> X {
    let left = x.width().saturating_sub(places);
    let kept = window.min(left);
    cat([x.bits(left - kept, kept), X::zeros(window - kept)])
}

/// Whether the `places` bits from place `from` below the top are all copies of the sign. Zeros follow the last bit.
fn clear(c: &mut Circuit, value: Sig, sign: Option<Sig>, from: u32, places: u32) -> Sig {
    let (x, sign) = (c.x(value), sign.map(|s| c.x(s)));
    let width = x.width();
    let real = places.min(width.saturating_sub(from));
    let mut terms = Vec::new();
    // As many bits at a time as one table takes beside the sign.
    let most = 4 - sign.is_some() as u32;
    for first in (0..real).step_by(most as usize) {
        let n = most.min(real - first);
        let bits = x.bits(width - from - first - n, n);
        terms.push(match &sign {
            Some(sign) => (bits ^ sign.repeat(n)).none(),
            None => bits.none(),
        });
    }
    if let Some(sign) = sign.filter(|_| real < places) {
        terms.push(!sign);
    }
    let all = terms.into_iter().reduce(|a, b| a & b).unwrap_or(X::flag(true));
    c.logic_at("clear", all, Cost::Logic(real + 1), "the sign is one input where there is one")
}

/// Bits that leave the window: those of `places` places from place `from` below the top.
fn leaving(c: &mut Circuit, value: Sig, from: u32, places: u32) -> Option<X> {
    let width = c.width(value);
    let last = (from + places).min(width);
    (from < last).then(|| {
        let gone = any(c, value, width - 1 - from, width - last, None);
        c.x(gone)
    })
}

/// Moves by 0 to 3 times 2^low places.
fn four_ways(c: &mut Circuit, s: Step, sign: Option<Sig>, low: u32, window: u32) -> Step {
    let places = 1u32 << low;
    let x = c.x(s.value);
    let clear = [0, 1, 2].map(|k| {
        let clear = clear(c, s.value, sign, k * places, places);
        c.x(clear)
    });
    let high = c.logic("high", !(&clear[0] & &clear[1]));
    let low = c.logic("low", !&clear[0] | &clear[1] & !&clear[2]);
    let digits = [s.digits, vec![high, low]].concat();
    let (high, low) = (c.x(high), c.x(low));
    let ways = [0, 1, 2, 3].map(|k| moved(&x, k * places, window));
    let value = one_of_four(&!&high, &!&low, ways);
    let value = c.logic_at("norm", value, Cost::Mux(4), "two tables a bit, however many inputs one has");
    // What leaves by the smaller moves, beside what leaves by the larger ones too.
    let mut terms = Vec::new();
    for (k, when) in [(0, &high & &low), (1, high.clone()), (2, &high | &low)] {
        if let Some(gone) = leaving(c, s.value, window + k * places, places) {
            terms.push(when & gone);
        }
    }
    let sticky = gather(c, s.sticky, terms);
    Step { value, sticky, digits }
}

/// Moves by 0 or 2^low places.
fn two_ways(c: &mut Circuit, s: Step, sign: Option<Sig>, low: u32, window: u32) -> Step {
    let places = 1u32 << low;
    let x = c.x(s.value);
    let clear = clear(c, s.value, sign, 0, places);
    let digit = c.logic("digit", !c.x(clear));
    let moves = c.x(digit);
    let value = c.logic("norm", moves.mux(&moved(&x, 0, window), &moved(&x, places, window)));
    let terms: Vec<X> = leaving(c, s.value, window, places).map(|gone| moves & gone).into_iter().collect();
    let sticky = gather(c, s.sticky, terms);
    Step { value, sticky, digits: [s.digits, vec![digit]].concat() }
}

/// The sticky bit: what it was, or any of the terms.
fn gather(c: &mut Circuit, before: Option<Sig>, terms: Vec<X>) -> Option<Sig> {
    if terms.is_empty() {
        return before;
    }
    let any = terms.into_iter().chain(before.map(|b| c.x(b))).reduce(|a, b| a | b)?;
    Some(c.logic("sticky", any))
}

/// The last place (if it can move), the inversion, and what rounding needs.
fn finish(c: &mut Circuit, s: Step, sign: Option<Sig>, moves: bool, m: u32, rounding: Rounding) -> Leading {
    let (mut digits, mut sticky) = (s.digits, s.sticky);
    let value = c.x(s.value);
    let width = value.width();
    let head = field(c, "head", s.value, width - 1, width - 2);
    let (head, sign) = (c.x(head), sign.map(|s| c.x(s)));
    // Inverted where the sign is set.
    let flipped = |bits: X| match &sign {
        Some(sign) => &bits ^ sign.repeat(bits.width()),
        None => bits,
    };
    // Below the hidden bit stand the fraction, a round bit, and one bit more where a move is left.
    let part = |hi: u32, lo: u32, from: u32| value.slice(width - from - hi, width - from - lo);
    let (fraction, round, nonzero) = if moves {
        let digit = counted(c, "digit", flipped(head.bit(1)), 2);
        digits.push(digit);
        let digit = c.x(digit);
        let terms: Vec<X> = leaving(c, s.value, m + 2, 1).map(|gone| &digit & gone).into_iter().collect();
        sticky = gather(c, sticky, terms);
        let choice = |hi: u32, lo: u32| digit.mux(&part(hi, lo, 1), &part(hi, lo, 2));
        let fraction = c.logic("fraction", flipped(choice(1, m)));
        let round = c.logic("round", choice(m + 1, m + 1));
        (fraction, round, c.logic("nonzero", flipped(head).any()))
    } else {
        let fraction = counted(c, "fraction", flipped(part(1, m, 1)), 2);
        let round = c.logic("round", part(m + 1, m + 1, 1));
        (fraction, round, counted(c, "nonzero", flipped(head.bit(1)), 2))
    };
    let unmoved = (!digits.is_empty()).then(|| c.logic("unmoved", cat(digits.iter().map(|d| c.x(*d)))));
    let (guard, sticky) = (c.x(round), sticky.map(|s| c.x(s)));
    if rounding.truncates() {
        // The missing 1 reaches the last place through ones alone, which are zeros before the inversion.
        let up = sign.map(|sign| {
            let up = sign & !guard;
            c.logic("up", sticky.map_or(up.clone(), |s| up & !s))
        });
        return Leading { fraction, up, nonzero, unmoved };
    }
    let least = field(c, "least", fraction, 0, 0);
    let (least, rest) = (c.x(least), sticky.unwrap_or(X::flag(false)));
    // With the missing 1 the rest is over half where it reaches half, and half where it is one short of it.
    let up = match sign {
        Some(sign) => &sign ^ (guard & (rest | (least ^ &sign))),
        None => guard & (rest | least),
    };
    let up = Some(c.logic("up", up));
    Leading { fraction, up, nonzero, unmoved }
}
