//! An FMM for a wanted error: its order, found by measuring, and its leaf size, from what the stages cost.

pub mod cost;
pub mod judge;
mod limit;
mod measure;
mod orders;

pub use measure::measure;

use super::budget::{self, Fields, Run};
use super::executor::{Executor, Progress};
use super::kernel::Kernel;
use super::near::KeptNearField;
use super::options::{Wanted, check_executors};
use super::stats::Stats;
use super::{FmmError, FmmOptions, Plan, Precision, Solutions, softening};
use crate::data::particles::Field;
use crate::data::problem::{Geometry, Sources};
use crate::direct::error::{self, Errors};
use crate::direct::summation::Direct;
use crate::expansion::basis::Basis;
use crate::tree::lists;
use cost::{Choice, Costs, Shape};
use judge::Judge;
pub use limit::Arithmetic;
use limit::{Failed, Limit, out_of_reach};
pub use orders::usual_of;
use orders::{Steps, Tried, guess};

/// Below this, sums in f32 do not reach a wanted error.
const LEAST_F32: f64 = 4e-6;

/// The opening angle where the usual one does not reach a wanted error: cells are near up to 3 apart.
pub const SMALL_THETA: f64 = 1.0 / 3.0;

/// The problem to compute.
pub struct Problem<'a> {
    pub geometry: Geometry<'a>,
    /// Charges and moments of the sources, set by set. The wanted error is that of each.
    pub sets: Vec<Sources<'a>>,
    pub hessian: bool,
    /// The kernel of a black-box expansion.
    pub p2p: Option<&'a dyn Kernel>,
    /// The kernel that runs P2P, if one does.
    pub near: Option<&'a dyn Kernel>,
    /// Chooses the targets whose errors are measured, as it does for [`crate::direct::error::measure`].
    pub seed: u64,
    /// Whether other random targets have the wanted error too, nearly always; otherwise only those that are measured.
    pub is_promise: bool,
    pub free: Free,
    pub costs: &'a Costs,
}

/// The options that may be changed where a wanted error asks for it.
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
    pub solution: Solutions,
    /// For each set of charges.
    pub errors: Vec<Errors>,
}

/// How much larger leaves are where the far field shall be farther away: by one level.
const A_LEVEL: usize = 8;

/// The precision that a wanted error needs.
pub fn precision(wanted: f64) -> Precision {
    if wanted >= LEAST_F32 { Precision::F32 } else { Precision::F64 }
}

/// Options for a wanted error, to begin with.
pub fn start(options: &FmmOptions, wanted: f64) -> FmmOptions {
    FmmOptions { order: guess(wanted, options.max_order()), ..options.clone() }
}

/// The executor of the runs that a search asks for.
pub trait Runner {
    /// Takes other options, with which cells are others.
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError>;

    /// A run of an order, or of a part of one (see [`FmmOptions::lower_beyond`]).
    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solutions, FmmError>;

    /// Reference at some targets for a set of charges: potential, gradient and, where it is asked for, Hessian.
    fn reference(&mut self, set: usize, targets: &[usize]) -> Result<Vec<[f64; 10]>, FmmError>;

    /// The runs that split the error of such a run for a set of charges.
    fn split(&mut self, order: usize, lower_beyond: Option<f64>, set: usize) -> Result<Fields, FmmError>;

    /// Arithmetic of P2P.
    fn arithmetic(&self) -> Arithmetic;
}

/// The result of a search: options that keep a wanted error, with their results.
pub struct Found {
    pub options: FmmOptions,
    pub solution: Solutions,
    pub errors: Vec<Errors>,
}

/// One process that runs everything.
struct SingleProcess<'a, 'e, 'p> {
    problem: &'a Problem<'a>,
    plan: Plan,
    /// Orders differ in the far field alone.
    near: KeptNearField,
    executors: &'a mut [&'e mut dyn Executor<Plan>],
    progress: &'a mut Progress<'p>,
}

impl Runner for SingleProcess<'_, '_, '_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        self.near = KeptNearField::default();
        self.plan = Plan::for_kernel(self.problem.geometry, options, self.problem.p2p)?;
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solutions, FmmError> {
        self.plan.set_order(order, lower_beyond);
        let Problem { sets, hessian, .. } = self.problem;
        self.plan.solve_with(Some(&mut self.near), sets, *hessian, self.executors, self.progress)
    }

    fn reference(&mut self, set: usize, targets: &[usize]) -> Result<Vec<[f64; 10]>, FmmError> {
        self.problem.reference(&self.plan.options, Some(&self.plan), (set, targets), self.progress)
    }

    fn split(&mut self, order: usize, lower_beyond: Option<f64>, set: usize) -> Result<Fields, FmmError> {
        self.plan.set_order(order, lower_beyond);
        let Problem { geometry, near: p2p, .. } = *self.problem;
        let run = Run { plan: &self.plan, geometry, sources: self.problem.sets[set], p2p };
        budget::fields(&run, self.executors, self.progress)
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::of(self.executors)
    }
}

