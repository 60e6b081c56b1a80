//! Vectors of f32 or f64 as wide as the machine has them, with the fast inverse square root that its instructions begin.
//!
//! [`Vector`] is what an inner loop is written in; [`Vectors`] names the vectors of a number format for AVX-512, AVX2 and
//! any machine. A caller compiles its loop once for each of them, under `#[target_feature]`, and chooses at run time.

mod elementary;
mod isa;

pub use elementary::Elementary;
pub use isa::Isa;
pub(crate) use isa::vectorised;

use super::lanes::Real;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A vector of numbers.
///
/// # Safety
/// Every method may only be called where the machine has the vector's instructions.
#[allow(clippy::missing_safety_doc, reason = "it is the same for all methods and stands above")]
pub trait Vector: Copy {
    type Item: Real;
    /// Numbers in a vector.
    const LANES: usize;
    /// Vectors that the machine holds in registers.
    const REGISTERS: usize;
    /// Rows of a product of matrices whose sums, of two vectors each, stay in registers.
    const ROWS: usize;
    unsafe fn splat(x: Self::Item) -> Self;
    /// The first [`LANES`](Self::LANES) numbers of a slice, which must have as many.
    unsafe fn load(from: &[Self::Item]) -> Self;
    /// Writes the first [`LANES`](Self::LANES) numbers of a slice, which must have as many.
    unsafe fn store(self, to: &mut [Self::Item]);
    /// The numbers from a place on, which must be there.
    #[inline(always)]
    unsafe fn read(from: *const Self::Item) -> Self {
        // SAFETY: as for this function.
        unsafe { Self::load(std::slice::from_raw_parts(from, Self::LANES)) }
    }
    /// Writes from a place on, where there must be space.
    #[inline(always)]
    unsafe fn write(self, to: *mut Self::Item) {
        // SAFETY: as for this function.
        unsafe { self.store(std::slice::from_raw_parts_mut(to, Self::LANES)) }
    }
    /// `(x - origin) * factor` in f64 of the first [`LANES`](Self::LANES) numbers of a slice, which must have as many.
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self;
    /// The numbers of two vectors in turn: those of the lower halves, then those of the upper ones.
    unsafe fn interleave(self, b: Self) -> [Self; 2];
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    /// `self * b + c`.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// The value of [`inverse_root`](Self::inverse_root) for 1: a factor that saves it an instruction.
    const ROOT: f64;
    /// `ROOT / sqrt(self)` to about the precision of the format, for normal numbers; anything for others.
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        // SAFETY: as for this function.
        unsafe { self.finish_root(self.begin_root()) }
    }
    /// The first half of [`inverse_root`](Self::inverse_root).
    unsafe fn begin_root(self) -> Self;
    /// The second half of [`inverse_root`](Self::inverse_root), from the value of [`begin_root`](Self::begin_root).
    unsafe fn finish_root(self, begun: Self) -> Self;
    /// `self` where `x >= least`, else 0; and in how many lanes it is not.
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32);
    /// Whether a point, of which the vectors have one coordinate each, is in the box from `low` to `high`.
    #[inline(always)]
    unsafe fn is_any_between(at: [Self; 3], low: [Self; 3], high: [Self; 3]) -> bool {
        // SAFETY: as for this function.
        unsafe {
            // 1 in the lanes of points inside.
            let one = Self::splat(Self::Item::ONE);
            let mut inside = one;
            for a in 0..3 {
                (inside, _) = inside.where_from(at[a], low[a]);
                (inside, _) = inside.where_from(high[a], at[a]);
            }
            inside.where_from(inside, one).1 < Self::LANES as u32
        }
    }
    /// The sum of the lanes, in an order that depends on the vector alone.
    unsafe fn sum(self) -> Self::Item;
    /// The sums of four vectors, each in an order that depends on the vector alone.
    #[inline(always)]
    unsafe fn four_sums([a, b, c, d]: [Self; 4]) -> [Self::Item; 4] {
        // SAFETY: as for this function.
        unsafe { [a.sum(), b.sum(), c.sum(), d.sum()] }
    }
}

/// Asks for a slice to be brought into the cache.
pub fn prefetch<T>(slice: &[T]) {
    /// Bytes of a line of the cache.
    const LINE: usize = 64;
    #[cfg(target_arch = "x86_64")]
    if let Some(last) = size_of_val(slice).checked_sub(1) {
        let first = slice.as_ptr().cast::<i8>();
        // SAFETY: every such machine has the instruction, and all places are within the slice.
        let ask = |byte: usize| unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(byte)) };
        (0..last).step_by(LINE).for_each(ask);
        ask(last);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, LINE);
}

/// A number format with vectors for each set of instructions.
pub trait Vectors: Real {
    #[cfg(target_arch = "x86_64")]
    type Avx512: Elementary<Item = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Elementary<Item = Self>;
    type Portable: Elementary<Item = Self>;
}

impl Vectors for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256;
    type Portable = [f32; 8];
}

impl Vectors for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512d;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256d;
    type Portable = [f64; 4];
}

/// For arrays, whose loops the compiler turns into whatever vectors the machine surely has.
macro_rules! portable {
    ($t:ident, $lanes:literal) => {
        impl Vector for [$t; $lanes] {
            type Item = $t;
            const LANES: usize = $lanes;
            const REGISTERS: usize = 16;
            const ROOT: f64 = 1.0;
            const ROWS: usize = 2;
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                [x; $lanes]
            }
            #[inline(always)]
            unsafe fn load(from: &[$t]) -> Self {
                from[..$lanes].try_into().expect("the slice was cut to the length of the vector")
            }
            #[inline(always)]
            unsafe fn store(self, to: &mut [$t]) {
                to[..$lanes].copy_from_slice(&self);
            }
            #[inline(always)]
            unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
                std::array::from_fn(|i| ((x[i] - origin) * factor) as $t)
            }
            #[inline(always)]
            unsafe fn interleave(self, b: Self) -> [Self; 2] {
                let of = |k: usize| if k % 2 == 0 { self[k / 2] } else { b[k / 2] };
                [std::array::from_fn(of), std::array::from_fn(|k| of(k + $lanes))]
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] + b[i])
            }
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] - b[i])
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] * b[i])
            }
            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] / b[i])
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // Without an instruction for it, a fused one would be a slow library call.
                std::array::from_fn(|i| self[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn begin_root(self) -> Self {
                self.map(|x| 1.0 / x.sqrt())
            }
            #[inline(always)]
            unsafe fn finish_root(self, begun: Self) -> Self {
                begun
            }
            #[inline(always)]
            unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
                let is_below: [bool; $lanes] = std::array::from_fn(|i| x[i] < least[i]);
                let kept = std::array::from_fn(|i| if is_below[i] { 0.0 } else { self[i] });
                (kept, is_below.iter().map(|n| *n as u32).sum())
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                self.iter().sum()
            }
        }
    };
}
portable!(f32, 8);
portable!(f64, 4);

/// The methods that are one instruction each.
#[cfg(target_arch = "x86_64")]
macro_rules! instructions {
    ($t:ident, $lanes:literal, $rows:literal, $set1:ident, $loadu:ident, $storeu:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident) => {
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
    };
}

#[cfg(target_arch = "x86_64")]
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
        _mm512_fmadd_ps
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

#[cfg(target_arch = "x86_64")]
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
        _mm512_fmadd_pd
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

#[cfg(target_arch = "x86_64")]
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
        _mm256_fmadd_ps
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

#[cfg(target_arch = "x86_64")]
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
        _mm256_fmadd_pd
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

#[cfg(test)]
mod tests;
