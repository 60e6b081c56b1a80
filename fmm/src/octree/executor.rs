//! The stages of an FMM, and who runs them: the CPU, or an executor that takes some of them.

use super::left_out::{Asked, Sums};
use super::rounding::{Rounded, Rounding};
use super::{Coincident, FmmError, Plan};
use crate::arith::lanes::Real;
use crate::arith::wide::WideValues;
use crate::data::{Force, Hessian};
use crate::expansion::Expansion;
use crate::parallel::prelude::*;
use crate::tree::charges::Charges;

/// A stage of the FMM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    P2m,
    M2m,
    M2l,
    P2l,
    L2l,
    L2p,
    M2p,
    P2p,
}

impl Stage {
    /// The stages of the far field in the order of the algorithm.
    pub const FAR: [Stage; 7] = [Stage::P2m, Stage::M2m, Stage::M2l, Stage::P2l, Stage::L2l, Stage::L2p, Stage::M2p];

    /// As the papers have it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::P2m => "P2M",
            Stage::M2m => "M2M",
            Stage::M2l => "M2L",
            Stage::P2l => "P2L",
            Stage::L2l => "L2L",
            Stage::L2p => "L2P",
            Stage::M2p => "M2P",
            Stage::P2p => "P2P",
        }
    }
}

/// The progress of a stage: its name, what is done, and all there is; 0 and 0 where the CPU runs it, which does not count.
pub type Progress<'a> = dyn FnMut(&'static str, usize, usize) + 'a;

/// Runs some stages of an FMM. What nobody takes runs on the CPU.
pub trait Executor {
    fn name(&self) -> &str;

    /// Whether it runs this stage.
    fn takes(&self, stage: Stage) -> bool;

    /// Whether its stages leave the CPU free.
    fn is_device(&self) -> bool {
        false
    }

    /// Whether it computes in the precision that the plan names, as native code does, and not in formats of its own.
    fn is_native(&self) -> bool {
        false
    }

    /// Whether it computes a kernel by its real-arithmetic semantics, and not in the kernel's formats.
    fn is_real(&self) -> bool {
        false
    }

    /// Finds everything that can be wrong with this executor for a plan. It is called before the first stage runs.
    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError>;

    /// Numbers that decide how it computes a stage. A problem may be cut into parts that run apart: of each number the largest
    /// of all parts counts, so that the parts compute what the whole would.
    fn extremes(&self, _stage: Stage, _state: &State) -> Vec<f64> {
        Vec::new()
    }

    /// Whether its arithmetic suits a stage that it takes, given the extremes of all parts; else native code runs it.
    fn suits(&self, _stage: Stage, _state: &State, _extremes: &[f64]) -> bool {
        true
    }

    /// Runs a stage that it takes, for the plan that it is bound to and the extremes of all parts. M2L is that of the lists: what
    /// images farther away give is added by the CPU.
    fn run(
        &mut self,
        stage: Stage,
        state: &mut State,
        extremes: &[f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError>;

    /// Sums of P2P over own and near sources in a part of a problem, by which it is known what P2P alone leaves out; `None` where they are not
    /// known without the targets of other parts.
    fn sums(&self, _state: &State, _asked: &Asked) -> Option<Sums> {
        None
    }
}

/// How the parts of a problem that run apart tell each other of it.
pub trait Parts {
    /// Of each number the largest of all parts, which have as many.
    fn largest(&self, own: Vec<f64>) -> Result<Vec<f64>, FmmError>;

    /// Returns the work of this part, if no part failed; else the failure of one.
    fn agree(&self, own: Result<Vec<Work>, FmmError>) -> Result<Vec<Work>, FmmError>;
}

/// The only part of a problem.
pub struct SinglePart;

impl Parts for SinglePart {
    fn largest(&self, own: Vec<f64>) -> Result<Vec<f64>, FmmError> {
        Ok(own)
    }

    fn agree(&self, own: Result<Vec<Work>, FmmError>) -> Result<Vec<Work>, FmmError> {
        own
    }
}

/// The data that the stages of a run work on.
pub struct State<'a> {
    pub plan: &'a Plan,
    pub charges: &'a Charges,
    pub expansions: Expansions,
    /// Potential and gradient of each sorted target, in box units.
    pub force: Vec<Force>,
    /// The Hessian at each of them; empty where nobody asked for it.
    pub hessian: Vec<Hessian>,
}

impl<'a> State<'a> {
    /// Nothing computed yet; memory for the far field in f32 or f64.
    pub fn new(plan: &'a Plan, charges: &'a Charges, is_f32: bool) -> State<'a> {
        let cells = plan.tree.cells.len();
        let expansions = match is_f32 {
            true => Expansions::F32(Coefficients::zeros(cells, plan.operators_f32())),
            false => Expansions::F64(Coefficients::zeros(cells, plan.operators_f64())),
        };
        State { plan, charges, expansions, force: vec![[0.0; 4]; plan.tree.targets().len()], hessian: Vec::new() }
    }

