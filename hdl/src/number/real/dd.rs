//! Double-double arithmetic: a number as the sum of two f64, about 106 bits (Dekker, 1971; Knuth).

use super::{exp2, log2};
use crate::number::exact::Exact;
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// hi + lo with |lo| at most half a unit in the last place of hi.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// a + b without an error.
fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd { hi: s, lo: (a - (s - t)) + (b - t) }
}

/// The same where |a| >= |b|.
fn quick_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    Dd { hi: s, lo: b - (s - a) }
}

/// The upper and the lower half of a significand.
fn split(a: f64) -> (f64, f64) {
    let t = 134_217_729.0 * a;
    let hi = t - (t - a);
    (hi, a - hi)
}

/// a * b without an error.
fn two_product(a: f64, b: f64) -> Dd {
    let p = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    Dd { hi: p, lo: ((ah * bh - p) + ah * bl + al * bh) + al * bl }
}

/// a + b, and whether it is exact.
pub fn sum_of(a: Dd, b: Dd) -> (Dd, bool) {
    let (s, t) = (two_sum(a.hi, b.hi), two_sum(a.lo, b.lo));
    let u = two_sum(s.lo, t.hi);
    let s = two_sum(s.hi, u.hi);
    let v = two_sum(s.lo, t.lo);
    (quick_sum(s.hi, v.hi), u.lo == 0.0 && v.lo == 0.0)
}

/// a * b, and whether it is exact. Only products of two f64, or with a power of two, are reported as exact.
pub fn product_of(a: Dd, b: Dd) -> (Dd, bool) {
    // Far enough above the end of f64's range for the lower half.
    const LEAST: f64 = f64::MIN_POSITIVE * (1u64 << 60) as f64 * (1u64 << 60) as f64;
    let is_power = |x: Dd| x.lo == 0.0 && x.hi.to_bits() << 12 == 0;
    let value = a * b;
    (value, value.hi.abs() > LEAST && (a.lo == 0.0 && b.lo == 0.0 || is_power(a) || is_power(b)))
}

impl Dd {
    pub const ZERO: Dd = Dd { hi: 0.0, lo: 0.0 };
    pub const ONE: Dd = Dd { hi: 1.0, lo: 0.0 };
    pub const PI: Dd = Dd { hi: std::f64::consts::PI, lo: 1.224_646_799_147_353_2e-16 };
    pub const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };

    pub fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    pub fn is_finite(self) -> bool {
        self.hi.is_finite() && self.lo.is_finite()
    }

    /// Times 2^k, exactly within the range of f64.
    pub fn scale(self, k: i32) -> Dd {
        // Two steps, since 2^k alone may lie outside.
        let (a, b) = (exp2(k / 2), exp2(k - k / 2));
        Dd { hi: self.hi * a * b, lo: self.lo * a * b }
    }

    /// The square root of a number that is not negative.
    pub fn sqrt(self) -> Dd {
        if self.hi <= 0.0 {
            return Dd { hi: self.hi.sqrt(), lo: 0.0 };
        }
        let x = 1.0 / self.hi.sqrt();
        let a = self.hi * x;
        let rest = (self - two_product(a, a)).hi;
        quick_sum(a, rest * x * 0.5)
    }

    /// The nearest double-double of an exact number, within f64's range.
    pub fn from_exact(x: &Exact) -> Dd {
        if x.is_zero() {
            return Dd::ZERO;
        }
        // 120 significant bits, cut into two parts that f64 holds.
        let (n, d) = (x.numer().magnitude(), x.denom().magnitude());
        let shift = 120 - (n.bits() as i64 - d.bits() as i64);
        let q: BigInt = if shift >= 0 { (n << shift as u64) / d } else { n / (d << (-shift) as u64) }.into();
        let high: BigInt = &q >> 70u32;
        let low = q - (&high << 70u32);
        let part = |p: BigInt, up: i64| {
            let f = p.to_f64().expect("a finite integer");
            Dd { hi: f, lo: 0.0 }.scale((up - shift).clamp(-4000, 4000) as i32)
        };
        let sum = part(high, 70) + part(low, 0);
        if x.is_negative() { -sum } else { sum }
    }

    /// The integer nearest to self * 2^k; `None` beyond 2^100.
    pub fn round_scaled(self, k: i32) -> Option<i128> {
        let x = self.scale(k);
        if !x.is_finite() || x.hi.abs() > exp2(100) {
            return None;
        }
        let whole = |f: f64| {
            let floor = f.floor();
            (floor as i128, f - floor)
        };
        let ((a, fa), (b, fb)) = (whole(x.hi), whole(x.lo));
        Some(a + b + (fa + fb + 0.5).floor() as i128)
    }

    /// floor(log2(|self|)), or one too few where it is a hair below a power of two.
    pub fn log2(self) -> i32 {
        let x = self.abs();
        let k = log2(x.hi);
        if x.lo < 0.0 && x.hi == exp2(k) { k - 1 } else { k }
    }
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, o: Dd) -> Dd {
        let (s, t) = (two_sum(self.hi, o.hi), two_sum(self.lo, o.lo));
        let s = quick_sum(s.hi, s.lo + t.hi);
        quick_sum(s.hi, s.lo + t.lo)
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, o: Dd) -> Dd {
        self + -o
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, o: Dd) -> Dd {
        let p = two_product(self.hi, o.hi);
        quick_sum(p.hi, p.lo + (self.hi * o.lo + self.lo * o.hi))
    }
}

impl Mul<f64> for Dd {
    type Output = Dd;
    fn mul(self, o: f64) -> Dd {
        self * Dd::from(o)
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, o: Dd) -> Dd {
        let a = self.hi / o.hi;
        let rest = self - o * a;
        let b = rest.hi / o.hi;
        let rest = rest - o * b;
        quick_sum(a, b) + Dd::from(rest.hi / o.hi)
    }
}
