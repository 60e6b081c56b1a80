//! Targets for which a kernel that is not 1/r gave something unusable: what all their sources give, in f64 and by what the kernel
//! means (RULES H7, H14).

use super::Bound;
use super::close::Replaced;
use super::differences::{DifferenceKernel, Partner, Partners};
use crate::job::SourceRange;
use crate::octree::bind::Feeds;
use fmm::parallel::prelude::*;
use hdl::op::semantics::Real;
use sim::reference::real::{Pairs, RealKernel, RealSources};
use std::ops::Range;

/// Sources that are evaluated together.
const TOGETHER: usize = 1 << 12;

/// A target, and the records of its sources.
pub(super) struct Recomputed {
    pub target: usize,
    pub sources: Vec<SourceRange>,
}

impl Recomputed {
    /// The records, some at a time.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.sources.iter().flat_map(|s| {
            let end = s.first + s.count;
            (s.first..end).step_by(TOGETHER).map(move |first| first..end.min(first + TOGETHER))
        })
    }
}

/// The sums of all outputs of a kernel in its own units, before the casts to their formats; infinite or not a number where f64 does
/// not hold them. `partner` is a record's source as a target sees it.
pub(super) fn sums(
    bound: &Bound,
    replaced: &Replaced,
    all: &[Recomputed],
    partner: &(dyn Fn(usize, usize) -> Partner + Sync),
) -> Vec<Vec<f64>> {
    let (params, outputs) = (replaced.real_params(), replaced.graph.outputs.len());
    let (start, kernel) = (|| vec![0.0; outputs], &bound.p2p);
    if let Some(meaning) = DifferenceKernel::new(&bound.numbers, kernel) {
        let one = |(scratch, partners): &mut (_, Partners), whole: &Recomputed| {
            let mut sums = start();
            for part in whole.parts() {
                partners.clear();
                partners
                    .extend(part.map(|record| partner(whole.target, record)).filter(|partner| bound.acts(partner.d)));
                meaning.add(scratch, &params, partners, &mut sums);
            }
            sums
        };
        return all.par_iter().map_init(|| (meaning.scratch(), Partners::default()), one).collect();
    }
    // A kernel that uses coordinates otherwise gets those of the grid.
    let evaluated = RealKernel::new(bound.in_numbers());
    let one = |scratch: &mut _, whole: &Recomputed| {
        let i = real(&kernel.i, replaced.records.targets.record(whole.target), replaced.is_exact);
        let mut sums = start();
        for part in whole.parts() {
            let count = part.len();
            let records = part.flat_map(|j| real(&kernel.j, replaced.records.sources.record(j), replaced.is_exact));
            let sources = RealSources::new(kernel.j.len(), &records.collect::<Vec<u64>>());
            evaluated.add_terms(scratch, &Pairs { i: &i, params: &params, sources: &sources }, count, &mut sums);
        }
        sums
    };
    all.par_iter().map_init(|| evaluated.scratch(), one).collect()
}

/// A record for real-arithmetic evaluation.
fn real(feeds: &Feeds, record: &[u64], is_exact: bool) -> Vec<u64> {
    let one = |((_, format), bits): (&(_, _), &u64)| if is_exact { Real::read(*format, *bits).bits() } else { *bits };
    feeds.iter().zip(record).map(one).collect()
}
