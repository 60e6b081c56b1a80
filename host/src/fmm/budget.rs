//! The error of a run by its causes: the expansions' truncation, the formats of P2P and those of the far field.
//!
//! One stage after the other is given to f64. What a result changes by is the error that the stage's formats gave.

use super::executor::{Executor, Progress};
use super::native::NativeP2p;
use super::offload::Pipelines;
use super::{FmmError, FmmOptions, Plan, Precision};
use crate::backends::{BackendOptions, cpu};
use crate::data::Force;
use crate::data::particles::{Field, Particles};
use crate::direct::error::compare;
use pg2::graph::Graph;
use serde::Serialize;

/// The causes of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Truncation,
    P2p,
    M2l,
}

/// Relative L2 errors over some targets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Parts {
    /// Of the run as it is.
    pub total: f64,
    pub truncation: f64,
    /// What the formats of P2P add, and those of M2L (of the whole far field, where it is native).
    pub p2p: f64,
    pub m2l: f64,
    /// The largest of the three.
    pub largest: Cause,
    /// The total with one fraction bit more for the formats of that stage, or with one order more if it is truncation, where
    /// an order more halves the error.
    pub next: f64,
}

/// How the error of a run is made up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Budget {
    pub samples: usize,
    pub potential: Parts,
    /// Absent where P2P gives the potential alone.
    pub gradient: Option<Parts>,
}

/// What was run, and what is right at some targets.
pub struct Run<'a> {
    pub plan: &'a Plan,
    pub particles: &'a Particles,
    pub field: &'a Field,
    pub targets: &'a [usize],
    pub reference: &'a [Force],
    /// The kernel of P2P, unless it is native.
    pub p2p: Option<&'a Graph>,
}

/// What was found at some targets, and what is right there.
pub struct Seen<'a> {
    pub field: &'a Field,
    pub targets: &'a [usize],
    pub reference: &'a [Force],
    /// The edge of the box.
    pub edge: f64,
}

/// The results of the same run with formats taken away.
pub struct Fields {
    /// With P2P in f64.
    pub without_p2p: Field,
    /// With all stages in f64.
    pub in_f64: Field,
}

/// Whether a kernel of P2P is not 1/r: in f64 it is what it means, while the other ones are 1/r in native code.
pub(crate) fn has_own_meaning(graph: &Graph, options: &FmmOptions) -> bool {
    super::bind::P2p::bind(graph, true, &options.params).is_ok_and(|p2p| !p2p.coulomb)
}

/// Splits the error of a run that `executors` have made.
pub fn split(run: &Run, executors: &mut [&mut dyn Executor], progress: &mut Progress) -> Result<Budget, FmmError> {
    let Run { plan, particles, p2p, field, targets, reference } = *run;
    let mut backend = (cpu::ENTRY.open)(&BackendOptions::default());
    let (mut meaning, mut exact) = (None, NativeP2p(Some(Precision::F64)));
    let in_f64: &mut dyn Executor = match p2p.filter(|graph| has_own_meaning(graph, &plan.options)) {
        Some(graph) => meaning.insert(Pipelines::new(&mut *backend, graph, None)),
        None => &mut exact,
    };
    let without_p2p = {
        let mut all: Vec<&mut dyn Executor> = vec![&mut *in_f64];
        all.extend(executors.iter_mut().map(|e| &mut **e as &mut dyn Executor));
        plan.solve(&particles.q, &mut all, progress)?.field
    };
    let options = FmmOptions { precision: Precision::F64, ..plan.options.clone() };
    let of_kernel = p2p.filter(|_| plan.kernel.is_some());
    let double = Plan::for_kernel(particles.columns(), &options, of_kernel)?;
    let in_f64 = double.solve(&particles.q, &mut [in_f64], progress)?.field;
    Ok(of(&Seen { field, targets, reference, edge: plan.tree.map.edge() }, &Fields { without_p2p, in_f64 }))
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
    let Fields { without_p2p, in_f64 } = fields;
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
    let of = |field: &'_ Field| {
        let field = field.clone();
        move |k: usize, a: usize| value(&field, run.targets[k], a)
    };
    let truth = |k: usize, a: usize| run.reference[k][a];
    let total = off(run.field, &truth);
    let truncation = off(in_f64, &truth);
    let p2p = off(run.field, &of(without_p2p));
    let m2l = off(without_p2p, &of(in_f64));
    let causes = [(Cause::Truncation, truncation), (Cause::P2p, p2p), (Cause::M2l, m2l)];
    let (largest, most) = causes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are three");
    // Errors of different causes do not know of each other.
    let rest: f64 = causes.iter().filter(|c| c.0 != largest).map(|c| c.1 * c.1).sum();
    Parts { total, truncation, p2p, m2l, largest, next: (rest + 0.25 * most * most).sqrt() }
}

fn value(field: &Field, k: usize, a: usize) -> f64 {
    match a {
        0 => field.potential[k],
        _ => field.gradient.as_ref().map_or(0.0, |g| g[a - 1][k]),
    }
}
