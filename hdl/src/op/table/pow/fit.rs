//! Real polynomials that fit x^(n/d) on pieces of an octave, with a proven bound of their error.
//!
//! Only additions, multiplications, divisions and square roots of f64 are used, which IEEE 754 rounds
//! correctly, so every machine gets the same coefficients and hence the same tables.

use crate::number::real::{exp2, log2};
use crate::op::table::poly::coefficients::{Coefficients, interpolated, nodes};

/// The approximation problem: x^(n/d) with `mant` fraction bits, in 2^`split` pieces of each octave.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    pub mant: u32,
    pub n: i32,
    pub d: i32,
    pub split: u32,
}

/// One piece. All values are in units of the last place of a significand in [1, 2), after division by 2^`octave`.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// floor(log2) of the least value on the piece, so that all of them are at least 1 after scaling.
    pub octave: i32,
    /// Coefficients, where v in [0, 1) is the place in the piece (see [`Problem::at`]).
    pub coef: Coefficients<f64>,
    /// Bound of |polynomial - function|.
    pub error: f64,
    /// The greatest value on the piece.
    pub top: f64,
}

/// t^(n/d) for d of 1 or 2, to a relative error below 40 * 2^-53.
pub fn power(t: f64, n: i32, d: i32) -> f64 {
    let base = if d == 2 { t.sqrt() } else { t };
    let positive = (0..n.unsigned_abs()).fold(1.0, |product, _| product * base);
    if n < 0 { 1.0 / positive } else { positive }
}

impl Problem {
    /// Address bits of the tables: for d = 2 the lowest bit of the exponent field chooses the octave.
    pub fn index_bits(&self) -> u32 {
        self.split + (self.d == 2) as u32
    }

    /// Whether the place in the piece counts downwards from its last number. So it is for falling functions, whose
    /// coefficients are then all positive.
    pub fn flipped(&self) -> bool {
        self.n < 0
    }

    /// The argument at place `v` of piece `index`. The exponent field is even, and the argument in [2, 4), where
    /// the top bit of the index is 0, since every bias is odd.
    fn at(&self, index: u32, v: f64) -> f64 {
        let within = (index & ((1 << self.split) - 1)) as f64;
        let width = exp2(-(self.split as i32));
        let significand = if self.flipped() {
            1.0 + (within + 1.0) * width - exp2(-(self.mant as i32)) - v * width
        } else {
            1.0 + within * width + v * width
        };
        if self.upper(index) { 2.0 * significand } else { significand }
    }

    fn upper(&self, index: u32) -> bool {
        self.d == 2 && index >> self.split == 0
    }

    /// The function at place `v`, unscaled.
    pub fn value(&self, index: u32, v: f64) -> f64 {
        power(self.at(index, v), self.n, self.d)
    }

    /// Fits a polynomial of `degree` on piece `index` by interpolation in the Chebyshev nodes.
    pub fn fit(&self, index: u32, degree: usize) -> Piece {
        let last = 1.0 - exp2(self.split as i32 - self.mant as i32);
        let (low, high) = (self.value(index, 0.0), self.value(index, last));
        // A falling function reaches the power of two above at an octave's first number only, and rounds
        // up to it from the octave below.
        let below = self.flipped() && low == exp2(log2(low));
        let octave = log2(low) - below as i32;
        let scale = exp2(self.mant as i32 - octave);
        let nodes = nodes(degree);
        let values: Vec<f64> = nodes.iter().map(|v| self.value(index, *v) * scale).collect();
        Piece {
            octave,
            coef: interpolated(nodes, &values),
            error: self.bound(index, degree) * scale,
            top: high * scale,
        }
    }

    /// |f^(D+1)| / (D+1)! * 2 / 4^(D+1): the error of interpolation in the Chebyshev nodes of an interval of
    /// length 1. A derivative of a power is monotone, so that its maximum lies at an end.
    fn bound(&self, index: u32, degree: usize) -> f64 {
        let p = self.n as f64 / self.d as f64;
        let width = exp2(self.upper(index) as i32 - self.split as i32);
        let end = |v: f64| {
            let t = self.at(index, v);
            (0..=degree).fold(2.0 * power(t, self.n, self.d), |e, k| {
                e * (p - k as f64).abs() / (k + 1) as f64 * (width / t) / 4.0
            })
        };
        end(0.0).max(end(1.0))
    }
}
