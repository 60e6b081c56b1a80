//! Circuit pieces that align significands: moving to the right with a sticky bit.

use super::text::{arg, cat, field, repeat, slice, zeros};
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig};

/// Bits that hold the unsigned number `n`.
pub fn bits_of(n: u32) -> u32 {
    32 - n.leading_zeros()
}

/// Inputs of one piece of an OR, so that a wide OR can be cut between stages.
const OR_INPUTS: u32 = 16;

/// Whether any of the bits `hi` to `lo` of `x` is set (or differs from `flip`, where that is given).
pub fn any(c: &mut Circuit, x: Sig, hi: u32, lo: u32, flip: Option<Sig>) -> Sig {
    let width = c.width(x);
    let mut parts = Vec::new();
    let mut low = lo;
    while low <= hi {
        let high = hi.min(low + OR_INPUTS - 1);
        let bits = slice(0, width, high as i64, low as i64);
        let n = high - low + 1;
        parts.push(match flip {
            None => c.comb("any", 1, Cost::Logic(n), format!("|{bits}"), &[x]),
            Some(f) => c.comb("any", 1, Cost::Logic(n + 1), format!("|({bits} ^ {})", repeat(n, &arg(1))), &[x, f]),
        });
        low = high + 1;
    }
    match parts[..] {
        [one] => one,
        _ => {
            let text: Vec<String> = (0..parts.len()).map(arg).collect();
            c.comb("any", 1, Cost::Logic(parts.len() as u32), text.join(" | "), &parts)
        }
    }
}

/// What a right shift leaves: the window, and whether a set bit fell out of it (`None`: none can).
pub struct Shifted {
    pub value: Sig,
    pub sticky: Option<Sig>,
}

/// What comes in from the left of a right shift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fill {
    Zeros,
    /// Copies of the top bit.
    Sign,
}

/// Shifts `x`, which starts at the top of a window of `window` bits, to the right by `amount`, two bits of the
/// amount a piece. Small shifts come first, so that early stages hold few bits.
pub fn shift_right(c: &mut Circuit, x: Sig, amount: Sig, window: u32, fill: Fill) -> Shifted {
    let width = c.width(x);
    let mut s = Shifted { value: x, sticky: None };
    if width > window {
        s.sticky = Some(any(c, x, width - window - 1, 0, None));
        s.value = field(c, "top", x, width - 1, width - window);
    }
    let n = c.width(amount);
    for low in (0..n).step_by(2) {
        let digit = field(c, "digit", amount, n.min(low + 2) - 1, low);
        s = shift_step(c, s, Step { digit, low, window, fill });
    }
    let width = c.width(s.value);
    if width < window {
        s.value = c.wire("padded", window, cat(&[arg(0), zeros(window - width)]), &[s.value]);
    }
    s
}

/// One piece of [`shift_right`]: by `digit` (one or two bits) times 2^low.
struct Step {
    digit: Sig,
    low: u32,
    window: u32,
    fill: Fill,
}

fn shift_step(c: &mut Circuit, s: Shifted, step: Step) -> Shifted {
    let Step { digit, low, window, fill } = step;
    let width = c.width(s.value) as i64;
    let ways = 1u32 << c.width(digit);
    let shifts: Vec<u32> = (0..ways).map(|d| d << low).collect();
    let out = window.min(width as u32 + shifts[shifts.len() - 1]);
    let mut values = Vec::new();
    let mut dropped = Vec::new();
    let mut widest = 0;
    for shift in shifts {
        let shift = shift.min(out);
        let kept = width.min((out - shift) as i64);
        let rest = (out - shift) - kept as u32;
        let entering = match fill {
            Fill::Zeros => zeros(shift),
            Fill::Sign => repeat(shift, &slice(0, width as u32, width - 1, width - 1)),
        };
        values.push(cat(&[entering, slice(0, width as u32, width - 1, width - kept), zeros(rest)]));
        let fallen = slice(0, width as u32, width - kept - 1, 0);
        dropped.push(if fallen.is_empty() { "1'b0".to_string() } else { format!("|{fallen}") });
        widest = widest.max(width - kept);
    }
    let value = c.comb("shifted", out, Cost::Mux(ways), select(&values), &[s.value, digit]);
    if widest == 0 {
        return Shifted { value, sticky: s.sticky };
    }
    let cost = Cost::Logic(widest as u32 + ways);
    let sticky = match s.sticky {
        Some(earlier) => {
            c.comb("sticky", 1, cost, format!("{{2}} | ({})", select(&dropped)), &[s.value, digit, earlier])
        }
        None => c.comb("sticky", 1, cost, select(&dropped), &[s.value, digit]),
    };
    Shifted { value, sticky: Some(sticky) }
}

/// The multiplexer over two or four expressions by argument 1.
fn select(ways: &[String]) -> String {
    match ways {
        [a, b] => format!("{{1}} ? {b} : {a}"),
        [a, b, x, y] => format!("{{1}}[1] ? ({{1}}[0] ? {y} : {x}) : ({{1}}[0] ? {b} : {a})"),
        _ => unreachable!("digits have one or two bits"),
    }
}
