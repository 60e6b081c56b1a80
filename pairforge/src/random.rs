//! Random particles for trials.

#[cfg(feature = "kernels")]
pub mod plane;

pub use ::fmm::data::particles::Particles;
pub use ::fmm::data::random::{Charge, Distribution, Random, generate};

/// Random particles that fill the unit cube evenly, with charges in [-1, 1).
pub fn uniform(n: usize, seed: u64) -> Particles {
    generate(n, Distribution::Uniform, Charge::Random, seed)
}
