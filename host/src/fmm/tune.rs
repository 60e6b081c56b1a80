//! An FMM for a wanted error: its order, found by measuring, and its leaf size, from what the stages cost.

pub mod cost;
mod judge;
mod measure;
mod orders;

pub use measure::measure;

use super::executor::{Executor, Progress};
use super::{FmmError, FmmOptions, Plan, Precision, Solution};
use crate::data::Force;
use crate::data::particles::Particles;
use crate::direct::error::{self, Errors};
use cost::{Choice, Costs};
use judge::Judge;
use orders::{Steps, Tried, guess};
use pg2::graph::Graph;

/// Below this, sums in f32 do not reach a wanted error.
const LEAST_F32: f64 = 4e-6;

/// The opening angle where the usual one does not reach a wanted error: cells are near up to 3 apart.
const SMALL_THETA: f64 = 1.0 / 3.0;

/// What is to be computed.
pub struct Problem<'a> {
    pub particles: &'a Particles,
    /// The kernel of a black-box expansion.
    pub p2p: Option<&'a Graph>,
    /// Chooses the targets whose errors are measured, as it does for [`crate::direct::error::measure`].
    pub seed: u64,
    /// Whether other random targets have the wanted error too, nearly always; otherwise only those that are measured.
    pub is_promise: bool,
    pub free: Free,
    pub costs: &'a Costs,
}

/// What may be changed where a wanted error asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Free {
    pub theta: bool,
    /// From f32 to f64.
    pub precision: bool,
    pub leaf: bool,
}

/// A plan that keeps a wanted error, with its first results.
pub struct Tuned {
    pub plan: Plan,
    pub solution: Solution,
    pub errors: Errors,
}

/// What keeps a wanted error out of reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Kernel,
    F32,
    F64,
    Order,
}

/// The precision that a wanted error needs.
pub fn precision(wanted: f64) -> Precision {
    if wanted >= LEAST_F32 { Precision::F32 } else { Precision::F64 }
}

/// Options for a wanted error, to begin with.
pub fn start(options: &FmmOptions, wanted: f64) -> FmmOptions {
    FmmOptions { order: guess(wanted, options.basis.max_order()), ..options.clone() }
}

/// Plans and runs until the relative L2 error of the gradient (of the potential, if P2P gives no gradient) is at most `wanted`,
/// and not with the step of accuracy below, or nearly so.
pub fn within(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor],
    progress: &mut Progress,
) -> Result<Tuned, FmmError> {
    let Problem { particles, p2p, seed, is_promise, .. } = *problem;
    let mut options = options.clone();
    let mut plan = Plan::for_kernel(particles.columns(), &options, p2p)?;
    let n = particles.len();
    let targets = if is_promise { judge::targets(n, seed) } else { judge::checked(n, seed) };
    let reference = problem.reference(&plan, &targets)?;
    let judge = Judge::new(n, targets, reference, seed);
    let mut search = Search { wanted, problem, judge, executors, progress };
    loop {
        let (limit, best) = match search.orders(plan)? {
            Ok(tuned) => return Ok(tuned),
            Err(limited) => limited,
        };
        options = other(&options, problem, limit).ok_or_else(|| out_of_reach(wanted, limit, best))?;
        plan = Plan::for_kernel(particles.columns(), &options, p2p)?;
        // Other cells have their corners elsewhere.
        search.judge.unite();
    }
}

impl Problem<'_> {
    /// What is right at some targets.
    fn reference(&self, plan: &Plan, targets: &[usize]) -> Result<Vec<Force>, FmmError> {
        match self.p2p {
            Some(graph) => Ok(super::offload::direct(plan, &self.particles.q, graph, targets)?),
            None => Ok(error::reference(self.particles, targets, plan.options.eps, plan.options.periodic.as_ref())),
        }
    }
}

/// Options that may come nearer to a wanted error.
fn other(options: &FmmOptions, problem: &Problem, limit: Limit) -> Option<FmmOptions> {
    let free = problem.free;
    let mut options = options.clone();
    match limit {
        Limit::F32 if free.precision => options.precision = Precision::F64,
        Limit::Order if free.theta && options.theta > SMALL_THETA => options.theta = SMALL_THETA,
        _ => return None,
    }
    if free.leaf {
        options.leaf = native_leaf(problem.costs, problem.particles.len(), &options);
    }
    Some(options)
}

/// The leaf size of least cost where all stages are native.
pub fn native_leaf(costs: &Costs, n: usize, options: &FmmOptions) -> usize {
    let FmmOptions { basis, order, precision, .. } = *options;
    costs.leaf(&Choice { n, basis, order, precision })
}

