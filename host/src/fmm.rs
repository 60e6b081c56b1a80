//! The Fast Multipole Method: a [`Plan`] holds what follows from the positions alone; [`Plan::run`] goes through the stages in
//! the order of the papers, for one set of charges after the other.

pub mod bind;
mod calibrate;
pub mod executor;
mod field;
pub mod function;
mod native;
pub mod offload;
mod options;
mod overlap;
mod report;
pub mod stats;
pub mod tune;

pub use options::{FmmError, FmmOptions, MOST_PARTICLES, Precision};

use crate::arith::vector::Vectors;
use crate::data::particles::{Columns, Field};
use crate::direct::p2p;
use crate::expansion::basis::Basis;
use crate::expansion::chebyshev::Function;
use crate::expansion::{self, Expansion, Far};
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::{self, ListOptions, Lists};
use executor::{Executor, Progress, Stage, State, Work};
use pg2::graph::Graph;
use stats::{Pairs, Seconds, Stats};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Tree, lists and operators for particles at fixed positions. It may be run for many sets of charges.
pub struct Plan {
    pub options: FmmOptions,
    pub tree: Tree,
    pub lists: Lists,
    pub near2: u64,
    pub pairs: Pairs,
    /// Cell pairs in the M2L lists, near ones included.
    pub streamed_m2l: u64,
    /// For each particle of the input its place in the tree.
    place: Vec<u32>,
    /// What a black-box expansion expands.
    kernel: Option<Arc<dyn Function>>,
    operators: (Lazy<f32>, Lazy<f64>),
    seconds: f64,
}

/// Operators that are made when they are first asked for.
type Lazy<T> = OnceLock<Box<dyn Expansion<T>>>;

/// Where a run writes, in the order of the input. After an error it holds anything.
pub struct Outputs<'a> {
    pub potential: &'a mut [f64],
    /// Zeros where the kernel of P2P gives the potential alone.
    pub gradient: [&'a mut [f64]; 3],
}

/// What a run gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution {
    pub field: Field,
    pub stats: Stats,
}

impl Plan {
    /// Sorts particles into a tree and builds the interaction lists, for 1/r.
    pub fn new(positions: Columns, options: &FmmOptions) -> Result<Plan, FmmError> {
        Plan::for_kernel(positions, options, None)
    }

    /// The same for a P2P kernel, which the expansion of [`Basis::Chebyshev`] is made for.
    pub fn for_kernel(positions: Columns, options: &FmmOptions, p2p: Option<&Graph>) -> Result<Plan, FmmError> {
        options.check()?;
        options::check_positions(positions)?;
        let start = Instant::now();
        let tree = Tree::build(positions, options.leaf);
        let near2 = lists::near2(options.theta);
        let lists = lists::build(&tree, &list_options(options, near2));
        let expands = options.basis == Basis::Chebyshev && !options.near_only;
        let kernel = match p2p.filter(|_| expands) {
            Some(p2p) => Some(function::function(p2p, tree.map.length(options.eps), near2, tree.levels.len())?),
            None if expands => {
                let text =
                    "the expansion in Chebyshev polynomials is for a P2P kernel; name one, or take another expansion";
                return Err(FmmError::Option(text.into()));
            }
            None => None,
        };
        let mut place = vec![0; tree.len()];
        tree.order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        let mut plan = Plan {
            options: options.clone(),
            tree,
            lists,
            near2,
            pairs: Pairs::default(),
            streamed_m2l: 0,
            place,
            kernel,
            operators: Default::default(),
            seconds: 0.0,
        };
        (plan.pairs, plan.streamed_m2l) = plan.count();
        plan.seconds = start.elapsed().as_secs_f64();
        Ok(plan)
    }

    /// Takes another order; the tree stays.
    pub fn set_order(&mut self, order: usize) {
        if order == self.options.order {
            return;
        }
        let before = list_options(&self.options, self.near2);
        self.options.order = order;
        self.operators = Default::default();
        let after = list_options(&self.options, self.near2);
        if before != after {
            self.lists = lists::build(&self.tree, &after);
            (self.pairs, self.streamed_m2l) = self.count();
        }
    }

