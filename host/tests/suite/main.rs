//! Tests of the FMM, native and by kernels: one module a subject.

mod black_box;
mod budget;
mod cells;
mod emulator;
mod fmm;
mod hostile;
mod kernels;
mod tolerance;
mod truth;
