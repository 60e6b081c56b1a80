//! The driver of the stages of an FMM, in space and in the plane: who runs each, what parts of a problem tell each other meanwhile, and
//! how long it took.
//!
//! A [`Problem`] is a plan with the memory of its runs ([`State`]) and its native stages. Each stage goes to the first [`Executor`] that
//! takes it, and else to the CPU. An executor has storage of its own, on a device or not, and adds what it gives to the state. Parts of a
//! problem that run apart, such as ranks, agree on the stage's numbers and failures by [`Parts`]. One sequence of stages serves the CPU,
//! kernels on backends, a GPU beside the CPU, and each rank:
//!
//! ```text
//! Stages::run ──> far field: P2M, M2M, M2L, P2L, L2L, L2P, M2P ─┐ one after the other, or at the same time
//!             └─> near field: P2P ──────────────────────────────┘ where a device has P2P and the CPU all else
//! ```
//!
//! A device that keeps all of a run in its own memory is the second driver, [`AllStages`].

mod cancel;
mod error;
mod executor;
pub mod overlap;
mod probe;
pub mod rounding;
mod seconds;
mod timeline;
mod work;

pub use cancel::Cancel;
pub use error::{BackendError, FmmError, KernelError};
pub use executor::{AllStages, CPU, Executor, Parts, Progress, SinglePart, Stage};
pub use probe::{ProbeSums, Probes};
pub use seconds::{Seconds, Waited};
pub use timeline::{Span, Timeline};
pub use work::{Coincident, FLAGS, Words, Work, flag_names};

use crate::clock::Instant;

/// A plan, whose stages run for some sets of charges.
pub trait Problem: Sync + Sized + 'static {
    /// A set of charges, sorted and scaled.
    type Charges: Sync;
    /// The sums at all sorted targets.
    type Sums: Send;

    /// Sums of nothing yet.
    fn sums(&self) -> Self::Sums;

    /// Adds other sums.
    fn add(to: &mut Self::Sums, other: &Self::Sums);

    /// Runs any stage on the CPU for some sets of charges.
    fn native(stage: Stage, states: &mut [State<Self>]) -> Vec<Work>;

    /// Runs what stays on the CPU of a stage that an executor has run.
    fn rest(_: Stage, _: &mut State<Self>) {}

    /// Fails if nobody waits for the run any longer.
    fn check(&self) -> Result<(), FmmError> {
        Ok(())
    }
}

/// The data that the stages of a run work on for a set of charges.
pub struct State<'a, P: Problem> {
    pub plan: &'a P,
    pub charges: &'a P::Charges,
    pub expansions: Expansions,
    pub sums: P::Sums,
}

impl<'a, P: Problem> State<'a, P> {
    /// Nothing computed yet.
    pub fn new(plan: &'a P, charges: &'a P::Charges, expansions: Expansions) -> State<'a, P> {
        State { plan, charges, expansions, sums: plan.sums() }
    }

    /// The same without memory for the far field.
    pub fn near(plan: &'a P, charges: &'a P::Charges) -> State<'a, P> {
        State::new(plan, charges, Expansions::F64(Coefficients::default()))
    }
}

/// The expansions of all cells or boxes.
pub enum Expansions {
    F32(Coefficients<f32>),
    F64(Coefficients<f64>),
}

/// One multipole and one local expansion a cell or box, in their order.
#[derive(Default)]
pub struct Coefficients<T> {
    pub m: Vec<T>,
    pub l: Vec<T>,
}

impl<T: Clone + Default> Coefficients<T> {
    /// So many numbers of multipole and of local expansions.
    pub fn zeros(m: usize, l: usize) -> Coefficients<T> {
        Coefficients { m: vec![T::default(); m], l: vec![T::default(); l] }
    }
}

/// A run's executors and the time of its stages.
pub struct Stages<'a, 'e, 'p, P: Problem> {
    pub executors: &'a mut [&'e mut dyn Executor<P>],
    /// The parts that run apart, of which this run is one.
    pub parts: &'a dyn Parts,
    pub seconds: Seconds,
    pub timeline: Timeline,
    pub progress: &'a mut Progress<'p>,
}

/// The work of M2L and of P2P for each set of charges, and, where both sides ran at the same time, how long one waited for the other.
pub struct Ran {
    pub m2l: Vec<Work>,
    pub p2p: Vec<Work>,
    pub waited: Option<Waited>,
}

impl<'e, P: Problem> Stages<'_, 'e, '_, P> {
    /// Runs some stages of the far field, and P2P. Sums get one term of P2P at last, so that their bits are the same whether both run at
    /// the same time or not.
    pub fn run(&mut self, far: &[Stage], states: &mut [State<P>]) -> Result<Ran, FmmError> {
        if !self.has_two_sides(far) {
            return Ok(Ran { m2l: self.far_field(far, states)?, p2p: self.stage(Stage::P2p, states)?, waited: None });
        }
        let mut near: Vec<State<P>> = states.iter().map(|state| State::near(state.plan, state.charges)).collect();
        let ran = self.run_apart(far, states, &mut near)?;
        states.iter_mut().zip(&near).for_each(|(state, near)| P::add(&mut state.sums, &near.sums));
        Ok(ran)
    }

