//! Taylor coefficients: f^(k) / k! for k of 0 to an order, by the recurrences of automatic differentiation (Griewank and
//! Walther, 2008, chapter 13). Enclosed over an interval they bound what interpolation leaves; at a point they are values.

use super::Call;
use super::enclosure::Enclosure;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The highest order.
pub const MAX_ORDER: usize = 5;

/// Coefficients 0 to `order`; the others are 0 and not to be read.
#[derive(Clone, Copy, Debug)]
pub struct Jet<N> {
    pub c: [N; MAX_ORDER + 1],
    pub order: usize,
}

impl<N: Enclosure> Jet<N> {
    pub fn constant(value: N, order: usize) -> Jet<N> {
        let mut c = [N::ZERO; MAX_ORDER + 1];
        c[0] = value;
        Jet { c, order }
    }

    /// The argument itself.
    pub fn argument(x: N, order: usize) -> Jet<N> {
        let mut jet = Jet::constant(x, order);
        if order > 0 {
            jet.c[1] = N::ONE;
        }
        jet
    }

    /// A function that is continuous and no more: its values are known, its derivatives are not.
    pub fn kink(value: N, order: usize) -> Jet<N> {
        let mut jet = Jet { c: [N::WHOLE; MAX_ORDER + 1], order };
        jet.c[0] = value;
        jet
    }

    /// |self|.
    pub fn abs(self) -> Jet<N> {
        if N::ZERO.is_at_most(self.c[0]) {
            self
        } else if self.c[0].is_at_most(N::ZERO) {
            -self
        } else {
            Jet::kink(self.c[0].of(Call::Abs), self.order)
        }
    }

    /// The lesser of two: one of them where they do not cross.
    pub fn least(self, o: Jet<N>) -> Jet<N> {
        if self.c[0].is_at_most(o.c[0]) {
            self
        } else if o.c[0].is_at_most(self.c[0]) {
            o
        } else {
            Jet::kink(self.c[0].least_of(o.c[0]), self.order)
        }
    }

    /// 1 where it is less than another, or, unless `strictly`, equal; else 0. A number that changes is a kink.
    pub fn less(self, o: Jet<N>, strictly: bool) -> Jet<N> {
        let (a, b) = (self.c[0], o.c[0]);
        let (holds, fails) = if strictly { (a.is_below(b), b.is_at_most(a)) } else { (a.is_at_most(b), b.is_below(a)) };
        match (holds, fails) {
            (true, _) => Jet::constant(N::ONE, self.order),
            (_, true) => Jet::constant(N::ZERO, self.order),
            _ => Jet::kink(N::ZERO.either(N::ONE), self.order),
        }
    }

    /// The first of two where it is 1, the second where it is 0.
    pub fn select(self, yes: Jet<N>, no: Jet<N>) -> Jet<N> {
        if N::ONE.is_at_most(self.c[0]) {
            yes
        } else if self.c[0].is_at_most(N::ZERO) {
            no
        } else {
            Jet::kink(yes.c[0].either(no.c[0]), self.order)
        }
    }

    /// A function of it.
    pub fn call(self, f: Call) -> Jet<N> {
        match f {
            Call::Neg => -self,
            Call::Abs => self.abs(),
            Call::Exp => self.exp(),
            Call::Exp2 => self.exp2(),
            Call::Log => self.log(),
            Call::Log2 => self.log2(),
            Call::Sqrt => self.sqrt(),
            Call::Cbrt => self.cbrt(),
            Call::Sin => self.sin_cos().0,
            Call::Cos => self.sin_cos().1,
            Call::Tan => self.tan(),
            Call::Asin | Call::Acos => self.inverse_circular(f),
            Call::Atan => self.atan(),
            Call::Sinh => self.sinh_cosh().0,
            Call::Cosh => self.sinh_cosh().1,
            Call::Tanh => self.tanh(),
            Call::Erf => self.erf(),
            Call::Erfc => self.erfc(),
        }
    }

    fn each(self, o: Jet<N>, f: impl Fn(N, N) -> N) -> Jet<N> {
        let mut c = self.c;
        (0..=self.order).for_each(|k| c[k] = f(self.c[k], o.c[k]));
        Jet { c, ..self }
    }

