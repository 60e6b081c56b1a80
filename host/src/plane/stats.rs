//! What a run reports: the keys of `pairforge fmm2 --json` (docs/fmm2.md).

use super::Stage;
use super::error::Errors;
use crate::fmm::stats::Pairs;
use serde::Serialize;

/// Wall-clock seconds of each stage; `tree` is the sum of `sort` (the mesh) and `connect` (the lists), `total` everything but the
/// error measure.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    pub sort: f64,
    pub connect: f64,
    pub p2m: f64,
    pub m2m: f64,
    pub m2l: f64,
    pub l2l: f64,
    pub l2p: f64,
    pub p2p: f64,
    pub m2p: f64,
    pub p2l: f64,
    pub total: f64,
}

impl Seconds {
    /// The seconds of one stage.
    pub fn of(&mut self, stage: Stage) -> &mut f64 {
        match stage {
            Stage::P2m => &mut self.p2m,
            Stage::M2m => &mut self.m2m,
            Stage::M2l => &mut self.m2l,
            Stage::P2l => &mut self.p2l,
            Stage::L2l => &mut self.l2l,
            Stage::L2p => &mut self.l2p,
            Stage::M2p => &mut self.m2p,
            Stage::P2p => &mut self.p2p,
        }
    }
}

/// The whole report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    pub backend: String,
    pub kernel: &'static str,
    pub n: usize,
    /// The number of targets, where these are not the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<usize>,
    pub order: usize,
    pub theta: f64,
    pub leaf: usize,
    pub precision: &'static str,
    /// Levels of the mesh, the root's included.
    pub levels: usize,
    pub seconds: Seconds,
    pub pairs: Pairs,
    pub error: Option<Errors>,
}
