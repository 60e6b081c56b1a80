//! Vectors of NEON, which every aarch64 machine has.

use super::elementary::logarithm;
use super::{Elementary, Vector};
use std::arch::aarch64::*;

/// The methods that are written alike for f32 and f64.
macro_rules! instructions {
    ($t:ident, $lanes:literal, $dup:ident, $ld1:ident, $st1:ident, $zip1:ident, $zip2:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $fma:ident, $cgt:ident, $bsl:ident) => {
        type Item = $t;
        const LANES: usize = $lanes;
        const REGISTERS: usize = 32;
        const ROWS: usize = 12;
        #[inline(always)]
        unsafe fn splat(x: $t) -> Self {
            unsafe { $dup(x) }
        }
        #[inline(always)]
        unsafe fn load(from: &[$t]) -> Self {
            assert!(from.len() >= $lanes);
            // SAFETY: the slice is as long as the vector.
            unsafe { $ld1(from.as_ptr()) }
        }
        #[inline(always)]
        unsafe fn store(self, to: &mut [$t]) {
            assert!(to.len() >= $lanes);
            // SAFETY: the slice is as long as the vector.
            unsafe { $st1(to.as_mut_ptr(), self) }
        }
        #[inline(always)]
        unsafe fn interleave(self, b: Self) -> [Self; 2] {
            unsafe { [$zip1(self, b), $zip2(self, b)] }
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
            unsafe { $fma(c, self, b) }
        }
        #[inline(always)]
        unsafe fn max(self, b: Self) -> Self {
            unsafe { $bsl($cgt(self, b), self, b) }
        }
    };
}

/// The factor of u^2 in 3 - 2 u + c u^2, which with u = x y^2 makes of an estimate y of 1 / sqrt(x) a multiple of it: at 0.6 the
/// error is of third order in 1 - u, and here it is spread evenly over the estimates of `frsqrte`, |1 - u| < 0.0066, up to 2^-25.4.
const THIRD_ORDER: f32 = 0.599_993_6;

impl Vector for float32x4_t {
    instructions!(
        f32,
        4,
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        vzip1q_f32,
        vzip2q_f32,
        vaddq_f32,
        vsubq_f32,
        vmulq_f32,
        vdivq_f32,
        vfmaq_f32,
        vcgtq_f32,
        vbslq_f32
    );

    /// The multiple of 1 / sqrt(x) that [`THIRD_ORDER`] gives.
    const ROOT: f64 = 0.799_996_800_139_295;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe {
            let half = |x: &[f64]| float64x2_t::from_f64(x, origin, factor);
            vcvt_high_f32_f64(vcvt_f32_f64(half(x)), half(&x[2..]))
        }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        unsafe { vrsqrteq_f32(self) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, y: Self) -> Self {
        unsafe {
            // frecps is 2 - a b and frsqrts (3 - a b) / 2, so that no constant has to be copied for a sum to overwrite it.
            let u = vmulq_f32(vmulq_f32(self, y), y);
            vmulq_f32(y, vrsqrtsq_f32(u, vrecpsq_f32(u, vdupq_n_f32(THIRD_ORDER))))
        }
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = vcltq_f32(x, least);
            // All bits of a lane that is below, which are -1.
            let kept = vbicq_u32(vreinterpretq_u32_f32(self), below);
            (vreinterpretq_f32_u32(kept), vaddvq_u32(below).wrapping_neg())
        }
    }

    #[inline(always)]
    unsafe fn is_any_between(at: [Self; 3], low: [Self; 3], high: [Self; 3]) -> bool {
        unsafe {
            let mut inside = vdupq_n_u32(!0);
            for a in 0..3 {
                inside = vandq_u32(inside, vandq_u32(vcgeq_f32(at[a], low[a]), vcleq_f32(at[a], high[a])));
            }
            vmaxvq_u32(inside) != 0
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f32 {
        unsafe { vaddvq_f32(self) }
    }

    #[inline(always)]
    unsafe fn four_sums([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        unsafe {
            let four = vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d));
            // SAFETY: both are 16 bytes of f32.
            std::mem::transmute::<float32x4_t, [f32; 4]>(four)
        }
    }
}

