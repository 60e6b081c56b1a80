//! The near field of runs that differ in their far field alone: those of a search for an order.

use super::Plan;
use super::executor::{Stage, State, Sums, Work};
use crate::stages::{FmmError, Problem, Ran, Stages};

/// The near field of some sets of charges, kept from one run to the next. Sums get it as one term at last, so that their bits are those of
/// a run that computes it.
#[derive(Default)]
pub(super) struct KeptNearField(Option<NearField>);

struct NearField {
    /// The lists that it is of, see [`Plan::id_of_p2p`].
    lists: u64,
    /// Sums and work for each set of charges.
    sums: Vec<Sums>,
    work: Vec<Work>,
    seconds: f64,
}

impl KeptNearField {
    /// As [`Stages::run`] for the same charges each time. What was kept counts as if it had been computed again: also returns the seconds
    /// of that.
    pub fn run(
        &mut self,
        plan: &Plan,
        stages: &mut Stages<Plan>,
        far: &[Stage],
        states: &mut [State],
    ) -> Result<(Ran, f64), FmmError> {
        // Beside a far field it takes no time of its own.
        if stages.has_two_sides(far) {
            return Ok((stages.run(far, states)?, 0.0));
        }
        if let Some(near) = self.0.as_ref().filter(|near| near.lists == plan.id_of_p2p) {
            let ran = stages.run_apart(far, states, &mut [])?;
            stages.seconds.p2p += near.seconds;
            near.add_to(states);
            return Ok((Ran { p2p: near.work.clone(), ..ran }, near.seconds));
        }
        self.0 = None;
        let mut near: Vec<State> = states.iter().map(like).collect();
        let ran = stages.run_apart(far, states, &mut near)?;
        let sums = near.into_iter().map(|state| state.sums).collect();
        let near = NearField { lists: plan.id_of_p2p, sums, work: ran.p2p.clone(), seconds: stages.seconds.p2p };
        near.add_to(states);
        self.0 = Some(near);
        Ok((ran, 0.0))
    }
}

impl NearField {
    fn add_to(&self, states: &mut [State]) {
        states.iter_mut().zip(&self.sums).for_each(|(state, near)| Plan::add(&mut state.sums, near));
    }
}

/// A state for P2P with sums as long as those of another.
fn like<'a>(state: &State<'a>) -> State<'a> {
    let mut near = State::near(state.plan, state.charges);
    near.sums.hessian = vec![[0.0; 6]; state.sums.hessian.len()];
    near
}
