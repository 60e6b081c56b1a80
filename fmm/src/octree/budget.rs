//! The error of a run by its causes: the expansions' truncation, the grid of a kernel's coordinates, the formats of P2P and those of the
//! far field.
//!
//! One stage after the other is given to f64. What a result changes by is the error that the stage's formats gave.

use super::executor::{Executor, Progress};
use super::kernel::Kernel;
use super::native::NativeP2p;
use super::stats::Pairs;
use super::{FmmError, FmmOptions, Plan, Precision};
use crate::data::Force;
use crate::data::particles::Field;
use crate::data::problem::{Geometry, Sources};
use crate::direct::error::compare;
use serde::Serialize;

/// The causes of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Truncation,
    /// Of f64, where all pairs are summed directly.
    Rounding,
    /// The integer coordinates that kernels are given.
    Grid,
    P2p,
    M2l,
}

/// Relative L2 errors over some targets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Parts {
    /// Of the run as it is.
    pub total: f64,
    /// Of the expansions; 0 where all pairs are summed directly, and then `rounding` is what f64 leaves.
    pub truncation: f64,
    pub rounding: f64,
    /// Error that the grid of the coordinates adds which a kernel of P2P is given, whatever its formats.
    pub grid: f64,
    /// The errors that the formats of P2P add, and those of M2L (of the whole far field, where it is native).
    pub p2p: f64,
    pub m2l: f64,
    /// The largest of these; none where there is no error.
    pub largest: Option<Cause>,
    /// The total with one fraction bit more for the formats of that stage; with one order more if it is truncation, where an order
    /// more halves the error; and without the grid, as native code has it, if it is that.
    pub next: f64,
}

impl Parts {
    fn new(total: f64, causes: [(Cause, f64); 5]) -> Parts {
        let of = |cause: Cause| causes.iter().find(|c| c.0 == cause).map_or(0.0, |c| c.1);
        let most = causes.into_iter().filter(|c| c.1 > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
        let left = match most.map(|m| m.0) {
            Some(Cause::Grid) => 0.0,
            Some(Cause::Rounding) => 1.0,
            _ => 0.5,
        };
        // Errors of different causes do not know of each other.
        let rest = causes.iter().filter(|c| most.is_some_and(|m| m.0 != c.0)).map(|c| c.1 * c.1);
        // Without a grid the formats of the coordinates' kernel are gone too.
        let rest: f64 = match most {
            Some((Cause::Grid, _)) => of(Cause::Truncation).powi(2) + of(Cause::M2l).powi(2),
            _ => rest.sum(),
        };
        let next = (rest + (left * most.map_or(0.0, |m| m.1)).powi(2)).sqrt();
        let [truncation, rounding] = [Cause::Truncation, Cause::Rounding].map(of);
        let [grid, p2p, m2l] = [Cause::Grid, Cause::P2p, Cause::M2l].map(of);
        Parts { total, truncation, rounding, grid, p2p, m2l, largest: most.map(|m| m.0), next }
    }
}

/// How the error of a run is made up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Budget {
    pub samples: usize,
    pub potential: Parts,
    /// Absent where P2P gives the potential alone.
    pub gradient: Option<Parts>,
}

impl Budget {
    /// The parts of the gradient's error, or of the potential's where there is no gradient.
    pub fn judged(&self) -> &Parts {
        self.gradient.as_ref().unwrap_or(&self.potential)
    }
}

/// A run that is to be split.
pub struct Run<'a> {
    pub plan: &'a Plan,
    pub geometry: Geometry<'a>,
    pub sources: Sources<'a>,
    /// The kernel of P2P, unless it is native.
    pub p2p: Option<&'a dyn Kernel>,
}

/// The results at some targets, and their reference.
pub struct Seen<'a> {
    pub field: &'a Field,
    pub targets: &'a [usize],
    pub reference: &'a [Force],
    /// The edge of the box.
    pub edge: f64,
}

/// The results of the same run with formats taken away.
pub struct Fields {
    /// With P2P by what its kernel means at the coordinates that it is given; absent where P2P is native.
    pub on_grid: Option<Field>,
    /// With P2P in f64.
    pub without_p2p: Field,
    /// With all stages in f64.
    pub in_f64: Field,
    /// Whether all pairs were summed directly.
    pub is_direct: bool,
}

/// Whether all pairs are summed directly. Far images are expanded in any case.
pub fn is_direct(options: &FmmOptions, pairs: &Pairs) -> bool {
    pairs.m2l + pairs.m2p + pairs.p2l == 0 && options.periodic.is_none()
}

