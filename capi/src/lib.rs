//! Pairforge from C: plans of the Fast Multipole Method, and kernels of PG2.
//!
//! Every call gives a [`pairforge_status`](status::pairforge_status), and leaves a sentence for
//! [`pairforge_last_error`](status::pairforge_last_error) where it is not `PAIRFORGE_OK`. Things that calls make are handed out as
//! pointers and freed by a call of their own. Arrays are the caller's, have strides, and are not kept after a call.
//!
//! `include/pairforge.h` is made from these files by cbindgen, in the crate `header`. `include/pairforge.hpp` wraps the calls in C++17 types, and
//! `fortran/pairforge.f90` declares them for Fortran.

mod arrays;
mod gpu_plan;
mod kernel;
mod options;
mod plan;
mod session;
mod status;
