//! P2P in two dimensions by kernels.

pub mod bind;
pub mod offload;
