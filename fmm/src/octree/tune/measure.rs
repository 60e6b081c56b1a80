//! Measures what the stages cost on this machine.

use super::cost::{Costs, Far, Native, terms_of};
use crate::data::particles::Particles;
use crate::data::random::{Charge, Distribution, generate};
use crate::expansion::basis::Basis;
use crate::octree::executor::Executor;
use crate::octree::kernel::Kernel;
use crate::octree::stats::Stats;
use crate::octree::{FmmError, FmmOptions, Plan, Precision};
use crate::tree::boxmap::BoxMap;

/// Particles of a run, fewer where a kernel's evaluation takes longer than native code, and runs of which the median counts. A build
/// that is not optimised has no costs worth keeping: its tests look at the way there.
const PARTICLES: usize = if cfg!(debug_assertions) { 4_000 } else { 40_000 };
const OF_KERNEL: usize = PARTICLES / 4;
const RUNS: usize = 3;

/// The `kappa` of the kernel that black-box expansions are measured with, in units of one over the box.
const KAPPA: f64 = 4.0;

/// Orders between which the cost of M2L is interpolated.
fn orders(basis: Basis) -> [usize; 2] {
    match basis {
        Basis::Solid | Basis::Softened => [4, 10],
        Basis::Cartesian | Basis::Chebyshev => [3, 6],
    }
}

/// Measures everything. Black-box expansions, and P2P by a kernel's real-arithmetic semantics, are measured with a screened 1/r that has a
/// parameter `kappa`. `step` is called with the number of steps done and of all.
pub fn measure(kernel: &dyn Kernel, step: &mut dyn FnMut(usize, usize)) -> Result<Costs, FmmError> {
    let mut done = 0;
    let mut next = || {
        step(done, 6);
        done += 1;
    };
    let mut native = |precision| -> Result<Native, FmmError> {
        next();
        let (solid, pair) = far(Basis::Solid, precision, kernel)?;
        next();
        let (cartesian, _) = far(Basis::Cartesian, precision, kernel)?;
        next();
        let (chebyshev, kernel_pair) = far(Basis::Chebyshev, precision, kernel)?;
        Ok(Native { pair, kernel_pair, solid, cartesian, chebyshev })
    };
    Ok(Costs { f32: native(Precision::F32)?, f64: native(Precision::F64)? })
}

/// The far field of an expansion, and a pair of P2P.
fn far(basis: Basis, precision: Precision, kernel: &dyn Kernel) -> Result<(Far, f64), FmmError> {
    let orders = orders(basis);
    let kernel = (basis == Basis::Chebyshev).then_some(kernel);
    let count = if kernel.is_some() { OF_KERNEL } else { PARTICLES };
    let uniform = generate(count, Distribution::Uniform, Charge::Random, 1);
    // Of a kernel, M2P and P2L evaluate the kernel for each term.
    let in_dense = if kernel.is_some() { count / 4 } else { count };
    let dense = generate(in_dense, Distribution::Plummer, Charge::Mass, 1);
    let options = |order| FmmOptions { order, basis, precision, ..FmmOptions::default() };
    let mut m2l = [0.0; 2];
    let mut far = Far { cell: 0.0, product: 0.0, particle: 0.0, shift: 0.0, point: 0.0 };
    let mut pair = 0.0;
    for (m2l, order) in m2l.iter_mut().zip(orders) {
        let terms = terms_of(basis, order);
        let (cells, all) = runs(&uniform, &options(order), kernel)?;
        let median = |pick: &dyn Fn(&Stats) -> f64| median(&all, pick);
        let n = count as f64;
        *m2l = median(&|s| s.seconds.m2l / s.pairs.m2l as f64);
        far.particle = median(&|s| (s.seconds.p2m + s.seconds.l2p) / n) / terms;
        far.shift = median(&|s| (s.seconds.m2m + s.seconds.l2l) / cells as f64) / terms;
        pair = median(&|s| s.seconds.p2p / s.pairs.p2p as f64);
    }
    let terms = orders.map(|order| terms_of(basis, order));
    let (_, all) = runs(&dense, &options(orders[1]), kernel)?;
    far.point =
        median(&all, &|s| (s.seconds.m2p + s.seconds.p2l) / (s.pairs.m2p + s.pairs.p2l).max(1) as f64) / terms[1];
    let [low, high] = terms.map(|t| t * t);
    far.product = ((m2l[1] - m2l[0]) / (high - low)).max(0.0);
    far.cell = (m2l[0] - far.product * low).max(0.0);
    Ok((far, pair))
}

/// Some runs of one plan, after one that makes the tables; with the number of cells.
fn runs(p: &Particles, options: &FmmOptions, kernel: Option<&dyn Kernel>) -> Result<(usize, Vec<Stats>), FmmError> {
    let edge = BoxMap::over(&[p.columns()]).edge();
    let params = kernel.iter().map(|_| ("kappa".to_string(), KAPPA / edge)).collect();
    let plan = Plan::for_kernel(p.columns(), &FmmOptions { params, ..options.clone() }, kernel)?;
    let mut p2p = kernel.map(|kernel| kernel.on_grid());
    let mut executors: Vec<&mut dyn Executor<Plan>> =
        p2p.iter_mut().map(|p2p| &mut **p2p as &mut dyn Executor<Plan>).collect();
    let mut all = Vec::new();
    for _ in 0..=RUNS {
        all.push(plan.solve(&p.q, &mut executors, &mut |_, _, _| {})?.stats);
    }
    Ok((plan.tree.cells.len(), all.split_off(1)))
}

fn median(all: &[Stats], pick: &dyn Fn(&Stats) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(pick).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