fn out_of_reach(wanted: f64, limit: Limit, best: f64) -> FmmError {
    let why = match limit {
        Limit::Kernel => "the number formats of the P2P kernel limit it; take a wider kernel or backend `cpu`",
        Limit::F32 => "f32 limits it; take --precision f64",
        Limit::Order => "the highest order limits it; take a smaller --theta",
        Limit::F64 => "f64 limits it",
    };
    FmmError::Range(format!("an error of {wanted:e} is out of reach: the best was {best:.1e}; {why}"))
}

/// Looks for the lowest order that does.
struct Search<'a, 'e, 'p> {
    wanted: f64,
    problem: &'a Problem<'a>,
    judge: Judge,
    executors: &'a mut [&'e mut dyn Executor],
    progress: &'a mut Progress<'p>,
}

/// Runs of several steps of accuracy: their errors, and the results of those that still matter.
#[derive(Default)]
struct Runs {
    tried: Vec<Tried>,
    /// By step.
    kept: Vec<(usize, Solution)>,
}

impl Runs {
    /// Only the run of the lowest step that is good is kept, and the last one.
    fn drop_others(&mut self, wanted: f64) {
        let last = self.tried.last().map(|t| t.step);
        let best = self.best(wanted);
        self.kept.retain(|(step, _)| Some(*step) == best || Some(*step) == last);
    }

    /// The lowest step that is good.
    fn best(&self, wanted: f64) -> Option<usize> {
        self.tried.iter().filter(|t| t.error <= wanted).map(|t| t.step).min()
    }
}

impl Search<'_, '_, '_> {
    /// Tries orders of a plan. Gives what limits the error, and the best one, where none does.
    fn orders(&mut self, mut plan: Plan) -> Result<Result<Tuned, (Limit, f64)>, FmmError> {
        let steps = Steps::new(plan.options.basis, plan.near2);
        let mut runs = Runs::default();
        let mut next = Some(steps.of_order(plan.options.order));
        while let Some(step) = next {
            let (order, lower_beyond) = steps.order(step);
            plan.set_order(order, lower_beyond);
            let solution = plan.solve(&self.problem.particles.q, self.executors, self.progress)?;
            runs.tried.push(Tried { step, error: self.error(&solution) });
            runs.kept.push((step, solution));
            self.divide(&plan, &mut runs)?;
            runs.drop_others(self.wanted);
            next = steps.next(&runs.tried, self.wanted).or_else(|| self.second(&runs, &steps));
        }
        let Some(step) = runs.best(self.wanted) else {
            let best = runs.tried.iter().map(|t| t.error).fold(f64::INFINITY, f64::min);
            let is_highest = runs.tried.iter().any(|t| t.step == steps.most());
            let limit = match plan.options.precision {
                _ if !self.executors.is_empty() => Limit::Kernel,
                Precision::F32 => Limit::F32,
                Precision::F64 if is_highest => Limit::Order,
                Precision::F64 => Limit::F64,
            };
            return Ok(Err((limit, best)));
        };
        let (order, lower_beyond) = steps.order(step);
        plan.set_order(order, lower_beyond);
        let at = runs.kept.iter().position(|(kept, _)| *kept == step).expect("the best run is kept");
        let solution = runs.kept.swap_remove(at).1;
        let errors = self.judge.errors(&solution.field);
        Ok(Ok(Tuned { plan, solution, errors }))
    }

    /// Tells the judge where errors are large, once two steps were run, and judges both again.
    fn divide(&mut self, plan: &Plan, runs: &mut Runs) -> Result<(), FmmError> {
        let [(_, one), (_, other)] = &runs.kept[..] else { return Ok(()) };
        if !self.problem.is_promise || !self.judge.needs_strata() {
            return Ok(());
        }
        let targets = self.judge.divide(&one.field, &other.field);
        let reference = self.problem.reference(plan, &targets)?;
        self.judge.add(targets, reference);
        for (step, solution) in &runs.kept {
            let error = self.judge.bound(&solution.field);
            runs.tried.iter_mut().filter(|t| t.step == *step).for_each(|t| t.error = error);
        }
        Ok(())
    }

    /// A second step where one alone was tried and two tell more.
    fn second(&self, runs: &Runs, steps: &Steps) -> Option<usize> {
        let [only] = runs.tried[..] else { return None };
        let is_wanted = self.problem.is_promise && self.judge.needs_strata();
        let other = if only.step > steps.least() { only.step - 1 } else { only.step + 1 };
        Some(other).filter(|step| is_wanted && *step <= steps.most())
    }

    fn error(&self, solution: &Solution) -> f64 {
        if self.problem.is_promise {
            return self.judge.bound(&solution.field);
        }
        let errors = self.judge.errors(&solution.field);
        errors.gradient_rel_l2.unwrap_or(errors.potential_rel_l2)
    }
}
