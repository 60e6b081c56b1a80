//! Pairs at distance 0: whether a kernel gives something for them, and which these are (RULES H1, H8).

use crate::octree::bind::{Feed, Feeds, P2p};
use fmm::tree::Tree;
use hdl::Format;
use pg2::graph::Graph;
use sim::reference::real::terms;

/// The values of the parameters, before their formats round them.
pub(crate) fn values(kernel: &P2p, eps: f64, edge: f64) -> Vec<f64> {
    let value = |(feed, _): &(Feed, Format)| match feed {
        Feed::Given(value) => *value,
        Feed::Box => edge,
        _ => (eps * kernel.length).powi(2),
    };
    kernel.params.iter().map(value).collect()
}

/// Whether a kernel gives something for a particle and another one in its place.
pub(crate) fn acts_at_zero(graph: &Graph, kernel: &P2p, params: &[f64]) -> bool {
    let is_signed = kernel.j.iter().all(|(feed, format)| *feed != Feed::Charge || format.is_signed());
    let gives = |(place, charge): ([f64; 3], f64)| {
        let fill = |feeds: &Feeds| -> Vec<f64> {
            let value = |(feed, _): &(Feed, Format)| match feed {
                Feed::At(axis) => place[*axis] * kernel.length,
                _ => charge,
            };
            feeds.iter().map(value).collect()
        };
        terms(graph, &fill(&kernel.i), &fill(&kernel.j), params).iter().any(|term| *term != 0.0)
    };
    [([0.0; 3], 1.0), ([0.25, -0.125, 0.0625], if is_signed { -0.5 } else { 0.5 })].into_iter().any(gives)
}

/// The records of sources at exactly the place of a target, itself among them.
pub(super) fn at_place_of(tree: &Tree, k: usize) -> Vec<usize> {
    let here = tree.sources.on_grid(&tree.targets().grid[k]);
    here.filter(|source| tree.difference(k, (*source, [0; 3])) == [0.0; 3]).collect()
}
