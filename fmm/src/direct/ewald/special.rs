//! The special functions of Ewald sums, evaluated by polynomials over short pieces.

use std::f64::consts::PI;
use std::sync::OnceLock;

/// Beyond this argument, exp(-x) is lost beside 1.
pub const END: f64 = 37.0;

/// Pieces for each unit of the argument, and coefficients of each: the error is below the rounding of f64.
const PIECES: f64 = 2.0;
const COEFFICIENTS: usize = 10;

/// Euler's constant.
pub const EULER: f64 = 0.577_215_664_901_532_9;

/// A function on [0, [`END`]] as a polynomial on each piece.
pub struct Fit(Vec<[f64; COEFFICIENTS]>);

impl Fit {
    fn new(f: impl Fn(f64) -> f64) -> Fit {
        let node = |k: usize| (PI * (k as f64 + 0.5) / COEFFICIENTS as f64).cos();
        let piece = |p: usize| {
            // Newton's divided differences at Chebyshev nodes of [-1, 1], then multiplied out.
            let at: [f64; COEFFICIENTS] = std::array::from_fn(node);
            let mut differences = at.map(|t| f((p as f64 + 0.5 * (t + 1.0)) / PIECES));
            for order in 1..COEFFICIENTS {
                for k in (order..COEFFICIENTS).rev() {
                    differences[k] = (differences[k] - differences[k - 1]) / (at[k] - at[k - order]);
                }
            }
            let mut polynomial = [0.0; COEFFICIENTS];
            for k in (0..COEFFICIENTS).rev() {
                let before = polynomial;
                for c in 0..COEFFICIENTS {
                    let lower = if c > 0 { before[c - 1] } else { differences[k] };
                    polynomial[c] = lower - at[k] * before[c];
                }
            }
            polynomial
        };
        Fit((0..(END * PIECES).ceil() as usize).map(piece).collect())
    }

    /// The value at an argument from 0 to below [`END`].
    #[inline(always)]
    pub fn at(&self, x: f64) -> f64 {
        let x = x * PIECES;
        let piece = x as usize;
        let t = 2.0 * (x - piece as f64) - 1.0;
        self.0[piece].iter().rev().fold(0.0, |sum, c| sum * t + c)
    }
}

/// erf(sqrt x) / sqrt x and its first three derivatives: multiples of the Boys functions F_0 to F_3.
pub fn smooth() -> &'static [Fit; 4] {
    static FITS: OnceLock<[Fit; 4]> = OnceLock::new();
    let factor = 2.0 / PI.sqrt();
    let derivative = |n: usize| {
        let sign = if n.is_multiple_of(2) { factor } else { -factor };
        Fit::new(move |x| sign * boys(n, x))
    };
    FITS.get_or_init(|| std::array::from_fn(derivative))
}

/// E_1(x) + ln x + Euler's constant, an entire function.
pub fn logarithm() -> &'static Fit {
    static FIT: OnceLock<Fit> = OnceLock::new();
    FIT.get_or_init(|| Fit::new(ein))
}

/// F_n(x), the integral of t^2n exp(-x t^2) from 0 to 1: `e^-x * sum of (2x)^i / ((2n+1) (2n+3) ... (2n+2i+1))`.
fn boys(n: usize, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / (2 * n + 1) as f64, 0.0);
    for i in 1.. {
        sum += term;
        term *= 2.0 * x / (2 * (n + i) + 1) as f64;
        if term < 1e-18 * sum {
            break;
        }
    }
    (-x).exp() * sum
}

/// The integral of (1 - exp(-t)) / t from 0 to x: `e^-x * sum of x^k H_k / k!` with the harmonic numbers H_k, whose terms are
/// all positive.
fn ein(x: f64) -> f64 {
    let (mut power, mut harmonic, mut sum) = (1.0, 0.0, 0.0);
    for k in 1..400 {
        power *= x / k as f64;
        harmonic += 1.0 / k as f64;
        sum += power * harmonic;
    }
    (-x).exp() * sum
}

/// The `k`-th derivative of `(1 - exp(-x)) / x`, the integral of (-t)^k exp(-x t) from 0 to 1, for k up to 2.
#[inline(always)]
pub fn mean_decay(k: usize, x: f64) -> f64 {
    let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    if k == 0 {
        return if x > 0.0 { -(-x).exp_m1() / x } else { 1.0 };
    }
    if x < 2.0 {
        // The sum of (-x)^n / (n! (n + k + 1)).
        let (mut term, mut sum) = (1.0, 0.0);
        for n in 0..30 {
            sum += term / (n + k + 1) as f64;
            term *= -x / (n + 1) as f64;
        }
        return sign * sum;
    }
    let e = (-x).exp();
    match k {
        1 => ((x + 1.0) * e - 1.0) / (x * x),
        _ => (2.0 - (x * x + 2.0 * x + 2.0) * e) / (x * x * x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_known_values() {
        // erf(1), erf(2), erf(4); Ein(1), Ein(10) = E_1 + ln + Euler's constant.
        let erf = |x: f64| x * smooth()[0].at(x * x);
        for (x, wanted) in
            [(1.0, 0.842_700_792_949_714_9), (2.0, 0.995_322_265_018_952_7), (4.0, 0.999_999_984_582_742_1)]
        {
            assert!((erf(x) - wanted).abs() < 1e-15, "{x} {}", erf(x));
        }
        let e1 = |x: f64| logarithm().at(x) - x.ln() - EULER;
        for (x, wanted) in
            [(0.1, 1.822_923_958_419_390_7), (1.0, 0.219_383_934_395_520_3), (10.0, 4.156_968_929_685_324e-6)]
        {
            assert!((e1(x) - wanted).abs() < 2e-15, "{x} {}", e1(x));
        }
        // The derivative, by a difference.
        for x in [0.3, 4.4, 30.1] {
            let slope = (smooth()[0].at(x + 1e-4) - smooth()[0].at(x - 1e-4)) / 2e-4;
            assert!((slope - smooth()[1].at(x)).abs() < 1e-9);
        }
    }

    #[test]
    fn derivatives_are_those_of_the_function_before() {
        let step = 1e-4;
        for x in [0.01, 0.3, 1.9999, 2.0001, 4.4, 30.1] {
            for k in 1..4 {
                let slope = (smooth()[k - 1].at(x + step) - smooth()[k - 1].at(x - step)) / (2.0 * step);
                assert!((slope - smooth()[k].at(x)).abs() < 1e-8, "{k} {x}");
            }
            for k in 1..3 {
                let slope = (mean_decay(k - 1, x + step) - mean_decay(k - 1, x - step)) / (2.0 * step);
                assert!((slope - mean_decay(k, x)).abs() < 1e-8, "{k} {x}");
            }
        }
        assert_eq!([0, 1, 2].map(|k| mean_decay(k, 0.0)), [1.0, -0.5, 1.0 / 3.0]);
    }
}
