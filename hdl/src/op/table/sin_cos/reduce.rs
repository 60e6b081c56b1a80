//! x / pi modulo 2: a sign and a distance u, 0 < u <= 1/2, to the nearest zero of the function, cut off.
//!
//! A turn here is x / pi, plus 1/2 for a cosine, in units of 2^-`unit`, `unit` + 1 bits of it: the first is the sign. What is
//! cut off of it is less than one unit, plus or minus an eighth for the constant that was rounded.
//!
//! A float is multiplied by as many bits of 2^e / pi as matter after the first ones have been dropped, which are whole turns
//! (Payne and Hanek, 1983). How many are needed below is a question of how near a float comes to a multiple of pi / 2.

use super::LIMIT;
use crate::Format;
use crate::op::ctext::{CText, CType, CVar, U32, U64, floats};
use crate::op::pieces::float_parts::max_field;

/// 2^128 / pi.
const OVER_PI: u128 = 0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0;

/// For floats of so many fraction bits, from 1/2 to 2^[`LIMIT`]: x / pi is never nearer to a multiple of 1/2, other than 0, than
/// two to the power of minus this. A test looks at all of them.
pub const DEEPEST: [u32; 24] =
    [7, 7, 8, 10, 10, 13, 13, 13, 18, 18, 18, 20, 20, 20, 20, 20, 22, 24, 24, 24, 26, 28, 28, 30];

/// Bits of u's significand beyond those of the result: what is cut off then costs less than a tenth of a place.
const MORE: u32 = 5;

/// Bits of the constants below a unit, beyond those that the argument has.
const BELOW: u32 = 2;

/// 2^k / pi, rounded.
fn over_pi(k: i32) -> u128 {
    let right = 128 - k;
    assert!((1..128).contains(&right), "as many bits as are known");
    (OVER_PI >> right) + (OVER_PI >> (right - 1) & 1)
}

/// How floats are reduced.
#[derive(Clone, Debug)]
pub struct Floats {
    pub unit: u32,
    /// Fraction bits of u, normalised.
    pub places: u32,
    /// Octaves of u, from 1/4 downwards.
    pub octaves: u32,
    /// Exponent fields that are reduced. Below the first one x is its own sine, and 1 the cosine.
    pub first: u32,
    pub last: u32,
    /// For each of them the bits of 1 / pi, in units of 2^-(unit + below).
    pub windows: Vec<u128>,
    pub below: u32,
    cosine: bool,
}

impl Floats {
    pub fn new(format: Format, cosine: bool) -> Floats {
        let (m, bias) = (format.mant(), format.bias());
        let (places, octaves) = (m + MORE, DEEPEST[m as usize]);
        let unit = places + octaves + 1;
        // 1 - cos(x) is at most x^2 / 2, with places of half the size below 1, and x - sin(x) at most x^3 / 6. One bound for
        // both lets a sine and a cosine of one angle share the product.
        let small = m.div_ceil(2);
        let first = (bias - small as i32).max(1) as u32;
        let last = (bias + LIMIT - 1).min(max_field(format) as i32) as u32;
        let below = m + 1 + BELOW;
        let mask = (1u128 << (unit + 1 + below)) - 1;
        let window = |field: u32| {
            let exponent = field as i32 - bias - m as i32;
            over_pi(exponent + (unit + below) as i32) & mask
        };
        let windows = (first..=last).map(window).collect();
        Floats { unit, places, octaves, first, last, windows, below, cosine }
    }

    /// The turn of a significand with an exponent field.
    pub fn turn(&self, significand: u64, field: u32) -> u64 {
        let product = significand as u128 * self.windows[(field - self.first) as usize];
        turned((product >> self.below) as u64, self.unit, self.cosine)
    }

    /// Whether the function is negative there, for a positive argument; which octave u is in, and its fraction.
    pub fn octave(&self, turn: u64) -> (bool, usize, u64) {
        let (negative, u) = fold(turn, self.unit);
        let line = (u << (65 - self.unit)).leading_zeros().min(self.octaves - 1);
        let fraction = u << line & ((1 << (self.unit - 2)) - 1);
        (negative, line as usize, fraction >> (self.unit - 2 - self.places))
    }
}

