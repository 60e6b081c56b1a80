//! Arithmetic on small arrays that compilers turn into vector instructions, and the choice of those at run time.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// f32 or f64.
pub trait Real:
    Copy
    + Send
    + Sync
    + Default
    + PartialOrd
    + AddAssign
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ONE: Self;
    fn of(x: f64) -> Self;
    fn f64(self) -> f64;
    fn sqrt(self) -> Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
}

macro_rules! real {
    ($t:ident) => {
        impl Real for $t {
            const ONE: $t = 1.0;
            #[inline(always)]
            fn of(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn mul_add(self, b: $t, c: $t) -> $t {
                $t::mul_add(self, b, c)
            }
        }
    };
}
real!(f32);
real!(f64);

/// `a * b + c`, fused where the hardware can (`FMA`); elsewhere a fused one would be a slow library call.
#[inline(always)]
pub fn madd<T: Real, const FMA: bool>(a: T, b: T, c: T) -> T {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Whether every machine that the program is compiled for has fused products.
pub const HAS_FMA: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));

/// Defines `$name` as `$body::<FMA>`, or `$body::<T, FMA>`, compiled for AVX-512, for AVX2 and for any machine, chosen when called.
/// The variant that runs depends on the machine alone, never on the number of threads.
macro_rules! fastest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident$(<$t:ident>)?($($a:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name$(<$t: $crate::arith::lanes::Real>)?($($a: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,fma")]
                fn wide$(<$t: $crate::arith::lanes::Real>)?($($a: $ty),*) {
                    $body::<$($t,)? true>($($a),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn middle$(<$t: $crate::arith::lanes::Real>)?($($a: $ty),*) {
                    $body::<$($t,)? true>($($a),*)
                }
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("fma")
                {
                    // SAFETY: the features were detected just above.
                    return unsafe { wide$(::<$t>)?($($a),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the features were detected just above.
                    return unsafe { middle$(::<$t>)?($($a),*) };
                }
            }
            $body::<$($t,)? { $crate::arith::lanes::HAS_FMA }>($($a),*)
        }
    };
}
pub(crate) use fastest;