/// Plans and runs until the relative L2 error of the gradient (of the potential, if P2P gives no gradient) is at most `wanted` for
/// every set of charges, and not with the step of accuracy below, or nearly so.
pub fn within(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor<Plan>],
    progress: &mut Progress,
) -> Result<Tuned, FmmError> {
    check_executors(options, problem.wanted(), executors)?;
    let plan = Plan::for_kernel(problem.geometry, options, problem.p2p)?;
    let mut alone = SingleProcess { problem, plan, near: KeptNearField::default(), executors, progress };
    let Found { options, solution, errors } = search(wanted, problem, options, &mut alone)?;
    let mut plan = alone.plan;
    plan.set_order(options.order, options.lower_beyond);
    Ok(Tuned { plan, solution, errors })
}

/// The same with the runs of a runner, which has the options to begin with.
pub fn search(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    runner: &mut dyn Runner,
) -> Result<Found, FmmError> {
    let mut options = options.clone();
    let judges = judges(problem, &options, runner)?;
    let mut search = Search { wanted, problem, judges, runner, highest: options.max_order(), are_whole: false };
    loop {
        options = match search.orders(&options)? {
            Ended::Found(found) => return Ok(*found),
            Ended::Failed(failed) => {
                let limit = search.limit(&options, &failed)?;
                other(&options, problem, limit).ok_or_else(|| out_of_reach(wanted, limit, failed.error))?
            }
        };
        search.runner.plan(&options)?;
        // Other cells have their corners elsewhere.
        search.judges.iter_mut().for_each(|judge| judge.unite());
    }
}

/// The same among the whole orders of the options as they are; none if no order does.
pub fn search_whole_orders(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    runner: &mut dyn Runner,
) -> Result<Option<Found>, FmmError> {
    let judges = judges(problem, options, runner)?;
    let mut search = Search { wanted, problem, judges, runner, highest: options.max_order(), are_whole: true };
    Ok(match search.orders(options)? {
        Ended::Found(found) => Some(*found),
        Ended::Failed(_) => None,
    })
}

/// End of a search among orders.
enum Ended {
    Found(Box<Found>),
    Failed(Failed),
}

/// The judges of each set of charges, by the same targets to begin with.
fn judges(problem: &Problem, options: &FmmOptions, runner: &mut dyn Runner) -> Result<Vec<Judge>, FmmError> {
    let (n, seed) = (problem.targets(), problem.seed);
    let targets = match problem.is_promise {
        true => judge::targets(n, problem.cost_of_a_target(options), seed),
        false => judge::checked(n, seed),
    };
    let edge = error::edge(problem.geometry, options.periodic.as_ref());
    let judge = |set| {
        let reference = runner.reference(set, &targets)?;
        Ok(Judge::new((n, edge), targets.clone(), &reference, seed))
    };
    (0..problem.sets.len()).map(judge).collect()
}

impl Problem<'_> {
    fn sources(&self) -> usize {
        self.geometry.sources[0].len()
    }

    fn targets(&self) -> usize {
        self.geometry.targets.unwrap_or(self.geometry.sources)[0].len()
    }

    fn largest(&self) -> usize {
        self.sources().max(self.targets())
    }

    fn wanted(&self) -> Wanted {
        Wanted { dipoles: self.sets.iter().any(|s| s.dipoles.is_some()), hessian: self.hessian }
    }

    /// Cost of a target in [`Problem::reference`] for all sets of charges, in pairs by 1/r.
    fn cost_of_a_target(&self, options: &FmmOptions) -> usize {
        let pair = match (self.p2p, &options.periodic) {
            (None, None) => 1,
            (None, Some(_)) => judge::cost::EWALD,
            (Some(_), None) => judge::cost::KERNEL,
            (Some(_), Some(periodic)) => {
                let near = 2 * lists::reach(lists::near2(options.theta)) as usize + 1;
                judge::cost::KERNEL * near.pow(periodic.count() as u32)
            }
        };
        let Wanted { dipoles, hessian } = self.wanted();
        let derivatives = if dipoles || hessian { judge::cost::DERIVATIVES } else { 1 };
        self.sources() * self.sets.len() * pair * derivatives
    }

    /// Reference at some targets for a set of charges. The sums of a kernel need a plan.
    pub fn reference(
        &self,
        options: &FmmOptions,
        plan: Option<&Plan>,
        (set, targets): (usize, &[usize]),
        progress: &mut Progress,
    ) -> Result<Vec<[f64; 10]>, FmmError> {
        let sources = self.sets[set];
        if let Some((kernel, plan)) = self.p2p.zip(plan) {
            let charges = sources.charges.expect("kernels are refused dipoles");
            let found = kernel.direct(plan, charges, targets, progress)?;
            return Ok(found.into_iter().map(|f| std::array::from_fn(|a| if a < 4 { f[a] } else { 0.0 })).collect());
        }
        let direct = Direct { geometry: self.geometry, sources, eps: options.eps, hessian: self.hessian };
        Ok(error::reference_of(&direct, targets, options.periodic.as_ref()))
    }
}