    /// The same with other states for P2P, whose sums stay there; there may be none.
    pub fn run_apart(
        &mut self,
        far: &[Stage],
        states: &mut [State<P>],
        near: &mut [State<P>],
    ) -> Result<Ran, FmmError> {
        if near.is_empty() || !self.has_two_sides(far) {
            let m2l = self.far_field(far, states)?;
            let p2p = if near.is_empty() { Vec::new() } else { self.stage(Stage::P2p, near)? };
            return Ok(Ran { m2l, p2p, waited: None });
        }
        check(states)?;
        let mut beside = self.timeline.beside();
        let both = overlap::both(|| native_far_field(far, states, &mut beside), || self.stage(Stage::P2p, near))?;
        self.seconds.add(&both.far.1);
        self.timeline.spans.extend(beside.spans);
        Ok(Ran { m2l: both.far.0, p2p: both.near, waited: Some(both.waited) })
    }

    /// Runs one stage for all sets of charges, and notes its seconds.
    fn stage(&mut self, stage: Stage, states: &mut [State<P>]) -> Result<Vec<Work>, FmmError> {
        check(states)?;
        let start = Instant::now();
        let suited = self.suited(stage, states)?;
        let mut on = CPU.to_string();
        let work = match self.executors.iter_mut().find(|e| e.takes(stage)) {
            Some(executor) => {
                if suited.iter().any(Option::is_some) {
                    on = executor.name().to_string();
                }
                let one = |(state, suited): (&mut State<P>, &Option<Vec<f64>>)| match suited {
                    Some(extremes) => {
                        let work = executor.run(stage, state, extremes, self.progress)?;
                        P::rest(stage, state);
                        Ok(work)
                    }
                    None => Ok(P::native(stage, std::slice::from_mut(state)).remove(0)),
                };
                self.parts.agree(states.iter_mut().zip(&suited).map(one).collect())?
            }
            None => {
                (self.progress)(stage.name(), 0, 0);
                P::native(stage, states)
            }
        };
        *self.seconds.of(stage) += self.timeline.note(stage.name(), &on, start);
        Ok(work)
    }

    /// For each set of charges the extremes of all parts, if an executor takes the stage and its arithmetic suits.
    pub fn suited(&self, stage: Stage, states: &[State<P>]) -> Result<Vec<Option<Vec<f64>>>, FmmError> {
        let Some(executor) = self.executors.iter().find(|e| e.takes(stage)) else {
            return Ok(vec![None; states.len()]);
        };
        // All sets at once, so that the parts meet once a stage.
        let own: Vec<Vec<f64>> = states.iter().map(|state| executor.extremes(stage, state)).collect();
        let all = self.parts.largest(own.concat())?;
        let mut rest = &all[..];
        let one = |(state, own): (&State<P>, &Vec<f64>)| {
            let (extremes, behind) = rest.split_at(own.len());
            rest = behind;
            executor.suits(stage, state, extremes).then(|| extremes.to_vec())
        };
        Ok(states.iter().zip(&own).map(one).collect())
    }

    /// Some stages of the far field, one after the other: the work of M2L.
    fn far_field(&mut self, stages: &[Stage], states: &mut [State<P>]) -> Result<Vec<Work>, FmmError> {
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

    /// Whether the whole far field is the CPU's.
    pub fn is_native(&self) -> bool {
        Stage::FAR.iter().all(|stage| self.taker(*stage).is_none())
    }

    /// The executor of a stage, if it is not the CPU's.
    pub fn taker(&self, stage: Stage) -> Option<&(dyn Executor<P> + 'e)> {
        self.executors.iter().find(|e| e.takes(stage)).map(|e| &**e)
    }
}

/// Some stages of the far field on the CPU: the work of M2L, and the seconds of each.
fn native_far_field<P: Problem>(
    stages: &[Stage],
    states: &mut [State<P>],
    timeline: &mut Timeline,
) -> (Vec<Work>, Seconds) {
    let (mut m2l, mut seconds) = (Vec::new(), Seconds::default());
    for stage in stages {
        let start = Instant::now();
        let work = P::native(*stage, states);
        *seconds.of(*stage) += timeline.note(stage.name(), CPU, start);
        if *stage == Stage::M2l {
            m2l = work;
        }
    }
    (m2l, seconds)
}

/// Fails if nobody waits for the run any longer.
fn check<P: Problem>(states: &[State<P>]) -> Result<(), FmmError> {
    states.iter().take(1).try_for_each(|state| state.plan.check())
}
