//! Tests of `pairforge-bench`, as its user runs it: one module a subject.

mod common;
mod fmm2_figures;
mod names;
mod ranks;
