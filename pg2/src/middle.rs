//! From a checked graph to the cycle of every operator: rewriting, when flags count, warnings, multipliers, placing, scheduling.

pub mod bins;
pub mod budget;
pub mod coarse;
pub mod demand;
pub mod filter;
pub mod fold;
pub mod gather;
pub mod library;
pub(crate) mod lines;
pub mod merge;
pub mod schedule;
pub mod simplify;
pub(crate) mod warn;
