//! Vectors of AVX-512 and of AVX2 with fused multiply-adds.

use super::Vector;
use std::arch::x86_64::*;

/// The methods that are one instruction each.
macro_rules! instructions {
    ($t:ident, $lanes:literal, $rows:literal, $set1:ident, $loadu:ident, $storeu:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident, $max:ident) => {
        type Item = $t;
        const LANES: usize = $lanes;
        const ROWS: usize = $rows;
        #[inline(always)]
        unsafe fn splat(x: $t) -> Self {
            unsafe { $set1(x) }
        }
        #[inline(always)]
        unsafe fn load(from: &[$t]) -> Self {
            assert!(from.len() >= $lanes);
            // SAFETY: the slice is as long as the vector.
            unsafe { $loadu(from.as_ptr()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: &mut [$t]) {
            assert!(to.len() >= $lanes);
            // SAFETY: the slice is as long as the vector.
            unsafe { $storeu(to.as_mut_ptr(), self) }
        }
        #[inline(always)]
        unsafe fn add(self, b: Self) -> Self {
            unsafe { $add(self, b) }
        }
        #[inline(always)]
        unsafe fn sub(self, b: Self) -> Self {
            unsafe { $sub(self, b) }
        }
        #[inline(always)]
        unsafe fn mul(self, b: Self) -> Self {
            unsafe { $mul(self, b) }
        }
        #[inline(always)]
        unsafe fn div(self, b: Self) -> Self {
            unsafe { $div(self, b) }
        }
        #[inline(always)]
        unsafe fn mul_add(self, b: Self, c: Self) -> Self {
            unsafe { $fmadd(self, b, c) }
        }
        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            unsafe { $max(self, b) }
        }
    };
}

impl Vector for __m512 {
    instructions!(
        f32,
        16,
        12,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_fmadd_ps,
        _mm512_max_ps
    );

    #[inline(always)]
    unsafe fn interleave(self, b: Self) -> [Self; 2] {
        // Numbers from 16 on are places of `b`.
        unsafe {
            let lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let upper = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            [_mm512_permutex2var_ps(self, lower, b), _mm512_permutex2var_ps(self, upper, b)]
        }
    }

    const REGISTERS: usize = 32;
    const ROOT: f64 = 2.0;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe {
            let half = |x: &[f64]| _mm512_cvtpd_ps(__m512d::from_f64(x, origin, factor));
            let (low, high) = (_mm256_castps_pd(half(x)), _mm256_castps_pd(half(&x[8..])));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high))
        }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        unsafe { _mm512_rsqrt14_ps(self) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, y: Self) -> Self {
        unsafe {
            // Right to 2^-14; a step of Newton, y (3 - x y^2) / 2, leaves 1.5 * 2^-28.
            _mm512_mul_ps(y, _mm512_fnmadd_ps(_mm512_mul_ps(self, y), y, _mm512_set1_ps(3.0)))
        }
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(x, least);
            (_mm512_maskz_mov_ps(!below, self), below.count_ones())
        }
    }

    #[inline(always)]
    unsafe fn is_any_between(at: [Self; 3], low: [Self; 3], high: [Self; 3]) -> bool {
        unsafe {
            let mut inside = !0;
            for a in 0..3 {
                inside = _mm512_mask_cmp_ps_mask::<_CMP_GE_OQ>(inside, at[a], low[a]);
                inside = _mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(inside, at[a], high[a]);
            }
            inside != 0
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { _mm512_reduce_add_ps(self) }
    }

    #[inline(always)]
    unsafe fn four_sums([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        unsafe {
            // Every 128 bits get sums of two lanes of `a` and `b` in turn, then one lane for each of the four vectors.
            let ab = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)));
            let cd = _mm512_castps_pd(_mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)));
            let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
            let all = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
            let upper = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(all)));
            let half = _mm256_add_ps(_mm512_castps512_ps256(all), upper);
            let four = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
            // SAFETY: both are 16 bytes of f32.
            std::mem::transmute::<__m128, [f32; 4]>(four)
        }
    }
}

impl Vector for __m512d {
    instructions!(
        f64,
        8,
        12,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_fmadd_pd,
        _mm512_max_pd
    );

    #[inline(always)]
    unsafe fn interleave(self, b: Self) -> [Self; 2] {
        // Numbers from 8 on are places of `b`.
        unsafe {
            let lower = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let upper = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            [_mm512_permutex2var_pd(self, lower, b), _mm512_permutex2var_pd(self, upper, b)]
        }
    }

