//! Tests of the command line, as a user runs it: one module a subject.

mod backends;
mod board;
mod check;
mod command_line;
mod common;
mod deploy;
mod docs;
mod editors;
mod explore;
mod fmm;
mod formatting;
mod include;
mod link;
mod lint;
mod lsp;
mod new;
mod outputs;
mod predict;
mod proofs;
mod rooms;
mod run;
mod short_range;
mod synth;
mod testbench;
mod tutorial;
mod verilator;
