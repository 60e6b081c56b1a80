//! Pairwise kernels in pipelined Verilog, and the Fast Multipole Method with them.
//!
//! Two things can be asked for. The first is a sum over all pairs, for as many particles as there are: the potential and gradient of 1/r,
//! or of a kernel of one's own, to a wanted error, by the Fast Multipole Method. [`fmm`] does that on the cores of this machine, on
//! GPUs, or with P2P and M2L on pipelines, and [`plane`] in two dimensions:
//!
//! ```
//! use pairforge::fmm::{Options, Plan};
//!
//! let particles = pairforge::random::uniform(1000, 1);
//! let plan = Plan::new(particles.columns(), &Options::default().tolerance(1e-5).samples(100))?;
//! let found = plan.run_all(&[particles.q[..].into()])?;
//! let error = found.stats.error.expect("it was asked for").gradient_rel_l2.expect("there is a gradient");
//! assert!(error <= 1e-5);
//! # Ok::<(), pairforge::Error>(())
//! ```
//!
//! The second is hardware. A [`kernel`] is a function of a target and a source, written in PG2 with the number formats of each value.
//! It is compiled once, and then run by its bits on an emulator, clock by clock in its own Verilog, or on a board, and built as
//! an engine of pipelines that take a pair every clock:
//!
//! ```
//! use pairforge::kernel::{self, Backend, Engine, Records};
//!
//! let kernel = kernel::shipped("gravity").expect("it is shipped").with_param("eps2", 0.01);
//! let x = [[0.0, 0.0, 0.0], [0.5, 0.25, 0.125]];
//! let (i, j) = (Records::new().vectors("xi", &x), Records::new().vectors("xj", &x).column("mj", &[1.0, 2.0]));
//! let sums = kernel.run(&i, &j, Backend::Emulator)?;
//! let design = kernel.build(&Engine::default())?;
//! assert!(design.verilog.contains("module") && design.latency() > 0);
//! # let _ = sums;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both meet where an FMM runs a kernel: [`fmm::Options::kernel`] takes the place of 1/r in P2P, and a kernel that is not 1/r gets a far
//! field of its own.
//!
//! # Features
//!
//! All are on by default. `kernels` is the compiler of PG2 with the emulator and boards; without it this crate is the FMM in native code
//! alone. `simulate` adds the simulation of Verilog, which is the backend `cycle`, `cuda` GPUs, `mpi` ranks of Open MPI, and `synth`
//! bitstreams. What these need (Verilator, a driver, Open MPI, yosys) is looked for at run time; nothing of it is needed to compile a
//! program.
//!
//! # Crates
//!
//! This crate chooses who runs what; the work is done below it. `pairforge-fmm` is the method on the CPU, `pairforge-pipelines` runs kernels on
//! backends and as stages of an FMM, `pairforge-gpu` does both on CUDA, and `pairforge-ranks` shares a problem out among processes. The
//! compiler of PG2 is `pairforge-pg2`, and the hardware that it builds `pairforge-hdl`.

#[macro_use]
mod setters;

#[cfg(feature = "kernels")]
pub mod backends;
mod error;
pub mod fmm;
#[cfg(feature = "kernels")]
pub mod kernel;
#[cfg(feature = "kernels")]
pub mod manifest;
pub mod nbody;
pub mod plane;
pub mod random;
mod turn;

pub use error::Error;

/// From Verilog to a bitstream.
#[cfg(feature = "synth")]
pub use flow as synth;
/// An FMM shared out among processes.
#[cfg(feature = "mpi")]
pub use ranks;
