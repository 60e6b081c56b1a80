//! Tests of what the crate offers to others: one module a subject.

extern crate pairforge_hdl as hdl;

mod angle;
mod area;
mod circuits;
mod conformance;
mod ethernet;
mod exact;
mod exp;
mod float_bits;
mod func;
mod func_search;
mod hostile;
mod link;
mod link_common;
mod ln;
mod log_bits;
mod netlist;
mod num_bits;
mod octaves;
mod pipelines;
mod pow;
mod pow_wide;
mod real;
mod rtl;
mod select;
mod sin_cos;
mod switch;
mod verify;
mod vhdl;
