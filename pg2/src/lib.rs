//! The language PG2 and its compiler.
//!
//! Data meets these forms in order: text, [`ast::Program`] (what was written), [`graph::Graph`] (typed operator
//! nodes, the central type), [`schedule::Schedule`] (the cycle in which each node starts), and
//! [`hdl::netlist::Netlist`]. The emulator and other software forms branch off at the graph. Nothing here does I/O or prints:
//! mistakes come back as [`diag::Diagnostic`]s, all of a file at once.

pub mod diag;
pub mod gather;
pub mod graph;
pub mod library;
pub mod lower;
pub mod schedule;
pub mod simplify;
