//! Verilog expressions over the placeholders of [`crate::circuit::Circuit::comb`].
//!
//! An empty string stands for no bits at all: [`cat`] leaves it out, so that fields of zero width need no special case.

use crate::circuit::{Circuit, Sig};

/// The k-th argument, whole.
pub fn arg(k: usize) -> String {
    format!("{{{k}}}")
}

/// Bits `hi` down to `lo` of argument `k`, which has `width` bits; no bits when `hi < lo`.
pub fn slice(k: usize, width: u32, hi: i64, lo: i64) -> String {
    assert!(hi < width as i64 && lo >= 0, "[{hi}:{lo}] of {width} bits");
    match (hi, lo) {
        _ if hi < lo => String::new(),
        // A one-bit name must not be sliced.
        _ if hi - lo + 1 == width as i64 => arg(k),
        _ if hi == lo => format!("{{{k}}}[{hi}]"),
        _ => format!("{{{k}}}[{hi}:{lo}]"),
    }
}

/// The concatenation of `parts`, most significant first.
pub fn cat(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().filter(|p| !p.is_empty()).map(String::as_str).collect();
    match parts[..] {
        [one] => one.to_string(),
        _ => format!("{{{}}}", parts.join(", ")),
    }
}

/// `n` copies of `part`.
pub fn repeat(n: u32, part: &str) -> String {
    match n {
        0 => String::new(),
        1 => part.to_string(),
        _ => format!("{{{n}{{{part}}}}}"),
    }
}

/// `n` zero bits.
pub fn zeros(n: u32) -> String {
    if n == 0 { String::new() } else { format!("{n}'d0") }
}

/// `n` one bits.
pub fn ones(n: u32) -> String {
    repeat(n, "1'b1")
}

/// The constant `value` modulo 2^width.
pub fn constant(width: u32, value: i64) -> String {
    let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
    format!("{width}'d{}", value as u64 & mask)
}

/// The constant `value` modulo 2^width where the expression `keep` is 1, else 0.
pub fn constant_if(width: u32, value: i64, keep: Option<&str>) -> String {
    let Some(keep) = keep else { return constant(width, value) };
    let bit = |k: u32| if value >> k.min(63) & 1 == 1 { keep.to_string() } else { zeros(1) };
    cat(&(0..width).rev().map(bit).collect::<Vec<_>>())
}

/// One of four vectors of `width` bits, `ways[2 high + low]`, in the form that takes two 4-input tables a bit: where `high`
/// is set the first table hands on `low`. It is written without `?`, which synthesis would take apart.
pub fn one_of_four(width: u32, high: &str, low: &str, ways: [String; 4]) -> String {
    let [a, b, x, y] = ways;
    let (h, l) = (repeat(width, high), repeat(width, low));
    let first = format!("({h} & {l} | ~{h} & ({l} & {b} | ~{l} & {a}))");
    format!("{h} & ({first} & {y} | ~{first} & {x}) | ~{h} & {first}")
}

/// A slice of a signal as a signal of its own: wires, made where the signal is, so that nothing wider is delayed.
pub fn field(c: &mut Circuit, name: &str, from: Sig, hi: u32, lo: u32) -> Sig {
    let width = c.width(from);
    if hi - lo + 1 == width {
        return from;
    }
    c.wire(name, hi - lo + 1, slice(0, width, hi as i64, lo as i64), &[from])
}
