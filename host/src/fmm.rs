//! The Fast Multipole Method: a [`Plan`] holds what follows from the positions alone; [`Plan::run`] goes through the stages in
//! the order of the papers, for one set of charges after the other.

pub mod bind;
mod calibrate;
pub mod offload;
mod options;
mod report;
mod stages;
pub mod stats;

pub use options::{FmmError, FmmOptions, MAX_ORDER, MOST_PARTICLES, Precision};

use crate::data::Force;
use crate::data::particles::{Columns, Field};
use crate::expansion::{Expansion, operators};
use crate::job::Backend;
use crate::tree::Tree;
use crate::tree::charges::Charges;
use crate::tree::lists::{self, ListOptions, Lists};
use offload::{Bound, Work};
use pg2::graph::Graph;
use stats::{Pairs, Seconds, Stats};
use std::time::Instant;

/// Where P2P and M2L are computed.
pub enum Compute<'a> {
    /// On the CPU in the plan's precision.
    Native,
    /// By kernels on a backend; without one for M2L, that is computed as in `Native`.
    Kernels { backend: &'a mut dyn Backend, p2p: &'a Graph, m2l: Option<&'a Graph> },
}

/// The progress of a stage: its name, what is done, and all there is.
pub type Progress<'a> = dyn FnMut(&'static str, usize, usize) + 'a;

/// Tree, lists and operators for particles at fixed positions. It may be run for many sets of charges.
pub struct Plan {
    pub options: FmmOptions,
    pub tree: Tree,
    pub lists: Lists,
    pub expansion: Expansion,
    pub near2: u64,
    pub pairs: Pairs,
    /// Cell pairs in the M2L lists, near ones included.
    pub streamed_m2l: u64,
    plan_seconds: f64,
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
        let expansion = Expansion::new(options.order, options.basis);
        let tree = Tree::build(positions, options.leaf);
        let near2 = lists::near2(options.theta);
        // Measured on AVX-512: one evaluation of a multipole costs about this many direct pairs.
        let worth = 8 + 3 * expansion.d_point / 10;
        let lists = lists::build(&tree, &ListOptions { near2, m2p_above: worth, p2l_above: worth });
        let mut plan = Plan {
            options: options.clone(),
            tree,
            lists,
            expansion,
            near2,
            pairs: Pairs::default(),
            streamed_m2l: 0,
            plan_seconds: 0.0,
        };
        (plan.pairs, plan.streamed_m2l) = plan.count();
        plan.plan_seconds = start.elapsed().as_secs_f64();
        Ok(plan)
    }

    /// Computes potential and gradient at every particle for charges in the order of the positions.
    pub fn run(&self, charges: &[f64], compute: &mut Compute, progress: &mut Progress) -> Result<Solution, FmmError> {
        options::check_charges(self, charges)?;
        let (tree, lists, e) = (&self.tree, &self.lists, &self.expansion);
        let kernels = Bound::of(compute, &self.options, &tree.map)?;
        let mut seconds = Seconds { tree: self.plan_seconds, ..Seconds::default() };
        let mut m = vec![0.0; tree.cells.len() * e.m];
        let mut l = vec![0.0; tree.cells.len() * e.l];
        let mut force: Vec<Force> = vec![[0.0; 4]; tree.len()];
        let mut m2l = Work::default();
        let start = Instant::now();
        let charges = Charges::new(tree, charges);

        if !self.options.near_only {
            timed(&mut seconds.p2m, || operators::p2m(tree, &charges, e, &mut m));
            timed(&mut seconds.m2m, || operators::m2m(tree, e, &mut m));
            m2l = timed(&mut seconds.m2l, || self.m2l(compute, &kernels, &charges, &m, &mut l, progress))?;
            timed(&mut seconds.p2l, || operators::p2l(tree, &charges, lists, e, &mut l));
            timed(&mut seconds.l2l, || operators::l2l(tree, e, &mut l));
            timed(&mut seconds.l2p, || operators::l2p(tree, e, &l, &mut force));
            timed(&mut seconds.m2p, || operators::m2p(tree, lists, e, &m, &mut force));
        }
        let p2p = timed(&mut seconds.p2p, || self.p2p(compute, &kernels, &charges, &mut force, progress))?;

        let field = self.field(&force, &charges, &p2p)?;
        seconds.total = seconds.tree + start.elapsed().as_secs_f64();
        Ok(Solution { field, stats: self.stats(compute, seconds, &p2p, &m2l) })
    }
}

/// Runs one stage and notes its seconds.
fn timed<T>(seconds: &mut f64, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *seconds += start.elapsed().as_secs_f64();
    result
}
