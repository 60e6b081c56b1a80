//! Tests of what the crate offers to others: one module a subject.

extern crate pairforge_hdl as hdl;

mod circuits;
mod conformance;
mod ethernet;
mod float_bits;
mod hostile;
mod link;
mod link_common;
mod log_bits;
mod switch;
