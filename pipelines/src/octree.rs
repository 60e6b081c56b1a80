//! P2P and M2L in three dimensions by kernels: which pins take what, the semantics of a kernel, and the executor on a backend.

pub mod bind;
pub mod calibrate;
pub mod function;
pub mod kernel;
pub mod offload;
