//! Taylor coefficients enclosed over an interval: f^(k) / k! for k of 0 to an order, by the recurrences of automatic
//! differentiation (Griewank and Walther, 2008, chapter 13) on intervals. They bound what interpolation leaves.

use super::Interval;
use super::elementary as e;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The highest order.
pub const MAX_ORDER: usize = 5;

/// Coefficients 0 to `order`; the others are 0 and not to be read.
#[derive(Clone, Copy, Debug)]
pub struct Jet {
    pub c: [Interval; MAX_ORDER + 1],
    pub order: usize,
}

impl Jet {
    pub fn constant(value: Interval, order: usize) -> Jet {
        let mut c = [Interval::ZERO; MAX_ORDER + 1];
        c[0] = value;
        Jet { c, order }
    }

    /// The argument itself.
    pub fn argument(x: Interval, order: usize) -> Jet {
        let mut jet = Jet::constant(x, order);
        if order > 0 {
            jet.c[1] = Interval::ONE;
        }
        jet
    }

    /// A function that is continuous and no more: its values are known, its derivatives are not.
    pub fn kink(value: Interval, order: usize) -> Jet {
        let mut jet = Jet { c: [Interval::WHOLE; MAX_ORDER + 1], order };
        jet.c[0] = value;
        jet
    }

    fn each(self, o: Jet, f: impl Fn(Interval, Interval) -> Interval) -> Jet {
        let mut c = self.c;
        (0..=self.order).for_each(|k| c[k] = f(self.c[k], o.c[k]));
        Jet { c, ..self }
    }

    /// Coefficient k of a product.
    fn convolve(a: &Jet, b: &Jet, k: usize) -> Interval {
        (0..=k).fold(Interval::ZERO, |sum, j| sum + a.c[j] * b.c[k - j])
    }

    pub fn square(self) -> Jet {
        let mut jet = self * self;
        jet.c[0] = self.c[0].square();
        jet
    }

    /// y with y(0) = `value` and y' = slope(y) * self', where coefficient k of the slope needs y up to k only.
    fn integrate(self, value: Interval, slope: impl Fn(&Jet, usize) -> Interval) -> Jet {
        let mut y = Jet::constant(value, self.order);
        let mut g = [Interval::ZERO; MAX_ORDER + 1];
        for k in 1..=self.order {
            g[k - 1] = slope(&y, k - 1);
            let sum = (1..=k).fold(Interval::ZERO, |sum, j| sum + self.c[j].scaled(j as f64) * g[k - j]);
            y.c[k] = sum / Interval::point(k as f64);
        }
        y
    }

    pub fn exp(self) -> Jet {
        self.integrate(e::monotone(self.c[0], e::exp).meet(Interval::new(0.0, f64::INFINITY)), |y, k| y.c[k])
    }

    pub fn log(self) -> Jet {
        if self.c[0].lo <= 0.0 {
            return Jet::kink(Interval::WHOLE, self.order);
        }
        let slope = Jet::constant(Interval::ONE, self.order) / self;
        self.integrate(e::monotone(self.c[0], e::log), |_, k| slope.c[k])
    }

    /// A real power of a positive number, an integer power of any but 0.
    fn general_power(self, value: Interval, power: f64) -> Jet {
        let mut y = Jet::constant(value, self.order);
        for k in 1..=self.order {
            let term = |j: usize| (self.c[j] * y.c[k - j]).scaled(power * j as f64 - (k - j) as f64);
            let sum = (1..=k).fold(Interval::ZERO, |sum, j| sum + term(j));
            y.c[k] = sum / (self.c[0].scaled(k as f64));
        }
        y
    }

    pub fn sqrt(self) -> Jet {
        if self.c[0].lo < 0.0 {
            return Jet::kink(Interval::WHOLE, self.order);
        }
        let value = e::monotone(self.c[0], super::Dd::sqrt).meet(Interval::new(0.0, f64::INFINITY));
        if self.c[0].lo == 0.0 { Jet::kink(value, self.order) } else { self.general_power(value, 0.5) }
    }

