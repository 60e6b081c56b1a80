//! The adaptive FMM in two dimensions of Goude & Engblom (2012): a pyramid of boxes split at medians, complex expansions with
//! scaled shifts, and the kernels Gamma_j / (z_j - z_i) and log |z_i - z_j|.
//!
//! [`Plan::new`] sorts points into a [`mesh::Mesh`] and connects its boxes by [`lists::Lists`]; both depend on positions and
//! options alone. [`Plan::run`] goes through the stages for some strengths. The conventions are in docs/method/two-dimensions.md.
//!
//! # How a stage runs elsewhere
//!
//! Each stage of a run works on a [`State`]: the plan, the sorted and scaled strengths, one multipole and one local expansion
//! a box, and sums at the sorted targets. The driver is that of [`crate::stages`]: a stage goes to the first [`Executor`] that takes it,
//! and else to the CPU.
//!
//! - An executor of P2P, such as pipelines, takes [`Stage::P2p`] alone. It adds to [`State::sums`] what the sources of
//!   `plan.lists.near` give to the targets of each finest box, and leaves out pairs at equal coordinates. Boxes are ranges of
//!   sorted points ([`mesh::Points::range`]), so that a box is one segment of a job.
//! - A GPU that runs all stages may take the mesh of a plan as it is, since all of it is flat arrays, or build its own by the
//!   rule of [`mesh`], which names the points of every box whatever the algorithm. It uses [`Frame`](mesh::Frame) and
//!   [`Strengths::scaled`] for the units, and gives a [`Field`].

pub mod direct;
pub mod error;
pub mod lists;
pub mod mesh;
mod mutual;
pub mod native;
pub mod near;
pub mod options;
mod plan;
pub mod points;
pub mod powers;
pub mod shift;
mod single;
mod state;
pub mod stats;
pub mod tune;
mod wide;

pub use options::{Kernel, MOST_ORDER, Options};
pub use plan::{Plan, Solution};
pub use state::{Field, Scaled, State, Strengths, Sums};

pub use crate::stages::{Executor, Stage, Work};

/// Coordinates x and y of points, both of one length.
pub type Columns<'a> = [&'a [f64]; 2];

/// The points of a problem, in the user's units.
pub type Geometry<'a> = crate::data::problem::Geometry<'a, 2>;
