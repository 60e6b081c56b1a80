//! The kernels of an FMM on pipelines.

use crate::failure::Failure;
use pairforge::fmm::kernels;
use pg2::graph::Graph;

pub use pairforge::fmm::kernels::Kernels;

/// The M2L kernel of an order.
pub fn generated(order: usize) -> Result<Graph, Failure> {
    Ok(kernels::generated(order)?)
}
