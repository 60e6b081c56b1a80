//! Using pipelines: particles, tree, interaction lists, the passes of the FMM, and the backends that P2P, M2L
//! and any other pairwise kernel run on.
//!
//! An FMM goes through it like this: [`particles::Particles`] become a [`tree::Tree`] with [`lists::Lists`] in
//! [`fmm::Fmm::plan`]; [`fmm::Fmm::run`] then reads as the algorithm does in the papers, its CPU stages in [`passes`],
//! P2P and M2L natively ([`p2p_native`], [`m2l_native`]) or by kernels on a backend ([`kernels`]). [`direct`] is the
//! reference that [`error`](mod@error) measures against.
//!
//! The central types are [`backend::Job`] (targets, sources, and for each target group the segments of sources
//! that act on it) and [`backend::Backend`], which turns a job into results and flags.

pub mod backend;
pub mod backends;
pub mod bind;
pub mod boxmap;
pub mod calibrate;
pub mod cells;
pub mod close;
pub mod direct;
pub mod driver;
pub mod encode;
pub mod error;
pub mod expansion;
pub mod fmm;
pub mod kernels;
mod lanes;
pub mod lists;
pub mod m2l_native;
pub mod npy;
pub mod p2p_native;
pub mod particles;
pub mod passes;
pub mod predict;
pub mod random;
pub mod stats;
pub mod tree;
pub mod wide;
