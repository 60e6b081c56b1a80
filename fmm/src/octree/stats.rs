//! The report of an FMM run: the keys of `pairforge fmm --json` (docs/reference/json.md).

use super::Coincident;
use super::budget::Budget;
use super::executor::{Stage, Words};
use crate::direct::error::Errors;
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

/// Where a GPU ran all stages: seconds of sending particles, of all stages on the GPU, and of fetching results.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct OnGpu {
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

/// The reference by which errors are measured.
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

/// By how much of themselves results of a run are off at some targets, since the terms of their near field were rounded to the steps of
/// the outputs' formats: sums of magnitudes over all of these targets.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct RoundedTerms {
    pub targets: u64,
    pub potential: f64,
    pub gradient: f64,
}

/// Part that may well be lost so.
const ROUNDED: f64 = 1e-5;

impl RoundedTerms {
    /// Sentence that tells of it, with the remedy.
    pub fn sentence(&self) -> String {
        let (what, pin, part) = match self.potential >= self.gradient {
            true => ("potential", "pout", self.potential),
            false => ("gradient", "gout", self.gradient),
        };
        let bits = (part / ROUNDED).log2().ceil().max(1.0);
        format!(
            "rounding the terms of the near field to the steps of `{pin}` takes {part:.1e} of the {what} (at {} targets), since terms are as \
             small as the format's steps: give `{pin}` at least {bits} fraction bits more, or take --backend cpu, where sums of kernels are f64",
            self.targets
        )
    }
}

/// The part of potentials and gradients at some targets that pairs in cells have which are not near each other, where these pairs are left
/// out: sums of magnitudes over all of these targets. On ranks no targets are looked at, and the parts are 1.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LeftOut {
    pub targets: u64,
    pub potential: f64,
    pub gradient: f64,
    /// The edge of the smallest cells, in the user's units.
    pub cell: f64,
}

impl LeftOut {
    /// Sentence that tells of it, with the remedy.
    pub fn sentence(&self) -> String {
        let amount = match self.targets {
            0 => "something (how much is not known on ranks of a kernel in this form)".to_string(),
            targets => format!(
                "{:.1e} of the potential and {:.1e} of the gradient (at {targets} targets)",
                self.potential, self.gradient
            ),
        };
        format!(
            "--near-only leaves out {amount}: the kernel is not 0 between cells that do not touch, of which the smallest are {:.3e} wide; give \
             a larger --leaf, so that cells are as wide as the kernel's cut-off, or a smaller --theta, or leave --near-only out",
            self.cell
        )
    }
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
    pub on_card: Option<OnGpu>,
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
    /// Where a P2P kernel is not 0 at distance 0, whether such pairs acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coincident: Option<Coincident>,
    /// Part that `--near-only` leaves out, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Rounding of a kernel's near field to the steps of its outputs, where it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounding: Option<RoundedTerms>,
    pub error: Option<Errors>,
    #[serde(skip)]
    pub reference: Reference,
    /// The same for each further set of charges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_errors: Vec<Errors>,
    pub budget: Option<Budget>,
    /// Why a GPU left all stages but P2P to the CPU, where it was not asked to.
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
