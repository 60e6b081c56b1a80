//! Inverses and logarithms of vectors, without a division where the machine has an instruction that begins them.

use super::Vector;
use crate::arith::lanes::Real;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// More of what an inner loop is written in.
///
/// # Safety
/// As for [`Vector`].
#[allow(clippy::missing_safety_doc, reason = "it is the same for all methods and stands above")]
pub trait Elementary: Vector {
    /// 1 / self to about the precision of the format for normal numbers, and 0 for 0.
    unsafe fn inverse_or_zero(self) -> Self;

    /// The natural logarithm to about the precision of the format for positive normal numbers; anything for others.
    #[inline(always)]
    unsafe fn ln(self) -> Self {
        let mut numbers = [Self::Item::default(); 16];
        // SAFETY: as for this function.
        unsafe {
            self.store(&mut numbers);
            numbers[..Self::LANES].iter_mut().for_each(|x| *x = Self::Item::of(x.f64().ln()));
            Self::load(&numbers)
        }
    }
}

macro_rules! portable {
    ($t:ident, $lanes:literal) => {
        impl Elementary for [$t; $lanes] {
            #[inline(always)]
            unsafe fn inverse_or_zero(self) -> Self {
                self.map(|x| if x == 0.0 { 0.0 } else { 1.0 / x })
            }
        }
    };
}
portable!(f32, 8);
portable!(f64, 4);