    /// The same without memory for the far field.
    pub fn near(plan: &'a Plan, charges: &'a Charges) -> State<'a> {
        let expansions = Expansions::F64(Coefficients { m: Vec::new(), l: Vec::new() });
        State { plan, charges, expansions, force: vec![[0.0; 4]; plan.tree.targets().len()], hessian: Vec::new() }
    }

    /// Adds what another one has computed.
    pub fn add(&mut self, other: &State) {
        self.force.par_iter_mut().zip(&other.force).for_each(|(f, g)| (0..4).for_each(|a| f[a] += g[a]));
    }
}

/// The expansions of all cells. They are f64 where an executor takes a stage of the far field.
pub enum Expansions {
    F32(Coefficients<f32>),
    F64(Coefficients<f64>),
}

/// One expansion a cell, in the order of the tree.
pub struct Coefficients<T> {
    pub m: Vec<T>,
    pub l: Vec<T>,
}

impl<T: Real> Coefficients<T> {
    pub(super) fn zeros(cells: usize, e: &dyn Expansion<T>) -> Coefficients<T> {
        let zeros = |terms: usize| vec![T::default(); cells * terms];
        Coefficients { m: zeros(e.multipole_terms()), l: zeros(e.local_terms()) }
    }
}

/// 32-bit words of records over the link to an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Words {
    pub j: u64,
    pub i: u64,
    pub result: u64,
}

/// Why a backend could not run a job.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A tool or a device is missing or failed; the text names it and how to get it.
    #[error("{0}")]
    Tool(String),
    /// The job does not fit what the backend can do.
    #[error("{0}")]
    Unsupported(String),
}

/// The CPU's name among backends.
pub const CPU: &str = "cpu";

/// The sticky flags of results (RULES N6), in the order of the bits of [`Work::flags`].
pub const FLAGS: [&str; 5] = ["overflow", "underflow", "saturation", "invalid", "wrap"];

/// The names of the flags that are set.
pub fn flag_names(bits: u8) -> Vec<&'static str> {
    FLAGS.iter().enumerate().filter(|(k, _)| bits >> k & 1 == 1).map(|(_, name)| *name).collect()
}

/// The work done by one stage.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub streamed: u64,
    pub recomputed: u64,
    /// Pairs at different places that are too close for the arithmetic of P2P, each counted once for each of its targets.
    pub close: u64,
    /// Particles that share their integer coordinates with one at another place.
    pub shared: u64,
    /// Sorted targets whose direct sums are not among the others, in the user's units.
    pub wide: Vec<(usize, WideValues)>,
    /// Part that P2P alone leaves out of a kernel that is not 0 between cells that are not near, where it is known.
    pub left_out: Option<Rounding>,
    /// Where a kernel is not 0 at distance 0, whether such pairs acted.
    pub coincident: Option<Coincident>,
    /// Of some targets, by how much their near field is off since terms were rounded to the steps of outputs; and, once all stages are
    /// done, how that compares with their results.
    pub rounded: Vec<Rounded>,
    pub rounding: Rounding,
    /// Of all results, a bit for each of [`FLAGS`].
    pub flags: u8,
    pub cycles: Option<u64>,
    pub words: Words,
    pub pipelines: u32,
    /// Clocks from one pair to the next; 0 where there is no engine.
    pub ii: u32,
    pub has_gradient: bool,
}

impl Work {
    /// The work of a stage, summed over all sets of charges.
    pub fn sum(all: Vec<Work>) -> Work {
        let mut sum = Work::default();
        for work in all {
            sum.streamed = sum.streamed.saturating_add(work.streamed);
            sum.recomputed += work.recomputed;
            // Pairs of points are the same ones for each set.
            sum.close = sum.close.max(work.close);
            sum.shared = sum.shared.max(work.shared);
            sum.rounding = sum.rounding.join(work.rounding);
            sum.left_out = match (sum.left_out, work.left_out) {
                (Some(one), Some(other)) => Some(one.join(other)),
                (one, other) => one.or(other),
            };
            sum.coincident = sum.coincident.or(work.coincident);
            sum.flags |= work.flags;
            sum.cycles = sum.cycles.max(work.cycles.map(|cycles| cycles.saturating_add(sum.cycles.unwrap_or(0))));
            sum.words.j += work.words.j;
            sum.words.i += work.words.i;
            sum.words.result += work.words.result;
            sum.pipelines = work.pipelines;
            sum.ii = work.ii;
            sum.has_gradient |= work.has_gradient;
        }
        sum
    }

    /// Pairs over those that the pipelines could take in as many cycles.
    pub fn utilisation(&self) -> Option<f64> {
        let slots = self.cycles? as f64 * self.pipelines as f64;
        (slots > 0.0).then(|| self.streamed as f64 * self.ii.max(1) as f64 / slots)
    }
}
