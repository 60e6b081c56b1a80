//! Pairs that `--near-only` leaves out: those in cells that are not near each other, where the kernel is not 0 at that distance (RULES H8).

use super::executor::State;
use super::far_images;
use super::rounding::Rounding;
use super::stats::LeftOut;
use crate::data::Force;
use crate::parallel::prelude::*;
use crate::stages::{ProbeSums, Probes};
use crate::tree::lists::{is_near, reach};

/// Pairs that are computed to find out, and the most targets.
const PAIRS: usize = 1 << 22;
const SEEN: usize = 64;

/// The part of the results from which on it is reported.
const REPORTED: f64 = 1e-4;

/// By how many periods sources that are to act are moved: with periodic boundaries near images alone.
pub fn shifts(state: &State) -> Vec<[i32; 3]> {
    let Some(lattice) = far_images(&state.plan.options) else { return vec![[0; 3]] };
    let reach = reach(lattice.near2);
    let along = |a: usize| if lattice.axes[a] { -reach..=reach } else { 0..=0 };
    let all = along(0).flat_map(|x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])));
    all.filter(|n| is_near(*n, lattice.near2)).map(|n| n.map(|x| x as i32)).collect()
}

/// Every so many of some sorted targets can be summed over all sources, as often as these are moved, in little time.
pub fn step(targets: usize, sources: usize, shifts: usize) -> usize {
    let count = (PAIRS / (sources * shifts).max(1)).clamp(4, SEEN);
    targets.div_ceil(count).max(1)
}

/// Some sorted targets; none where all cells are near.
pub fn seen(state: &State) -> Vec<usize> {
    let tree = &state.plan.tree;
    let own = tree.own_targets();
    if tree.levels.len() < 3 || tree.is_empty() || own.is_empty() {
        return Vec::new();
    }
    own.clone().step_by(step(own.len(), tree.len(), shifts(state).len())).collect()
}

/// Part that is missing at some targets, whose sums over all sources and over near ones are these.
pub fn of(all: impl Iterator<Item = (Force, Force)>) -> Rounding {
    let mut sum = Rounding::default();
    for (all, near) in all {
        sum.targets += 1;
        for a in 0..4 {
            sum.off[a.min(1)] += (all[a] - near[a]).abs();
            sum.size[a.min(1)] += all[a].abs();
        }
    }
    sum
}

/// Part that is missing of 1/r.
pub(super) fn of_coulomb(state: &State) -> Rounding {
    let seen = seen(state);
    let places: Vec<[f64; 3]> = seen.iter().map(|k| state.plan.tree.target(*k)).collect();
    let ProbeSums { all, near } = coulomb(state, &Probes { places: &places, own: &seen });
    of(all.into_iter().zip(near))
}

/// The sums of 1/r, near ones as they were computed.
pub fn coulomb(state: &State, probes: &Probes) -> ProbeSums {
    let tree = &state.plan.tree;
    let (shifts, eps) = (shifts(state), tree.map.length(state.plan.options.eps));
    let one = |place: &[f64; 3]| {
        let mut force = [0.0; 4];
        for shift in &shifts {
            for j in tree.own_sources() {
                let (d, q) = (tree.difference_from(*place, (j, *shift)), state.charges.scaled[j]);
                let r2 = d.iter().map(|x| x * x).sum::<f64>();
                if r2 > 0.0 {
                    let inverse = 1.0 / (r2 + eps * eps).sqrt();
                    force[0] += q * inverse;
                    (0..3).for_each(|a| force[a + 1] += q * inverse * (inverse * inverse) * d[a]);
                }
            }
        }
        force
    };
    let all = probes.places.par_iter().map(one).collect();
    ProbeSums { all, near: probes.own.iter().map(|k| state.sums.force[*k]).collect() }
}

impl Rounding {
    /// Statistics of pairs that were left out; the smallest cells have this edge, in the user's units.
    pub fn left_out(&self, cell: f64, has_gradient: bool) -> Option<LeftOut> {
        let part =
            |k: usize| if self.off[k] == 0.0 { 0.0 } else { (self.off[k] / self.size[k].max(self.off[k])).min(1.0) };
        let gradient = if has_gradient { part(1) } else { 0.0 };
        let left_out = LeftOut { targets: self.targets, potential: part(0), gradient, cell };
        Some(left_out).filter(|l| l.potential.max(l.gradient) >= REPORTED)
    }
}