impl Vector for float64x2_t {
    instructions!(
        f64,
        2,
        vdupq_n_f64,
        vld1q_f64,
        vst1q_f64,
        vzip1q_f64,
        vzip2q_f64,
        vaddq_f64,
        vsubq_f64,
        vmulq_f64,
        vdivq_f64,
        vfmaq_f64,
        vcgtq_f64,
        vbslq_f64
    );

    const ROOT: f64 = 1.0;

    #[inline(always)]
    unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
        unsafe { vmulq_f64(vsubq_f64(Self::load(x), Self::splat(origin)), Self::splat(factor)) }
    }

    #[inline(always)]
    unsafe fn begin_root(self) -> Self {
        unsafe { vrsqrteq_f64(self) }
    }

    #[inline(always)]
    unsafe fn finish_root(self, mut y: Self) -> Self {
        // Right to 2^-8.2; each step of Newton, y (3 - x y^2) / 2, leaves 1.5 times the square: 2^-15.8, 2^-31.0 and 2^-61.
        for _ in 0..3 {
            y = unsafe { vmulq_f64(y, vrsqrtsq_f64(vmulq_f64(self, y), y)) };
        }
        y
    }

    #[inline(always)]
    unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
        unsafe {
            let below = vcltq_f64(x, least);
            // All bits of a lane that is below, which are -1.
            let kept = vbicq_u64(vreinterpretq_u64_f64(self), below);
            (vreinterpretq_f64_u64(kept), (vaddvq_u64(below) as u32).wrapping_neg())
        }
    }

    #[inline(always)]
    unsafe fn is_any_between(at: [Self; 3], low: [Self; 3], high: [Self; 3]) -> bool {
        unsafe {
            let mut inside = vdupq_n_u64(!0);
            for a in 0..3 {
                inside = vandq_u64(inside, vandq_u64(vcgeq_f64(at[a], low[a]), vcleq_f64(at[a], high[a])));
            }
            vmaxvq_u32(vreinterpretq_u32_u64(inside)) != 0
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        unsafe { vaddvq_f64(self) }
    }

    #[inline(always)]
    unsafe fn four_sums([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        unsafe {
            let four = [vpaddq_f64(a, b), vpaddq_f64(c, d)];
            // SAFETY: both are 32 bytes of f64.
            std::mem::transmute::<[float64x2_t; 2], [f64; 4]>(four)
        }
    }
}

impl Elementary for float32x4_t {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // Right to 2^-8.4; each step of Newton, y (2 - x y), leaves the square: 2^-16.9 and 2^-33.8.
            let is_zero = vceqzq_f32(self);
            let mut y = vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(vrecpeq_f32(self)), is_zero));
            for _ in 0..2 {
                y = vmulq_f32(y, vrecpsq_f32(self, y));
            }
            y
        }
    }
}

impl Elementary for float64x2_t {
    #[inline(always)]
    unsafe fn inverse_or_zero(self) -> Self {
        unsafe {
            // As in f32, and a step more.
            let is_zero = vceqzq_f64(self);
            let mut y = vreinterpretq_f64_u64(vbicq_u64(vreinterpretq_u64_f64(vrecpeq_f64(self)), is_zero));
            for _ in 0..3 {
                y = vmulq_f64(y, vrecpsq_f64(self, y));
            }
            y
        }
    }

    #[inline(always)]
    unsafe fn ln(self) -> Self {
        unsafe {
            let bits = vreinterpretq_u64_f64(self);
            let one = vreinterpretq_u64_f64(vdupq_n_f64(1.0));
            let m = vreinterpretq_f64_u64(vorrq_u64(vandq_u64(bits, vdupq_n_u64((1 << 52) - 1)), one));
            let e = vsubq_f64(vcvtq_f64_u64(vshrq_n_u64::<52>(bits)), vdupq_n_f64(1023.0));
            logarithm(m, e, |x: Self| x.inverse_or_zero())
        }
    }
}
