//! An FMM as it was asked for: plan and run, and then its errors.

use super::{Args, costs, failure, on_a_thread};
use crate::failure::Failure;
use crate::progress::{Stages, Steps};
use fmm::data::Force;
use fmm::data::input::Input;
use fmm::data::particles::Field;
use fmm::data::problem::Sources;
use fmm::direct::error::{self, Errors};
use fmm::direct::summation::Direct;
use fmm::expansion::basis::Basis;
use fmm::octree::budget::{self, Budget, Fields, Run, Seen};
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::stats::{LeafBy, Reference, Stats};
use fmm::octree::{FmmOptions, Plan, Solutions, tune};
use gpu::octree::whole::Answer;
use pg2::graph::Graph;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::{bind, offload};

/// Targets that `--budget` compares without `--check`.
const SAMPLES: usize = 1000;

/// What is to be computed.
pub struct Task<'a> {
    pub args: &'a Args,
    pub options: &'a FmmOptions,
    pub input: &'a Input,
    pub known: &'a costs::Known,
    /// Whether native code runs everything.
    pub native: bool,
    /// The kernel of P2P, if one runs it.
    pub p2p: Option<&'a Graph>,
}

impl Task<'_> {
    /// The fields of all sets of charges. `whole` is what a card gave that ran all stages, or why it did not.
    pub fn run(
        &self,
        whole: Option<Answer>,
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<(Vec<Field>, Stats), Failure> {
        self.check_budget()?;
        let (whole, left_to_cpu) = match whole {
            Some(Ok(solution)) => (Some(solution), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        if let Some(Solutions { fields, mut stats }) = whole {
            self.complete(&mut stats, &fields, None)?;
            return Ok((fields, stats));
        }
        let (plan, Solutions { fields, mut stats }) = match executors.is_empty() {
            true => on_a_thread(|| {
                let mut shown = Stages::new(None);
                self.solve(&mut [], &mut |stage, done, total| shown.at(stage, done, total))
            })?,
            false => self.solve(executors, progress)?,
        };
        // Nothing of it is shown any longer.
        progress("", 0, 0);
        stats.left_to_cpu = left_to_cpu;
        self.complete(&mut stats, &fields, Some(&plan))?;
        if self.args.budget {
            stats.budget = Some(self.budget(&plan, &fields[0], executors, progress)?);
        }
        Ok((fields, stats))
    }

    /// The plan and what it gives, with the options that were asked for or those that a wanted error takes.
    fn solve(
        &self,
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<(Plan, Solutions), Failure> {
        if let Some(wanted) = self.args.tol {
            return self.within(wanted, executors, progress);
        }
        let expanded = self.expanded();
        progress(if expanded.is_some() { "tree, lists and the kernel's tables" } else { "tree and lists" }, 0, 0);
        let plan = Plan::for_kernel(self.input.geometry(), self.options, expanded.map(of_graph)).map_err(failure)?;
        let found = plan.solve_all(&self.input.sources(), self.args.hessian, executors, progress).map_err(failure)?;
        Ok((plan, found))
    }

    /// Refuses what `--budget` does not take.
    pub fn check_budget(&self) -> Result<(), Failure> {
        let sources = self.input.sources();
        if self.args.budget && (sources.len() != 1 || sources[0].dipoles.is_some() || sources[0].charges.is_none()) {
            return Err(Failure::Usage("--budget is for one set of charges without dipole moments".into()));
        }
        Ok(())
    }

    /// Says where the leaf size comes from, and measures the errors where that is asked for. The sums of a kernel need a `plan`.
    pub fn complete(&self, stats: &mut Stats, fields: &[Field], plan: Option<&Plan>) -> Result<(), Failure> {
        stats.leaf_by = match self.args.leaf {
            Some(_) => LeafBy::Given,
            None if self.args.near_only || stats.on_card.is_some() => LeafBy::BuiltInCosts,
            None => self.known.by,
        };
        stats.reference = match self.meant() {
            Some(_) => Reference::KernelSums,
            None if self.options.periodic.is_some() => Reference::EwaldSums,
            None => Reference::DirectSummation,
        };
        let Some(count) = self.samples() else { return Ok(()) };
        let sources = self.input.sources();
        let errors = sources.iter().zip(fields).map(|(sources, field)| self.errors(plan, sources, field, count));
        let errors = Steps::during("measuring the errors", || errors.collect::<Result<Vec<_>, Failure>>())?;
        *stats = std::mem::take(stats).with_errors(errors);
        Ok(())
    }

    /// Targets whose errors are measured, where that is asked for.
    fn samples(&self) -> Option<usize> {
        self.args.check.or(self.args.budget.then_some(SAMPLES))
    }

    /// A plan for what [`Task::complete`] and [`Task::split`] sum, where they need one.
    pub fn plan_of_sums(&self) -> Result<Option<Plan>, Failure> {
        let kernel = self.meant().filter(|_| self.samples().is_some());
        let plan =
            |graph| Plan::for_kernel(self.input.geometry(), self.options, Some(of_graph(graph))).map_err(failure);
        kernel.map(plan).transpose()
    }

    /// The kernel that a black-box expansion expands.
    pub fn expanded(&self) -> Option<&Graph> {
        let is_named = !self.native || self.args.p2p.is_some();
        self.p2p.filter(|_| is_named && self.options.basis == Basis::Chebyshev)
    }

    /// The kernel whose own sums are right, where P2P is not 1/r: with or without an expansion.
    fn meant(&self) -> Option<&Graph> {
        let params = &self.options.params;
        let is_other = |graph: &&Graph| bind::P2p::bind(graph, true, params).is_ok_and(|kernel| !kernel.coulomb);
        self.expanded().or_else(|| self.p2p.filter(|_| self.options.near_only).filter(is_other))
    }

    /// The run of the order that keeps a wanted error.
    fn within(
        &self,
        wanted: f64,
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<(Plan, Solutions), Failure> {
        let problem = self.problem();
        progress("tree and lists", 0, 0);
        let tuned = tune::within(wanted, &problem, self.options, executors, progress).map_err(failure)?;
        let Solutions { fields, stats } = tuned.solution;
        Ok((tuned.plan, Solutions { fields, stats: stats.with_errors(tuned.errors) }))
    }

    /// What the order is looked for that keeps a wanted error.
    pub fn problem(&self) -> tune::Problem<'_> {
        let args = self.args;
        let free = tune::Free {
            theta: args.theta.is_none(),
            precision: args.precision.is_none(),
            leaf: args.leaf.is_none() && self.native,
            // A card runs P2P by a kernel.
            enlarge: self.native && self.p2p.is_none(),
        };
        tune::Problem {
            geometry: self.input.geometry(),
            sets: self.input.sources(),
            hessian: args.hessian,
            p2p: self.expanded().map(of_graph),
            near: self.p2p.map(of_graph),
            seed: args.seed,
            is_promise: true,
            free,
            costs: &self.known.costs,
        }
    }

    /// The errors of what one set of charges gave at `count` targets.
    fn errors(&self, plan: Option<&Plan>, sources: &Sources, field: &Field, count: usize) -> Result<Errors, Failure> {
        let (args, input) = (self.args, self.input);
        let (Some(graph), Some(plan)) = (self.meant(), plan) else {
            let direct = Direct { geometry: input.geometry(), sources: *sources, eps: args.eps, hessian: args.hessian };
            return Ok(error::measure_all(&direct, self.options.periodic.as_ref(), field, count, args.seed));
        };
        let targets = error::sample(field.potential.len(), count, args.seed);
        let charges = sources.charges.expect("kernels are refused dipoles");
        let reference = offload::direct(plan, charges, graph, &targets, &mut |_, _, _| {}).map_err(failure)?;
        Ok(error::compare(field, &targets, &reference, self.edge()))
    }

    /// Potential and gradient at some particles by the sum over all others, or by an Ewald sum.
    fn reference(&self, plan: Option<&Plan>, targets: &[usize]) -> Result<Vec<Force>, Failure> {
        let particles = &self.input.particles;
        Steps::during("measuring the errors", || match self.expanded().zip(plan) {
            Some((graph, plan)) => {
                offload::direct(plan, &particles.q, graph, targets, &mut |_, _, _| {}).map_err(failure)
            }
            None => Ok(error::reference(particles, targets, self.options.eps, self.options.periodic.as_ref())),
        })
    }

    /// The edge of the box, or the period.
    fn edge(&self) -> f64 {
        error::edge(self.input.geometry(), self.options.periodic.as_ref())
    }

    /// The targets that `--budget` looks at.
    fn seen(&self) -> Vec<usize> {
        error::sample(self.input.particles.len(), self.args.check.unwrap_or(SAMPLES), self.args.seed)
    }

    fn budget(
        &self,
        plan: &Plan,
        field: &Field,
        executors: &mut [&mut dyn Executor],
        progress: &mut Progress,
    ) -> Result<Budget, Failure> {
        let run = Run {
            plan,
            geometry: self.input.geometry(),
            sources: self.input.sources()[0],
            p2p: self.p2p.map(of_graph),
        };
        let fields = budget::fields(&run, executors, progress).map_err(failure)?;
        self.split(Some(plan), field, &fields)
    }

    /// The same from runs that were made. The sums of a kernel need a `plan`.
    pub fn split(&self, plan: Option<&Plan>, field: &Field, runs: &Fields) -> Result<Budget, Failure> {
        let targets = self.seen();
        let reference = self.reference(plan, &targets)?;
        let edge = self.edge();
        Ok(budget::of(&Seen { field, targets: &targets, reference: &reference, edge }, runs))
    }
}
