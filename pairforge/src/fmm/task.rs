//! An FMM as it was asked for: plan and run, and then its errors.

use super::known::Known;
use super::{Options, Problem, Solved};
use crate::Error;
use fmm::data::Force;
use fmm::data::particles::Field;
use fmm::data::problem::Sources;
use fmm::direct::error::by_target::{ByTarget, Compared};
use fmm::direct::error::{self, Errors};
use fmm::direct::summation::Direct;
use fmm::expansion::basis::Basis;
use fmm::octree::budget::{self, Budget, Fields, Run, Seen};
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::kernel::Kernel;
use fmm::octree::stats::{LeafBy, Reference, Stats};
use fmm::octree::{FmmOptions, Plan, Solutions, tune};

/// Targets that are compared where nobody says how many.
pub const SAMPLES: usize = 1000;

/// Name of the measuring of errors as a stage of progress.
pub const ERRORS: &str = "measuring the errors";

/// A problem with all that was chosen for it.
pub struct Task<'a> {
    pub asked: &'a Options,
    pub options: &'a FmmOptions,
    pub problem: &'a Problem<'a>,
    pub known: &'a Known,
    /// Whether native code runs everything.
    pub native: bool,
    /// The kernel of P2P, if one runs it.
    pub p2p: Option<&'a dyn Kernel>,
}

