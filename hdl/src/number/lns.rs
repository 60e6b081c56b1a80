//! The logarithmic format's numbers: logarithms and powers in integers, so that every machine finds the same bits.
//!
//! A pattern of `logW.F` other than 0 has the mark, bit W-2, set, and stands for 2^(L / 2^F), with L the lowest W-2 bits less
//! 2^(W-3): from -2^(W-3) to 2^(W-3) - 1, two's complement with its sign inverted, so that magnitudes order as integers.
//!
//! Significands and logarithms are held here in units of 2^-62. What is needed is where a logarithm lies between the halves of
//! last places of 12 bits, and these are irrational but for whole numbers: 60 right bits decide.

use crate::Rounding;
use crate::{Flags, Format};
use std::sync::OnceLock;

/// Fraction bits of significands and logarithms.
pub(super) const Q: u32 = 62;
const ONE: u64 = 1 << Q;
/// Right bits of a logarithm.
pub(super) const LOG_BITS: u32 = 56;

/// A number other than 0 taken apart: its sign, and 2^F times the logarithm of its magnitude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    pub negative: bool,
    pub log: i64,
}

/// Takes a pattern apart; `None` for zero (mark clear).
pub fn unpack(format: Format, bits: u64) -> Option<Parts> {
    let width = format.width();
    let log = (bits & ((1 << (width - 2)) - 1)) as i64 - format.bias() as i64;
    (bits >> (width - 2) & 1 == 1).then(|| Parts { negative: bits >> (width - 1) & 1 == 1, log })
}

/// The pattern of a number, bounded as RULES N2 say; `above` is the flag of a result that is too large.
pub fn pack(format: Format, parts: Parts, above: Flags) -> (u64, Flags) {
    let bias = format.bias() as i64;
    if parts.log < -bias {
        return (0, Flags::UNDERFLOW);
    }
    let sign = (parts.negative as u64) << (format.width() - 1);
    let field = (parts.log.min(bias - 1) + bias) as u64;
    (sign | 1 << (format.width() - 2) | field, above.when(parts.log >= bias))
}

/// 2^(2^-k) for k = 1, 2, ...
fn roots() -> &'static [u64; 24] {
    static ROOTS: OnceLock<[u64; 24]> = OnceLock::new();
    ROOTS.get_or_init(|| {
        let mut root = 2 * ONE;
        std::array::from_fn(|_| {
            root = ((root as u128) << Q).isqrt() as u64;
            root
        })
    })
}

fn times(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128 + (1 << (Q - 1))) >> Q) as u64
}

/// 2^(k / 2^bits) for k < 2^bits, 1 to 2.
pub(super) fn exp2(k: u64, bits: u32) -> u64 {
    (0..bits).filter(|b| k >> (bits - 1 - b) & 1 == 1).fold(ONE, |p, b| times(p, roots()[b as usize]))
}

/// The logarithm of x, 1 <= x < 2, by squaring: each square gives a bit.
pub(super) fn log2(mut x: u64) -> u64 {
    let mut log = 0;
    for bit in 1..=LOG_BITS {
        let square = x as u128 * x as u128;
        let two = square >> (2 * Q + 1) != 0;
        log |= (two as u64) << (Q - bit);
        x = ((square + (1 << (Q - 1 + two as u32))) >> (Q + two as u32)) as u64;
    }
    log
}

/// A logarithm or a fraction in units of 2^-frac, rounded to nearest or down.
pub(super) fn rounded(x: u64, frac: u32, mode: Rounding) -> u32 {
    let half = if mode.truncates() { 0 } else { 1 << (Q - frac - 1) };
    ((x + half) >> (Q - frac)) as u32
}

/// Fraction bits of a float on its way into or out of a log of `frac` bits: two more than the logarithm has.
pub fn float_frac(frac: u32) -> u32 {
    frac + 2
}

/// For either rounding a table for each number of fraction bits.
type Tables = [[OnceLock<Vec<u32>>; 16]; 2];

