//! A plan in space as a [problem](Problem) whose stages run: its memory, and what the CPU does.

pub use crate::stages::{
    BackendError, CPU, Coefficients, Executor, Expansions, FLAGS, Parts, Progress, SinglePart, Stage, Words, Work,
    flag_names,
};

use super::{FmmError, Plan, native};
use crate::data::{Force, Hessian};
use crate::parallel::prelude::*;
use crate::stages::{self, Problem};
use crate::tree::charges::Charges;

/// The data that the stages of a run work on.
pub type State<'a> = stages::State<'a, Plan>;

/// The sums at the sorted targets, in box units.
#[derive(Default)]
pub struct Sums {
    /// Potential and gradient.
    pub force: Vec<Force>,
    /// Second derivatives; empty where nobody asked for them.
    pub hessian: Vec<Hessian>,
}

impl Problem for Plan {
    type Charges = Charges;
    type Sums = Sums;

    fn sums(&self) -> Sums {
        Sums { force: vec![[0.0; 4]; self.tree.targets().len()], hessian: Vec::new() }
    }

    fn add(to: &mut Sums, other: &Sums) {
        to.force.par_iter_mut().zip(&other.force).for_each(|(f, g)| (0..4).for_each(|a| f[a] += g[a]));
        to.hessian.par_iter_mut().zip(&other.hessian).for_each(|(f, g)| (0..6).for_each(|a| f[a] += g[a]));
    }

    fn native(stage: Stage, states: &mut [State]) -> Vec<Work> {
        native::run(stage, states)
    }

    /// The images that are not near the root, with periodic boundaries.
    fn rest(stage: Stage, state: &mut State) {
        if stage == Stage::M2l {
            native::far_images(state);
        }
    }

    fn check(&self) -> Result<(), FmmError> {
        self.options.cancel.check()
    }
}
