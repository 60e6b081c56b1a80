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
use crate::expansion::basis::Basis;
use crate::tree::lists;
use cost::{Choice, Costs, Shape};
use judge::Judge;
use orders::{Steps, Tried, guess};
use pg2::graph::Graph;

/// Below this, sums in f32 do not reach a wanted error.
const LEAST_F32: f64 = 4e-6;

/// The opening angle where the usual one does not reach a wanted error: cells are near up to 3 apart.
pub(super) const SMALL_THETA: f64 = 1.0 / 3.0;

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
    /// The leaf size, and with `enlarge` the edge of the root cell.
    pub leaf: bool,
    pub enlarge: bool,
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
    /// Higher orders are not to be had, and the formats of the kernel may not allow more either.
    OrderOrKernel,
    /// The far field of 1/r is not softened.
    Softening,
}

/// How much larger leaves are where the far field shall be farther away: by one level.
const A_LEVEL: usize = 8;

/// The precision that a wanted error needs.
pub fn precision(wanted: f64) -> Precision {
    if wanted >= LEAST_F32 { Precision::F32 } else { Precision::F64 }
}

/// Options for a wanted error, to begin with.
pub fn start(options: &FmmOptions, wanted: f64) -> FmmOptions {
    FmmOptions { order: guess(wanted, options.basis.max_order()), ..options.clone() }
}

/// Who makes the runs that a search asks for.
pub(crate) trait Runner {
    /// Takes other options, with which cells are others.
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError>;

    /// A run of an order, or of a part of one (see [`FmmOptions::lower_beyond`]).
    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solution, FmmError>;

    /// What is right at some targets.
    fn reference(&mut self, targets: &[usize]) -> Result<Vec<Force>, FmmError>;

    /// Whether the precision of the options is that of all arithmetic.
    fn is_native(&self) -> bool;
}

/// What a search has found: options that keep a wanted error, with their results.
pub(crate) struct Found {
    pub options: FmmOptions,
    pub solution: Solution,
    pub errors: Errors,
}

/// One process that runs everything.
struct Alone<'a, 'e, 'p> {
    problem: &'a Problem<'a>,
    plan: Plan,
    executors: &'a mut [&'e mut dyn Executor],
    progress: &'a mut Progress<'p>,
}

impl Runner for Alone<'_, '_, '_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        self.plan = Plan::for_kernel(self.problem.particles.columns(), options, self.problem.p2p)?;
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solution, FmmError> {
        self.plan.set_order(order, lower_beyond);
        self.plan.solve(&self.problem.particles.q, self.executors, self.progress)
    }

    fn reference(&mut self, targets: &[usize]) -> Result<Vec<Force>, FmmError> {
        self.problem.reference(&self.plan.options, Some(&self.plan), targets, self.progress)
    }

    fn is_native(&self) -> bool {
        self.executors.iter().all(|e| e.is_native())
    }
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
    let plan = Plan::for_kernel(problem.particles.columns(), options, problem.p2p)?;
    let mut alone = Alone { problem, plan, executors, progress };
    let Found { options, solution, errors } = search(wanted, problem, options, &mut alone)?;
    let mut plan = alone.plan;
    plan.set_order(options.order, options.lower_beyond);
    Ok(Tuned { plan, solution, errors })
}

/// The same with the runs of a runner, which has the options to begin with.
pub(crate) fn search(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    runner: &mut dyn Runner,
) -> Result<Found, FmmError> {
    let Problem { particles, seed, is_promise, .. } = *problem;
    let mut options = options.clone();
    let n = particles.len();
    let targets =
        if is_promise { judge::targets(n, problem.cost_of_a_pair(&options), seed) } else { judge::checked(n, seed) };
    let reference = runner.reference(&targets)?;
    let edge = error::edge(particles.columns(), options.periodic.as_ref());
    let judge = Judge::new((n, edge), targets, reference, seed);
    let mut search = Search { wanted, problem, judge, runner };
    loop {
        let (limit, best) = match search.orders(&options)? {
            Ok(found) => return Ok(found),
            Err(limited) => limited,
        };
        options = other(&options, problem, limit).ok_or_else(|| out_of_reach(wanted, limit, best))?;
        search.runner.plan(&options)?;
        // Other cells have their corners elsewhere.
        search.judge.unite();
    }
}

