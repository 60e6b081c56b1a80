//! The expansion around 0 of a function that is 0 there. In `exp(x) - 1` or `x - sin(x)` digits cancel, the more the smaller
//! x is, and floats reach down to 2^-1022. In c_k x^k + c_(k+1) x^(k+1) + ... none do.

use super::jet::MAX_ORDER;
use super::{Dd, Interval, Value, exp2};

/// Coefficients at 0, and what bounds the rest.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The first coefficient that is not 0.
    order: usize,
    c: [Value; MAX_ORDER + 1],
    /// The last coefficient on the arguments up to 2^-k on either side, negative ones first, for k of [`REACHES`].
    rest: Vec<[Interval; 2]>,
}

/// Exponents of distances from 0.
const REACHES: [i32; 10] = [8, 12, 16, 20, 24, 32, 48, 64, 128, 256];

impl Expansion {
    /// The greatest argument.
    pub const REACH: f64 = 1.0 / (1u32 << REACHES[0] as u32) as f64;

    /// From the coefficients at 0; `on` encloses them on an interval. `None` where the function is not smooth there, is not 0,
    /// or all that is known of it is.
    pub fn of(c: [Value; MAX_ORDER + 1], on: impl Fn(Interval) -> [Interval; MAX_ORDER + 1]) -> Option<Expansion> {
        let order = c[..MAX_ORDER].iter().position(|v| !v.is_zero())?;
        let known = |v: &Value| v.is_finite();
        let leads = c[order].value.hi.abs() > c[order].error * exp2(40);
        if order == 0 || !leads || !c[order..MAX_ORDER].iter().all(known) {
            return None;
        }
        let side = |reach: f64| on(Interval::new(reach.min(0.0), reach.max(0.0)))[MAX_ORDER];
        let rest = REACHES.iter().map(|k| exp2(-k)).map(|reach| [side(-reach), side(reach)]).collect();
        Some(Expansion { order, c, rest })
    }

    /// Whether an interval lies beside 0 and within reach.
    pub fn holds(x: Interval) -> bool {
        x.most() <= Self::REACH && (x.lo > 0.0 || x.hi < 0.0)
    }

    /// The last coefficient up to an argument.
    fn rest(&self, x: f64) -> Interval {
        let k = REACHES.iter().take_while(|k| x.abs() <= exp2(-**k)).count().max(1) - 1;
        self.rest[k][(x > 0.0) as usize]
    }

    /// The value at an argument within reach.
    pub fn value(&self, x: Dd) -> Option<Value> {
        if x.hi == 0.0 {
            return Some(Value::ZERO);
        }
        let rest = self.rest(x.hi);
        if !rest.is_finite() {
            return None;
        }
        let middle = rest.lo + (rest.hi - rest.lo) / 2.0;
        let last = Value { value: Dd::from(middle), error: (rest.hi - rest.lo).next_up() };
        let x = Value::exact(x);
        let sum = self.c[self.order..MAX_ORDER].iter().rev().fold(last, |sum, c| sum * x + *c);
        Some(sum * x.powi(self.order as u32)).filter(|v| v.is_finite())
    }

    /// Encloses f^(j) / j! on an interval that it holds: the sum of binomial(n, j) c_n x^(n-j).
    pub fn coefficient(&self, x: Interval, j: usize) -> Interval {
        let range = |v: &Value| {
            let reach = v.error + v.value.lo.abs();
            Interval::new((v.value.hi - reach).next_down(), (v.value.hi + reach).next_up())
        };
        let end = if x.hi < 0.0 { x.lo } else { x.hi };
        let first = self.order.max(j);
        let binomial = |n: usize| (0..j).fold(1.0, |b, k| b * (n - k) as f64 / (k + 1) as f64);
        let last = self.rest(end).scaled(binomial(MAX_ORDER));
        let sum = (first..MAX_ORDER).rev().fold(last, |sum, n| sum * x + range(&self.c[n]).scaled(binomial(n)));
        sum * power(x, first - j)
    }
}

/// x^n on an interval beside 0.
fn power(x: Interval, n: usize) -> Interval {
    let size = Interval::new(x.least(), x.most());
    let power = (0..n).fold(Interval::ONE, |p, _| p * size);
    if x.hi < 0.0 && n % 2 == 1 { -power } else { power }
}
