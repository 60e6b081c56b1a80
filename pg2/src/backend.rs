//! From a graph to what runs: a netlist, or CUDA C++.

pub mod build;
pub mod cuda;
pub mod filtered;
pub mod folded;
pub mod lower;
