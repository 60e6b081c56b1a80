//! Powers of two: scaling by one is exact wherever the result is a normal number.

use crate::arith::exp2;

/// The `e` with `x * 2^-e` in (1/2, 1]; 0 for 0.
pub fn exponent(x: f64) -> i32 {
    if x == 0.0 {
        return 0;
    }
    let (x, offset) = if x < f64::MIN_POSITIVE { (x * exp2(64), -64) } else { (x, 0) };
    let bits = x.to_bits();
    let floor = (bits >> 52 & 0x7ff) as i32 - 1023;
    floor + offset + (bits << 12 != 0) as i32
}

/// `x * 2^n`, rounded once, for any n.
pub fn ldexp(x: f64, n: i32) -> f64 {
    // Large steps first keep a single inexact step at the end, where results below the normal range are rounded.
    let mut x = x;
    let mut n = n;
    while n > 1000 {
        x *= exp2(1000);
        n -= 1000;
        if x.is_infinite() || x == 0.0 {
            return x;
        }
    }
    while n < -900 {
        if x.abs() < exp2(-100) {
            return x * exp2(-900) * exp2((n + 900).max(-1000));
        }
        x *= exp2(-900);
        n += 900;
    }
    x * exp2(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_bring_values_into_the_upper_half() {
        for x in [1.0, 0.75, 0.5, 3.0, 1e308, 1e-308, 5e-324, f64::MAX, 4.0] {
            let y = ldexp(x, -exponent(x));
            assert!(y > 0.5 && y <= 1.0, "{x} {y}");
            assert_eq!(ldexp(y, exponent(x)), x);
        }
        assert_eq!(exponent(0.0), 0);
        assert_eq!(ldexp(1.0, -1074), 5e-324);
        assert_eq!(ldexp(1.0, -1076), 0.0);
        assert_eq!(ldexp(5e-324, 2097), 2f64.powi(1023));
    }
}
