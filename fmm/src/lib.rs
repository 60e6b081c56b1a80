//! The Fast Multipole Method on the CPU: particles, trees, interaction lists, expansions, direct sums, and the stages that run on them.
//!
//! In three dimensions an FMM goes through it like this: [`data::particles::Particles`] become a [`tree::Tree`] with
//! [`tree::lists::Lists`] in [`octree::Plan::new`]; [`octree::Plan::run`] then reads as the algorithm does in the papers. Operators of the
//! far field are those of an [expansion](expansion::Expansion). [`plane`] is the method in two dimensions. One driver has the stages of
//! both ([`stages`]): each runs on an [executor](stages::Executor), such as a GPU or pipelines, or on the CPU, where P2P is [`direct::p2p`].
//! [`direct::summation`] is the reference that [`direct::error`] measures against.
//!
//! ```
//! use pairforge_fmm::octree::{FmmOptions, Plan};
//!
//! let (x, q) = ([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0; 3]], [1.0, 1.0, -1.0]);
//! let plan = Plan::new([&x[0], &x[1], &x[2]], &FmmOptions::default())?;
//! let found = plan.solve_all(&[q[..].into()], false, &mut [], &mut |_, _, _| {})?;
//! // Sums of q_j / |x_j - x_i| over the other particles.
//! assert!((found.fields[0].potential[0] - (1.0 - 0.5)).abs() < 1e-12);
//! # Ok::<(), pairforge_fmm::octree::FmmError>(())
//! ```
//!
//! This crate knows neither Verilog nor CUDA nor MPI: those who do implement [`stages::Executor`], [`octree::kernel::Kernel`] and
//! [`stages::Parts`].

pub mod arith;
pub mod clock;
pub mod data;
pub mod direct;
pub mod expansion;
pub mod octree;
pub mod parallel;
pub mod plane;
pub mod shown;
pub mod stages;
pub mod tree;
