//! Circuit pieces that align significands: moving to the right with a sticky bit.

use super::logic::field;
use crate::circuit::target::Cost;
use crate::circuit::{Circuit, Sig, X};
use crate::op::pieces::parts::counted;
use crate::rtl::cat;

/// Bits that hold the unsigned number `n`.
pub fn bits_of(n: u32) -> u32 {
    32 - n.leading_zeros()
}

/// Inputs of one piece of an OR, so that a wide OR can be cut between stages.
const OR_INPUTS: u32 = 16;

/// Whether any of the bits `hi` to `lo` of `x` is set (or differs from `flip`, where that is given).
pub fn any(c: &mut Circuit, x: Sig, hi: u32, lo: u32, flip: Option<Sig>) -> Sig {
    let mut parts = Vec::new();
    for low in (lo..=hi).step_by(OR_INPUTS as usize) {
        let bits = c.x(x).slice(hi.min(low + OR_INPUTS - 1), low);
        let inputs = bits.width() + flip.is_some() as u32;
        let bits = match flip {
            None => bits,
            Some(flip) => &bits ^ c.x(flip).repeat(bits.width()),
        };
        parts.push(counted(c, "any", bits.any(), inputs));
    }
    match parts[..] {
        [one] => one,
        _ => {
            let any = c.or(&parts);
            c.logic("any", any)
        }
    }
}

/// The result of a right shift: the window, and whether a set bit fell out of it (`None`: none can).
pub struct Shifted {
    pub value: Sig,
    pub sticky: Option<Sig>,
}

/// The bits shifted in from the left of a right shift.
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
        s.value = c.logic("padded", c.x(s.value).shl(window - width));
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
    let (x, digit) = (c.x(s.value), c.x(digit));
    let width = x.width();
    let ways = 1u32 << digit.width();
    let shifts: Vec<u32> = (0..ways).map(|d| d << low).collect();
    let out = window.min(width + shifts[shifts.len() - 1]);
    let mut values = Vec::new();
    let mut dropped = Vec::new();
    let mut widest = 0;
    for shift in shifts {
        let shift = shift.min(out);
        let kept = width.min(out - shift);
        let entering = match fill {
            Fill::Zeros => X::zeros(shift),
            Fill::Sign => x.msb().repeat(shift),
        };
        values.push(cat([entering, x.top(kept), X::zeros(out - shift - kept)]));
        let fallen = x.low(width - kept);
        dropped.push(if fallen.width() == 0 { X::flag(false) } else { fallen.any() });
        widest = widest.max(width - kept);
    }
    let value = c.logic("shifted", select(&digit, &values));
    if widest == 0 {
        return Shifted { value, sticky: s.sticky };
    }
    let fallen = select(&digit, &dropped);
    let sticky = match s.sticky {
        Some(earlier) => c.x(earlier) | fallen,
        None => fallen,
    };
    let sticky = c.logic_at("sticky", sticky, Cost::Logic(widest + ways), "a table for each way comes first");
    Shifted { value, sticky: Some(sticky) }
}

/// One of two or four expressions by the digit.
fn select(digit: &X, ways: &[X]) -> X {
    match ways {
        [a, b] => digit.mux(b, a),
        [a, b, x, y] => digit.bit(1).mux(&digit.bit(0).mux(y, x), &digit.bit(0).mux(b, a)),
        _ => unreachable!("digits have one or two bits"),
    }
}
