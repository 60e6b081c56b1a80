//! The sets of instructions that a machine may have, and functions that are compiled for each of them.

use super::{Vector, Vectors};
use std::sync::OnceLock;

/// The sets of instructions of the vectors that machines of this architecture may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isa {
    Portable,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The widest that the machine has; `PAIRFORGE_ISA` (portable, avx2, avx512) can ask for less.
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Isa::asked(std::env::var("PAIRFORGE_ISA").as_deref().unwrap_or_default()))
    }

    /// By the word for it, unless it is none or the machine has less.
    fn asked(word: &str) -> Isa {
        let asked = match word {
            "portable" | "baseline" => Isa::Portable,
            #[cfg(target_arch = "x86_64")]
            "avx2" => Isa::Avx2,
            _ => return Isa::widest(),
        };
        asked.min(Isa::widest())
    }

    /// The widest that the machine has.
    pub fn widest() -> Isa {
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
        #[cfg(target_arch = "aarch64")]
        return Isa::Neon;
        #[cfg(not(target_arch = "aarch64"))]
        Isa::Portable
    }

    /// Numbers in one of its vectors.
    pub fn lanes<T: Vectors>(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => T::Avx512::LANES,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => T::Avx2::LANES,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => T::Neon::LANES,
            Isa::Portable => T::Portable::LANES,
        }
    }

    /// [`Vector::ROWS`] of its vectors.
    pub fn rows<T: Vectors>(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => T::Avx512::ROWS,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => T::Avx2::ROWS,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => T::Neon::ROWS,
            Isa::Portable => T::Portable::ROWS,
        }
    }

    /// [`Vector::ROOT`] of its vectors.
    pub fn root<T: Vectors>(self) -> f64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => T::Avx512::ROOT,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => T::Avx2::ROOT,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => T::Neon::ROOT,
            Isa::Portable => T::Portable::ROOT,
        }
    }

    /// All that the machine has.
    pub fn all() -> impl Iterator<Item = Isa> {
        let known = [
            Isa::Portable,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512,
        ];
        known.into_iter().filter(|isa| *isa <= Isa::widest())
    }
}

/// Defines `$name::<T>`, which is `$body::<V>` compiled for the vectors V of the set of instructions that is its first
/// argument. Everything that `$body` calls in its inner loops must be `#[inline(always)]`, or it is compiled for any machine.
macro_rules! vectorised {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$t:ident>($($a:ident: $ty:ty),* $(,)?) = $body:ident) => {
        $(#[$doc])*
        $vis fn $name<$t: $crate::arith::vector::Vectors>(isa: $crate::arith::vector::Isa, $($a: $ty),*) {
            use $crate::arith::vector::Isa;
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,fma,popcnt")]
            fn avx512<$t: $crate::arith::vector::Vectors>($($a: $ty),*) {
                // SAFETY: a caller has the instructions of the vector.
                unsafe { $body::<$t::Avx512>($($a),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,popcnt")]
            fn avx2<$t: $crate::arith::vector::Vectors>($($a: $ty),*) {
                // SAFETY: as above.
                unsafe { $body::<$t::Avx2>($($a),*) }
            }
            assert!(isa <= Isa::widest(), "the machine has these instructions");
            match isa {
                // SAFETY: the machine has the instructions.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 => unsafe { avx512::<$t>($($a),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => unsafe { avx2::<$t>($($a),*) },
                // SAFETY: every machine of the architecture has them.
                #[cfg(target_arch = "aarch64")]
                Isa::Neon => unsafe { $body::<$t::Neon>($($a),*) },
                // SAFETY: every machine has the instructions of the portable vector.
                Isa::Portable => unsafe { $body::<$t::Portable>($($a),*) },
            }
        }
    };
}
pub(crate) use vectorised;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_asks_for_less_than_the_machine_has_and_never_for_more() {
        let widest = Isa::widest();
        assert_eq!(["portable", "baseline"].map(Isa::asked), [Isa::Portable; 2]);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(Isa::asked("avx2"), widest.min(Isa::Avx2));
        assert_eq!(["avx512", "", "sse9"].map(Isa::asked), [widest; 3]);
        assert_eq!(Isa::all().last(), Some(widest));
    }
}
