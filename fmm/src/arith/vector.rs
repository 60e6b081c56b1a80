//! Vectors of f32 or f64 as wide as the machine has them, with the fast inverse square root that its instructions begin.
//!
//! [`Vector`] is what an inner loop is written in; [`Vectors`] names the vectors of a number format for AVX-512, AVX2, NEON and
//! any machine. A caller compiles its loop once for each that its architecture may have, and chooses at run time.

mod elementary;
mod isa;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use elementary::Elementary;
pub use isa::Isa;
pub(crate) use isa::vectorised;

use super::lanes::Real;
#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
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
    /// `self` where `self > b`, else `b`.
    unsafe fn max(self, b: Self) -> Self;
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
    if let Some(last) = size_of_val(slice).checked_sub(1) {
        // SAFETY: all places are within the slice.
        let ask = |byte: usize| unsafe { prefetch_line(slice.as_ptr().cast::<i8>().add(byte)) };
        (0..last).step_by(LINE).for_each(ask);
        ask(last);
    }
}

/// Asks for the line of the cache with a byte, where there is an instruction for it.
#[inline(always)]
fn prefetch_line(byte: *const i8) {
    // SAFETY: every machine of the architecture has the instruction, which changes nothing that a program sees.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(byte)
    };
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) byte, options(readonly, nostack, preserves_flags))
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = byte;
}

/// A number format with vectors for each set of instructions.
pub trait Vectors: Real {
    #[cfg(target_arch = "x86_64")]
    type Avx512: Elementary<Item = Self>;
    #[cfg(target_arch = "x86_64")]
    type Avx2: Elementary<Item = Self>;
    #[cfg(target_arch = "aarch64")]
    type Neon: Elementary<Item = Self>;
    type Portable: Elementary<Item = Self>;
}

impl Vectors for f32 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256;
    #[cfg(target_arch = "aarch64")]
    type Neon = float32x4_t;
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    type Portable = [f32; 8];
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    type Portable = wasm::F32;
}

impl Vectors for f64 {
    #[cfg(target_arch = "x86_64")]
    type Avx512 = __m512d;
    #[cfg(target_arch = "x86_64")]
    type Avx2 = __m256d;
    #[cfg(target_arch = "aarch64")]
    type Neon = float64x2_t;
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    type Portable = [f64; 4];
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    type Portable = wasm::F64;
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
            unsafe fn max(self, b: Self) -> Self {
                std::array::from_fn(|i| if self[i] > b[i] { self[i] } else { b[i] })
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

#[cfg(test)]
mod tests;
