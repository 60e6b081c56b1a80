//! The exponential in vector code.

use super::lanes::ROUND;

/// Between these the exponential is a number; below, it is computed apart as well.
pub const LEAST_EXP: f64 = -745.0;
pub const MOST_EXP: f64 = 709.7;

/// e^x for [`LEAST_EXP`] to [`MOST_EXP`], off by at most one unit in the last place.
///
/// x is n ln 2 + r with |r| at most ln 2 / 2, where the series of e^r up to r^13 leaves less than 2^-57.
#[inline(always)]
pub fn exp<const FMA: bool>(x: f64) -> f64 {
    let madd = |a: f64, b: f64, c: f64| if FMA { a.mul_add(b, c) } else { a * b + c };
    let shifted = madd(x, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with so few bits that its multiples are exact (fdlibm, e_exp.c).
    let r = madd(n, -1.908_214_929_270_587_7e-10, madd(n, -6.931_471_803_691_238e-1, x));
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ] {
        p = madd(p, r, c);
    }
    let series = madd(r * r, p, r) + 1.0;
    // 2^n in two factors, each a normal number.
    let n = (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64);
    let half = n >> 1;
    let power = |n: i64| f64::from_bits(((n.wrapping_add(1023)) << 52) as u64);
    series * power(half) * power(n.wrapping_sub(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_off_by_at_most_one_place() {
        let steps = 400_000;
        for k in 0..=steps {
            let x = LEAST_EXP + (MOST_EXP - LEAST_EXP) * k as f64 / steps as f64;
            for x in [x, x / 700.0, x / 1e6, x * 1e-17] {
                for found in [exp::<true>(x), exp::<false>(x)] {
                    let off = (found.to_bits() as i64 - x.exp().to_bits() as i64).abs();
                    assert!(off <= 1, "{x:e}: {found:e} {:e}", x.exp());
                }
            }
        }
        assert_eq!([exp::<true>(0.0), exp::<false>(0.0)], [1.0; 2]);
    }
}
