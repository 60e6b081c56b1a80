//! What an FMM run reports: the keys of `pairforge fmm --json` (docs/fmm.md).

use super::budget::Budget;
use super::executor::Stage;
use crate::direct::error::Errors;
use crate::job::Words;
use serde::Serialize;

/// Wall-clock seconds of each stage; `tree` includes the lists, `total` everything but the error measure.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    pub tree: f64,
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
    /// Adds the seconds of the stages.
    pub fn add(&mut self, other: &Seconds) {
        let mut other = *other;
        for stage in Stage::FAR.into_iter().chain([Stage::P2p]) {
            *self.of(stage) += *other.of(stage);
        }
    }

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

/// Interactions: particle pairs (a target's own place in its list included), accepted cell pairs, and particles times
/// cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Pairs {
    pub p2p: u64,
    pub m2l: u64,
    pub m2p: u64,
    pub p2l: u64,
}

/// Where P2P ran on a device beside the far field on the CPU: how long the one that was done first waited for the other.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Waited {
    pub cpu: f64,
    pub device: f64,
}

/// Where a card ran all stages: seconds of sending particles, of all stages on the card, and of fetching results.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct OnCard {
    pub sent: f64,
    pub computed: f64,
    pub fetched: f64,
}

/// One number for each of the two kernels.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct PerKernel<T> {
    pub p2p: T,
    pub m2l: T,
}

/// Where a leaf size comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeafBy {
    /// It was asked for.
    #[default]
    Given,
    /// The model of costs, with its built-in constants or those that were measured on this machine.
    BuiltInCosts,
    MeasuredCosts,
}

/// What errors are measured by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reference {
    #[default]
    DirectSummation,
    /// With periodic boundaries.
    EwaldSums,
    /// Direct summation of what a kernel means.
    KernelSums,
}

/// The whole report.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stats {
    pub backend: String,
    pub n: usize,
    /// The number of targets, where these are not the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<usize>,
    pub order: usize,
    /// The square of the offset beyond which M2L took the order below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_beyond: Option<f64>,
    pub theta: f64,
    pub leaf: usize,
    /// The edge of the root cell in edges of the particles' box, where it is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enlarge: Option<f64>,
    /// Where the leaf size comes from.
    pub leaf_by: LeafBy,
    /// Levels of the tree, the root's included.
    pub levels: usize,
    pub seconds: Seconds,
    pub waited: Option<Waited>,
    pub on_card: Option<OnCard>,
    pub pairs: Pairs,
    /// Pairs that went through the kernels; for M2L masked near pairs are included.
    pub streamed: PerKernel<u64>,
    /// Targets that were computed again on the CPU in wider arithmetic: their kernel raised a flag, or they have a partner
    /// among the close pairs.
    pub recomputed: u64,
    /// Pairs of particles at different places that are too close for the arithmetic of P2P.
    pub close_pairs: u64,
    /// Particles that share their integer coordinates with one at another place, so that a kernel takes them for
    /// coincident; such pairs are among the close ones.
    pub shared_grid_points: u64,
    pub cycles: PerKernel<Option<u64>>,
    pub utilisation: PerKernel<Option<f64>>,
    pub words: Words,
    /// Names of the sticky flags that any run returned.
    pub flags: Vec<&'static str>,
    /// The order of the expansion of softened 1/r, where the far field is that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softened: Option<usize>,
    pub error: Option<Errors>,
    #[serde(skip)]
    pub reference: Reference,
    /// The same for each further set of charges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_errors: Vec<Errors>,
    pub budget: Option<Budget>,
    /// Why a card left all stages but P2P to the CPU, where it was not asked to.
    #[serde(skip)]
    pub left_to_cpu: Option<String>,
    /// Whether P2P gave a gradient.
    #[serde(skip)]
    pub has_gradient: bool,
}

impl Stats {
    /// The same with the errors of all sets of charges.
    pub fn with_errors(self, errors: Vec<Errors>) -> Stats {
        let mut errors = errors.into_iter();
        Stats { error: errors.next(), more_errors: errors.collect(), ..self }
    }
}