/// Options that may come nearer to a wanted error.
fn other(options: &FmmOptions, problem: &Problem, limit: Limit) -> Option<FmmOptions> {
    let free = problem.free;
    let mut options = options.clone();
    match limit {
        Limit::F32 if free.precision => options.precision = Precision::F64,
        Limit::Order | Limit::Softening
            if free.theta
                && options.theta > SMALL_THETA
                && (limit == Limit::Order || options.periodic.is_none())
                && softening::images_agree(&options, SMALL_THETA) =>
        {
            options.theta = SMALL_THETA;
            options.order = options.order.min(options.max_order());
        }
        // With larger cells fewer pairs are expanded, and at last none.
        Limit::Order | Limit::Softening
            if options.eps > 0.0
                && options.basis != Basis::Chebyshev
                && free.leaf
                && options.leaf < problem.largest() =>
        {
            options.leaf = options.leaf.saturating_mul(A_LEVEL);
            return Some(options);
        }
        _ => return None,
    }
    if free.leaf {
        let Shape { leaf, enlarge } = native_shape(problem.costs, problem.sources(), &options, free.enlarge);
        (options.leaf, options.enlarge) = (leaf, enlarge);
    }
    Some(options)
}

/// The leaf size of least cost where all stages are native, and the edge of the root cell where this may be enlarged.
pub fn native_shape(costs: &Costs, n: usize, options: &FmmOptions, may_enlarge: bool) -> Shape {
    let FmmOptions { basis, order, precision, .. } = *options;
    let choice = Choice { n, basis, order, precision };
    let of_waves = options.has_waves().then(|| costs.with_waves(order));
    let costs = of_waves.as_ref().unwrap_or(costs);
    // What a level costs a kernel's own expansion, with tables for each, is not in that model.
    let has_own = basis == Basis::Chebyshev;
    match may_enlarge && options.periodic.is_none() && !has_own {
        true => costs.shape(&choice),
        false => Shape { leaf: costs.leaf(&choice), enlarge: 1.0 },
    }
}

/// Looks for the lowest order that does.
struct Search<'a> {
    wanted: f64,
    problem: &'a Problem<'a>,
    /// One for each set of charges.
    judges: Vec<Judge>,
    runner: &'a mut dyn Runner,
    /// The highest order that may help.
    highest: usize,
    /// Whether no parts of orders are tried.
    are_whole: bool,
}

/// Runs of several steps of accuracy: their errors, and the results of those that still matter.
#[derive(Default)]
struct Runs {
    tried: Vec<Tried>,
    /// By step.
    kept: Vec<(usize, Solutions)>,
}

impl Runs {
    /// Only the run of the lowest step that is good is kept, that of the least error, and the last one.
    fn drop_others(&mut self, wanted: f64) {
        let last = self.tried.last().map(|t| t.step);
        let (best, nearest) = (self.best(wanted), self.nearest().map(|t| t.step));
        self.kept.retain(|(step, _)| [best, nearest, last].contains(&Some(*step)));
    }

    /// The lowest step that is good.
    fn best(&self, wanted: f64) -> Option<usize> {
        self.tried.iter().filter(|t| t.error <= wanted).map(|t| t.step).min()
    }

    /// The step of the least error.
    fn nearest(&self) -> Option<&Tried> {
        self.tried.iter().min_by(|a, b| a.error.total_cmp(&b.error))
    }

    /// The results of a step that were kept.
    fn take(&mut self, step: usize) -> Solutions {
        let at = self.kept.iter().position(|(kept, _)| *kept == step).expect("the run of this step is kept");
        self.kept.swap_remove(at).1
    }
}

