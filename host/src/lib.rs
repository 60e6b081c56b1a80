//! Using pipelines: particles, tree, interaction lists, the passes of the FMM, and the backends that P2P, M2L
//! and any other pairwise kernel run on.
//!
//! An FMM goes through it like this: [`data::particles::Particles`] become a [`tree::Tree`] with [`tree::lists::Lists`]
//! in [`fmm::Plan::new`]; [`fmm::Plan::run`] then reads as the algorithm does in the papers. What a stage of the far field
//! computes is an operator of an [expansion](expansion::Expansion). Where it runs is an [executor](fmm::executor::Executor):
//! P2P and M2L by kernels on a backend ([`fmm::offload`]), or anything on the CPU, where P2P is [`direct::p2p`].
//! [`direct::summation`] is the reference that [`direct::error`] measures against.
//!
//! The central types are [`job::Job`] (targets, sources, and for each target group the segments of sources that act on
//! it) and [`job::Backend`], which turns a job into results and flags.

pub mod arith;
pub mod backends;
pub mod cells;
pub mod cuda;
pub mod data;
pub mod direct;
pub mod driver;
pub mod expansion;
pub mod fmm;
pub mod job;
mod parallel;
pub mod plane;
pub mod predict;
pub mod ranks;
pub mod tree;