    /// Computes potential and gradient at every particle for charges in the order of the positions. Each stage goes to the
    /// first executor that takes it, and else to the CPU.
    pub fn run(
        &self,
        charges: &[f64],
        executors: &mut [&mut dyn Executor],
        out: &mut Outputs,
        progress: &mut Progress,
    ) -> Result<Stats, FmmError> {
        options::check_run(self, charges, out)?;
        executors.iter_mut().try_for_each(|e| e.bind(self))?;
        let start = Instant::now();
        let charges = Charges::new(&self.tree, charges);
        let mut run = Stages { executors, seconds: Seconds { tree: self.seconds, ..Seconds::default() }, progress };
        let is_f32 = self.options.precision == Precision::F32 && p2p::suit_f32(&charges);
        let is_native = run.is_native();
        let mut state = match self.options.near_only {
            true => State::near(self, &charges),
            false => State::new(self, &charges, is_f32 && is_native),
        };

        let (m2l, p2p, waited) = if is_native && run.has_device() && !self.options.near_only {
            // P2P on the device while the CPU does all others.
            let mut near = State::near(self, &charges);
            let both = overlap::both(|| native::far_field(&mut state), || run.stage(Stage::P2p, &mut near))?;
            state.add(&near);
            run.seconds.add(&both.far.1);
            (both.far.0, both.near, Some(both.waited))
        } else {
            let mut m2l = Work::default();
            if !self.options.near_only {
                run.stage(Stage::P2m, &mut state)?;
                run.stage(Stage::M2m, &mut state)?;
                m2l = run.stage(Stage::M2l, &mut state)?;
                run.stage(Stage::P2l, &mut state)?;
                run.stage(Stage::L2l, &mut state)?;
                run.stage(Stage::L2p, &mut state)?;
                run.stage(Stage::M2p, &mut state)?;
            }
            (m2l, run.stage(Stage::P2p, &mut state)?, None)
        };

        state.write(&p2p, out)?;
        let Stages { executors, mut seconds, .. } = run;
        seconds.total = seconds.tree + start.elapsed().as_secs_f64();
        let name = executors.iter().find(|e| e.takes(Stage::P2p)).map(|e| e.name());
        Ok(Stats { waited, ..self.stats(name, seconds, &p2p, &m2l) })
    }

    /// As [`Plan::run`], into columns of its own.
    pub fn solve(
        &self,
        charges: &[f64],
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<Solution, FmmError> {
        let column = || vec![0.0; self.tree.len()];
        let (mut potential, mut gradient) = (column(), [column(), column(), column()]);
        let mut out = Outputs { potential: &mut potential, gradient: gradient.each_mut().map(|g| &mut g[..]) };
        let stats = self.run(charges, executors, &mut out, progress)?;
        let field = Field { potential, gradient: stats.has_gradient.then_some(gradient) };
        Ok(Solution { field, stats })
    }

    fn far(&self) -> Far<'_> {
        Far { tree: &self.tree, lists: &self.lists, near2: self.near2 }
    }

    fn operators_f32(&self) -> &dyn Expansion<f32> {
        &**self.operators.0.get_or_init(|| self.operators())
    }

    fn operators_f64(&self) -> &dyn Expansion<f64> {
        &**self.operators.1.get_or_init(|| self.operators())
    }

    fn operators<T: Vectors>(&self) -> Box<dyn Expansion<T>> {
        expansion::operators(self.options.basis, self.options.order, self.near2, self.kernel.as_ref())
    }
}

/// Where P2P costs less than M2P and P2L.
fn list_options(options: &FmmOptions, near2: u64) -> ListOptions {
    let worth = expansion::pairs_of_a_point(options.basis, options.order);
    ListOptions { near2, m2p_above: worth, p2l_above: worth }
}

/// A run's executors and the time of its stages.
struct Stages<'a, 'e, 'p> {
    executors: &'a mut [&'e mut dyn Executor],
    seconds: Seconds,
    progress: &'a mut Progress<'p>,
}

impl Stages<'_, '_, '_> {
    /// Runs one stage and notes its seconds.
    fn stage(&mut self, stage: Stage, state: &mut State) -> Result<Work, FmmError> {
        let start = Instant::now();
        let work = match self.executors.iter_mut().find(|e| e.takes(stage)) {
            Some(executor) => executor.run(stage, state, self.progress)?,
            None => native::run(stage, state),
        };
        *self.seconds.of(stage) += start.elapsed().as_secs_f64();
        Ok(work)
    }

    /// Whether the whole far field is the CPU's.
    fn is_native(&self) -> bool {
        Stage::FAR.iter().all(|stage| !self.executors.iter().any(|e| e.takes(*stage)))
    }

    /// Whether P2P runs beside the CPU.
    fn has_device(&self) -> bool {
        self.executors.iter().find(|e| e.takes(Stage::P2p)).is_some_and(|e| e.is_device())
    }
}
