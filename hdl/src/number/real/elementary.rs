//! Elementary functions of double-doubles, with relative errors below 2^-92 unless said otherwise.

use super::Dd;
use super::interval::Interval;
use super::work::{self, did};
use std::sync::LazyLock;

/// Pi/2 in parts of 27 bits and a rest, so that multiples of them are exact: together about 140 bits.
const HALF_PI: [f64; 4] =
    [1.570_796_325_802_803, 9.920_935_739_593_517e-10, 5.721_188_709_663_575e-18, 1.644_625_693_632_425_8e-26];

/// 2 / sqrt(pi).
pub const TWO_OVER_SQRT_PI: Dd = Dd { hi: std::f64::consts::FRAC_2_SQRT_PI, lo: 1.533_545_961_316_588e-17 };

/// Beyond this no trigonometric function is computed: the reduction would lose too much.
const MAX_ANGLE: f64 = 1e7;

/// 1 / n for the numbers that series divide by: a division of double-doubles takes as long as three products.
static INVERSES: LazyLock<[Dd; 1024]> = LazyLock::new(|| std::array::from_fn(|n| Dd::ONE / Dd::from(n as f64)));

/// e^x - 1 for |x| up to about 0.35, to a relative error.
fn expm1_small(x: Dd) -> Dd {
    // The second term is lost beside the first, and a machine may take long for numbers below the range of f64.
    if x.hi.abs() < super::exp2(-120) {
        return x;
    }
    let (r, inverses) = (x.scale(-9), &*INVERSES);
    // sum of r^k / k! for k of 1 to 9
    let mut sum = Dd::ZERO;
    for k in (1..=9).rev() {
        sum = (sum + Dd::ONE) * r * inverses[k];
    }
    for _ in 0..9 {
        sum = sum + sum + sum * sum;
    }
    sum
}

pub fn exp(x: Dd) -> Dd {
    if x.hi > 709.0 {
        return Dd::from(f64::INFINITY);
    }
    if x.hi < -745.0 {
        return Dd::ZERO;
    }
    did(work::EXP);
    let k = (x.hi / std::f64::consts::LN_2 + 0.5).floor();
    let r = x - Dd::LN_2 * k;
    (expm1_small(r) + Dd::ONE).scale(k as i32)
}

/// The natural logarithm of a positive number.
pub fn log(x: Dd) -> Dd {
    did(work::LOG);
    let mut k = super::log2(x.hi);
    let mut m = x.scale(-k);
    if m.hi > 1.414 {
        k += 1;
        m = m.scale(-1);
    }
    let z = (m - Dd::ONE) / (m + Dd::ONE);
    let (z2, inverses) = (z * z, &*INVERSES);
    let mut sum = Dd::ZERO;
    for n in (0..24).rev() {
        sum = sum * z2 + inverses[2 * n + 1];
    }
    Dd::LN_2 * k as f64 + (sum * z).scale(1)
}

/// 2^x; exact for whole numbers.
pub fn power_of_two(x: Dd) -> Dd {
    if x.hi > 1100.0 {
        return Dd::from(f64::INFINITY);
    }
    if x.hi < -1100.0 {
        return Dd::ZERO;
    }
    did(work::EXP);
    let k = (x.hi + 0.5).floor();
    let r = (x - Dd::from(k)) * Dd::LN_2;
    (expm1_small(r) + Dd::ONE).scale(k as i32)
}

/// The logarithm to the base 2 of a positive number; exact for powers of two.
pub fn binary_log(x: Dd) -> Dd {
    let mut k = super::log2(x.hi);
    let mut m = x.scale(-k);
    if m.hi > 1.414 {
        k += 1;
        m = m.scale(-1);
    }
    if m == Dd::ONE { Dd::from(k as f64) } else { Dd::from(k as f64) + log(m) / Dd::LN_2 }
}

/// The cubic root of any number.
pub fn cbrt(x: Dd) -> Dd {
    match x.hi {
        0.0 => Dd::ZERO,
        h if h < 0.0 => -cbrt(-x),
        h => {
            // Of a number between 1 and 8, so that no square leaves the range of f64, and corrected once by Newton's rule.
            let k = super::log2(h).div_euclid(3);
            let m = x.scale(-3 * k);
            let y = exp(log(m) / Dd::from(3.0));
            let y = y - (y * y * y - m) / (y * y * 3.0);
            y.scale(k)
        }
    }
}

/// The angle between -pi/2 and pi/2 whose sine is x, for |x| up to 1.
pub fn asin(x: Dd) -> Dd {
    let right = Dd::PI.scale(-1);
    let cosine = ((Dd::ONE - x) * (Dd::ONE + x)).sqrt();
    match x.hi {
        _ if cosine.hi > 0.0 => atan(x / cosine),
        h if h < 0.0 => -right,
        _ => right,
    }
}

/// The angle between 0 and pi whose cosine is x, for |x| up to 1, to a relative error also next to 1.
pub fn acos(x: Dd) -> Dd {
    let (below, above) = (Dd::ONE - x, Dd::ONE + x);
    match () {
        () if below.hi <= 0.0 => Dd::ZERO,
        () if above.hi <= 0.0 => Dd::PI,
        () => atan((below / above).sqrt()).scale(1),
    }
}