    /// Coefficient k of a product.
    fn convolve(a: &Jet<N>, b: &Jet<N>, k: usize) -> N {
        (0..=k).fold(N::ZERO, |sum, j| sum + a.c[j] * b.c[k - j])
    }

    pub fn square(self) -> Jet<N> {
        let mut jet = self * self;
        jet.c[0] = self.c[0].squared();
        jet
    }

    /// y with y(0) = `value` and y' = slope(y) * self', where coefficient k of the slope needs y up to k only.
    fn integrate(self, value: N, slope: impl Fn(&Jet<N>, usize) -> N) -> Jet<N> {
        let mut y = Jet::constant(value, self.order);
        let mut g = [N::ZERO; MAX_ORDER + 1];
        for k in 1..=self.order {
            g[k - 1] = slope(&y, k - 1);
            let sum = (1..=k).fold(N::ZERO, |sum, j| sum + self.c[j].scaled(j as f64) * g[k - j]);
            y.c[k] = sum / N::point(k as f64);
        }
        y
    }

    pub fn exp(self) -> Jet<N> {
        self.integrate(self.c[0].of(Call::Exp), |y, k| y.c[k])
    }

    pub fn exp2(self) -> Jet<N> {
        self.integrate(self.c[0].of(Call::Exp2), |y, k| y.c[k] * N::ln_2())
    }

    pub fn log2(self) -> Jet<N> {
        if !self.c[0].is_positive() {
            return Jet::kink(N::WHOLE, self.order);
        }
        let slope = Jet::constant(N::ONE / N::ln_2(), self.order) / self;
        self.integrate(self.c[0].of(Call::Log2), |_, k| slope.c[k])
    }

    pub fn log(self) -> Jet<N> {
        if !self.c[0].is_positive() {
            return Jet::kink(N::WHOLE, self.order);
        }
        let slope = Jet::constant(N::ONE, self.order) / self;
        self.integrate(self.c[0].of(Call::Log), |_, k| slope.c[k])
    }

    /// A real power of a positive number, an integer power of any but 0.
    fn general_power(self, value: N, power: f64) -> Jet<N> {
        let mut y = Jet::constant(value, self.order);
        for k in 1..=self.order {
            let term = |j: usize| (self.c[j] * y.c[k - j]).scaled(power * j as f64 - (k - j) as f64);
            let sum = (1..=k).fold(N::ZERO, |sum, j| sum + term(j));
            y.c[k] = sum / (self.c[0].scaled(k as f64));
        }
        y
    }

    pub fn sqrt(self) -> Jet<N> {
        let value = self.c[0].of(Call::Sqrt);
        if self.c[0].is_positive() { self.general_power(value, 0.5) } else { Jet::kink(value, self.order) }
    }

    pub fn cbrt(self) -> Jet<N> {
        let value = self.c[0].of(Call::Cbrt);
        if !self.c[0].is_positive() && !(-self.c[0]).is_positive() {
            return Jet::kink(value, self.order);
        }
        // The recurrence of powers, times 3.
        let mut y = Jet::constant(value, self.order);
        for k in 1..=self.order {
            let term = |j: usize| (self.c[j] * y.c[k - j]).scaled(j as f64 - 3.0 * (k - j) as f64);
            let sum = (1..=k).fold(N::ZERO, |sum, j| sum + term(j));
            y.c[k] = sum / (self.c[0].scaled(3.0 * k as f64));
        }
        y
    }

    /// self^n.
    pub fn powi(self, n: u32) -> Jet<N> {
        match n {
            0 => Jet::constant(N::ONE, self.order),
            1 => self,
            _ if n.is_multiple_of(2) => self.powi(n / 2).square(),
            _ => self * self.powi(n / 2).square(),
        }
    }

