//! Values with a running bound of their error. The bound is 0 where every step was exact, so that a value that is 0 by its
//! formula is distinguished from one that has cancelled.

use super::dd::{product_of, sum_of};
use super::elementary as e;
use super::{Call, Dd};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A computed value and how far the true one can be from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Value {
    pub value: Dd,
    pub error: f64,
}

/// Relative errors of arithmetic and of elementary functions, with a margin.
const ARITHMETIC: f64 = 1.0 / (1u128 << 100) as f64;
const FUNCTIONS: f64 = 1.0 / (1u128 << 86) as f64;

/// Loss where the lower half of a product lies below the range of f64.
const LEAST: f64 = f64::MIN_POSITIVE * f64::EPSILON * 8.0;

impl Value {
    pub const ZERO: Value = Value { value: Dd::ZERO, error: 0.0 };
    pub const ONE: Value = Value { value: Dd::ONE, error: 0.0 };
    pub const PI: Value = Value { value: Dd::PI, error: ARITHMETIC * 4.0 };
    /// Nothing is known.
    pub const WHOLE: Value = Value { value: Dd::ZERO, error: f64::INFINITY };

    pub const fn exact(value: Dd) -> Value {
        Value { value, error: 0.0 }
    }

    /// The nearest double-double of a number, which may not hold it.
    pub fn nearest(value: Dd, is_held: bool) -> Value {
        Value { value, error: if is_held { 0.0 } else { ARITHMETIC * value.hi.abs() } }
    }

    pub fn is_finite(self) -> bool {
        self.value.is_finite() && self.error.is_finite()
    }

    pub fn is_exact(self) -> bool {
        self.error == 0.0
    }

    /// Whether the value is 0 beyond doubt.
    pub fn is_zero(self) -> bool {
        self.is_exact() && self.value.hi == 0.0
    }

    pub fn abs(self) -> Value {
        Value { value: self.value.abs(), ..self }
    }

    /// A quotient; `None` where the divisor may be 0.
    pub fn over(self, o: Value) -> Option<Value> {
        let y = o.value.hi.abs();
        if o.error.is_nan() || o.error > y / 16.0 || y == 0.0 {
            return None;
        }
        if self.is_zero() {
            return Some(Value::ZERO);
        }
        let value = self.value / o.value;
        let (product, is_exact) = product_of(value, o.value);
        if self.is_exact() && o.is_exact() && is_exact && product == self.value {
            return Some(Value::exact(value));
        }
        let error = 1.25 * (self.error + value.hi.abs() * o.error) / y + ARITHMETIC * value.hi.abs() + LEAST;
        Some(Value { value, error })
    }

    /// self^n by squaring.
    pub fn powi(self, n: u32) -> Value {
        match n {
            0 => Value::ONE,
            1 => self,
            _ => {
                let half = self.powi(n / 2);
                let square = half * half;
                if n.is_multiple_of(2) { square } else { square * self }
            }
        }
    }

    /// self^power for a number that is not negative.
    pub fn pow(self, power: Value) -> Option<Value> {
        if self.is_zero() && power.value.hi > 2.0 * power.error {
            return Some(Value::ZERO);
        }
        (power * self.call(Call::Log)?).call(Call::Exp)
    }