impl Task<'_> {
    /// The plan and what it gives, with the options that were asked for or those that a wanted error takes.
    pub fn solve(
        &self,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<(Plan, Solutions), Error> {
        if let Some(wanted) = self.asked.tolerance {
            return self.within(wanted, executors, progress);
        }
        let expanded = self.expanded();
        progress(if expanded.is_some() { "tree, lists and the kernel's tables" } else { "tree and lists" }, 0, 0);
        let plan = Plan::for_kernel(self.problem.geometry, self.options, expanded)?;
        let found = plan.solve_all(&self.problem.sets, self.asked.hessian, executors, progress)?;
        Ok((plan, found))
    }

    /// The fields of all sets of charges, with what errors and budget were asked for. `left_to_cpu` says why a GPU does not run all stages.
    pub fn run(
        &self,
        left_to_cpu: Option<String>,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solved, Error> {
        self.check_budget()?;
        let (plan, Solutions { fields, mut stats }) = self.solve(executors, progress)?;
        stats.left_to_cpu = left_to_cpu;
        self.complete(&mut stats, &fields, Some(&plan), progress)?;
        if self.asked.budget {
            stats.budget = Some(self.budget(&plan, &fields[0], executors, progress)?);
        }
        // Nothing is shown any longer.
        progress("", 0, 0);
        Ok(Solved { solutions: Solutions { fields, stats }, plan: Some(plan) })
    }

    /// Refuses what a budget does not take.
    pub fn check_budget(&self) -> Result<(), Error> {
        let sets = &self.problem.sets;
        if self.asked.budget && (sets.len() != 1 || sets[0].dipoles.is_some() || sets[0].charges.is_none()) {
            return Err(Error::Options("--budget is for one set of charges without dipole moments".into()));
        }
        Ok(())
    }

    /// Says where the leaf size comes from, and measures the errors where that is asked for. The sums of a kernel need a `plan`.
    pub fn complete(
        &self,
        stats: &mut Stats,
        fields: &[Field],
        plan: Option<&Plan>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        stats.leaf_by = match self.asked.leaf {
            Some(_) => LeafBy::Given,
            None if self.asked.near_only || stats.on_gpu.is_some() => LeafBy::BuiltInCosts,
            None => self.known.by,
        };
        stats.reference = match self.own_sums() {
            Some(_) => Reference::KernelSums,
            None if self.options.periodic.is_some() => Reference::EwaldSums,
            None => Reference::DirectSummation,
        };
        let Some(count) = self.samples() else { return Ok(()) };
        progress(ERRORS, 0, 0);
        let errors =
            self.problem.sets.iter().zip(fields).map(|(sources, field)| self.errors(plan, sources, field, count));
        let (errors, mut by_target): (Vec<Errors>, Vec<ByTarget>) =
            errors.collect::<Result<Vec<_>, Error>>()?.into_iter().unzip();
        *stats = std::mem::take(stats).with_errors(errors);
        stats.error_by_target = (!by_target.is_empty()).then(|| by_target.swap_remove(0));
        Ok(())
    }

    /// Targets whose errors are measured, where that is asked for.
    fn samples(&self) -> Option<usize> {
        self.asked.samples.or(self.asked.budget.then_some(SAMPLES))
    }

    /// A plan for what [`Task::complete`] and [`Task::split`] sum, where they need one.
    pub fn plan_of_sums(&self) -> Result<Option<Plan>, Error> {
        let kernel = self.own_sums().filter(|_| self.samples().is_some());
        let plan = |kernel| Ok(Plan::for_kernel(self.problem.geometry, self.options, Some(kernel))?);
        kernel.map(plan).transpose()
    }

    /// The kernel that a black-box expansion expands.
    pub fn expanded(&self) -> Option<&dyn Kernel> {
        let is_given = !self.native || self.asked.has_kernel();
        self.p2p.filter(|_| is_given && self.options.basis == Basis::Chebyshev)
    }

    /// The kernel whose own sums are the reference, where P2P is not 1/r: with or without an expansion.
    fn own_sums(&self) -> Option<&dyn Kernel> {
        let is_other = |kernel: &&dyn Kernel| !kernel.is_coulomb(self.options);
        self.expanded().or_else(|| self.p2p.filter(|_| self.options.near_only).filter(is_other))
    }

    /// The run of the order that keeps a wanted error.
    fn within(
        &self,
        wanted: f64,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<(Plan, Solutions), Error> {
        let problem = self.tuned();
        progress("tree and lists", 0, 0);
        let tuned = tune::within(wanted, &problem, self.options, executors, progress)?;
        let Solutions { fields, stats } = tuned.solution;
        Ok((tuned.plan, Solutions { fields, stats: stats.with_errors(tuned.errors) }))
    }

    /// The problem for which the order is searched that keeps a wanted error.
    pub fn tuned(&self) -> tune::Problem<'_> {
        let asked = self.asked;
        let free = tune::Free {
            theta: asked.theta.is_none(),
            precision: asked.precision.is_none(),
            leaf: asked.leaf.is_none() && self.native,
            // A GPU runs P2P by a kernel.
            enlarge: self.native && self.p2p.is_none(),
        };
        tune::Problem {
            geometry: self.problem.geometry,
            sets: self.problem.sets.clone(),
            hessian: asked.hessian,
            p2p: self.expanded(),
            near: self.p2p,
            seed: asked.seed,
            is_promise: true,
            free,
            costs: &self.known.costs,
        }
    }

    fn direct<'s>(&'s self, sources: &Sources<'s>) -> Direct<'s> {
        let Options { softening: eps, hessian, .. } = *self.asked;
        Direct { geometry: self.problem.geometry, sources: *sources, eps, hessian }
    }

    /// The errors of what one set of charges gave at `count` targets, in all and target by target.
    fn errors(
        &self,
        plan: Option<&Plan>,
        sources: &Sources,
        field: &Field,
        count: usize,
    ) -> Result<(Errors, ByTarget), Error> {
        let targets = error::sample(field.potential.len(), count, self.asked.seed);
        let periodic = self.options.periodic.as_ref();
        let (Some(kernel), Some(plan)) = (self.own_sums(), plan) else {
            return Ok(error::measure_each(&self.direct(sources), periodic, field, targets));
        };
        let charges = sources.charges.expect("kernels are refused dipoles");
        let reference = kernel.direct(plan, charges, &targets, &mut |_, _, _| {})?;
        let edge = self.edge();
        let compared = Compared { field, targets: &targets, reference: &reference, edge };
        let by_target = compared.by_target(self.problem.geometry, periodic);
        Ok((error::compare(field, &targets, &reference, edge), by_target))
    }

    /// Potential and gradient at some particles by the sum over all others, or by an Ewald sum.
    fn reference(&self, plan: Option<&Plan>, targets: &[usize]) -> Result<Vec<Force>, Error> {
        let sources = &self.problem.sets[0];
        match self.expanded().zip(plan) {
            Some((kernel, plan)) => {
                let charges = sources.charges.expect("a budget is for charges");
                Ok(kernel.direct(plan, charges, targets, &mut |_, _, _| {})?)
            }
            None => {
                let direct = Direct { hessian: false, ..self.direct(sources) };
                let found = error::reference_of(&direct, targets, self.options.periodic.as_ref());
                Ok(found.iter().map(|all| [all[0], all[1], all[2], all[3]]).collect())
            }
        }
    }

    /// The edge of the box, or the period.
    fn edge(&self) -> f64 {
        error::edge(self.problem.geometry, self.options.periodic.as_ref())
    }

    pub fn budget(
        &self,
        plan: &Plan,
        field: &Field,
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Budget, Error> {
        let Problem { geometry, sets } = self.problem;
        let run = Run { plan, geometry: *geometry, sources: sets[0], p2p: self.p2p };
        let fields = budget::fields(&run, executors, progress)?;
        progress(ERRORS, 0, 0);
        self.split(Some(plan), field, &fields)
    }

    /// The same from runs that were made. The sums of a kernel need a `plan`.
    pub fn split(&self, plan: Option<&Plan>, field: &Field, runs: &Fields) -> Result<Budget, Error> {
        let count = self.problem.geometry.sources[0].len();
        let targets = error::sample(count, self.asked.samples.unwrap_or(SAMPLES), self.asked.seed);
        let reference = self.reference(plan, &targets)?;
        let edge = self.edge();
        Ok(budget::of(&Seen { field, targets: &targets, reference: &reference, edge }, runs))
    }
}
