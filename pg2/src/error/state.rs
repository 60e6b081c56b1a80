//! The state of a value over a box of inputs: where its real values lie, and how far the computed ones can be from them.

use hdl::Flags;
use hdl::number::real::Interval;

/// The first reason for which the distance of a value is not bounded, or only by the span of its format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// A float or log leaves its range at the top.
    Overflow,
    /// A cast to a float or log does.
    Saturation,
    /// A sum, product or the like of inexact ints or fixeds can wrap.
    Wrap,
    /// A power, quotient or logarithm is taken of what rounding may have made of 0, or 0 of it.
    Zero,
    /// A root or logarithm of what rounding may have made negative.
    Negative,
    /// Bits of an inexact value are taken apart.
    Bits,
    /// An argument reaches beyond the interval of a function.
    Interval,
}

/// A real value x and the computed one y: |y - x| <= relative |x| + absolute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct State {
    pub real: Interval,
    /// Other facts of computed values.
    pub limit: Interval,
    /// The least magnitude of a real value other than 0.
    pub least: f64,
    pub relative: f64,
    pub absolute: f64,
    /// A magnitude at which computed values end: where x is beyond it, y is this one with the sign of x, or somewhat less by the
    /// relative part. Infinite where there is no such end.
    pub end: f64,
    /// The distance that the operator itself adds at most.
    pub own: f64,
    /// The flags that it can raise.
    pub flags: Flags,
    /// The node at which the bound was lost, and why.
    pub cause: Option<(usize, Cause)>,
}

impl State {
    pub fn exact(real: Interval, least: f64) -> State {
        State {
            real,
            limit: Interval::WHOLE,
            least,
            relative: 0.0,
            absolute: 0.0,
            end: f64::INFINITY,
            own: 0.0,
            flags: Flags::NONE,
            cause: None,
        }
    }

    pub fn is_exact(&self) -> bool {
        self.relative == 0.0 && self.absolute == 0.0 && self.end == f64::INFINITY
    }

    /// Whether computed and real values have one sign, and are 0 together.
    pub fn keeps_sign(&self) -> bool {
        self.absolute == 0.0 && self.relative < 1.0
    }

    /// The greatest distance.
    pub fn error(&self) -> f64 {
        if self.end.is_finite() {
            return f64::INFINITY;
        }
        up(if self.relative == 0.0 { 0.0 } else { up(self.relative * self.real.most()) } + self.absolute)
    }

    /// Where computed values lie.
    pub fn computed(&self) -> Interval {
        let end = |x: f64, side: f64| {
            let away = if self.relative == 0.0 { 0.0 } else { up(self.relative * x.abs()) };
            x + side * up(away + self.absolute)
        };
        if self.is_exact() {
            return self.real.meet(self.limit);
        }
        let mut all = Interval::new(end(self.real.lo, -1.0), end(self.real.hi, 1.0)).outward();
        if self.keeps_sign() {
            all = Interval::new(if self.real.lo >= 0.0 { all.lo.max(0.0) } else { all.lo }, all.hi);
            all = Interval::new(all.lo, if self.real.hi <= 0.0 { all.hi.min(0.0) } else { all.hi });
        }
        all.meet(self.limit)
    }

    /// The least magnitude of a computed value other than 0; 0 where it can be any.
    pub fn computed_least(&self) -> f64 {
        (down(self.least * (1.0 - self.relative).max(0.0)) - self.absolute).max(0.0)
    }

    /// The distance as a part of the real magnitude, where the value is never 0 or 0 exactly.
    pub fn as_relative(&self) -> f64 {
        if self.end.is_finite() {
            return f64::INFINITY;
        }
        if self.absolute == 0.0 {
            return self.relative;
        }
        let least = self.real.least();
        if least > 0.0 { up(self.relative + up(self.absolute / least)) } else { f64::INFINITY }
    }

    /// The greater distance of two cases, over all values of both.
    pub fn or(self, other: State) -> State {
        State {
            real: self.real.hull(other.real),
            limit: self.limit.hull(other.limit),
            least: self.least.min(other.least),
            relative: self.relative.max(other.relative),
            absolute: self.absolute.max(other.absolute),
            end: self.end.min(other.end),
            own: self.own.max(other.own),
            flags: self.flags | other.flags,
            cause: self.cause.or(other.cause),
        }
    }
}

/// A little more than a number that f64 has rounded, and a little less.
pub fn up(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * (1.0 + 4.0 * f64::EPSILON) + f64::MIN_POSITIVE }
}

pub fn down(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { (x * (1.0 - 4.0 * f64::EPSILON) - f64::MIN_POSITIVE).max(0.0) }
}

/// a b, where a factor of 0 decides.
pub fn times(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { up(a * b) }
}

/// (1 + a) (1 + b) - 1.
pub fn compound(a: f64, b: f64) -> f64 {
    up(a + b + times(a, b))
}