/// Sine and cosine; the error is absolute.
pub fn sin_cos(x: Dd) -> (Dd, Dd) {
    if x.hi.is_nan() || x.hi.abs() > MAX_ANGLE {
        return (Dd::from(f64::NAN), Dd::from(f64::NAN));
    }
    did(work::SIN_COS);
    let k = (x.hi / std::f64::consts::FRAC_PI_2 + 0.5).floor();
    let r = HALF_PI.iter().fold(x, |r, part| r - Dd::from(*part) * k);
    let (r2, inverses) = (-(r * r), &*INVERSES);
    let series = |first: usize| {
        let mut sum = Dd::ONE;
        for n in (0..14).rev() {
            let a = 2 * n + first;
            sum = sum * r2 * inverses[(a + 1) * (a + 2)] + Dd::ONE;
        }
        sum
    };
    let (s, c) = (series(1) * r, series(0));
    match k.rem_euclid(4.0) as i32 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

pub fn atan(x: Dd) -> Dd {
    if x.hi.abs() > 1e30 {
        let right = Dd::PI.scale(-1);
        return if x.hi > 0.0 { right } else { -right };
    }
    did(work::ATAN);
    let mut z = x;
    for _ in 0..3 {
        z = z / (Dd::ONE + (Dd::ONE + z * z).sqrt());
    }
    let (z2, inverses) = (-(z * z), &*INVERSES);
    let mut sum = Dd::ZERO;
    for n in (0..22).rev() {
        sum = sum * z2 + inverses[2 * n + 1];
    }
    (sum * z).scale(3)
}

pub fn sinh(x: Dd) -> Dd {
    if x.hi.abs() < 0.3 {
        let e = expm1_small(x);
        return (e + e / (e + Dd::ONE)).scale(-1);
    }
    (exp(x) - exp(-x)).scale(-1)
}

pub fn cosh(x: Dd) -> Dd {
    (exp(x) + exp(-x)).scale(-1)
}

pub fn tanh(x: Dd) -> Dd {
    if x.hi.abs() > 40.0 {
        return Dd::from(x.hi.signum());
    }
    sinh(x) / cosh(x)
}

/// The density of the error function: 2 / sqrt(pi) e^(-x^2).
pub fn erf_slope(x: Dd) -> Dd {
    TWO_OVER_SQRT_PI * exp(-(x * x))
}

/// The series of positive terms for 0 <= x < 2.5.
fn erf_series(x: Dd) -> Dd {
    let (two_x2, inverses) = ((x * x).scale(1), &*INVERSES);
    let (mut term, mut sum, mut n) = (x, x, 1);
    while term.hi > sum.hi * 1e-34 {
        n += 2;
        term = term * two_x2 * inverses[n];
        sum = sum + term;
    }
    did(work::ERF_TERM * n as u64 / 2);
    sum * erf_slope(x)
}

/// erfc by its continued fraction, for x of 2.5 and more. The larger x is, the fewer terms matter: what so many leave out is below
/// 2^-120 (compared with four times as many).
fn erfc_fraction(x: Dd) -> Dd {
    let terms = 30 + (900.0 / (x.hi * x.hi)) as u64;
    did(work::ERFC_TERM * terms);
    let mut tail = x;
    for k in (1..=terms).rev() {
        tail = x + Dd::from(k as f64 / 2.0) / tail;
    }
    // e^(-x^2) / sqrt(pi) / tail
    erf_slope(x).scale(-1) / tail
}

pub fn erf(x: Dd) -> Dd {
    match x.hi {
        0.0 => Dd::ZERO,
        h if h < 0.0 => -erf(-x),
        // The square of what is larger may leave the range of f64.
        h if h > 1e100 => Dd::ONE,
        h if h < 2.5 => erf_series(x),
        _ => Dd::ONE - erfc_fraction(x),
    }
}

/// To a relative error below 2^-88.
pub fn erfc(x: Dd) -> Dd {
    match x.hi {
        h if h < 0.0 => Dd::ONE + erf(-x),
        h if h > 1e100 => Dd::ZERO,
        h if h < 2.5 => Dd::ONE - erf(x),
        _ => erfc_fraction(x),
    }
}

/// Encloses f on an interval on which it is monotone.
pub fn monotone(x: Interval, f: impl Fn(Dd) -> Dd) -> Interval {
    let a = f(Dd::from(x.lo)).hi;
    between(a, if x.lo == x.hi { a } else { f(Dd::from(x.hi)).hi })
}

/// Encloses what lies between two computed values.
fn between(a: f64, b: f64) -> Interval {
    Interval::new(a.min(b), a.max(b)).outward().outward()
}

/// Encloses the sine and the cosine.
pub fn sin_cos_range(x: Interval) -> (Interval, Interval) {
    let whole = Interval::new(-1.0, 1.0);
    if !x.is_finite() || x.lo.abs().max(x.hi.abs()) > MAX_ANGLE || x.hi - x.lo > 3.0 {
        return (whole, whole);
    }
    let a = sin_cos(Dd::from(x.lo));
    let b = if x.lo == x.hi { a } else { sin_cos(Dd::from(x.hi)) };
    (turning(x, 0.5, between(a.0.hi, b.0.hi)), turning(x, 0.0, between(a.1.hi, b.1.hi)))
}

/// Encloses a function of amplitude 1 whose maxima lie at (2 k + at) pi and minima at (2 k + 1 + at) pi, and its ends at `ends`.
fn turning(x: Interval, at: f64, ends: Interval) -> Interval {
    // Half turns, widened by more than their rounding: one that is only nearly inside counts as inside.
    let turn = |x: f64| x / std::f64::consts::PI - at;
    let (a, b) = (turn(x.lo) - 1e-7, turn(x.hi) + 1e-7);
    let (mut low, mut high) = (ends.lo, ends.hi);
    let first = a.ceil();
    if first <= b {
        // Within 1e-6 of an end the value there is closer to the extreme than any polynomial needs to know.
        let even = first.rem_euclid(2.0) == 0.0;
        if even {
            high = 1.0
        } else {
            low = -1.0
        }
        if first + 1.0 <= b {
            if even { low = -1.0 } else { high = 1.0 }
        }
    }
    Interval::new(low, high)
}
