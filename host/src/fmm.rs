//! The Fast Multipole Method: a [`Plan`] holds what follows from the positions alone; [`Plan::run`] goes through the stages in
//! the order of the papers, for one set of charges after the other.

pub mod bind;
mod calibrate;
pub mod executor;
mod field;
mod native;
pub mod offload;
mod options;
mod report;
pub mod stats;

pub use options::{FmmError, FmmOptions, MOST_PARTICLES, Precision};

use crate::data::particles::{Columns, Field};
use crate::direct::p2p;
use crate::expansion::{self, Expansion, Far};
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::{self, ListOptions, Lists};
use executor::{Coefficients, Executor, Expansions, Progress, Stage, State, Work};
use stats::{Pairs, Seconds, Stats};
use std::sync::OnceLock;
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
    operators: (OnceLock<Box<dyn Expansion<f32>>>, OnceLock<Box<dyn Expansion<f64>>>),
    seconds: f64,
}

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
    /// Sorts particles into a tree and builds the interaction lists.
    pub fn new(positions: Columns, options: &FmmOptions) -> Result<Plan, FmmError> {
        options.check()?;
        options::check_positions(positions)?;
        let start = Instant::now();
        let tree = Tree::build(positions, options.leaf);
        let near2 = lists::near2(options.theta);
        let worth = expansion::pairs_of_a_point(options.basis, options.order);
        let lists = lists::build(&tree, &ListOptions { near2, m2p_above: worth, p2l_above: worth });
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
            operators: Default::default(),
            seconds: 0.0,
        };
        (plan.pairs, plan.streamed_m2l) = plan.count();
        plan.seconds = start.elapsed().as_secs_f64();
        Ok(plan)
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
        let mut seconds = Seconds { tree: self.seconds, ..Seconds::default() };
        let mut state = self.state(Charges::new(&self.tree, charges), executors);
        let mut stage = |stage: Stage, state: &mut State| -> Result<Work, FmmError> {
            let start = Instant::now();
            let work = match executors.iter_mut().find(|e| e.takes(stage)) {
                Some(executor) => executor.run(stage, state, progress)?,
                None => native::run(stage, state),
            };
            *seconds.of(stage) += start.elapsed().as_secs_f64();
            Ok(work)
        };

        let mut m2l = Work::default();
        if !self.options.near_only {
            stage(Stage::P2m, &mut state)?;
            stage(Stage::M2m, &mut state)?;
            m2l = stage(Stage::M2l, &mut state)?;
            stage(Stage::P2l, &mut state)?;
            stage(Stage::L2l, &mut state)?;
            stage(Stage::L2p, &mut state)?;
            stage(Stage::M2p, &mut state)?;
        }
        let p2p = stage(Stage::P2p, &mut state)?;

        state.write(&p2p, out)?;
        seconds.total = seconds.tree + start.elapsed().as_secs_f64();
        let name = executors.iter().find(|e| e.takes(Stage::P2p)).map(|e| e.name());
        Ok(self.stats(name, seconds, &p2p, &m2l))
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

    /// Nothing computed yet.
    fn state(&self, charges: Charges, executors: &[&mut dyn Executor]) -> State<'_> {
        let cells = self.tree.cells.len();
        let on_cpu = |stage: &Stage| !executors.iter().any(|e| e.takes(*stage));
        let is_f32 = self.options.precision == Precision::F32 && p2p::suit_f32(&charges);
        let expansions = if is_f32 && Stage::FAR.iter().all(on_cpu) {
            let e = self.operators_f32();
            Expansions::F32(Coefficients::zeros(cells, e))
        } else {
            let e = self.operators_f64();
            Expansions::F64(Coefficients::zeros(cells, e))
        };
        State { plan: self, charges, expansions, force: vec![[0.0; 4]; self.tree.len()] }
    }

    fn far(&self) -> Far<'_> {
        Far { tree: &self.tree, lists: &self.lists, near2: self.near2 }
    }

    fn operators_f32(&self) -> &dyn Expansion<f32> {
        &**self.operators.0.get_or_init(|| expansion::operators(self.options.basis, self.options.order))
    }

    fn operators_f64(&self) -> &dyn Expansion<f64> {
        &**self.operators.1.get_or_init(|| expansion::operators(self.options.basis, self.options.order))
    }
}
