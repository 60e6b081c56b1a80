//! Register-transfer level: expressions and their values, modules, their names, their memories, and their Verilog and VHDL.
//!
//! [`expr`] is the logic between registers, typed by its widths. [`netlist`] is what every circuit becomes: modules of wires,
//! registers, memories and instances, checked as data before they are written as text.

pub mod bins;
pub mod bits;
pub mod chains;
pub mod delay;
pub mod eval;
pub mod expr;
pub mod filtered;
pub mod fold;
pub mod loaded;
pub(crate) mod memory;
pub mod names;
pub mod netlist;
pub mod registers;
pub mod ring;
pub mod term;
mod verilog;
mod vhdl;

pub use expr::{Expr, Node, cat, or_all};
pub use names::Name;
pub use verilog::{Value, net};
