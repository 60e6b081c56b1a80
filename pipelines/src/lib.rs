//! Pairwise kernels on backends, and as stages of an FMM.
//!
//! The central types are [`job::Job`] (targets, sources, and for each target group the segments of sources that act on it) and
//! [`job::Backend`], which turns a job into results and flags. [`driver`] turns a job into the packets of an engine. [`octree`] and
//! [`plane`] run P2P and M2L of an FMM by kernels on a backend.

pub mod backends;
pub mod cells;
pub mod driver;
pub mod encode;
pub mod job;
pub mod octree;
pub mod plane;
pub mod predict;