/// For each significand of `mant` fraction bits its logarithm in units of 2^-frac, 0 to 2^frac.
pub fn logs(frac: u32, mant: u32, mode: Rounding) -> &'static [u32] {
    static TABLES: [Tables; 16] = [const { [const { [const { OnceLock::new() }; 16] }; 2] }; 16];
    TABLES[frac as usize][mode as usize][mant as usize]
        .get_or_init(|| (0..1u64 << mant).map(|m| rounded(log2(ONE | m << (Q - mant)), frac, mode)).collect())
}

/// For each fraction of a logarithm of `frac` bits the significand's fraction in units of 2^-mant, 0 to 2^mant.
pub fn powers(frac: u32, mant: u32, mode: Rounding) -> &'static [u32] {
    static TABLES: [Tables; 16] = [const { [const { [const { OnceLock::new() }; 16] }; 2] }; 16];
    TABLES[frac as usize][mode as usize][mant as usize]
        .get_or_init(|| (0..1u64 << frac).map(|k| rounded(exp2(k, frac) - ONE, mant, mode)).collect())
}

/// The term that a sum adds to the larger logarithm where the other one is k last places less: log2(1 + 2^-d) in last places, for all k
/// for which that is not 0.
pub fn sums(frac: u32, mode: Rounding) -> &'static [u32] {
    static TABLES: Tables = [const { [const { OnceLock::new() }; 16] }; 2];
    TABLES[mode as usize][frac as usize].get_or_init(|| {
        let sum = |k: u64| {
            let x = ONE + below(k, frac);
            if x == 2 * ONE { 1 << frac } else { rounded(log2(x), frac, mode) }
        };
        (0u64..).map(sum).take_while(|t| *t != 0).collect()
    })
}

/// The term that a difference takes from the larger logarithm: -log2(1 - 2^-d) in last places, for all k from 1 for which that
/// differs from its value for all larger ones, [`far_difference`]; the first entry stands for equal numbers and is 0. A result
/// that is rounded down takes more.
pub fn differences(frac: u32, mode: Rounding) -> &'static [u32] {
    static TABLES: Tables = [const { [const { OnceLock::new() }; 16] }; 2];
    TABLES[mode as usize][frac as usize].get_or_init(|| {
        let place = 1u128 << (Q - frac);
        let more = if mode.truncates() { place - 1 } else { place / 2 };
        let difference = |k: u64| {
            let x = ONE - below(k, frac);
            let zeros = x.leading_zeros() - 1;
            let log = ((zeros as u128) << Q) - log2(x << zeros) as u128;
            ((log + more) >> (Q - frac)) as u32
        };
        std::iter::once(0).chain((1u64..).map(difference).take_while(|t| *t != far_difference(mode))).collect()
    })
}

/// The term that a difference takes from a much larger logarithm: 0, or the least that keeps the result from being too large.
pub fn far_difference(mode: Rounding) -> u32 {
    mode.truncates() as u32
}

/// 2^(-k / 2^frac).
fn below(k: u64, frac: u32) -> u64 {
    if k == 0 {
        return ONE;
    }
    let whole = k.div_ceil(1 << frac);
    exp2((whole << frac) - k, frac) >> whole
}

/// The significand in units of 2^-Q and the exponent of a number other than 0.
pub(super) fn significand(format: Format, parts: Parts) -> (u64, i64) {
    let frac = format.log_frac();
    let k = parts.log & ((1 << frac) - 1);
    (exp2(k as u64, frac), parts.log >> frac)
}

/// The f64 nearest to the number that a pattern stands for, but for an error of 2^-60 before it is rounded.
pub fn to_f64(format: Format, bits: u64) -> f64 {
    let Some(parts) = unpack(format, bits) else { return 0.0 };
    let (significand, exponent) = significand(format, parts);
    let magnitude = significand as f64 * 2f64.powi((exponent - Q as i64) as i32);
    if parts.negative { -magnitude } else { magnitude }
}

/// The canonical form of a pattern: without the mark it is zero (RULES N1).
pub fn canonical(format: Format, bits: u64) -> u64 {
    if bits >> (format.width() - 2) & 1 == 1 { bits } else { 0 }
}
