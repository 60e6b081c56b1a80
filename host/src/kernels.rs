//! P2P and M2L by kernels on a backend: encode, run, decode, and compute flagged targets again (RULES H4 to H8).

use crate::backend::{Backend, Words};
use crate::fmm::{Fmm, FmmError, Progress};
use crate::passes::Force;
use hdl::Flags;
use pg2::graph::Graph;

/// What one stage did.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub streamed: u64,
    pub recomputed: u64,
    pub flags: Flags,
    pub cycles: Option<u64>,
    pub words: Words,
    pub pipelines: u32,
    pub has_gradient: bool,
}

impl Work {
    pub fn utilisation(&self) -> Option<f64> {
        let slots = self.cycles? as f64 * self.pipelines as f64;
        (slots > 0.0).then(|| self.streamed as f64 / slots)
    }
}

pub fn m2l(
    _: &Fmm,
    _: &mut dyn Backend,
    _: &Graph,
    _: &[f64],
    _: &mut [f64],
    _: &mut Progress,
) -> Result<Work, FmmError> {
    Err(crate::backend::BackendError::Unsupported("kernels cannot run in an FMM yet".into()).into())
}
pub fn p2p(_: &Fmm, _: &mut dyn Backend, _: &Graph, _: &mut [Force], _: &mut Progress) -> Result<Work, FmmError> {
    Err(crate::backend::BackendError::Unsupported("kernels cannot run in an FMM yet".into()).into())
}