    /// The value of a function and its error: that of the argument through the slope, and its own.
    pub fn call(self, f: Call) -> Option<Value> {
        let x = self.value;
        let near = |slope: f64| 1.25 * slope * self.error;
        let with = |value: Dd, error: f64| {
            let own = FUNCTIONS * value.hi.abs() + LEAST;
            (value.is_finite() && error.is_finite() && self.error < 0.1).then_some(Value { value, error: error + own })
        };
        if let Some(known) = self.known(f) {
            return Some(known);
        }
        match f {
            Call::Neg => Some(-self),
            Call::Abs => Some(self.abs()),
            Call::Exp => {
                let y = e::exp(x);
                // The reduction of large arguments loses as many bits as these have.
                with(y, near(y.hi) + FUNCTIONS * y.hi * x.hi.abs() / 64.0)
            }
            Call::Exp2 => {
                let y = e::power_of_two(x);
                with(y, near(y.hi))
            }
            Call::Log2 if x.hi > 0.0 && self.error < x.hi / 8.0 => with(e::binary_log(x), near(1.5 / x.hi)),
            Call::Log if x.hi > 0.0 && self.error < x.hi / 8.0 => with(e::log(x), near(1.0 / x.hi)),
            Call::Sqrt if x.hi > 0.0 && self.error < x.hi / 8.0 => {
                let y = x.sqrt();
                if self.is_exact() && product_of(y, y) == (x, true) {
                    return Some(Value::exact(y));
                }
                with(y, near(0.5 / y.hi))
            }
            Call::Log | Call::Log2 | Call::Sqrt => None,
            Call::Cbrt if self.error < x.hi.abs() / 8.0 => {
                let y = e::cbrt(x);
                let (square, is_square) = product_of(y, y);
                if self.is_exact() && is_square && product_of(square, y) == (x, true) {
                    return Some(Value::exact(y));
                }
                with(y, near(0.5 * y.hi.abs() / x.hi.abs()))
            }
            Call::Cbrt => None,
            Call::Asin | Call::Acos => {
                // The slope is that of the cosine, which must be known to be positive, but where the argument is exact.
                let (left, y) = ((Dd::ONE - x.abs()).hi, if f == Call::Asin { e::asin(x) } else { e::acos(x) });
                let is_inside = left >= 0.0 && (self.is_exact() || left > 8.0 * self.error);
                if is_inside { with(y, if self.is_exact() { 0.0 } else { near(1.0 / left.sqrt()) }) } else { None }
            }
            Call::Sin => with(e::sin_cos(x).0, near(1.0) + trigonometric(x)),
            Call::Cos => with(e::sin_cos(x).1, near(1.0) + trigonometric(x)),
            Call::Tan => {
                let (s, c) = e::sin_cos(x);
                let error = self.error + trigonometric(x);
                let y = s / c;
                if error > c.hi.abs() / 16.0 { None } else { with(y, 1.5 * (1.0 + y.hi * y.hi) * error) }
            }
            Call::Atan => with(e::atan(x), near(1.0)),
            Call::Sinh => with(e::sinh(x), near(e::cosh(x).hi)),
            Call::Cosh => with(e::cosh(x), near(e::sinh(x).hi.abs() + self.error)),
            Call::Tanh => with(e::tanh(x), near(1.0)),
            Call::Erf => with(e::erf(x), near(1.2)),
            Call::Erfc => with(e::erfc(x), near(1.2 * e::erf_slope(x).hi)),
        }
    }

    /// Value of a function at the places where it is a whole number.
    fn known(self, f: Call) -> Option<Value> {
        if matches!(f, Call::Log | Call::Log2 | Call::Acos) && self == Value::ONE {
            return Some(Value::ZERO);
        }
        if let Some(exact) = self.binary(f) {
            return Some(exact);
        }
        match f {
            _ if !self.is_zero() => None,
            Call::Exp | Call::Exp2 | Call::Cos | Call::Cosh | Call::Erfc => Some(Value::ONE),
            Call::Log | Call::Log2 | Call::Acos => None,
            _ => Some(Value::ZERO),
        }
    }
}

impl Value {
    /// A power of two with a whole exponent, and its logarithm.
    fn binary(self, f: Call) -> Option<Value> {
        let Dd { hi, lo } = self.value;
        match f {
            _ if !self.is_exact() || lo != 0.0 => None,
            Call::Exp2 if hi == hi.round() && hi.abs() < 1000.0 => Some(Value::exact(Dd::from(super::exp2(hi as i32)))),
            Call::Log2 if hi > f64::MIN_POSITIVE && hi == super::exp2(super::log2(hi)) => {
                Some(Value::exact(Dd::from(super::log2(hi) as f64)))
            }
            _ => None,
        }
    }
}

/// The absolute error of a sine or cosine: that of the reduction, where there is one.
fn trigonometric(x: Dd) -> f64 {
    if x.hi.abs() < 0.75 { 0.0 } else { 4.0 * ARITHMETIC * (1.0 + x.hi.abs()) }
}

impl Neg for Value {
    type Output = Value;
    fn neg(self) -> Value {
        Value { value: -self.value, ..self }
    }
}

impl Add for Value {
    type Output = Value;
    fn add(self, o: Value) -> Value {
        let (value, is_exact) = sum_of(self.value, o.value);
        let own = if is_exact { 0.0 } else { ARITHMETIC * value.hi.abs() };
        Value { value, error: self.error + o.error + own }
    }
}

impl Sub for Value {
    type Output = Value;
    fn sub(self, o: Value) -> Value {
        self + -o
    }
}

impl Mul for Value {
    type Output = Value;
    fn mul(self, o: Value) -> Value {
        if self.is_zero() || o.is_zero() {
            return Value::ZERO;
        }
        let (value, is_exact) = product_of(self.value, o.value);
        let (x, y) = (self.value.hi.abs(), o.value.hi.abs());
        let own = if is_exact { 0.0 } else { ARITHMETIC * x * y + LEAST };
        Value { value, error: 1.01 * (x * o.error + y * self.error + self.error * o.error) + own }
    }
}

impl Div for Value {
    type Output = Value;
    fn div(self, o: Value) -> Value {
        self.over(o).unwrap_or(Value::WHOLE)
    }
}
