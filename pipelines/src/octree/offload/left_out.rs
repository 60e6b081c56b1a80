//! Pairs that P2P alone leaves out of a kernel that is not 1/r, by what the kernel means (RULES H8).

use super::Bound;
use super::close::{Replaced, real_params};
use super::differences::{DifferenceKernel, Partner, Partners};
use super::images::SourceRecords;
use super::p2p::partner;
use super::recompute::{self, Recomputed};
use crate::job::SourceRange;
use fmm::data::Force;
use fmm::octree::executor::State;
use fmm::octree::left_out;
use fmm::octree::rounding::Rounding;
use fmm::parallel::prelude::*;
use fmm::stages::{ProbeSums, Probes};
use pg2::graph::Graph;

/// Part that is missing of the sums over all sources at some targets, by what the kernel means. On ranks, where far sources are not there,
/// whether the kernel is 0 at all distances of pairs that are missing, if no [`part_of_sums`] tells more.
pub fn left_out_of(state: &State, bound: &Bound, acting: &SourceRecords, replaced: &Replaced) -> Rounding {
    let (plan, charges, kernel) = (state.plan, state.charges, &bound.p2p);
    let (tree, seen, shifts) = (&plan.tree, left_out::seen(state), left_out::shifts(state));
    // The differences of other kernels reach no farther than the box.
    if plan.options.periodic.is_some() && DifferenceKernel::new(&bound.numbers, kernel).is_none() {
        return Rounding::default();
    }
    if !plan.is_whole() {
        let is_missing = tree.levels.len() > 2 && bound.reaches(0.5f64.powi(tree.levels.len() as i32 - 1), replaced);
        let off = if is_missing { [1.0; 2] } else { [0.0; 2] };
        return Rounding { targets: 0, off, size: off };
    }
    let sums = |whole: &dyn Fn(usize, usize) -> Vec<SourceRange>,
                partner: &(dyn Fn(usize, usize) -> Partner + Sync)| {
        let mut all = Vec::with_capacity(seen.len());
        for (leaf, targets) in tree.leaves_of(&seen) {
            all.extend(targets.into_iter().map(|target| Recomputed { target, sources: whole(leaf, target) }));
        }
        let boxed = |values: Vec<f64>| std::array::from_fn(|a| bound.boxed(a, |element| values[element]));
        recompute::sums(bound, replaced, &all, partner).into_iter().map(boxed).collect::<Vec<Force>>()
    };
    let near = sums(&|leaf, _| acting.segments(plan.lists.direct(leaf)).collect(), &|k, record| {
        partner(tree, charges, bound.window, k, acting.source(record))
    });
    let everything = SourceRange { first: 0, count: tree.len() * shifts.len() };
    let all = sums(&|_, _| vec![everything], &|k, record| {
        partner(tree, charges, bound.window, k, (record % tree.len(), shifts[record / tree.len()]))
    });
    left_out::of(all.into_iter().zip(near))
}

/// The sums of a part of a problem at some targets, by what the kernel means; `None` where it uses coordinates otherwise than as differences.
pub fn part_of_sums(
    (graph, bound): (&Graph, &Bound),
    is_exact: bool,
    state: &State,
    probes: &Probes,
) -> Option<ProbeSums> {
    let (plan, charges, tree) = (state.plan, state.charges, &state.plan.tree);
    let meaning = DifferenceKernel::new(&bound.numbers, &bound.p2p)?;
    let params = real_params(graph, &bound.params, is_exact);
    let (acting, shifts) = (SourceRecords::new(tree, &plan.lists), left_out::shifts(state));
    let sum = |place: [f64; 3], sources: &mut dyn Iterator<Item = (usize, [i32; 3])>| -> Force {
        let partner = |source: (usize, [i32; 3])| Partner {
            d: tree.difference_from(place, source).map(|d| bound.window.length(d)),
            charge: charges.scaled[source.0],
        };
        let (mut scratch, mut partners) = (meaning.scratch(), Partners::default());
        let mut sums = vec![0.0; graph.outputs.len()];
        let mut acting = sources.map(partner).filter(|partner| bound.acts(partner.d)).peekable();
        while acting.peek().is_some() {
            partners.clear();
            partners.extend(acting.by_ref().take(TOGETHER));
            meaning.add(&mut scratch, &params, &partners, &mut sums);
        }
        std::array::from_fn(|a| bound.boxed(a, |element| sums[element]))
    };
    let own = || shifts.iter().flat_map(|shift| tree.own_sources().map(move |j| (j, *shift)));
    let all = probes.places.par_iter().map(|place| sum(*place, &mut own())).collect();
    let near = |(leaf, targets): &(usize, Vec<usize>)| {
        let records = || acting.segments(plan.lists.direct(*leaf)).flat_map(|s| s.first..s.first + s.count);
        let of = |k: &usize| sum(tree.target(*k), &mut records().map(|record| acting.source(record)));
        targets.iter().map(of).collect::<Vec<_>>()
    };
    Some(ProbeSums { all, near: tree.leaves_of(probes.own).par_iter().flat_map_iter(near).collect() })
}

/// Sources that are evaluated together.
const TOGETHER: usize = 1 << 12;