    const REGISTERS: usize = 32;
    const ROOT: f64 = 1.0;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe { _mm512_mul_pd(_mm512_sub_pd(Self::load(x), Self::splat(origin)), Self::splat(factor)) }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        unsafe { _mm512_rsqrt14_pd(self) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, y: Self) -> Self {
        unsafe {
            // Right to 2^-14. With h = 1 - x y^2, 1 / sqrt(x) is y (1 - h)^(-1/2), whose series up to h^3 leaves 35/128 h^4,
            // where |h| < 2^-12.9.
            let h = _mm512_fnmadd_pd(_mm512_mul_pd(self, y), y, _mm512_set1_pd(1.0));
            let p = _mm512_fmadd_pd(h, _mm512_set1_pd(0.3125), _mm512_set1_pd(0.375));
            let p = _mm512_fmadd_pd(h, p, _mm512_set1_pd(0.5));
            _mm512_fmadd_pd(_mm512_mul_pd(y, h), p, y)
        }
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(x, least);
            (_mm512_maskz_mov_pd(!below, self), below.count_ones())
        }
    }

    #[inline(always)]
    unsafe fn is_any_between(at: [Self; 3], low: [Self; 3], high: [Self; 3]) -> bool {
        unsafe {
            let mut inside = !0;
            for a in 0..3 {
                inside = _mm512_mask_cmp_pd_mask::<_CMP_GE_OQ>(inside, at[a], low[a]);
                inside = _mm512_mask_cmp_pd_mask::<_CMP_LE_OQ>(inside, at[a], high[a]);
            }
            inside != 0
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        unsafe { _mm512_reduce_add_pd(self) }
    }

    #[inline(always)]
    unsafe fn four_sums([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        unsafe {
            // Every 128 bits get one lane for each of two vectors.
            let ab = _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            let cd = _mm512_add_pd(_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d));
            let ab = _mm256_add_pd(_mm512_castpd512_pd256(ab), _mm512_extractf64x4_pd::<1>(ab));
            let cd = _mm256_add_pd(_mm512_castpd512_pd256(cd), _mm512_extractf64x4_pd::<1>(cd));
            let (low, high) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
            // SAFETY: both are 32 bytes of f64.
            std::mem::transmute::<__m256d, [f64; 4]>(_mm256_add_pd(low, high))
        }
    }
}

impl Vector for __m256 {
    instructions!(
        f32,
        8,
        5,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_div_ps,
        _mm256_fmadd_ps,
        _mm256_max_ps
    );

    #[inline(always)]
    unsafe fn interleave(self, b: Self) -> [Self; 2] {
        // Within each 128 bits, then these in order.
        unsafe {
            let (low, high) = (_mm256_unpacklo_ps(self, b), _mm256_unpackhi_ps(self, b));
            [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
        }
    }

    const REGISTERS: usize = 16;
    const ROOT: f64 = 1.0;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe {
            let half = |x: &[f64]| _mm256_cvtpd_ps(__m256d::from_f64(x, origin, factor));
            _mm256_set_m128(half(&x[4..]), half(x))
        }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        unsafe { _mm256_rsqrt_ps(self) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, y: Self) -> Self {
        unsafe {
            // Right to 1.5 * 2^-12; the series of the AVX-512 vector of f64 up to h^2 leaves 5/16 h^3, |h| < 2^-10.4.
            let h = _mm256_fnmadd_ps(_mm256_mul_ps(self, y), y, _mm256_set1_ps(1.0));
            let p = _mm256_fmadd_ps(h, _mm256_set1_ps(0.375), _mm256_set1_ps(0.5));
            _mm256_fmadd_ps(_mm256_mul_ps(y, h), p, y)
        }
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = _mm256_cmp_ps::<_CMP_LT_OQ>(x, least);
            (_mm256_andnot_ps(below, self), _mm256_movemask_ps(below).count_ones())
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        // SAFETY: both are 32 bytes of f32.
        unsafe { std::mem::transmute::<__m256, [f32; 8]>(self).sum() }
    }
}

impl Vector for __m256d {
    instructions!(
        f64,
        4,
        5,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_div_pd,
        _mm256_fmadd_pd,
        _mm256_max_pd
    );

    #[inline(always)]
    unsafe fn interleave(self, b: Self) -> [Self; 2] {
        // Within each 128 bits, then these in order.
        unsafe {
            let (low, high) = (_mm256_unpacklo_pd(self, b), _mm256_unpackhi_pd(self, b));
            [_mm256_permute2f128_pd::<0x20>(low, high), _mm256_permute2f128_pd::<0x31>(low, high)]
        }
    }

    const REGISTERS: usize = 16;
    const ROOT: f64 = 1.0;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe { _mm256_mul_pd(_mm256_sub_pd(Self::load(x), Self::splat(origin)), Self::splat(factor)) }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        // There is no instruction that begins this one in the range of f64.
        unsafe { _mm256_div_pd(_mm256_set1_pd(1.0), _mm256_sqrt_pd(self)) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, begun: Self) -> Self {
        begun
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = _mm256_cmp_pd::<_CMP_LT_OQ>(x, least);
            (_mm256_andnot_pd(below, self), _mm256_movemask_pd(below).count_ones())
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        // SAFETY: both are 32 bytes of f64.
        unsafe { std::mem::transmute::<__m256d, [f64; 4]>(self).sum() }
    }
}
