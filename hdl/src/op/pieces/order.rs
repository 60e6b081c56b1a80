//! The order of two values in hardware, shared by comparisons, `min` and `max`.

use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
use crate::op::facts::Outcome;
use crate::rtl::cat;
use crate::rtl::expr::Test;

/// One bit: whether the test of `a` against `b` holds, where both have format `inst.args[0]`. Floats and logs are sign and magnitude
/// with a single zero: inverting the magnitude of negative ones makes two's complement order of them.
pub fn compare(inst: &Inst, c: &mut Circuit, test: Test, a: Sig, b: Sig) -> Sig {
    let format = inst.args[0];
    let (a, b) = (c.x(a), c.x(b));
    let equality = matches!(test, Test::Eq | Test::Ne);
    let unsigned = !format.is_signed() || (inst.is_nonneg(0) && inst.is_nonneg(1));
    if equality || unsigned {
        return c.logic("holds", a.compare(test, false, &b));
    }
    let mut key = |x: X, name: &str| {
        if !format.is_sign_magnitude() {
            return x;
        }
        let n = x.width() - 1;
        let key = c.logic(name, cat([x.msb(), x.low(n) ^ x.msb().repeat(n)]));
        c.x(key)
    };
    let (a, b) = (key(a, "key_a"), key(b, "key_b"));
    c.logic("holds", a.compare(test, true, &b))
}

/// An argument as an interval of integers in the order of its values: of a float or log the pattern of its magnitude with a sign.
struct Order {
    low: i128,
    high: i128,
    /// Whether it can be 0.
    zero: bool,
}

impl Order {
    fn of(inst: &Inst, constants: &[Option<u64>], k: usize) -> Order {
        let (b, format) = (inst.bounds(k), inst.args[k]);
        if !format.is_sign_magnitude() {
            return Order { low: b.low, high: b.high, zero: b.zero };
        }
        if let Some(bits) = constants[k] {
            let magnitude = (bits & (format.mask() >> 1)) as i128;
            let value = if bits == magnitude as u64 { magnitude } else { -magnitude };
            return Order { low: value, high: value, zero: value == 0 };
        }
        let low = match (inst.is_nonneg(k), b.zero) {
            (false, _) => -b.high,
            (true, true) => 0,
            (true, false) => b.low,
        };
        Order { low, high: b.high, zero: b.zero }
    }

    /// Whether it is always or never 0.
    fn is_zero(&self) -> Option<bool> {
        let always = self.low == 0 && self.high == 0;
        if always { Some(true) } else { (!self.zero).then_some(false) }
    }
}

/// Whether the first argument is always or never 0.
pub fn zero(inst: &Inst, constants: &[Option<u64>]) -> Option<bool> {
    Order::of(inst, constants, 0).is_zero()
}

/// The outcome of a test of the two arguments.
pub fn outcome(inst: &Inst, constants: &[Option<u64>], test: Test) -> Outcome {
    if inst.same {
        return Outcome::Always(matches!(test, Test::Le | Test::Eq | Test::Ge));
    }
    let (a, b) = (Order::of(inst, constants, 0), Order::of(inst, constants, 1));
    let (always, never) = match test {
        Test::Lt => (a.high < b.low, a.low >= b.high),
        Test::Le => (a.high <= b.low, a.low > b.high),
        Test::Gt => (a.low > b.high, a.high <= b.low),
        Test::Ge => (a.low >= b.high, a.high < b.low),
        Test::Eq | Test::Ne => {
            let only_one_is_zero = a.is_zero().is_some_and(|zero| b.is_zero() == Some(!zero));
            let apart = a.high < b.low || b.high < a.low || only_one_is_zero;
            let one = a.low == a.high && b.low == b.high && a.low == b.low;
            if test == Test::Eq { (one, apart) } else { (apart, one) }
        }
    };
    match (always, never) {
        (true, _) => Outcome::Always(true),
        (_, true) => Outcome::Always(false),
        _ => Outcome::Open,
    }
}
