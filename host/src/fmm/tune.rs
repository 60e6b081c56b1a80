//! An FMM for a wanted error: its order, found by measuring, and its leaf size, from what the stages cost.

use super::executor::{Executor, Progress};
use super::{FmmError, FmmOptions, Plan, Precision, Solution};
use crate::data::Force;
use crate::data::particles::Particles;
use crate::direct::error::{self, Errors, compare, sample};
use crate::expansion::basis::Basis;
use pg2::graph::Graph;

/// Targets that errors are measured at.
const SAMPLES: usize = 1000;

/// The part of the wanted error that is aimed at: other targets than the sampled ones have other errors.
pub const AIM: f64 = 0.9;

/// Errors below this part of the wanted one cost more than they need to.
const WASTE: f64 = 1.0 / 3.0;

/// By how much an error falls from one order to the next, at least and at most.
const GAIN: [f64; 2] = [1.6, 2.3];

/// Below this, sums in f32 do not reach a wanted error.
const LEAST_F32: f64 = 4e-6;

/// Orders and the gradient errors that they give for uniform particles with charges of both signs, theta 0.5.
const SOLID_ERRORS: [(usize, f64); 6] =
    [(3, 1.4e-3), (4, 5.3e-4), (5, 2.2e-4), (8, 1.6e-5), (12, 8.8e-7), (14, 2.1e-7)];

/// What is to be computed.
pub struct Problem<'a> {
    pub particles: &'a Particles,
    /// The kernel of a black-box expansion.
    pub p2p: Option<&'a Graph>,
    /// Chooses the targets whose errors are measured, as it does for [`crate::direct::error::measure`].
    pub seed: u64,
}

/// A plan that keeps a wanted error, with its first results.
pub struct Tuned {
    pub plan: Plan,
    pub solution: Solution,
    pub errors: Errors,
}

/// What was tried at an order.
struct Tried {
    order: usize,
    error: f64,
    found: Option<(Solution, Errors)>,
}

/// The particles up to which a leaf is not worth splitting, `sqrt(B / C)` with what M2L of a cell and P2P of a pair cost
/// (Gumerov and Duraiswami, 2008): in nanoseconds on one core of a Zen 4 with
/// AVX-512, of which only the ratio counts.
pub fn leaf(basis: Basis, order: usize, precision: Precision) -> usize {
    let terms = match basis {
        Basis::Solid => ((order + 1) * (order + 1)) as f64,
        Basis::Cartesian | Basis::Chebyshev => ((order + 1) * (order + 2) * (order + 3) / 6) as f64,
    };
    let (pair, cells, product) = match precision {
        Precision::F32 => (0.33, 8.0, 0.0055),
        Precision::F64 => (0.73, 10.0, 0.0058),
    };
    // Solid harmonics share a product among mirrored offsets; the other expansions compute one for each.
    let shared = if basis == Basis::Solid { 1.0 } else { 5.0 };
    let m2l = cells + shared * product * terms * terms;
    // Eight children with 189 far cells each, against seven eighths of the pairs with 27 cells.
    let best = (8.0 * 189.0 * m2l / (27.0 * 0.875 * pair)).sqrt();
    (best as usize).clamp(16, 2048)
}

/// The order to begin with.
fn guess(wanted: f64, most: usize) -> usize {
    let [(_, first), .., (last_order, last)] = SOLID_ERRORS;
    if wanted >= first {
        return 2;
    }
    if let Some((order, _)) = SOLID_ERRORS.iter().find(|(_, e)| *e <= wanted) {
        return (*order).min(most);
    }
    (last_order + ((last / wanted).ln() / 2f64.ln()).ceil() as usize).min(most)
}

/// The precision that a wanted error needs.
pub fn precision(wanted: f64) -> Precision {
    if wanted >= LEAST_F32 { Precision::F32 } else { Precision::F64 }
}

/// Options for a wanted error, to begin with.
pub fn start(options: &FmmOptions, wanted: f64) -> FmmOptions {
    FmmOptions { order: guess(wanted, options.basis.max_order()), ..options.clone() }
}

