//! The sets of instructions that a machine may have, and functions that are compiled for each of them.

use super::{Vector, Vectors};

/// The sets of instructions of the vectors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isa {
    Portable,
    Avx2,
    Avx512,
}

impl Isa {
    /// The widest that the machine has.
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            // To count the lanes of a mask.
            let has_popcnt = is_x86_feature_detected!("popcnt");
            if has_popcnt && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
                return Isa::Avx512;
            }
            if has_popcnt && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Isa::Avx2;
            }
        }
        Isa::Portable
    }

    /// Numbers in one of its vectors.
    pub fn lanes<T: Vectors>(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => T::Avx512::LANES,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => T::Avx2::LANES,
            _ => T::Portable::LANES,
        }
    }

    /// [`Vector::ROWS`] of its vectors.
    pub fn rows<T: Vectors>(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => T::Avx512::ROWS,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => T::Avx2::ROWS,
            _ => T::Portable::ROWS,
        }
    }

    /// All that the machine has.
    pub fn all() -> impl Iterator<Item = Isa> {
        [Isa::Portable, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| *isa <= Isa::best())
    }
}

/// Defines `$name::<T>`, which is `$body::<V>` compiled for the vectors V of the set of instructions that is its first
/// argument. Everything that `$body` calls in its inner loops must be `#[inline(always)]`, or it is compiled for any machine.
macro_rules! vectorised {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$t:ident>($($a:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name<$t: $crate::arith::vector::Vectors>(isa: $crate::arith::vector::Isa, $($a: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                use $crate::arith::vector::{Isa, Vectors};
                #[target_feature(enable = "avx512f,fma,popcnt")]
                fn avx512<$t: Vectors>($($a: $ty),*) {
                    // SAFETY: a caller has the instructions of the vector.
                    unsafe { $body::<$t::Avx512>($($a),*) }
                }
                #[target_feature(enable = "avx2,fma,popcnt")]
                fn avx2<$t: Vectors>($($a: $ty),*) {
                    // SAFETY: as above.
                    unsafe { $body::<$t::Avx2>($($a),*) }
                }
                assert!(isa <= Isa::best(), "the machine has these instructions");
                match isa {
                    // SAFETY: the machine has the instructions.
                    Isa::Avx512 => return unsafe { avx512::<$t>($($a),*) },
                    // SAFETY: as above.
                    Isa::Avx2 => return unsafe { avx2::<$t>($($a),*) },
                    Isa::Portable => {}
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            let _ = isa;
            // SAFETY: every machine has the instructions of the portable vector.
            unsafe { $body::<$t::Portable>($($a),*) }
        }
    };
}
pub(crate) use vectorised;
