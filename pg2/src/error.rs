//! Proven bounds of rounding errors: how far the computed values of a kernel can be from the real ones, for every input.
//!
//! [`analyse`] makes a [`Report`]. Real values are those of exact arithmetic on the same inputs: floats, logs and fixeds round
//! nothing, a literal is the number that was written, and ints mean their bits. What fixeds round is also an error, and the
//! bounds hold for the real-arithmetic semantics too (RULES N10), in which fixeds round as they do.
//!
//! [`model`] takes from each operator its meaning and its accuracy ([`hdl::op::accuracy`]). Over a box of inputs [`forward`] finds
//! for each value where it lies and a bound |y - x| <= R |x| + A, by [`meaning`]; [`backward`] finds a bound by slopes, which knows
//! that one rounding reaches a result on several ways. [`divide`] takes the better of the two over smaller and smaller boxes.
//! Where a comparison of inexact values can differ, so that another arm is taken, this is a case of its own, in which these
//! values are near each other. [`trial`] searches for inputs that raise a flag, or come near a bound.

mod backward;
pub mod divide;
mod forward;
pub mod gappa;
mod meaning;
mod model;
mod report;
mod state;
mod steps;
pub mod trial;

pub use model::Model;
pub use report::{FlagProof, OutputBound, Report, ValueBound, Witness, analyse};
pub use state::Cause;
