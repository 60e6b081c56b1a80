//! The report of a run: the keys of `pairforge fmm --json` and `pairforge fmm2 --json` (docs/reference/json.md).

pub use crate::stages::rounding::RoundedTerms;
pub use crate::stages::{Seconds, Span, Waited};

use super::Coincident;
use super::budget::Budget;
use crate::direct::error::Errors;
use crate::direct::error::by_target::ByTarget;
use crate::stages::{CPU, Words, Work, flag_names};
use serde::Serialize;

/// Interactions: particle pairs (a target's own place in its list included), accepted cell pairs, and particles times
/// cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Pairs {
    pub p2p: u64,
    pub m2l: u64,
    pub m2p: u64,
    pub p2l: u64,
}

impl Pairs {
    pub fn plus(self, other: Pairs) -> Pairs {
        Pairs {
            p2p: self.p2p + other.p2p,
            m2l: self.m2l + other.m2l,
            m2p: self.m2p + other.m2p,
            p2l: self.p2l + other.p2l,
        }
    }
}

/// A level of the tree: its cells, the particles of its leaves, and the interactions whose targets are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Level {
    pub cells: u64,
    pub leaves: u64,
    /// Sources in the leaves.
    pub particles: u64,
    #[serde(flatten)]
    pub pairs: Pairs,
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

/// Errors of results, as the method in space or in the plane measures them.
pub trait Measured {
    const IN_SPACE: bool;
}

impl Measured for Errors {
    const IN_SPACE: bool = true;
}

fn is_in_space<E: Measured, T>(_: &T) -> bool {
    E::IN_SPACE
}

fn is_in_plane<E: Measured, T>(_: &T) -> bool {
    !E::IN_SPACE
}

/// The whole report, with the errors of one of the two methods: keys that it has not are left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Stats<E: Measured = Errors> {
    pub backend: String,
    #[serde(skip_serializing_if = "is_in_space::<E, _>")]
    pub kernel: &'static str,
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
    #[serde(skip_serializing_if = "is_in_space::<E, _>")]
    pub precision: &'static str,
    /// Where the leaf size comes from.
    #[serde(skip_serializing_if = "is_in_plane::<E, _>")]
    pub leaf_by: LeafBy,
    /// Levels of the tree or mesh, the root's included.
    pub levels: usize,
    pub seconds: Seconds,
    /// Time and place of each stage. Empty where ranks have clocks of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timeline: Vec<Span>,
    pub waited: Option<Waited>,
    #[serde(rename = "on_card", skip_serializing_if = "is_in_plane::<E, _>")]
    pub on_gpu: Option<OnGpu>,
    pub pairs: Pairs,
    /// The tree and its pairs level by level, the root first; empty where the CPU has no lists of all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_level: Vec<Level>,
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
    pub error: Option<E>,
    /// The spread of the errors of the first set of charges over targets, where `--check` compares some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_by_target: Option<ByTarget>,
    #[serde(skip)]
    pub reference: Reference,
    /// The same for each further set of charges.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_errors: Vec<E>,
    #[serde(skip_serializing_if = "is_in_plane::<E, _>")]
    pub budget: Option<Budget>,
    /// Why a GPU left all stages but P2P to the CPU, where it was not asked to.
    #[serde(skip)]
    pub left_to_cpu: Option<String>,
    /// Whether P2P gave a gradient.
    #[serde(skip)]
    pub has_gradient: bool,
}

impl<E: Measured> Stats<E> {
    /// The same with the errors of all sets of charges.
    pub fn with_errors(self, errors: Vec<E>) -> Stats<E> {
        let mut errors = errors.into_iter();
        Stats { error: errors.next(), more_errors: errors.collect(), ..self }
    }
}

impl<E: Measured + Default> Stats<E> {
    /// The keys that tell of the work of all stages; `backend` is who ran P2P, if it was not the CPU.
    pub fn of_work(backend: Option<&str>, p2p: &Work, m2l: &Work) -> Stats<E> {
        let words = |pick: fn(&Words) -> u64| pick(&p2p.words) + pick(&m2l.words);
        Stats {
            backend: backend.unwrap_or(CPU).to_string(),
            streamed: PerKernel { p2p: p2p.streamed, m2l: m2l.streamed },
            recomputed: p2p.recomputed + m2l.recomputed,
            close_pairs: p2p.close,
            shared_grid_points: p2p.shared,
            cycles: PerKernel { p2p: p2p.cycles, m2l: m2l.cycles },
            utilisation: PerKernel { p2p: p2p.utilisation(), m2l: m2l.utilisation() },
            words: Words { j: words(|w| w.j), i: words(|w| w.i), result: words(|w| w.result) },
            flags: flag_names(p2p.flags | m2l.flags),
            coincident: p2p.coincident,
            has_gradient: p2p.has_gradient,
            ..Stats::default()
        }
    }
}
