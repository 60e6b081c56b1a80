//! What a run reports: the keys of `pairforge fmm2 --json` (docs/fmm2.md).

use super::error::Errors;
use super::{Kernel, Plan, Solution, Stage};
use crate::backends;
use crate::fmm::Precision;
use crate::fmm::stats::Pairs;
use serde::Serialize;

/// Wall-clock seconds of each stage; `tree` is the sum of `sort` (the mesh) and `connect` (the lists), `total` everything but the
/// error measure.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    pub tree: f64,
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

impl Stats {
    /// What some runs of a plan report, without errors: the seconds of all runs, with those of the plan once.
    pub fn of(plan: &Plan, solutions: &[Solution]) -> Stats {
        let options = &plan.options;
        let mut seconds = plan.seconds;
        for solution in solutions {
            let mut run = solution.seconds;
            for stage in Stage::FAR.into_iter().chain([Stage::P2p]) {
                *seconds.of(stage) += *run.of(stage);
            }
            seconds.total += run.total - plan.seconds.total;
        }
        let is_f32 = options.precision == Precision::F32 && plan.suits_f32();
        Stats {
            backend: backends::cpu::ENTRY.name.into(),
            kernel: if options.kernel == Kernel::Harmonic { "harmonic" } else { "log" },
            n: plan.mesh.sources.len(),
            targets: plan.mesh.is_apart().then(|| plan.mesh.targets().len()),
            order: options.order,
            theta: options.theta,
            leaf: options.leaf,
            precision: if is_f32 { "f32" } else { "f64" },
            levels: plan.mesh.levels + 1,
            seconds,
            pairs: plan.pairs,
            error: None,
        }
    }
}
