//! The order for a wanted error, and the number of points in a box for an order.

use super::direct::Direct;
use super::error::{Errors, Reference};
use super::{Executor, Geometry, Kernel, MOST_ORDER, Options, Plan, Solution, Strengths};
use crate::octree::Precision;
use crate::stages::{FmmError, Progress};

/// The number of points in a finest box, N_d of (5.2), that costs about the least (docs/method/two-dimensions.md, Choosing N_d): stages by
/// boxes, M2L above all, take as long as P2P.
pub fn leaf(order: usize, kernel: Kernel, precision: Precision) -> usize {
    let harmonic = 30.0 + 1.65 * order as f64;
    let factor = match (kernel, precision) {
        (Kernel::Harmonic, Precision::F64) => 1.0,
        // P2P is in f32 too.
        (Kernel::Harmonic, Precision::F32) => 1.1,
        (Kernel::Log, Precision::F64) => 0.61,
        (Kernel::Log, Precision::F32) => 0.52,
    };
    (harmonic * factor) as usize
}

/// A problem whose error is wanted to be small.
pub struct Problem<'a> {
    pub geometry: Geometry<'a>,
    /// One set, or the parts of complex strengths.
    pub sets: &'a [Strengths<'a>],
    pub seed: u64,
    /// Targets of `--check`.
    pub samples: usize,
    /// Whether the number of points in a box follows the order.
    pub is_leaf_free: bool,
}

/// The result of a search.
pub struct Tuned {
    pub plan: Plan,
    pub solutions: Vec<Solution>,
    pub errors: Errors,
}

/// The least error that is looked for with expansions in f32.
const LEAST_F32: f64 = 1e-5;

/// The arithmetic that suits a wanted error.
pub fn precision(wanted: f64) -> Precision {
    if wanted >= LEAST_F32 { Precision::F32 } else { Precision::F64 }
}

/// How much smaller than wanted an error must be at targets other than those of `--check`: an error of some targets is larger at
/// others.
const MARGIN: f64 = 0.5;

/// Runs with higher and higher orders until the relative L2 error (of the gradient, or of Phi) is at most `wanted`, at the targets of
/// `--check` and with a margin at as many others.
pub fn within(
    wanted: f64,
    problem: &Problem,
    options: &Options,
    executors: &mut [&mut dyn Executor<Plan>],
    progress: &mut Progress,
) -> Result<Tuned, FmmError> {
    let direct: Vec<Direct> = problem
        .sets
        .iter()
        .map(|strengths| Direct { kernel: options.kernel, geometry: problem.geometry, strengths: *strengths })
        .collect();
    let shown = Reference::new(&direct, problem.samples, problem.seed);
    let others = Reference::new(&direct, problem.samples, !problem.seed);
    let mut options = Options { order: first_guess(wanted, options.theta), ..options.clone() };
    let mut before = f64::INFINITY;
    loop {
        if problem.is_leaf_free {
            options.leaf = leaf(options.order, options.kernel, options.precision);
        }
        let plan = Plan::new(problem.geometry, &options)?;
        let run = |set: &Strengths| plan.run(set, executors, progress);
        let solutions = problem.sets.iter().map(run).collect::<Result<Vec<Solution>, FmmError>>()?;
        let fields: Vec<_> = solutions.iter().map(|s| &s.field).collect();
        let errors = shown.errors(&fields);
        let found = errors.of_vector().max(others.errors(&fields).of_vector() / MARGIN);
        if found <= wanted {
            return Ok(Tuned { plan, solutions, errors });
        }
        let is_f32 = options.precision == Precision::F32 && plan.suits_f32();
        match () {
            // Rounding, not the order, rules the error.
            _ if is_f32 && options.order >= ROUNDED_F32 => options.precision = Precision::F64,
            _ if !executors.is_empty() && found > STUCK * before => {
                return Err(FmmError::Range(format!(
                    "an error of {wanted:e} is out of reach: order {} gives {found:.1e}, which the formats of the P2P kernel limit; \
                     give a larger --tol, a kernel with wider formats by --p2p, or the backend `cpu`",
                    options.order
                )));
            }
            _ if executors.is_empty() && found > STUCK * before && options.precision == Precision::F64 => {
                return Err(FmmError::Range(format!(
                    "an error of {wanted:e} is out of reach: order {} gives {found:.1e}, which the rounding of f64 limits; give a larger \
                     --tol",
                    options.order
                )));
            }
            _ if options.order >= MOST_ORDER => {
                return Err(FmmError::Range(format!(
                    "an error of {wanted:e} is out of reach: order {MOST_ORDER} gives {found:.1e}; give a larger --tol, or a \
                     smaller --theta"
                )));
            }
            _ => {
                let more = ((wanted / found).ln() / options.theta.ln()).ceil().clamp(1.0, MORE as f64);
                options.order = (options.order + more as usize).min(MOST_ORDER);
                before = found;
            }
        }
    }
}

/// The part of an error that a higher order leaves where the order does not rule it.
const STUCK: f64 = 0.9;

/// Orders that are added at once at most.
const MORE: usize = 8;

/// The order from which on expansions in f32 get no better.
const ROUNDED_F32: usize = 18;

/// Errors of uniform points are about a hundredth of theta^p. The highest orders come second, so that what they gain is known.
pub(super) fn first_guess(wanted: f64, theta: f64) -> usize {
    let order = ((100.0 * wanted).ln() / theta.ln()).ceil();
    order.clamp(2.0, (MOST_ORDER - MORE) as f64) as usize
}
