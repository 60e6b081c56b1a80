//! An FMM for a wanted error: its order, found by measuring, and its leaf size, from what the stages cost.

mod cost;
mod judge;
mod orders;

pub use cost::leaf;

use super::executor::{Executor, Progress};
use super::{FmmError, FmmOptions, Plan, Precision, Solution};
use crate::data::particles::Particles;
use crate::direct::error::{self, Errors};
use judge::Judge;
use orders::{Tried, guess, next};
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
/// and not far below it.
pub fn within(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor],
    progress: &mut Progress,
) -> Result<Tuned, FmmError> {
    let Problem { particles, p2p, seed, .. } = *problem;
    let mut options = options.clone();
    let mut plan = Plan::for_kernel(particles.columns(), &options, p2p)?;
    let targets = judge::targets(particles.len(), seed);
    let reference = match p2p {
        Some(graph) => super::offload::direct(&plan, &particles.q, graph, &targets)?,
        None => error::reference(particles, &targets, options.eps, options.periodic.as_ref()),
    };
    let judge = Judge::new(particles.len(), targets, reference, seed);
    let mut search = Search { wanted, problem, judge: &judge, executors, progress };
    loop {
        let (limit, best) = match search.orders(plan)? {
            Ok(tuned) => return Ok(tuned),
            Err(limited) => limited,
        };
        options = other(&options, problem.free, limit).ok_or_else(|| out_of_reach(wanted, limit, best))?;
        plan = Plan::for_kernel(particles.columns(), &options, p2p)?;
    }
}

/// Options that may come nearer to a wanted error.
fn other(options: &FmmOptions, free: Free, limit: Limit) -> Option<FmmOptions> {
    let mut options = options.clone();
    match limit {
        Limit::F32 if free.precision => options.precision = Precision::F64,
        Limit::Order if free.theta && options.theta > SMALL_THETA => options.theta = SMALL_THETA,
        _ => return None,
    }
    if free.leaf {
        options.leaf = leaf(options.basis, options.order, options.precision);
    }
    Some(options)
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
    judge: &'a Judge,
    executors: &'a mut [&'e mut dyn Executor],
    progress: &'a mut Progress<'p>,
}

impl Search<'_, '_, '_> {
    /// Tries orders of a plan. Gives what limits the error, and the best one, where none does.
    fn orders(&mut self, mut plan: Plan) -> Result<Result<Tuned, (Limit, f64)>, FmmError> {
        let most = plan.options.basis.max_order();
        let mut tried: Vec<Tried> = Vec::new();
        let mut best: Option<(usize, Solution)> = None;
        let mut order = plan.options.order;
        loop {
            plan.set_order(order);
            let solution = plan.solve(&self.problem.particles.q, self.executors, self.progress)?;
            let error = self.error(&solution);
            tried.push(Tried { order, error });
            // Only the best of those that are good is kept.
            if error <= self.wanted && best.as_ref().is_none_or(|(best, _)| order < *best) {
                best = Some((order, solution));
            }
            match next(&tried, self.wanted, most) {
                Some(next) => order = next,
                None => break,
            }
        }
        let Some((order, solution)) = best else {
            let best = tried.iter().map(|t| t.error).fold(f64::INFINITY, f64::min);
            let is_highest = tried.iter().any(|t| t.order == most);
            let limit = match plan.options.precision {
                _ if !self.executors.is_empty() => Limit::Kernel,
                Precision::F32 => Limit::F32,
                Precision::F64 if is_highest => Limit::Order,
                Precision::F64 => Limit::F64,
            };
            return Ok(Err((limit, best)));
        };
        plan.set_order(order);
        let errors = self.judge.errors(&solution.field);
        Ok(Ok(Tuned { plan, solution, errors }))
    }

    fn error(&self, solution: &Solution) -> f64 {
        if self.problem.is_promise {
            return self.judge.bound(&solution.field);
        }
        let errors = self.judge.errors(&solution.field);
        errors.gradient_rel_l2.unwrap_or(errors.potential_rel_l2)
    }
}
