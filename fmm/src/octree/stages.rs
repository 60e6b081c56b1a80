//! A run stage by stage: who runs each, and how long it took.

use super::executor::{Executor, Parts, Progress, Stage, State, Work};
use super::stats::{Seconds, Waited};
use super::{FmmError, native, overlap};
use std::time::Instant;

/// A run's executors and the time of its stages.
pub struct Stages<'a, 'e, 'p> {
    pub executors: &'a mut [&'e mut dyn Executor],
    /// The parts that run apart, of which this run is one.
    pub parts: &'a dyn Parts,
    pub seconds: Seconds,
    pub progress: &'a mut Progress<'p>,
}

impl<'e> Stages<'_, 'e, '_> {
    /// Runs one stage for all sets of charges, and notes its seconds.
    pub fn stage(&mut self, stage: Stage, states: &mut [State]) -> Result<Vec<Work>, FmmError> {
        states.iter().take(1).try_for_each(|state| state.plan.options.cancel.check())?;
        let start = Instant::now();
        let suited = self.suited(stage, states)?;
        let work = match self.executors.iter_mut().find(|e| e.takes(stage)) {
            Some(executor) => {
                let one = |(state, suited): (&mut State, &Option<Vec<f64>>)| match suited {
                    Some(extremes) => {
                        let work = executor.run(stage, state, extremes, self.progress)?;
                        if stage == Stage::M2l {
                            native::far_images(state);
                        }
                        Ok(work)
                    }
                    None => Ok(native::run(stage, std::slice::from_mut(state)).remove(0)),
                };
                self.parts.agree(states.iter_mut().zip(&suited).map(one).collect())?
            }
            None => {
                (self.progress)(stage.name(), 0, 0);
                native::run(stage, states)
            }
        };
        *self.seconds.of(stage) += start.elapsed().as_secs_f64();
        Ok(work)
    }

    /// For each set of charges the extremes of all parts, if an executor takes the stage and its arithmetic suits.
    pub fn suited(&self, stage: Stage, states: &[State]) -> Result<Vec<Option<Vec<f64>>>, FmmError> {
        let Some(executor) = self.executors.iter().find(|e| e.takes(stage)) else {
            return Ok(vec![None; states.len()]);
        };
        // All sets at once, so that the parts meet once a stage.
        let own: Vec<Vec<f64>> = states.iter().map(|state| executor.extremes(stage, state)).collect();
        let all = self.parts.largest(own.concat())?;
        let mut rest = &all[..];
        let one = |(state, own): (&State, &Vec<f64>)| {
            let (extremes, behind) = rest.split_at(own.len());
            rest = behind;
            executor.suits(stage, state, extremes).then(|| extremes.to_vec())
        };
        Ok(states.iter().zip(&own).map(one).collect())
    }

    /// Some stages of the far field, one after the other: what M2L did.
    pub fn far_field(&mut self, stages: &[Stage], states: &mut [State]) -> Result<Vec<Work>, FmmError> {
        let mut m2l = Vec::new();
        for stage in stages {
            let work = self.stage(*stage, states)?;
            if *stage == Stage::M2l {
                m2l = work;
            }
        }
        Ok(m2l)
    }

    /// Whether a device runs P2P, and the CPU all of some stages of the far field, so that both can run at the same time.
    pub fn has_two_sides(&self, far: &[Stage]) -> bool {
        self.is_native() && !far.is_empty() && self.taker(Stage::P2p).is_some_and(|e| e.is_device())
    }

    /// Runs both: what M2L and P2P did, and how long one waited for the other.
    pub fn both_sides(
        &mut self,
        far: &[Stage],
        states: &mut [State],
        near: &mut [State],
    ) -> Result<(Vec<Work>, Vec<Work>, Waited), FmmError> {
        states.iter().take(1).try_for_each(|state| state.plan.options.cancel.check())?;
        let both = overlap::both(|| native::far_field(far, states), || self.stage(Stage::P2p, near))?;
        self.seconds.add(&both.far.1);
        Ok((both.far.0, both.near, both.waited))
    }

    /// Whether the whole far field is the CPU's.
    pub fn is_native(&self) -> bool {
        Stage::FAR.iter().all(|stage| self.taker(*stage).is_none())
    }

    /// The executor of a stage, if it is not the CPU's.
    pub fn taker(&self, stage: Stage) -> Option<&(dyn Executor + 'e)> {
        self.executors.iter().find(|e| e.takes(stage)).map(|e| &**e)
    }
}
