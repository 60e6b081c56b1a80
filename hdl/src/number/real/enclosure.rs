//! Elements of Taylor coefficients: intervals, or values with a bound of their error.

use super::elementary as e;
use super::{Call, Dd, Interval, Value};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number that is known to lie somewhere.
pub trait Enclosure:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// Nothing is known.
    const WHOLE: Self;

    fn point(x: f64) -> Self;

    /// A number of an expression, which is given in both forms.
    fn given(value: Value, range: Interval) -> Self;

    fn two_over_sqrt_pi() -> Self;

    /// The natural logarithm of 2.
    fn ln_2() -> Self;

    fn squared(self) -> Self;

    fn scaled(self, k: f64) -> Self {
        self * Self::point(k)
    }

    /// A function of it; the absolute value and those that turn are enclosed too.
    fn of(self, f: Call) -> Self;

    fn sin_cos(self) -> (Self, Self);

    /// self^power, where self is not negative.
    fn raised(self, power: Self) -> Self;

    fn is_positive(self) -> bool;

    /// Whether it ends so close to 0 that what is computed with it lies below the range of f64.
    fn is_tiny(self) -> bool;

    /// Whether no number of it lies above any of another.
    fn is_at_most(self, o: Self) -> bool;

    /// Whether every number of it lies below all of another.
    fn is_below(self, o: Self) -> bool;

    /// The lesser of two.
    fn least_of(self, o: Self) -> Self;

    /// One of two, it is not known which.
    fn either(self, o: Self) -> Self;
}

impl Enclosure for Interval {
    const ZERO: Interval = Interval::ZERO;
    const ONE: Interval = Interval::ONE;
    const WHOLE: Interval = Interval::WHOLE;

    fn point(x: f64) -> Interval {
        Interval::point(x)
    }

    fn given(_: Value, range: Interval) -> Interval {
        range
    }

    fn two_over_sqrt_pi() -> Interval {
        // A hair above it.
        Interval::point(std::f64::consts::FRAC_2_SQRT_PI).outward()
    }

    fn ln_2() -> Interval {
        Interval::point(std::f64::consts::LN_2).outward()
    }

    fn squared(self) -> Interval {
        self.square()
    }

    fn of(self, f: Call) -> Interval {
        let up_to = |most: f64| Interval::new(0.0, most);
        match f {
            Call::Neg => -self,
            Call::Abs => up_to(self.most()),
            Call::Exp => e::monotone(self, e::exp).meet(up_to(f64::INFINITY)),
            Call::Exp2 => e::monotone(self, e::power_of_two).meet(up_to(f64::INFINITY)),
            Call::Log | Call::Log2 if self.lo <= 0.0 => Interval::WHOLE,
            Call::Log => e::monotone(self, e::log),
            Call::Log2 => e::monotone(self, e::binary_log),
            Call::Sqrt if self.lo < 0.0 => Interval::WHOLE,
            Call::Sqrt => e::monotone(self, Dd::sqrt).meet(up_to(f64::INFINITY)),
            Call::Cbrt => e::monotone(self, e::cbrt),
            Call::Sin => self.sin_cos().0,
            Call::Cos => self.sin_cos().1,
            Call::Tan => self.sin_cos().0 / self.sin_cos().1,
            Call::Asin | Call::Acos if self.most() > 1.0 => Interval::WHOLE,
            Call::Asin => e::monotone(self, e::asin),
            Call::Acos => e::monotone(self, e::acos).meet(up_to(f64::INFINITY)),
            Call::Atan => e::monotone(self, e::atan),
            Call::Sinh => e::monotone(self, e::sinh),
            Call::Cosh => {
                let ends = Interval::new(self.least(), self.most());
                e::monotone(ends, e::cosh).meet(Interval::new(1.0, f64::INFINITY))
            }
            Call::Tanh => e::monotone(self, e::tanh),
            Call::Erf => e::monotone(self, e::erf),
            Call::Erfc => e::monotone(self, e::erfc).meet(up_to(2.0)),
        }
    }

    fn sin_cos(self) -> (Interval, Interval) {
        e::sin_cos_range(self)
    }

    fn raised(self, power: Interval) -> Interval {
        if self.lo > 0.0 {
            return (power * self.of(Call::Log)).of(Call::Exp);
        }
        // Down to 0, whose power is 0.
        let most = (power * Interval::point(self.hi).of(Call::Log)).of(Call::Exp);
        let rises = self.lo == 0.0 && power.lo > 0.0 && self.hi > 0.0;
        if rises { Interval::new(0.0, most.hi) } else { Interval::WHOLE }
    }

    fn is_positive(self) -> bool {
        self.lo > 0.0
    }

    fn is_tiny(self) -> bool {
        [self.lo, self.hi].iter().any(|end| *end != 0.0 && end.abs() < super::exp2(-1020))
    }

    fn is_at_most(self, o: Interval) -> bool {
        self.hi <= o.lo
    }

    fn is_below(self, o: Interval) -> bool {
        self.hi < o.lo
    }

    fn either(self, o: Interval) -> Interval {
        self.hull(o)
    }

    fn least_of(self, o: Interval) -> Interval {
        Interval::new(self.lo.min(o.lo), self.hi.min(o.hi))
    }
}

impl Enclosure for Value {
    const ZERO: Value = Value::ZERO;
    const ONE: Value = Value::ONE;
    const WHOLE: Value = Value::WHOLE;

    fn point(x: f64) -> Value {
        Value::exact(Dd::from(x))
    }

    fn given(value: Value, _: Interval) -> Value {
        value
    }

    fn two_over_sqrt_pi() -> Value {
        Value::nearest(e::TWO_OVER_SQRT_PI, false)
    }

    fn ln_2() -> Value {
        Value::nearest(Dd::LN_2, false)
    }

    fn squared(self) -> Value {
        self * self
    }

    fn of(self, f: Call) -> Value {
        self.call(f).unwrap_or(Value::WHOLE)
    }

    fn sin_cos(self) -> (Value, Value) {
        (self.of(Call::Sin), self.of(Call::Cos))
    }

    fn raised(self, power: Value) -> Value {
        self.pow(power).unwrap_or(Value::WHOLE)
    }

    fn is_positive(self) -> bool {
        self.value.hi > 2.0 * self.error
    }

    fn is_tiny(self) -> bool {
        // The lower half is smaller by 2^-53, and its parts are by as much.
        self.value.hi != 0.0 && self.value.hi.abs() < super::exp2(-910)
    }

    fn is_at_most(self, o: Value) -> bool {
        let off = (o.value - self.value).hi;
        off >= 2.0 * (self.error + o.error)
    }

    fn is_below(self, o: Value) -> bool {
        let off = (o.value - self.value).hi;
        off > 2.0 * (self.error + o.error)
    }

    fn either(self, _: Value) -> Value {
        Value::WHOLE
    }

    fn least_of(self, o: Value) -> Value {
        let lesser = if (self.value - o.value).hi < 0.0 { self } else { o };
        Value { error: self.error.max(o.error), ..lesser }
    }
}
