//! Costs of the stages that leaf sizes are chosen by.

use fmm::octree::stats::LeafBy;
use fmm::octree::tune::cost;

/// The leaf size where costs do not choose it.
pub const LEAF: usize = 64;

/// Costs, and where they come from.
#[derive(Clone)]
pub struct Known {
    pub costs: cost::Costs,
    pub by: LeafBy,
    /// Why a file of measured costs is not used.
    pub warning: Option<String>,
}

impl Known {
    /// Built-in costs.
    pub fn built_in() -> Known {
        Known { costs: cost::Costs::default(), by: LeafBy::BuiltInCosts, warning: None }
    }
}
