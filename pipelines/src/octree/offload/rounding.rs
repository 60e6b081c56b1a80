//! Rounding of the terms of a kernel's near field to the steps of its outputs, however small the terms are (RULES H14).

use super::images::SourceRecords;
use super::{Bound, WRONG};
use crate::job::Outcome;
use crate::octree::bind::Feeds;
use crate::octree::offload::{Records, value};
use fmm::octree::executor::State;
use fmm::octree::rounding::Rounded;
use fmm::parallel::prelude::*;
use hdl::Flags;
use hdl::op::semantics::Real;
use pg2::graph::Graph;
use sim::reference::real::{Pairs, RealKernel, RealSources};

/// Targets that are looked at.
const SEEN: usize = 64;

/// The near field of some targets that were not computed otherwise, as rounded and as it is.
pub(super) fn rounded(
    (graph, bound): (&Graph, &Bound),
    (records, acting): (&Records, &SourceRecords),
    (outcome, is_exact): (&Outcome, bool),
    state: &State,
    is_kernels: impl Fn(usize) -> bool,
) -> Vec<Rounded> {
    let (plan, kernel) = (state.plan, &bound.p2p);
    let all: Vec<usize> = plan.tree.own_targets().filter(|k| is_kernels(*k)).collect();
    let seen: Vec<usize> = all.iter().copied().step_by(all.len().div_ceil(SEEN).max(1)).collect();
    let (of_formats, of_numbers) = (RealKernel::new(graph), RealKernel::new(&bound.numbers));
    let formats = graph.elements_of(pg2::graph::PinClass::Param).into_iter().map(|(pin, _)| graph.pins[pin].format);
    let read = |format, bits: u64| if is_exact { Real::read(format, bits).bits() } else { bits };
    let params: Vec<u64> = formats.zip(&bound.params).map(|(format, bits)| read(format, *bits)).collect();
    let record = |feeds: &Feeds, record: &[u64]| -> Vec<u64> {
        feeds.iter().zip(record).map(|((_, format), bits)| read(*format, *bits)).collect()
    };
    let of_leaf = |(leaf, targets): &(usize, Vec<usize>)| -> Vec<Rounded> {
        let mut of_sources = Vec::new();
        for s in acting.segments(plan.lists.direct(*leaf)) {
            (s.first..s.first + s.count).for_each(|j| of_sources.extend(record(&kernel.j, records.sources.record(j))));
        }
        let sources = RealSources::new(kernel.j.len(), &of_sources);
        let everything = 0..of_sources.len() / kernel.j.len().max(1);
        let one = |k: &usize| {
            let i = record(&kernel.i, records.targets.record(*k));
            let pairs = Pairs { i: &i, params: &params, sources: &sources };
            let sums = |kernel: &RealKernel| {
                let gathered = kernel.gather(&sources, std::slice::from_ref(&everything));
                kernel.target(&mut kernel.scratch(), &pairs, &gathered)
            };
            let ((steps, flags), (right, beyond)) = (sums(&of_formats), sums(&of_numbers));
            if (flags | beyond).intersects(WRONG) {
                return None;
            }
            let is_small = outcome.flags[*k].intersects(Flags::UNDERFLOW);
            let format = |graph: &Graph, element: usize| graph.pins[graph.outputs[element].pin].format;
            let near = |element: usize| right[element].value(format(&bound.numbers, element));
            let off = |element: usize| {
                // What is too small for a kernel's floats is lost to the outputs too.
                let of_floats = value(graph, outcome, *k, element) - near(element);
                let is_lost = is_small && of_floats.abs() > 0.5 * near(element).abs();
                if is_lost { of_floats } else { steps[element].value(format(graph, element)) - near(element) }
            };
            let mut terms = vec![0.0; everything.len() * graph.outputs.len()];
            of_numbers.terms(&mut of_numbers.scratch(), &pairs, &mut terms);
            let size = |element: usize| {
                let squares = terms.iter().skip(element).step_by(graph.outputs.len()).map(|x| x * x);
                near(element).abs().max(squares.sum::<f64>().sqrt())
            };
            let boxed = |of: &dyn Fn(usize) -> f64| std::array::from_fn(|a| bound.boxed(a, of));
            Some(Rounded { target: *k, near: boxed(&size), off: boxed(&off) })
        };
        targets.iter().filter_map(one).collect()
    };
    plan.tree.leaves_of(&seen).par_iter().flat_map_iter(of_leaf).collect()
}
