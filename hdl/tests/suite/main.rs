//! Tests of what the crate offers to others: one module a subject.

mod circuits;
mod conformance;
mod ethernet;
mod float_bits;
mod hostile;
mod link;
mod link_common;
mod log_bits;
mod switch;