impl Floats {
    /// C: whether the function is negative for a positive argument, and the octave with the fraction behind it. Of an exponent
    /// field that is not reduced they are those of another one.
    pub fn c_octave(&self, c: &mut CText, format: Format, x: &CVar, field: &CVar) -> (CVar, CVar) {
        let kind = CType::unsigned(self.unit + 1 + self.below);
        let index = c.set(U32, format!("(uint32_t){field} - {}u", self.first));
        let index = c.set(U32, format!("{index} < {0}u ? {index} : 0", self.windows.len()));
        let low = c.look_up(self.windows.iter().map(|w| *w as u64 as i64).collect(), &index);
        let mut window = format!("({kind})(uint64_t){low}");
        if kind.bits > 64 {
            let high = c.look_up(self.windows.iter().map(|w| (w >> 64) as i64).collect(), &index);
            window = format!("({window} | ({kind}){high} << 64)");
        }
        let s = floats::significand(c, format, x);
        let product = c.set(kind, format!("({kind}){s} * {window}"));
        let turn = c.set(U64, format!("{product} >> {}", self.below));
        let (negative, u) = c_fold(c, &turn, self.unit, self.cosine);
        let line = c.set(U32, format!("pf_clz64({u} << {})", 65 - self.unit));
        let line = c.set(U32, format!("{line} < {0}u ? {line} : {0}u", self.octaves - 1));
        let places = U64.number((1 << (self.unit - 2)) - 1);
        let fraction = c.set(U64, format!("(({u} << {line}) & {places}) >> {}", self.unit - 2 - self.places));
        let at = CType::unsigned(self.places + u32::BITS - self.octaves.leading_zeros());
        (negative, c.set(at, format!("({at}){line} << {} | ({at}){fraction}", self.places)))
    }
}

impl Fixeds {
    /// C: as [`Fixeds::place`].
    pub fn c_place(&self, c: &mut CText, format: Format, x: &CVar, cosine: bool) -> (CVar, CVar) {
        let x = c.int(format, x);
        let kind = CType::signed(format.width() + 1 + u64::BITS - self.factor.leading_zeros());
        let turn = c.set(U64, format!("(({kind}){x} * {}) >> {}", kind.number(self.factor as i128), self.below));
        c_fold(c, &turn, self.unit, cosine)
    }
}

/// C: [`turned`] and [`fold`].
fn c_fold(c: &mut CText, turn: &CVar, unit: u32, cosine: bool) -> (CVar, CVar) {
    let quarter = U64.number(if cosine { 1 << (unit - 1) } else { 0 });
    let turn = c.set(U64, format!("{turn} + {quarter}"));
    let mask = U64.number((1 << (unit - 1)) - 1);
    let u = c.set(U64, format!("(({turn} >> {}) & 1 ? ~{turn} : {turn}) & {mask}", unit - 1));
    (c.test(format!("(({turn} >> {unit}) & 1) != 0")), u)
}

/// How fixeds are reduced.
#[derive(Clone, Debug)]
pub struct Fixeds {
    pub unit: u32,
    /// 1 / pi for the integer of an argument, in units of 2^-(unit + below).
    pub factor: u64,
    pub below: u32,
}

impl Fixeds {
    pub fn new(format: Format) -> Fixeds {
        let below = format.width() + BELOW;
        let factor = over_pi((MORE + below) as i32) as u64;
        Fixeds { unit: format.frac().expect("a fixed") + MORE, factor, below }
    }

    /// Whether the function is negative there, and u, `unit` - 1 bits.
    pub fn place(&self, x: i128, cosine: bool) -> (bool, u64) {
        let product = x * self.factor as i128;
        fold(turned((product >> self.below) as u64, self.unit, cosine), self.unit)
    }
}

/// The turn's bits, with a quarter of a turn added for a cosine.
fn turned(bits: u64, unit: u32, cosine: bool) -> u64 {
    bits.wrapping_add((cosine as u64) << (unit - 1)) & ((2 << unit) - 1)
}

/// The sign, and the distance to the nearest integer. The upper half is complemented: what is cut off stays on the upper side.
fn fold(turn: u64, unit: u32) -> (bool, u64) {
    let upper = turn >> (unit - 1) & 1 == 1;
    let u = if upper { !turn } else { turn };
    (turn >> unit & 1 == 1, u & ((1 << (unit - 1)) - 1))
}

#[test]
fn no_float_comes_nearer_to_a_zero_than_is_provided_for() {
    // Twice as many half turns, so that zeros of both functions are integers: the next number is one step further.
    let mut least = [u128::MAX; 24];
    for exponent in -1..LIMIT {
        let step = (2 * OVER_PI) >> (23 - exponent);
        let mut turns = step.wrapping_mul(1 << 23);
        for m in 1u32 << 23..1 << 24 {
            let distance = turns.min(turns.wrapping_neg());
            let mant = 23 - m.trailing_zeros() as usize;
            least[mant] = least[mant].min(distance);
            turns = turns.wrapping_add(step);
        }
    }
    for (mant, deepest) in DEEPEST.iter().enumerate() {
        let distance = least[..=mant].iter().min().expect("not empty") / 2;
        assert_eq!(*deepest, distance.leading_zeros() + 1, "{mant} fraction bits");
    }
}
