//! From a scheduled graph to a netlist.

pub mod build;
pub mod lower;