/// Plans and runs until the relative L2 error of the gradient (of the potential, if P2P gives no gradient) at some targets is
/// at most `wanted`, and not far below it.
pub fn within(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor],
    progress: &mut Progress,
) -> Result<Tuned, FmmError> {
    let Problem { particles, p2p, seed } = *problem;
    let mut plan = Plan::for_kernel(particles.columns(), options, p2p)?;
    let targets = sample(particles.len(), SAMPLES, seed);
    let reference: Vec<Force> = match p2p {
        Some(graph) => super::offload::direct(&plan, &particles.q, graph, &targets)?,
        None => error::reference(particles, &targets, options.eps, options.periodic.as_ref()),
    };
    let (aim, most) = (AIM * wanted, options.basis.max_order());
    let mut tried: Vec<Tried> = Vec::new();
    let mut order = options.order;
    loop {
        plan.set_order(order);
        let solution = plan.solve(&particles.q, executors, progress)?;
        let errors = compare(&solution.field, &targets, &reference);
        let error = errors.gradient_rel_l2.unwrap_or(errors.potential_rel_l2);
        let is_good = error <= aim;
        // Only the best of those that are good is kept.
        let best = tried.iter().filter(|t| t.found.is_some()).map(|t| t.order).min();
        let found = (is_good && best.is_none_or(|b| order < b)).then_some((solution, errors));
        if found.is_some() {
            tried.iter_mut().for_each(|t| t.found = None);
        }
        tried.push(Tried { order, error, found });
        match next(&tried, wanted, most) {
            Some(next) => order = next,
            None => break,
        }
    }
    match tried.iter_mut().find_map(|t| t.found.take().map(|found| (t.order, found))) {
        Some((order, (solution, errors))) => {
            plan.set_order(order);
            Ok(Tuned { plan, solution, errors })
        }
        None => {
            let best = tried.iter().map(|t| t.error).fold(f64::INFINITY, f64::min);
            let is_highest = tried.iter().any(|t| t.order == most);
            let why = match (options.precision, executors.is_empty()) {
                (_, false) => "the number formats of the P2P kernel limit it; take a wider kernel or backend `cpu`",
                (Precision::F32, true) => "f32 limits it; take --precision f64",
                (Precision::F64, true) if is_highest => "the highest order limits it; take a smaller --theta",
                (Precision::F64, true) => "f64 limits it",
            };
            Err(FmmError::Range(format!("an error of {wanted:e} is out of reach: the best was {best:.1e}; {why}")))
        }
    }
}

/// The next order to try, unless what was tried is enough.
fn next(tried: &[Tried], wanted: f64, most: usize) -> Option<usize> {
    let aim = AIM * wanted;
    let good = tried.iter().filter(|t| t.error <= aim).min_by_key(|t| t.order);
    let bad = tried.iter().filter(|t| t.error > aim).max_by_key(|t| t.order);
    let steps = |ratio: f64, gain: f64| ratio.max(1.0).ln() / gain.ln();
    let order = match (good, bad) {
        (Some(good), bad) => {
            let floor = bad.map_or(1, |b| b.order + 1);
            if good.order <= floor || good.error >= WASTE * wanted {
                return None;
            }
            // As far down as the slowest fall allows, and between what was tried.
            let down = steps(aim / good.error.max(1e-300), GAIN[1]).floor().max(1.0) as usize;
            good.order.saturating_sub(down).max(floor)
        }
        (None, Some(bad)) => {
            // Higher orders no longer help.
            let last = tried.len();
            if last >= 2 && tried[last - 1].error > 0.8 * tried[last - 2].error || bad.order == most {
                return None;
            }
            let up = steps(bad.error / aim, GAIN[1]).ceil().max(1.0) as usize;
            (bad.order + up).min(most)
        }
        (None, None) => return None,
    };
    Some(order).filter(|order| tried.iter().all(|t| t.order != *order))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 30;

    /// Orders tried for an error that falls by `gain` an order from `first` down to `floor`.
    fn orders(first: f64, gain: f64, floor: f64, wanted: f64) -> (Vec<usize>, f64) {
        let mut tried: Vec<Tried> = Vec::new();
        let mut order = guess(wanted, MOST);
        loop {
            let error = (first * gain.powi(-(order as i32))).max(floor);
            tried.push(Tried { order, error, found: None });
            match next(&tried, wanted, MOST) {
                Some(next) => order = next,
                None => break,
            }
        }
        let good = tried.iter().filter(|t| t.error <= wanted).min_by_key(|t| t.order);
        (tried.iter().map(|t| t.order).collect(), good.map_or(f64::INFINITY, |t| t.error))
    }

    #[test]
    fn few_orders_are_tried_and_the_error_is_kept() {
        for gain in [1.5, 1.7, 2.0, 2.3] {
            for first in [1e-3, 1e-2, 1e-1] {
                for wanted in [1e-2, 1e-4, 1e-6] {
                    let (orders, error) = orders(first, gain, 1e-15, wanted);
                    if orders.contains(&MOST) {
                        continue;
                    }
                    assert!(error <= wanted && orders.len() <= 7, "{gain} {first} {wanted} {orders:?} {error}");
                    assert!(error > 0.3 * wanted || orders.contains(&1), "{gain} {first} {wanted} {orders:?} {error}");
                }
            }
        }
        // Formats that limit the error end the search.
        let (orders, error) = orders(1e-2, 2.0, 1e-5, 1e-6);
        assert!(orders.len() <= 4 && error == f64::INFINITY, "{orders:?}");
    }

    #[test]
    fn leaves_grow_with_the_order() {
        let sizes = |precision| [2, 5, 8, 14, 20].map(|order| leaf(Basis::Solid, order, precision));
        for precision in [Precision::F32, Precision::F64] {
            assert!(sizes(precision).windows(2).all(|w| w[0] < w[1]), "{:?}", sizes(precision));
        }
    }
}
