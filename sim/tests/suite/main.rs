//! Tests of generated Verilog, of the emulator and of simulated engines and boards: one module a subject.

extern crate pairforge_sim as sim;

mod bench;
mod bins;
mod board;
mod coarse;
mod common;
mod cycle;
mod definitions;
mod demand;
mod echo;
mod emulated;
mod emulator;
mod engine;
mod engine_common;
mod engine_flow;
mod engine_lint;
mod ethernet;
mod exact_c;
mod f64_references;
mod filter_lanes;
mod filters;
mod folded;
mod fractions;
mod gmii;
mod kernels;
mod lane_bits;
mod language;
mod link;
mod link_lint;
mod mutations;
mod names;
mod op_common;
mod op_float;
mod op_func;
mod op_log;
mod op_made_up;
mod op_num;
mod op_pow;
mod op_vectors;
mod pipeline;
mod products;
mod random_kernels;
mod rgmii;
mod selections;
mod switch;
mod tables;
mod testbench;
mod words;

#[allow(dead_code, reason = "pg2's tests use the rest")]
#[path = "../../../pg2/tests/suite/graphs/mod.rs"]
mod graphs;

#[allow(dead_code, reason = "pg2's tests use the rest")]
#[path = "../../../pg2/tests/suite/mutate/mod.rs"]
mod mutate;
