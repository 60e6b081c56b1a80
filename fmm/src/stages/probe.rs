//! Sums at some targets, by which parts of a problem know what P2P alone leaves out.

use crate::data::Force;

/// The targets among those of all parts at which sums are asked for, for a part of a problem.
pub struct Probes<'a> {
    /// Places of all of them, as [`Tree::target`](crate::tree::Tree::target) gives them.
    pub places: &'a [[f64; 3]],
    /// Those that are here.
    pub own: &'a [usize],
}

/// The sums of a part of a problem, in box units: what its own sources give at all places that were asked for, and what near ones give at
/// its own targets.
pub struct ProbeSums {
    pub all: Vec<Force>,
    pub near: Vec<Force>,
}
