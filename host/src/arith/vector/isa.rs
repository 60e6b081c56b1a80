//! The sets of instructions that a machine may have.

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
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma") {
                return Isa::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
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
