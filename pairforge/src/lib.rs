//! Pairwise kernels in pipelined Verilog, and the Fast Multipole Method with them.
//!
//! [`fmm`] is the method on the CPU; [`pipelines`] runs its P2P and M2L, and any pairwise kernel, by compiled kernels on
//! [`backends`]; [`gpu`] is the same on CUDA; [`ranks`] shares a problem out among processes.

pub mod backends;

pub use fmm;
pub use gpu;
pub use pipelines;
pub use ranks;
