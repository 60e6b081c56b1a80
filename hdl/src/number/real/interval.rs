//! Intervals of f64, rounded outwards.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// All numbers from lo to hi; infinite ends where nothing is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub lo: f64,
    pub hi: f64,
}

impl Interval {
    pub const WHOLE: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    pub const ZERO: Interval = Interval { lo: 0.0, hi: 0.0 };
    pub const ONE: Interval = Interval { lo: 1.0, hi: 1.0 };

    /// From the lesser to the greater; nothing known where one is no number.
    pub fn new(lo: f64, hi: f64) -> Interval {
        if lo <= hi { Interval { lo, hi } } else { Interval::WHOLE }
    }

    pub fn point(x: f64) -> Interval {
        Interval::new(x, x)
    }

    /// One unit in the last place wider on either side. An end of 0 stays: sums and products that come out as 0 are.
    pub fn outward(self) -> Interval {
        let lo = if self.lo == 0.0 { 0.0 } else { self.lo.next_down() };
        let hi = if self.hi == 0.0 { 0.0 } else { self.hi.next_up() };
        Interval::new(lo, hi)
    }

    pub fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }

    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The greatest magnitude.
    pub fn most(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The least magnitude.
    pub fn least(self) -> f64 {
        if self.contains(0.0) { 0.0 } else { self.lo.abs().min(self.hi.abs()) }
    }

    /// The convex hull of two intervals.
    pub fn hull(self, o: Interval) -> Interval {
        Interval::new(self.lo.min(o.lo), self.hi.max(o.hi))
    }

    /// The intersection of two intervals, if they meet; they enclose the same numbers.
    pub fn meet(self, o: Interval) -> Interval {
        let (lo, hi) = (self.lo.max(o.lo), self.hi.min(o.hi));
        if lo <= hi { Interval { lo, hi } } else { self }
    }

    pub fn square(self) -> Interval {
        let (a, b) = (self.least(), self.most());
        Interval::new(a * a, b * b).outward()
    }

    pub fn scaled(self, k: f64) -> Interval {
        self * Interval::point(k)
    }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval::new(-self.hi, -self.lo)
    }
}

impl Add for Interval {
    type Output = Interval;
    fn add(self, o: Interval) -> Interval {
        Interval::new(self.lo + o.lo, self.hi + o.hi).outward()
    }
}

impl Sub for Interval {
    type Output = Interval;
    fn sub(self, o: Interval) -> Interval {
        self + -o
    }
}

impl Mul for Interval {
    type Output = Interval;
    fn mul(self, o: Interval) -> Interval {
        if self == Interval::ZERO || o == Interval::ZERO {
            return Interval::ZERO;
        }
        let p = [self.lo * o.lo, self.lo * o.hi, self.hi * o.lo, self.hi * o.hi];
        if p.iter().any(|x| x.is_nan()) {
            return Interval::WHOLE;
        }
        let lo = p.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A product that vanishes although its factors do not is a number below f64's range.
        let tiny = |x: f64, end: f64| if x == 0.0 && self.least() > 0.0 && o.least() > 0.0 { end } else { x };
        Interval::new(tiny(lo, -f64::MIN_POSITIVE), tiny(hi, f64::MIN_POSITIVE)).outward()
    }
}

impl Div for Interval {
    type Output = Interval;
    fn div(self, o: Interval) -> Interval {
        if o.contains(0.0) || !o.is_finite() {
            return Interval::WHOLE;
        }
        self * Interval::new(1.0 / o.hi, 1.0 / o.lo).outward()
    }
}
