//! Particles, their files, and random ones.

pub mod input;
pub mod npy;
pub mod particles;
pub mod periodic;
pub mod plane;
pub mod problem;
pub mod random;

/// Potential and gradient at a particle.
pub type Force = [f64; 4];

/// The second derivatives xx, xy, xz, yy, yz and zz of the potential at a particle.
pub type Hessian = [f64; 6];
