//! Running a kernel without a board.
//!
//! [`reference`](mod@reference) evaluates a graph pair by pair through each operator's `bits`: the slow truth.
//! The Verilog runs through [`verilator`], which compiles it to a shared library kept in the [`cache`]: single modules
//! against vectors in [`bench`], whole engines clock by clock in [`cycle`].

pub mod bench;
pub mod cache;
pub mod cycle;
mod error;
pub mod reference;
pub mod stimuli;
pub mod verilator;

pub use error::SimError;
