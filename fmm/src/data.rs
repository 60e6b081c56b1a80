//! Particles, their files, and random ones.

pub mod input;
pub mod npy;
pub mod particles;
pub mod periodic;
pub mod plane;
pub mod problem;
pub mod random;
pub mod text;

use std::mem::MaybeUninit;

/// Potential and gradient at a particle.
pub type Force = [f64; 4];

/// The second derivatives xx, xy, xz, yy, yz and zz of the potential at a particle.
pub type Hessian = [f64; 6];

/// The capacity of an empty column for so many items behind each other, in parts of these lengths.
pub fn parts<'c, T>(column: &'c mut Vec<T>, counts: &[usize]) -> impl Iterator<Item = &'c mut [MaybeUninit<T>]> {
    let all: usize = counts.iter().sum();
    column.reserve_exact(all);
    let mut rest = &mut column.spare_capacity_mut()[..all];
    counts.iter().map(move |count| rest.split_off_mut(..*count).expect("there is room for all"))
}