    /// (sin, cos), with their values given; `sign` is the sign in cos' = sign * sin.
    fn pair(self, values: (N, N), sign: f64) -> (Jet<N>, Jet<N>) {
        let (mut s, mut c) = (Jet::constant(values.0, self.order), Jet::constant(values.1, self.order));
        for k in 1..=self.order {
            let term = |y: &Jet<N>, j: usize| self.c[j].scaled(j as f64) * y.c[k - j];
            let sum = |y: &Jet<N>| (1..=k).fold(N::ZERO, |sum, j| sum + term(y, j));
            let (next_s, next_c) = (sum(&c), sum(&s));
            s.c[k] = next_s / N::point(k as f64);
            c.c[k] = next_c.scaled(sign) / N::point(k as f64);
        }
        (s, c)
    }

    pub fn sin_cos(self) -> (Jet<N>, Jet<N>) {
        self.pair(self.c[0].sin_cos(), -1.0)
    }

    pub fn sinh_cosh(self) -> (Jet<N>, Jet<N>) {
        self.pair((self.c[0].of(Call::Sinh), self.c[0].of(Call::Cosh)), 1.0)
    }

    pub fn tan(self) -> Jet<N> {
        let (s, c) = self.sin_cos();
        s / c
    }

    pub fn atan(self) -> Jet<N> {
        let one = Jet::constant(N::ONE, self.order);
        let slope = one / (one + self.square());
        self.integrate(self.c[0].of(Call::Atan), |_, k| slope.c[k])
    }

    /// The arc sine, or the arc cosine, whose slope is the opposite one.
    fn inverse_circular(self, f: Call) -> Jet<N> {
        let one = Jet::constant(N::ONE, self.order);
        let value = self.c[0].of(f);
        let square = (one - self) * (one + self);
        if !square.c[0].is_positive() {
            return Jet::kink(value, self.order);
        }
        let slope = one / square.sqrt();
        self.integrate(value, |_, k| if f == Call::Acos { -slope.c[k] } else { slope.c[k] })
    }

    pub fn tanh(self) -> Jet<N> {
        // 1 - y^2 from y itself would lose all of a tail; 1 / cosh^2 does not.
        let (_, cosh) = self.sinh_cosh();
        let slope = Jet::constant(N::ONE, self.order) / cosh.square();
        self.integrate(self.c[0].of(Call::Tanh), |_, k| slope.c[k])
    }

    pub fn erf(self) -> Jet<N> {
        let slope = self.erf_slope();
        self.integrate(self.c[0].of(Call::Erf), |_, k| slope.c[k])
    }

    pub fn erfc(self) -> Jet<N> {
        let slope = -self.erf_slope();
        self.integrate(self.c[0].of(Call::Erfc), |_, k| slope.c[k])
    }

    fn erf_slope(self) -> Jet<N> {
        let bell = (-self.square()).exp();
        bell.each(bell, |a, _| a * N::two_over_sqrt_pi())
    }
}

impl<N: Enclosure> Add for Jet<N> {
    type Output = Jet<N>;
    fn add(self, o: Jet<N>) -> Jet<N> {
        self.each(o, |a, b| a + b)
    }
}

impl<N: Enclosure> Sub for Jet<N> {
    type Output = Jet<N>;
    fn sub(self, o: Jet<N>) -> Jet<N> {
        self.each(o, |a, b| a - b)
    }
}

impl<N: Enclosure> Neg for Jet<N> {
    type Output = Jet<N>;
    fn neg(self) -> Jet<N> {
        self.each(self, |a, _| -a)
    }
}

impl<N: Enclosure> Mul for Jet<N> {
    type Output = Jet<N>;
    fn mul(self, o: Jet<N>) -> Jet<N> {
        let mut jet = self;
        (0..=self.order).for_each(|k| jet.c[k] = Jet::convolve(&self, &o, k));
        jet
    }
}

impl<N: Enclosure> Div for Jet<N> {
    type Output = Jet<N>;
    fn div(self, o: Jet<N>) -> Jet<N> {
        let mut q = Jet::constant(self.c[0] / o.c[0], self.order);
        for k in 1..=self.order {
            let known = (1..=k).fold(N::ZERO, |sum, j| sum + o.c[j] * q.c[k - j]);
            q.c[k] = (self.c[k] - known) / o.c[0];
        }
        q
    }
}
