//! Tests of the FMM, native and by kernels: one module a subject.

mod black_box;
mod cells;
mod emulator;
mod fmm;
mod hostile;
mod kernels;
mod problems;
mod tolerance;
mod truth;
