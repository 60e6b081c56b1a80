//! What hardware can be built.
//!
//! This crate knows nothing of a language. It holds the number [`format`]s, the sticky [`flags`], the
//! library of [`op`]erators (one file each), the [`circuit`] builder that an operator describes itself
//! with and that pipelines it to a clock, the [`netlist`] that circuits become and its Verilog text, and
//! the [`engine`] that feeds pipelines from a stream.
//!
//! Data flows through it like this: an [`op::Operator`] plus an [`op::Inst`] (the formats and attributes
//! of one use) gives bits (the specification), a real meaning, a C expression, and a
//! [`circuit::Circuit`]; [`circuit::pipeline`] cuts the circuit into stages for a [`target::Clock`] and
//! gives a [`netlist::Module`] whose latency is a number that everything above relies on.
//!
//! The central type is [`op::Operator`]: everything the system knows of an operator stands in its file.

pub mod board;
pub mod bounds;
pub mod circuit;
pub mod delay;
pub mod engine;
pub mod exact;
pub mod flags;
pub mod format;
pub mod hash;
pub mod link;
pub mod log;
mod memory;
pub mod names;
pub mod netlist;
pub mod op;
pub mod real;
pub mod reduce;
pub mod rtl;
pub mod simplex;
pub mod target;
pub mod term;

pub use bounds::Bounds;
pub use flags::Flags;
pub use format::Format;
pub use reduce::Reduce;
