//! Particles, their files, and random ones.

pub mod input;
pub mod npy;
pub mod particles;
pub mod periodic;
pub mod plane;
pub mod problem;
pub mod random;

use rayon::prelude::*;
use std::mem::MaybeUninit;

/// Potential and gradient at a particle.
pub type Force = [f64; 4];

/// The second derivatives xx, xy, xz, yy, yz and zz of the potential at a particle.
pub type Hessian = [f64; 6];

/// So many times one value, written by all threads where there are many: memory that is used again has to be cleared, for which one
/// thread takes longer than all do for much of what follows.
pub(crate) fn filled<T: Copy + Send + Sync>(count: usize, value: T) -> Vec<T> {
    /// Bytes of a task.
    const TASK: usize = 1 << 18;
    let items = (TASK / size_of::<T>().max(1)).max(1);
    match count > items {
        true => rayon::iter::repeat_n(value, count).with_min_len(items).collect(),
        false => vec![value; count],
    }
}

/// Room for so many items behind each other in an empty column, in parts of these lengths.
pub(crate) fn parts<'c, T>(column: &'c mut Vec<T>, counts: &[usize]) -> impl Iterator<Item = &'c mut [MaybeUninit<T>]> {
    let all: usize = counts.iter().sum();
    column.reserve_exact(all);
    let mut rest = &mut column.spare_capacity_mut()[..all];
    counts.iter().map(move |count| rest.split_off_mut(..*count).expect("there is room for all"))
}
