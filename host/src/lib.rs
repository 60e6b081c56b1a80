//! Using pipelines: particles, tree, interaction lists, the passes of the FMM, and the backends that P2P, M2L
//! and any other pairwise kernel run on.
//!
//! The central types are [`backend::Job`] (targets, sources, and for each target group the segments of sources
//! that act on it) and [`backend::Backend`], which turns a job into results and flags.

pub mod backend;
