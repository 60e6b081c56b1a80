//! N-body simulations: bodies of a start [model], moved by a [leapfrog](Leapfrog) with the forces of an FMM or of direct sums, or by
//! [Hermite's scheme](Hermite) with block time steps, on any backend.
//!
//! ```
//! use pairforge::fmm::Options;
//! use pairforge::nbody::model::{self, Model};
//! use pairforge::nbody::{Conserved, Integrator, Leapfrog};
//!
//! let bodies = model::bodies(&Model::Plummer, 500, 1)?;
//! let mut run = Leapfrog::start(bodies, &Options::default().tolerance(1e-5).softening(0.05), 1.0 / 64.0)?;
//! let before = Conserved::of(&run.observed()?);
//! for _ in 0..8 {
//!     run.advance(&mut |_, _, _| {})?;
//! }
//! let after = Conserved::of(&run.observed()?);
//! assert!((after.energy() / before.energy() - 1.0).abs() < 1e-3);
//! # Ok::<(), pairforge::Error>(())
//! ```
//!
//! Units are those of Henon (also called standard or N-body units): G = 1, the mass of all bodies is 1, their energy -1/4, so that a
//! crossing time is [`CROSSING`]. Bodies of a file may be in any units in which G = 1.
//!
//! An integrator's [`State`] is all that it goes on with: a run that is taken up from it has the bits of one that was never interrupted.

mod bodies;
mod conserved;
mod file;
mod forces;
#[cfg(feature = "kernels")]
mod hermite;
mod leapfrog;
pub mod model;
#[cfg(feature = "cuda")]
mod on_gpu;
mod state;

pub use bodies::Bodies;
pub use conserved::Conserved;
pub use file::{SHAPE, from_named, from_npy, from_separated};
#[cfg(feature = "kernels")]
pub use hermite::{Hermite, HermiteOptions};
pub use leapfrog::Leapfrog;
pub use state::State;

use crate::Error;

/// Crossing time in Henon units: the diameter of twice the virial radius over the root mean square velocity.
pub const CROSSING: f64 = 2.0 * std::f64::consts::SQRT_2;

/// Told the name of a stage, and how much of how many steps of it is done, or zeros.
pub type Progress<'p> = dyn FnMut(&'static str, usize, usize) + 'p;

/// Bodies at one time, with the potential of all others at each: the sum of m / r, which is positive.
pub struct Observed<'a> {
    pub time: f64,
    pub bodies: &'a Bodies,
    pub potential: &'a [f64],
}

/// The way in which a run goes from one time to the next.
pub trait Integrator {
    /// Steps that were done. All bodies are at the time after them.
    fn steps(&self) -> u64;

    /// The time, from that of the start.
    fn time(&self) -> f64;

    /// Does a step.
    fn advance(&mut self, progress: &mut Progress) -> Result<(), Error>;

    /// The bodies and their potential.
    fn observed(&mut self) -> Result<Observed<'_>, Error>;

    /// The sums over the bodies that a right integration keeps.
    fn conserved(&mut self) -> Result<Conserved, Error> {
        Ok(Conserved::of(&self.observed()?))
    }

    /// All that it goes on with.
    fn state(&mut self) -> Result<State, Error>;

    /// A clause on how it is computed that a user may not expect, such as why steps take longer than they might.
    fn remark(&self) -> Option<String> {
        None
    }
}