impl Problem<'_> {
    /// What a source and a target cost in [`Problem::reference`], in pairs by 1/r.
    fn cost_of_a_pair(&self, options: &FmmOptions) -> usize {
        match (self.p2p, &options.periodic) {
            (None, None) => 1,
            (None, Some(_)) => judge::cost::EWALD,
            (Some(_), None) => judge::cost::KERNEL,
            (Some(_), Some(periodic)) => {
                let near = 2 * lists::reach(lists::near2(options.theta)) as usize + 1;
                judge::cost::KERNEL * near.pow(periodic.count() as u32)
            }
        }
    }

    /// What is right at some targets. The sums of a kernel need a plan.
    pub(crate) fn reference(
        &self,
        options: &FmmOptions,
        plan: Option<&Plan>,
        targets: &[usize],
        progress: &mut Progress,
    ) -> Result<Vec<Force>, FmmError> {
        match self.p2p.zip(plan) {
            Some((graph, plan)) => Ok(super::offload::direct(plan, &self.particles.q, graph, targets, progress)?),
            None => Ok(error::reference(self.particles, targets, options.eps, options.periodic.as_ref())),
        }
    }
}

/// Options that may come nearer to a wanted error.
fn other(options: &FmmOptions, problem: &Problem, limit: Limit) -> Option<FmmOptions> {
    let free = problem.free;
    let mut options = options.clone();
    match limit {
        Limit::F32 if free.precision => options.precision = Precision::F64,
        Limit::Order | Limit::OrderOrKernel if free.theta && options.theta > SMALL_THETA => options.theta = SMALL_THETA,
        Limit::Softening if free.leaf && options.leaf < problem.particles.len() => {
            options.leaf = options.leaf.saturating_mul(A_LEVEL);
            return Some(options);
        }
        _ => return None,
    }
    if free.leaf {
        let Shape { leaf, enlarge } = native_shape(problem.costs, problem.particles.len(), &options, free.enlarge);
        (options.leaf, options.enlarge) = (leaf, enlarge);
    }
    Some(options)
}

/// The leaf size of least cost where all stages are native, and the edge of the root cell where this may be enlarged.
pub fn native_shape(costs: &Costs, n: usize, options: &FmmOptions, may_enlarge: bool) -> Shape {
    let FmmOptions { basis, order, precision, .. } = *options;
    let choice = Choice { n, basis, order, precision };
    // What a level costs a kernel's own expansion, with tables for each, is not in that model.
    match may_enlarge && options.periodic.is_none() && basis != Basis::Chebyshev {
        true => costs.shape(&choice),
        false => Shape { leaf: costs.leaf(&choice), enlarge: 1.0 },
    }
}

fn out_of_reach(wanted: f64, limit: Limit, best: f64) -> FmmError {
    let why = match limit {
        Limit::Kernel => "the number formats of the P2P kernel limit it; take a wider kernel or backend `cpu`",
        Limit::F32 => "f32 limits it; take --precision f64",
        Limit::Order => "the highest order limits it; take a smaller --theta",
        Limit::OrderOrKernel => {
            "the highest order limits it, or the number formats of the P2P kernel; take a smaller --theta, a wider kernel or backend `cpu`"
        }
        Limit::F64 => "f64 limits it",
        Limit::Softening => {
            "the far field is not softened; take a shorter --eps, a larger --leaf or none, or --p2p p2p --expansion chebyshev, which softens it"
        }
    };
    FmmError::Range(format!("an error of {wanted:e} is out of reach: the best was {best:.1e}; {why}"))
}

/// Looks for the lowest order that does.
struct Search<'a> {
    wanted: f64,
    problem: &'a Problem<'a>,
    judge: Judge,
    runner: &'a mut dyn Runner,
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

