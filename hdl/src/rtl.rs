//! Register-transfer level: what circuits and modules are made of.

pub mod bits;
pub mod eval;
pub mod expr;
mod parse;
mod verilog;

pub use expr::{Expr, Node, cat};
pub(crate) use parse::parse;
pub use verilog::{Net, Value, net};
