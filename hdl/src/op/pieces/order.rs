//! The order of two values in hardware, shared by comparisons, `min` and `max`.

use crate::circuit::{Circuit, Sig, X};
use crate::op::Inst;
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
