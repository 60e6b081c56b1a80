//! The runs on ranks that split an error by its causes, as one process makes them: with P2P in f64, and with all stages in f64.

use super::RankError;
use super::comm::Comm;
use super::prepare::Slice;
use super::solve::{collected, solve};
use crate::backends::{BackendOptions, cpu};
use crate::data::particles::Field;
use crate::fmm::budget::{Fields, has_own_meaning};
use crate::fmm::executor::{Executor, Progress, Stage, State, Work};
use crate::fmm::offload::Pipelines;
use crate::fmm::{FmmError, FmmOptions, Plan, Precision};
use pg2::graph::Graph;

/// The stages of an executor besides P2P.
struct Far<'a>(&'a mut dyn Executor);

impl Executor for Far<'_> {
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

/// The results with formats taken away from the run of a slice with one set of charges; on the first rank, for all targets. `p2p` is
/// the kernel of P2P, if one runs it.
pub fn fields(
    comm: &dyn Comm,
    slice: &Slice,
    p2p: Option<&Graph>,
    executors: &mut [&mut dyn Executor],
) -> Result<Option<Fields>, RankError> {
    let mut backend = (cpu::ENTRY.open)(&BackendOptions::default());
    let graph = p2p.filter(|graph| has_own_meaning(graph, slice.options));
    let mut meaning = graph.map(|graph| Pipelines::new(&mut *backend, graph, None));
    let without_p2p = {
        let far = executors.iter_mut().filter(|e| Stage::FAR.iter().any(|stage| e.takes(*stage)));
        let mut far: Vec<Far> = far.map(|e| Far(&mut **e)).collect();
        let mut all: Vec<&mut dyn Executor> = meaning.iter_mut().map(|m| m as &mut dyn Executor).collect();
        all.extend(far.iter_mut().map(|e| e as &mut dyn Executor));
        one(comm, &Slice { p2p: Precision::F64, ..slice.with(slice.options) }, &mut all)?
    };
    let options = FmmOptions { precision: Precision::F64, ..slice.options.clone() };
    let mut all: Vec<&mut dyn Executor> = meaning.iter_mut().map(|m| m as &mut dyn Executor).collect();
    let in_f64 = one(comm, &slice.with(&options), &mut all)?;
    Ok(without_p2p.zip(in_f64).map(|(without_p2p, in_f64)| Fields { without_p2p, in_f64 }))
}

/// A run of all ranks; the first one gets the results.
fn one(comm: &dyn Comm, slice: &Slice, executors: &mut [&mut dyn Executor]) -> Result<Option<Field>, RankError> {
    let answer = solve(comm, slice, executors)?;
    Ok(collected(comm, &answer.fields)?.and_then(|mut fields| fields.pop()))
}