impl Search<'_> {
    /// Tries orders of a plan. Gives what limits the error, and the best one, where none does.
    fn orders(&mut self, options: &FmmOptions) -> Result<Result<Found, (Limit, f64)>, FmmError> {
        let steps = Steps::new(options.basis, lists::near2(options.theta));
        let mut runs = Runs::default();
        let mut next = Some(steps.of_order(options.order));
        while let Some(step) = next {
            let (order, lower_beyond) = steps.order(step);
            let solution = self.runner.solve(order, lower_beyond)?;
            runs.tried.push(Tried { step, error: self.error(&solution) });
            runs.kept.push((step, solution));
            self.divide(&mut runs)?;
            runs.drop_others(self.wanted);
            next = steps.next(&runs.tried, self.wanted).or_else(|| self.second(&runs, &steps));
        }
        let Some(step) = runs.best(self.wanted) else {
            let best = runs.tried.iter().map(|t| t.error).fold(f64::INFINITY, f64::min);
            let is_highest = runs.tried.iter().any(|t| t.step == steps.most());
            let is_soft = options.eps > 0.0 && self.problem.p2p.is_none();
            let limit = match options.precision {
                _ if !self.runner.is_native() && is_highest && steps.still_gains(&runs.tried) => Limit::OrderOrKernel,
                _ if !self.runner.is_native() => Limit::Kernel,
                Precision::F32 => Limit::F32,
                Precision::F64 if is_highest && !(is_soft && options.theta <= SMALL_THETA) => Limit::Order,
                Precision::F64 if is_soft => Limit::Softening,
                Precision::F64 => Limit::F64,
            };
            return Ok(Err((limit, best)));
        };
        let (order, lower_beyond) = steps.order(step);
        let at = runs.kept.iter().position(|(kept, _)| *kept == step).expect("the best run is kept");
        let solution = runs.kept.swap_remove(at).1;
        let errors = self.judge.errors(&solution.field);
        Ok(Ok(Found { options: FmmOptions { order, lower_beyond, ..options.clone() }, solution, errors }))
    }

    /// Tells the judge where errors are large, once two steps were run, and judges both again.
    fn divide(&mut self, runs: &mut Runs) -> Result<(), FmmError> {
        let [(_, one), (_, other)] = &runs.kept[..] else { return Ok(()) };
        if !self.problem.is_promise || !self.judge.needs_strata() {
            return Ok(());
        }
        let targets = self.judge.divide(&one.field, &other.field);
        let reference = self.runner.reference(&targets)?;
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

#[cfg(test)]
mod tests {
    use super::super::native::NativeP2p;
    use super::*;
    use crate::data::random::{Charge, Distribution, generate};

    /// Where f32 does not reach a wanted error, P2P elsewhere takes f64 as the CPU does, unless it has formats of its own.
    #[test]
    fn a_card_goes_on_in_f64_where_f32_does_not_reach() {
        let particles = generate(800, Distribution::Uniform, Charge::Random, 5);
        let free = |precision| Free { theta: true, precision, leaf: true, enlarge: false };
        let within = |free, executors: &mut [&mut dyn Executor]| {
            let costs = Costs::default();
            let problem = Problem { particles: &particles, p2p: None, seed: 5, is_promise: true, free, costs: &costs };
            let options =
                FmmOptions { basis: Basis::Solid, leaf: 40, precision: Precision::F32, ..FmmOptions::default() };
            within(1e-8, &problem, &start(&options, 1e-8), executors, &mut |_, _, _| {})
        };
        for executors in [&mut [] as &mut [&mut dyn Executor], &mut [&mut NativeP2p(None)]] {
            let found = within(free(true), executors).expect("f64 does");
            assert_eq!(found.plan.options.precision, Precision::F64);
            assert!(found.errors.gradient_rel_l2.is_some_and(|e| e <= 1e-8));
            let refused = within(free(false), executors).err().expect("f32 does not").to_string();
            assert!(refused.contains("f32 limits it; take --precision f64"), "{refused}");
        }
        let refused =
            within(free(true), &mut [&mut NativeP2p(Some(Precision::F32))]).err().expect("formats stay").to_string();
        assert!(refused.contains("the number formats of the P2P kernel limit it"), "{refused}");
    }
}
