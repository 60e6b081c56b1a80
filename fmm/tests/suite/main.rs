//! Tests of what the crate offers to others: one module a subject.

extern crate pairforge_fmm as fmm;

mod charges;
mod chebyshev_images;
mod chebyshev_points;
mod close;
mod dense;
mod error;
mod ewald;
mod hermite;
mod images;
mod input;
mod judge;
mod lists;
mod npy;
mod p2p;
mod p2p_alone;
mod p2p_mutual;
mod p2p_sums;
mod p2p_tasks;
mod parallel;
mod particles;
mod plane;
mod plane_data;
mod scales;
mod softening;
mod solid;
mod sort;
mod summation;
mod text;
mod tree;
mod tune;
mod waves;
