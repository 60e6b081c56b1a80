//! The solver where nothing but native code on the CPU runs an FMM.

use super::known::Known;
use super::options::options;
use super::task::Task;
use super::{Options, Problem, Solved};
use crate::Error;
use fmm::data::problem::Geometry;
use fmm::expansion::basis::Basis;
use fmm::octree::executor::Progress;
use fmm::octree::tune::cost::Shape;
use fmm::octree::{FmmOptions, Plan, Solutions, tune};

/// Options with those of the method that follow.
#[derive(Clone)]
pub struct Solver {
    pub asked: Options,
    options: FmmOptions,
    known: Known,
}

/// The same, since there is nothing else.
pub type Native = Solver;

/// The options of the method, checked.
pub fn check(asked: &Options) -> Result<FmmOptions, Error> {
    let mut options = options(asked, true);
    if asked.expansion.is_none() && asked.order.is_none() && asked.lower_beyond.is_none() {
        options.basis = Basis::Solid;
    }
    options.check()?;
    Ok(options)
}

impl Solver {
    pub fn new(asked: Options) -> Result<Solver, Error> {
        let options = check(&asked)?;
        Ok(Solver { asked, options, known: Known::built_in() })
    }

    /// The CPU keeps nothing of positions but their plan.
    pub fn set_positions(&mut self, _: u64) {}

    /// The choices for the CPU, which runs all stages.
    pub fn native(&self) -> Option<Native> {
        Some(self.clone())
    }

    pub fn options_for(&self, n: usize) -> FmmOptions {
        let mut options = self.options.clone();
        if self.asked.leaf.is_none() && !options.near_only {
            let Shape { leaf, enlarge } = tune::native_shape(&self.known.costs, n, &options, true);
            (options.leaf, options.enlarge) = (leaf, enlarge);
        }
        options
    }

    pub fn solve(&self, problem: &Problem, progress: &mut Progress) -> Result<Solved, Error> {
        let options = self.options_for(problem.geometry.sources[0].len());
        let Solver { asked, known, .. } = self;
        Task { asked, options: &options, problem, known, native: true, p2p: None }.run(None, &mut [], progress)
    }

    pub fn sized(&self, found: &FmmOptions, n: usize) -> FmmOptions {
        let FmmOptions { leaf, enlarge, .. } = match self.asked.leaf {
            None => self.options_for(n),
            Some(_) => found.clone(),
        };
        FmmOptions { leaf, enlarge, ..found.clone() }
    }

    pub fn plan(&self, geometry: Geometry, options: &FmmOptions) -> Result<Plan, Error> {
        Ok(Plan::new(geometry, options)?)
    }

    pub fn again(&mut self, plan: &Plan, problem: &Problem, progress: &mut Progress) -> Result<Solutions, Error> {
        Ok(plan.solve_all(&problem.sets, self.asked.hessian, &mut [], progress)?)
    }
}
