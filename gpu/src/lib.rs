//! CUDA GPUs: pairwise kernels, P2P, and whole FMMs in three and two dimensions.

pub mod backend;
pub mod cuda;
pub mod octree;
pub mod plane;
