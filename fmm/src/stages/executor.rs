//! The stages of an FMM, and who runs them: the CPU, or an executor that takes some of them.

use super::{FmmError, ProbeSums, Probes, Problem, State, Work};
use crate::data::problem::Geometry;

/// The CPU's name among backends.
pub const CPU: &str = "cpu";

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
pub trait Executor<P: Problem> {
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
    fn bind(&mut self, plan: &P) -> Result<(), FmmError>;

    /// Numbers that decide how it computes a stage. A problem may be cut into parts that run apart: of each number the largest
    /// of all parts counts, so that the parts compute what the whole would.
    fn extremes(&self, _stage: Stage, _state: &State<P>) -> Vec<f64> {
        Vec::new()
    }

    /// Whether its arithmetic suits a stage that it takes, given the extremes of all parts; else native code runs it.
    fn suits(&self, _stage: Stage, _state: &State<P>, _extremes: &[f64]) -> bool {
        true
    }

    /// Runs a stage that it takes, for the plan that it is bound to and the extremes of all parts: all but what [`Problem::rest`] adds,
    /// which of M2L are images farther away than those of the lists.
    fn run(
        &mut self,
        stage: Stage,
        state: &mut State<P>,
        extremes: &[f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError>;

    /// Sums of P2P over own and near sources in a part of a problem, by which it is known what P2P alone leaves out; `None` where they are not
    /// known without the targets of other parts.
    fn probe(&self, _state: &State<P>, _probes: &Probes) -> Option<ProbeSums> {
        None
    }
}

/// Runs all stages of a problem of `D` dimensions, tree or mesh and lists included, on devices beside which the CPU does nothing.
///
/// It is no [`Executor`], whose stages meet in a [`State`] of the CPU: what makes such a run fast is that lists and sums never are there,
/// that in space no list exists at all, and that streams hold one stage behind the other without the CPU. On an H200, 1e6 uniform
/// particles take 1.9 ms on the GPU and 5.7 ms in all, with copies and checks. With P2P on the GPU and all else in the CPU's stages they
/// take 26 ms where the plan is kept and 51 ms where it is not, of which P2P's kernel is 0.8 ms (docs/results/gpu.md, "FMM, direct summation
/// and CPU"): tree, lists, the far field on the CPU and copies of sums are what costs.
pub trait AllStages<const D: usize> {
    /// A set of charges in the user's order and units.
    type Charges<'a>;
    type Options;
    type Results;

    /// The results for each set of charges, or why the problem is for the CPU and its executors. A leaf has at most as many particles in
    /// the mean as options say.
    fn solve(
        &mut self,
        geometry: Geometry<D>,
        sets: &[Self::Charges<'_>],
        options: &Self::Options,
    ) -> Result<Result<Self::Results, String>, FmmError>;
}

/// Communication of the parts of a problem that run apart.
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