    /// self^n.
    pub fn powi(self, n: u32) -> Jet {
        match n {
            0 => Jet::constant(Interval::ONE, self.order),
            1 => self,
            _ if n.is_multiple_of(2) => self.powi(n / 2).square(),
            _ => self * self.powi(n / 2).square(),
        }
    }

    /// (sin, cos), with their values given; `sign` is the sign in cos' = sign * sin.
    fn pair(self, values: (Interval, Interval), sign: f64) -> (Jet, Jet) {
        let (mut s, mut c) = (Jet::constant(values.0, self.order), Jet::constant(values.1, self.order));
        for k in 1..=self.order {
            let term = |y: &Jet, j: usize| self.c[j].scaled(j as f64) * y.c[k - j];
            let sum = |y: &Jet| (1..=k).fold(Interval::ZERO, |sum, j| sum + term(y, j));
            let (next_s, next_c) = (sum(&c), sum(&s));
            s.c[k] = next_s / Interval::point(k as f64);
            c.c[k] = next_c.scaled(sign) / Interval::point(k as f64);
        }
        (s, c)
    }

    pub fn sin_cos(self) -> (Jet, Jet) {
        self.pair((e::sin_range(self.c[0]), e::cos_range(self.c[0])), -1.0)
    }

    pub fn sinh_cosh(self) -> (Jet, Jet) {
        let x = self.c[0];
        let ends = Interval::new(x.least(), x.most());
        let cosh = e::monotone(ends, e::cosh).meet(Interval::new(1.0, f64::INFINITY));
        self.pair((e::monotone(x, e::sinh), cosh), 1.0)
    }

    pub fn tan(self) -> Jet {
        let (s, c) = self.sin_cos();
        s / c
    }

    pub fn atan(self) -> Jet {
        let one = Jet::constant(Interval::ONE, self.order);
        let slope = one / (one + self.square());
        self.integrate(e::monotone(self.c[0], e::atan), |_, k| slope.c[k])
    }

    pub fn tanh(self) -> Jet {
        // 1 - y^2 from y itself would lose all of a tail; 1 / cosh^2 does not.
        let (_, cosh) = self.sinh_cosh();
        let slope = Jet::constant(Interval::ONE, self.order) / cosh.square();
        self.integrate(e::monotone(self.c[0], e::tanh), |_, k| slope.c[k])
    }

    pub fn erf(self) -> Jet {
        let slope = self.erf_slope();
        self.integrate(e::monotone(self.c[0], e::erf), |_, k| slope.c[k])
    }

    pub fn erfc(self) -> Jet {
        let slope = -self.erf_slope();
        let value = e::monotone(self.c[0], e::erfc).meet(Interval::new(0.0, 2.0));
        self.integrate(value, |_, k| slope.c[k])
    }

    fn erf_slope(self) -> Jet {
        // A hair above 2 / sqrt(pi).
        let factor = Interval::point(std::f64::consts::FRAC_2_SQRT_PI).outward();
        let bell = (-self.square()).exp();
        bell.each(bell, |a, _| a * factor)
    }
}

impl Add for Jet {
    type Output = Jet;
    fn add(self, o: Jet) -> Jet {
        self.each(o, |a, b| a + b)
    }
}

impl Sub for Jet {
    type Output = Jet;
    fn sub(self, o: Jet) -> Jet {
        self.each(o, |a, b| a - b)
    }
}

impl Neg for Jet {
    type Output = Jet;
    fn neg(self) -> Jet {
        self.each(self, |a, _| -a)
    }
}

impl Mul for Jet {
    type Output = Jet;
    fn mul(self, o: Jet) -> Jet {
        let mut jet = self;
        (0..=self.order).for_each(|k| jet.c[k] = Jet::convolve(&self, &o, k));
        jet
    }
}

impl Div for Jet {
    type Output = Jet;
    fn div(self, o: Jet) -> Jet {
        let mut q = Jet::constant(self.c[0] / o.c[0], self.order);
        for k in 1..=self.order {
            let known = (1..=k).fold(Interval::ZERO, |sum, j| sum + o.c[j] * q.c[k - j]);
            q.c[k] = (self.c[k] - known) / o.c[0];
        }
        q
    }
}