/// The runs that split the error of a run that `executors` have made.
pub fn fields(
    run: &Run,
    executors: &mut [&mut dyn Executor<Plan>],
    progress: &mut Progress,
) -> Result<Fields, FmmError> {
    let Run { plan, geometry, sources, p2p } = *run;
    let solve = |plan: &Plan, executors: &mut [&mut dyn Executor<Plan>], progress: &mut Progress| {
        let mut found = plan.solve_all(&[sources], false, executors, progress)?.fields;
        Ok::<Field, FmmError>(found.pop().expect("one set of charges has one field"))
    };
    let by_kernel = p2p.filter(|_| !executors.iter().all(|e| e.is_native()));
    let on_grid = match by_kernel.map(|kernel| kernel.on_grid()) {
        Some(mut on_grid) => Some(solve(plan, &mut before(&mut *on_grid, executors), progress)?),
        None => None,
    };
    let (mut of_kernel, mut native) = (None, NativeP2p(Some(Precision::F64)));
    let in_f64: &mut dyn Executor<Plan> = match p2p.filter(|kernel| !kernel.is_coulomb(&plan.options)) {
        Some(kernel) => &mut **of_kernel.insert(kernel.in_f64()),
        None => &mut native,
    };
    let without_p2p = solve(plan, &mut before(in_f64, executors), progress)?;
    let options = plan.options.in_f64();
    let double = Plan::for_kernel(geometry, &options, p2p.filter(|_| plan.kernel.is_some()))?;
    let in_f64 = solve(&double, &mut [in_f64], progress)?;
    Ok(Fields { on_grid, without_p2p, in_f64, is_direct: is_direct(&plan.options, &plan.pairs) })
}

/// An executor whose stages are no longer those of others.
fn before<'e>(
    first: &'e mut dyn Executor<Plan>,
    others: &'e mut [&mut dyn Executor<Plan>],
) -> Vec<&'e mut dyn Executor<Plan>> {
    std::iter::once(first).chain(others.iter_mut().map(|e| &mut **e as &mut dyn Executor<Plan>)).collect()
}

/// The split from what the runs have given.
pub fn of(seen: &Seen, fields: &Fields) -> Budget {
    let has_gradient = seen.field.gradient.is_some();
    Budget {
        samples: seen.targets.len(),
        potential: parts(seen, fields, false),
        gradient: has_gradient.then(|| parts(seen, fields, true)),
    }
}

/// The parts from the run, the same with P2P in f64, and the same all in f64.
fn parts(run: &Seen, fields: &Fields, gradient: bool) -> Parts {
    let Fields { on_grid, without_p2p, in_f64, is_direct } = fields;
    let on_grid = on_grid.as_ref().unwrap_or(without_p2p);
    // An error relative to what is right, of a field that is to be another one.
    let off = |found: &Field, wanted: &dyn Fn(usize, usize) -> f64| {
        let difference = |k: usize, a: usize| value(found, run.targets[k], a) - wanted(k, a);
        let shifted =
            |a: usize| -> Vec<f64> { (0..run.targets.len()).map(|k| run.reference[k][a] + difference(k, a)).collect() };
        let field = Field {
            potential: shifted(0),
            gradient: gradient.then(|| [shifted(1), shifted(2), shifted(3)]),
            hessian: None,
        };
        let all: Vec<usize> = (0..run.targets.len()).collect();
        let errors = compare(&field, &all, run.reference, run.edge);
        errors.gradient_rel_l2.unwrap_or(errors.potential_rel_l2)
    };
    let between = |found: &Field, wanted: &Field| off(found, &|k, a| value(wanted, run.targets[k], a));
    let truth = |k: usize, a: usize| run.reference[k][a];
    let left = off(in_f64, &truth);
    let [truncation, rounding] = if *is_direct { [0.0, left] } else { [left, 0.0] };
    let causes = [
        (Cause::Truncation, truncation),
        (Cause::Rounding, rounding),
        (Cause::Grid, between(on_grid, without_p2p)),
        (Cause::P2p, between(run.field, on_grid)),
        (Cause::M2l, between(without_p2p, in_f64)),
    ];
    Parts::new(off(run.field, &truth), causes)
}

fn value(field: &Field, k: usize, a: usize) -> f64 {
    match a {
        0 => field.potential[k],
        _ => field.gradient.as_ref().map_or(0.0, |g| g[a - 1][k]),
    }
}