#[cfg(target_arch = "x86_64")]
impl Elementary for __m512d {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // Right to 2^-14. With h = 1 - x y, 1 / x is y (1 + h) (1 + h^2) but for h^4.
            let is_some = _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(self, _mm512_setzero_pd());
            let y = _mm512_maskz_rcp14_pd(is_some, self);
            let h = _mm512_fnmadd_pd(self, y, _mm512_set1_pd(1.0));
            let y = _mm512_fmadd_pd(y, h, y);
            _mm512_fmadd_pd(y, _mm512_mul_pd(h, h), y)
        }
    }

    #[inline(always)]
    unsafe fn ln(self) -> Self {
        unsafe {
            let m = _mm512_getmant_pd::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_SRC>(self);
            logarithm(m, _mm512_getexp_pd(self), |x: Self| x.inverse_or_zero())
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Elementary for __m512 {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // Right to 2^-14; a step of Newton leaves 2^-28.
            let is_some = _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(self, _mm512_setzero_ps());
            let y = _mm512_maskz_rcp14_ps(is_some, self);
            _mm512_fmadd_ps(y, _mm512_fnmadd_ps(self, y, _mm512_set1_ps(1.0)), y)
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Elementary for __m256d {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // There is no instruction that begins this one in the range of f64.
            let is_some = _mm256_cmp_pd::<_CMP_NEQ_OQ>(self, _mm256_setzero_pd());
            _mm256_and_pd(_mm256_div_pd(_mm256_set1_pd(1.0), self), is_some)
        }
    }

    #[inline(always)]
    unsafe fn ln(self) -> Self {
        unsafe {
            let bits = _mm256_castpd_si256(self);
            let one = _mm256_set1_pd(1.0);
            let fraction = _mm256_and_si256(bits, _mm256_set1_epi64x((1 << 52) - 1));
            let m = _mm256_castsi256_pd(_mm256_or_si256(fraction, _mm256_castpd_si256(one)));
            // An integer below 2^52 in the lowest bits of 2^52 is a fraction bit of it each.
            let two_52 = _mm256_set1_pd((1u64 << 52) as f64);
            let biased = _mm256_or_si256(_mm256_srli_epi64::<52>(bits), _mm256_castpd_si256(two_52));
            let e = _mm256_sub_pd(_mm256_castsi256_pd(biased), _mm256_add_pd(two_52, _mm256_set1_pd(1023.0)));
            logarithm(m, e, |x: Self| _mm256_div_pd(one, x))
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Elementary for __m256 {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // Right to 1.5 * 2^-12; the series up to h^2 leaves h^3.
            let is_some = _mm256_cmp_ps::<_CMP_NEQ_OQ>(self, _mm256_setzero_ps());
            let y = _mm256_and_ps(_mm256_rcp_ps(self), is_some);
            let h = _mm256_fnmadd_ps(self, y, _mm256_set1_ps(1.0));
            _mm256_fmadd_ps(y, _mm256_fmadd_ps(h, h, h), y)
        }
    }
}

/// log(m 2^e) for m in [1, 2), by the method of fdlibm's e_log.c: with f = m - 1 and s = f / (2 + f), log m is f - f^2 / 2 +
/// s (f^2 / 2 + R(s^2)), where R is a polynomial that leaves 2^-58.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
#[allow(clippy::excessive_precision, reason = "the digits are those of the source")]
pub(super) unsafe fn logarithm<V: Vector<Item = f64>>(m: V, e: V, inverse: impl Fn(V) -> V) -> V {
    const R: [f64; 7] = [
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ];
    // SAFETY: as for the caller.
    unsafe {
        // Above sqrt 2 the number is halved, so that s is small on both sides of 1.
        let (one, half) = (V::splat(1.0), V::splat(0.5));
        let (is_large, _) = one.where_from(m, V::splat(std::f64::consts::SQRT_2));
        let (m, e) = (m.sub(m.mul(half).mul(is_large)), e.add(is_large));
        let f = m.sub(one);
        let s = f.mul(inverse(f.add(V::splat(2.0))));
        let z = s.mul(s);
        let mut r = V::splat(R[0]);
        for c in &R[1..] {
            r = r.mul_add(z, V::splat(*c));
        }
        let square = f.mul(f).mul(half);
        // ln 2 in two parts, of which products of the first with exponents are exact.
        let low = s.mul_add(r.mul_add(z, square), e.mul(V::splat(1.908_214_929_270_587_7e-10)));
        e.mul_add(V::splat(6.931_471_803_691_238_2e-1), f.sub(square.sub(low)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::vector::{Isa, Vectors, vectorised};

    vectorised! {
        fn both<T>(x: &[T], inverse: &mut [T], ln: &mut [T]) = both_in
    }

    #[inline(always)]
    unsafe fn both_in<V: Elementary>(x: &[V::Item], inverse: &mut [V::Item], ln: &mut [V::Item]) {
        for k in (0..x.len()).step_by(V::LANES) {
            // SAFETY: as for this function.
            unsafe {
                let x = V::load(&x[k..]);
                x.inverse_or_zero().store(&mut inverse[k..]);
                x.ln().store(&mut ln[k..]);
            }
        }
    }

    fn check<T: Vectors>(rounding: f64, range: i32) {
        let x: Vec<T> = (0..1 << 14)
            .map(|k| {
                let m = 1.0 + k as f64 * 2f64.powi(-14);
                let e = (k * 7919 % (2 * range + 1)) - range;
                T::of(m * 2f64.powi(if k % 3 == 0 { 0 } else { e }))
            })
            .collect();
        for isa in Isa::all() {
            let mut found = [vec![T::default(); x.len()], vec![T::default(); x.len()]];
            let [inverse, ln] = &mut found;
            both::<T>(isa, &x, inverse, ln);
            for k in 0..x.len() {
                let (i, l) = (1.0 / x[k].f64(), x[k].f64().ln());
                assert!((inverse[k].f64() / i - 1.0).abs() < rounding, "{isa:?} {} {}", x[k].f64(), inverse[k].f64());
                assert!((ln[k].f64() - l).abs() <= rounding * l.abs(), "{isa:?} {} {}", x[k].f64(), ln[k].f64());
            }
            let zeros = vec![T::default(); 16];
            let mut found = [vec![T::ONE; 16], vec![T::ONE; 16]];
            let [inverse, ln] = &mut found;
            both::<T>(isa, &zeros, inverse, ln);
            assert!(inverse.iter().all(|x| x.f64() == 0.0), "{isa:?}");
        }
    }

    #[test]
    fn inverses_and_logarithms_are_right_to_rounding() {
        check::<f64>(5e-16, 900);
        check::<f32>(2e-7, 100);
    }
}
