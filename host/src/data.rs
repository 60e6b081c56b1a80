//! Particles, their files, and random ones.

pub mod npy;
pub mod particles;
pub mod periodic;
pub mod random;

/// Potential and gradient at a particle.
pub type Force = [f64; 4];