impl Search<'_> {
    /// Tries orders of a plan. Gives the run of the least error where none does.
    fn orders(&mut self, options: &FmmOptions) -> Result<Ended, FmmError> {
        self.highest = options.max_order();
        let mut steps = self.steps(options);
        let mut runs = Runs::default();
        let mut next = Some(steps.of_order(options.order));
        let mut is_direct = false;
        while let Some(step) = next {
            let (order, lower_beyond) = steps.order(step);
            let solution = self.runner.solve(order, lower_beyond)?;
            is_direct = budget::is_direct(options, &solution.stats.pairs);
            if runs.tried.is_empty() && solution.stats.softened.is_some() {
                self.highest = self.softened(options, &solution.stats).max(order);
                steps = self.steps(options);
            }
            runs.kept.push((step, solution));
            runs.tried.push(Tried { step, error: f64::INFINITY });
            let is_divided = self.divide(&runs)?;
            self.judge(&mut runs, is_divided);
            runs.drop_others(self.wanted);
            next = match runs.best(self.wanted) {
                // No order changes direct sums.
                None if is_direct => None,
                _ => steps.next(&runs.tried, self.wanted).or_else(|| self.second(&runs, &steps)),
            };
        }
        if let Some(step) = runs.best(self.wanted) {
            let (order, lower_beyond) = steps.order(step);
            let solution = runs.take(step);
            let errors = self.errors(&solution.fields);
            let options = FmmOptions { order, lower_beyond, ..options.clone() };
            return Ok(Ended::Found(Box::new(Found { options, solution, errors })));
        }
        let nearest = *runs.nearest().expect("a step was tried");
        let is_highest = runs.tried.iter().any(|t| t.step == steps.most());
        let (order, lower_beyond) = steps.order(nearest.step);
        let fields = runs.take(nearest.step).fields;
        Ok(Ended::Failed(Failed { order, lower_beyond, error: nearest.error, fields, is_highest, is_direct }))
    }

    fn steps(&self, options: &FmmOptions) -> Steps {
        let steps = Steps::new(options.basis, self.highest, lists::near2(options.theta));
        if self.are_whole { steps.whole() } else { steps.whole_from(options.least_by_waves()) }
    }

    /// The highest order that helps where the far field is softened.
    fn softened(&self, options: &FmmOptions, stats: &Stats) -> usize {
        let Geometry { sources, targets } = self.problem.geometry;
        let eps = options.root(&[sources, targets.unwrap_or(sources)]).length(options.eps);
        softening::highest(options, eps, stats.levels).unwrap_or(1)
    }

    /// Tells the judges where errors are large, once two steps were run. Returns whether they know more now.
    fn divide(&mut self, runs: &Runs) -> Result<bool, FmmError> {
        let [(_, one), (_, other)] = &runs.kept[..] else { return Ok(false) };
        if !self.problem.is_promise || !self.needs_strata() {
            return Ok(false);
        }
        for (set, judge) in self.judges.iter_mut().enumerate() {
            let targets = judge.divide(&one.fields[set], &other.fields[set]);
            let reference = self.runner.reference(set, &targets)?;
            judge.add(targets, &reference);
        }
        Ok(true)
    }

    /// Judges the last run, or all that are kept.
    fn judge(&self, runs: &mut Runs, are_all: bool) {
        let first = if are_all { 0 } else { runs.kept.len() - 1 };
        for (step, solution) in &runs.kept[first..] {
            let error = self.error(&solution.fields);
            runs.tried.iter_mut().filter(|t| t.step == *step).for_each(|t| t.error = error);
        }
    }

    /// A second step where one alone was tried and two tell more.
    fn second(&self, runs: &Runs, steps: &Steps) -> Option<usize> {
        let [only] = runs.tried[..] else { return None };
        let is_wanted = self.problem.is_promise && self.needs_strata();
        let other = if only.step > steps.least() { only.step - 1 } else { only.step + 1 };
        Some(other).filter(|step| is_wanted && *step <= steps.most())
    }

    fn needs_strata(&self) -> bool {
        self.judges.iter().any(Judge::needs_strata)
    }

    fn errors(&self, fields: &[Field]) -> Vec<Errors> {
        self.judges.iter().zip(fields).map(|(judge, field)| judge.errors(field)).collect()
    }

    /// The error of each set of charges that is judged by.
    fn judged(&self, fields: &[Field]) -> Vec<f64> {
        let of_errors = |errors: Errors| errors.gradient_rel_l2.unwrap_or(errors.potential_rel_l2);
        let one = |(judge, field): (&Judge, &Field)| match self.problem.is_promise {
            true => judge.bound(field),
            false => of_errors(judge.errors(field)),
        };
        self.judges.iter().zip(fields).map(one).collect()
    }

    /// The largest of them.
    fn error(&self, fields: &[Field]) -> f64 {
        self.judged(fields).into_iter().fold(0.0, f64::max)
    }
}
