//! The vectors of WebAssembly.

use super::{Elementary, Vector};
use std::arch::wasm32::*;

macro_rules! vector {
    ($vector:ident, $t:ident, $lanes:literal, {
        $splat:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $gt:ident, $ne:ident, $mask:ident
    }, $from_f64:expr, $interleave:expr, $sum:expr) => {
        /// A vector.
        #[derive(Clone, Copy)]
        pub struct $vector(v128);

        impl Vector for $vector {
            type Item = $t;
            const LANES: usize = $lanes;
            const REGISTERS: usize = 16;
            const ROOT: f64 = 1.0;
            const ROWS: usize = 4;
            #[inline(always)]
            unsafe fn splat(x: $t) -> Self {
                $vector($splat(x))
            }
            #[inline(always)]
            unsafe fn load(from: &[$t]) -> Self {
                // SAFETY: the slice has as many numbers.
                $vector(unsafe { v128_load(from[..$lanes].as_ptr().cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: &mut [$t]) {
                // SAFETY: as above.
                unsafe { v128_store(to[..$lanes].as_mut_ptr().cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn read(from: *const $t) -> Self {
                // SAFETY: the caller has the numbers there.
                $vector(unsafe { v128_load(from.cast()) })
            }
            #[inline(always)]
            unsafe fn write(self, to: *mut $t) {
                // SAFETY: the caller has the space there.
                unsafe { v128_store(to.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn from_f64(x: &[f64], origin: f64, factor: f64) -> Self {
                $vector($from_f64(&x[..$lanes], origin, factor))
            }
            #[inline(always)]
            unsafe fn interleave(self, b: Self) -> [Self; 2] {
                $interleave(self.0, b.0).map($vector)
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                $vector($add(self.0, b.0))
            }
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                $vector($sub(self.0, b.0))
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                $vector($mul(self.0, b.0))
            }
            #[inline(always)]
            unsafe fn div(self, b: Self) -> Self {
                $vector($div(self.0, b.0))
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                $vector($add($mul(self.0, b.0), c.0))
            }
            #[inline(always)]
            unsafe fn max(self, b: Self) -> Self {
                $vector(v128_bitselect(self.0, b.0, $gt(self.0, b.0)))
            }
            #[inline(always)]
            unsafe fn begin_root(self) -> Self {
                $vector($div($splat(1.0), $sqrt(self.0)))
            }
            #[inline(always)]
            unsafe fn finish_root(self, begun: Self) -> Self {
                begun
            }
            #[inline(always)]
            unsafe fn where_from(self, x: Self, least: Self) -> (Self, u32) {
                // Below is what is not at least as much, but for what is no number.
                let is_below = $gt(least.0, x.0);
                ($vector(v128_andnot(self.0, is_below)), $mask(is_below).count_ones())
            }
            #[inline(always)]
            unsafe fn sum(self) -> $t {
                $sum(self.0)
            }
        }

        impl Elementary for $vector {
            #[inline(always)]
            unsafe fn inverse_or_zero(self) -> Self {
                $vector(v128_and($div($splat(1.0), self.0), $ne(self.0, $splat(0.0))))
            }
        }
    };
}

vector!(
    F32,
    f32,
    4,
    {
        f32x4_splat, f32x4_add, f32x4_sub, f32x4_mul, f32x4_div, f32x4_sqrt, f32x4_gt, f32x4_ne, i32x4_bitmask
    },
    |x: &[f64], origin: f64, factor: f64| {
        let of = |k: usize| ((x[k] - origin) * factor) as f32;
        f32x4(of(0), of(1), of(2), of(3))
    },
    |a, b| [i32x4_shuffle::<0, 4, 1, 5>(a, b), i32x4_shuffle::<2, 6, 3, 7>(a, b)],
    |v| {
        let pairs = f32x4_add(v, i32x4_shuffle::<2, 3, 0, 1>(v, v));
        f32x4_extract_lane::<0>(pairs) + f32x4_extract_lane::<1>(pairs)
    }
);
vector!(
    F64,
    f64,
    2,
    {
        f64x2_splat, f64x2_add, f64x2_sub, f64x2_mul, f64x2_div, f64x2_sqrt, f64x2_gt, f64x2_ne, i64x2_bitmask
    },
    |x: &[f64], origin: f64, factor: f64| f64x2((x[0] - origin) * factor, (x[1] - origin) * factor),
    |a, b| [i64x2_shuffle::<0, 2>(a, b), i64x2_shuffle::<1, 3>(a, b)],
    |v| f64x2_extract_lane::<0>(v) + f64x2_extract_lane::<1>(v)
);
