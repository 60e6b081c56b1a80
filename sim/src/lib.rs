//! Running a kernel without a board.
//!
//! [`reference`](mod@reference) evaluates a graph pair by pair through each operator's `bits`: the slow truth.

pub mod reference;
