//! The runs on ranks that split an error by its causes, as one process makes them: with P2P in f64, and with all stages in f64.

use super::RankError;
use super::comm::Comm;
use super::prepare::Slice;
use super::solve::{collected, solve};
use fmm::data::particles::Field;
use fmm::octree::budget::{Fields, is_direct};
use fmm::octree::executor::{Executor, Progress, Stage, State, Work};
use fmm::octree::kernel::Kernel;
use fmm::octree::{FmmError, Plan, Precision};

/// The stages of an executor besides P2P.
struct Far<'a>(&'a mut dyn Executor<Plan>);

impl Executor<Plan> for Far<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn takes(&self, stage: Stage) -> bool {
        stage != Stage::P2p && self.0.takes(stage)
    }

    fn is_device(&self) -> bool {
        self.0.is_device()
    }

    fn bind(&mut self, plan: &Plan) -> Result<(), FmmError> {
        self.0.bind(plan)
    }

    fn extremes(&self, stage: Stage, state: &State) -> Vec<f64> {
        self.0.extremes(stage, state)
    }

    fn suits(&self, stage: Stage, state: &State, extremes: &[f64]) -> bool {
        self.0.suits(stage, state, extremes)
    }

    fn run(
        &mut self,
        stage: Stage,
        state: &mut State,
        extremes: &[f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        self.0.run(stage, state, extremes, progress)
    }
}

/// The results with formats taken away from the run of a slice, for the first of its sets of charges; on the first rank, for all
/// targets. `p2p` is the kernel of P2P, if one runs it.
pub fn fields(
    comm: &dyn Comm,
    slice: &Slice,
    p2p: Option<&dyn Kernel>,
    executors: &mut [&mut dyn Executor<Plan>],
) -> Result<Option<Fields>, RankError> {
    let by_kernel = p2p.filter(|_| !executors.iter().all(|e| e.is_native()));
    let mut on_grid = by_kernel.map(|kernel| kernel.on_grid());
    let kernel = p2p.filter(|kernel| !kernel.is_coulomb(slice.options));
    let mut of_kernel = kernel.map(|kernel| kernel.in_f64());
    let far = executors.iter_mut().filter(|e| Stage::FAR.iter().any(|stage| e.takes(*stage)));
    let mut far: Vec<Far> = far.map(|e| Far(&mut **e)).collect();
    let in_f64 = Slice { p2p: Precision::F64, ..slice.with(slice.options) };
    let on_grid = match &mut on_grid {
        Some(p2p) => one(comm, &in_f64, &mut before(Some(p2p), &mut far))?.map(|of| of.0),
        None => None,
    };
    let without_p2p = one(comm, &in_f64, &mut before(of_kernel.as_mut(), &mut far))?;
    let options = slice.options.in_f64();
    let in_f64 = one(comm, &slice.with(&options), &mut before(of_kernel.as_mut(), &mut []))?;
    let Some(((without_p2p, is_direct), (in_f64, _))) = without_p2p.zip(in_f64) else { return Ok(None) };
    Ok(Some(Fields { on_grid, without_p2p, in_f64, is_direct }))
}

/// P2P by a kernel, if by one, and the other stages as before.
fn before<'e>(
    p2p: Option<&'e mut Box<dyn Executor<Plan> + '_>>,
    far: &'e mut [Far],
) -> Vec<&'e mut dyn Executor<Plan>> {
    let p2p = p2p.map(|p| &mut **p as &mut dyn Executor<Plan>);
    p2p.into_iter().chain(far.iter_mut().map(|e| e as &mut dyn Executor<Plan>)).collect()
}

/// A run of all ranks; the first one gets the results of the first set of charges, and whether all pairs were summed directly.
fn one(
    comm: &dyn Comm,
    slice: &Slice,
    executors: &mut [&mut dyn Executor<Plan>],
) -> Result<Option<(Field, bool)>, RankError> {
    let answer = solve(comm, slice, executors)?;
    let is_direct = is_direct(slice.options, &answer.stats.pairs);
    let mut fields = collected(comm, &answer.fields)?.unwrap_or_default();
    Ok((!fields.is_empty()).then(|| (fields.swap_remove(0), is_direct)))
}
