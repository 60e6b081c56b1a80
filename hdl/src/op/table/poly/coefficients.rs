//! Coefficients of a polynomial: through points of a function, rounded to integers, and how far that moves its values. This is
//! the part of every table's error bound that does not depend on the function.

use crate::number::real::{Dd, MAX_ORDER, exp2};
use std::ops::{Add, Div, Mul, Sub};

/// The highest degree of a polynomial.
pub const MAX_DEGREE: usize = MAX_ORDER - 1;

/// One number for each power of the place.
pub type Coefficients<N> = [N; MAX_DEGREE + 1];

/// The arithmetic that coefficients are found in.
pub trait Number:
    Copy
    + From<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<f64, Output = Self>
    + Div<Output = Self>
{
    /// The integer nearest to x * 2^k.
    fn rounded(self, k: i32) -> i64;

    /// integer * 2^-k - x.
    fn added(self, integer: i64, k: i32) -> f64;
}

impl Number for f64 {
    fn rounded(self, k: i32) -> i64 {
        (self * exp2(k) + 0.5).floor() as i64
    }

    fn added(self, integer: i64, k: i32) -> f64 {
        integer as f64 * exp2(-k) - self
    }
}

impl Number for Dd {
    fn rounded(self, k: i32) -> i64 {
        self.round_scaled(k).unwrap_or(0) as i64
    }

    fn added(self, integer: i64, k: i32) -> f64 {
        let whole = Dd::from((integer >> 30) as f64).scale(30) + Dd::from((integer & ((1 << 30) - 1)) as f64);
        (whole.scale(-k) - self).hi
    }
}

/// The Chebyshev nodes on [0, 1]: 1/2 - cos((2 j + 1) pi / (2 D + 2)) / 2.
pub fn nodes(degree: usize) -> &'static [f64] {
    match degree {
        0 => &[0.5],
        1 => &[0.146_446_609_406_726_24, 0.853_553_390_593_273_8],
        2 => &[0.066_987_298_107_780_68, 0.5, 0.933_012_701_892_219_3],
        3 => &[0.038_060_233_744_356_62, 0.308_658_283_817_455_1, 0.691_341_716_182_544_9, 0.961_939_766_255_643_4],
        _ => &[
            0.024_471_741_852_423_234,
            0.206_107_373_853_763_43,
            0.5,
            0.793_892_626_146_236_6,
            0.975_528_258_147_576_8,
        ],
    }
}

/// The polynomial through the points, by Newton's divided differences.
pub fn interpolated<N: Number>(places: &[N], values: &[N]) -> Coefficients<N> {
    let mut difference = values.to_vec();
    for order in 1..places.len() {
        for k in (order..places.len()).rev() {
            difference[k] = (difference[k] - difference[k - 1]) / (places[k] - places[k - order]);
        }
    }
    let zero = N::from(0.0);
    let mut coef = [zero; MAX_DEGREE + 1];
    for k in (0..places.len()).rev() {
        // coef = coef * (v - place) + difference
        for i in (0..places.len()).rev() {
            let lower = if i > 0 { coef[i - 1] } else { zero };
            coef[i] = lower - coef[i] * places[k];
        }
        coef[0] = coef[0] + difference[k];
    }
    coef
}

/// Where the last place of each coefficient lies, and its sign.
#[derive(Clone, Copy, Default, Debug)]
pub struct Grid {
    /// Bits of each coefficient below the last place of the value; they may be negative.
    pub guard: Coefficients<i32>,
    /// Whether coefficient i + 1 has the opposite sign of coefficient i, so that its product is subtracted.
    pub subtract: [bool; MAX_DEGREE],
}

impl Grid {
    /// Whether a coefficient counts negatively; the constant does not.
    fn is_negative(&self, i: usize) -> bool {
        self.subtract[..i].iter().filter(|s| **s).count() % 2 == 1
    }
}

/// Rounds coefficients to the grid, highest first, and adds to `bound` by how much that and the cut-off products move a
/// value, in its last places. What rounding adds to one is taken from the lower ones by the best polynomial of lower degree
/// for v^i on [0, 1], which leaves 1/2, 1/8, 1/32 and 1/128 of it. The product that is added to a coefficient is cut off,
/// so it is low by half a unit on average, which is added; for the constant the caller does so. Where the function is 0 at
/// the beginning, `zero`, the constant is 0.
pub fn quantised<N: Number>(
    mut coef: Coefficients<N>,
    degree: usize,
    grid: &Grid,
    zero: bool,
    mut bound: f64,
) -> (Coefficients<i64>, f64) {
    const LOWER: [[f64; MAX_DEGREE]; MAX_DEGREE + 1] = [
        [0.0; 4],
        [0.5, 0.0, 0.0, 0.0],
        [-0.125, 1.0, 0.0, 0.0],
        [0.03125, -0.5625, 1.5, 0.0],
        [-0.007_812_5, 0.25, -1.25, 2.0],
    ];
    const LEFT: Coefficients<f64> = [1.0, 0.5, 0.125, 0.03125, 0.007_812_5];
    let signed = |i: usize, x: f64| if grid.is_negative(i) { -x } else { x };
    for (i, c) in coef.iter_mut().enumerate().take(degree).skip(1) {
        let half = exp2(-grid.guard[i] - 1);
        *c = *c + N::from(signed(i, if grid.subtract[i] { -half } else { half }));
        bound += half;
    }
    let mut rounded = [0; MAX_DEGREE + 1];
    for i in (0..=degree).rev() {
        let sign = signed(i, 1.0);
        rounded[i] = if zero && i == 0 { 0 } else { (coef[i] * sign).rounded(grid.guard[i]) };
        let added = coef[i].added(if sign < 0.0 { -rounded[i] } else { rounded[i] }, grid.guard[i]);
        bound += added.abs() * LEFT[i];
        for k in 0..i {
            coef[k] = coef[k] - N::from(added) * LOWER[i][k];
        }
    }
    (rounded, bound)
}
