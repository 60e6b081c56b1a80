//! Tests of the FMM, native and by kernels: one module a subject.

mod black_box;
mod budget;
mod cells;
mod cuda;
mod emulator;
mod fmm;
mod hostile;
mod kernels;
mod library;
mod memories;
mod own_sums;
mod periodic;
mod periodic_black_box;
mod periodic_kernels;
mod plane;
mod problems;
mod tolerance;
mod truth;
mod units;
