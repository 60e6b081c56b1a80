//! Register-transfer level: modules, their names, their memories, and their Verilog.
//!
//! [`netlist`] is what every circuit becomes: modules of wires, registers, memories and instances, checked as data before they
//! are written as text.

pub mod delay;
pub(crate) mod memory;
pub mod names;
pub mod netlist;
pub mod term;
