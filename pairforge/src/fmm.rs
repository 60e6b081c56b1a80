//! The Fast Multipole Method for 1/r and other kernels, on the CPU, GPUs and pipelines.
//!
//! A [`Plan`] is made of positions and options, and serves many sets of charges:
//!
//! ```
//! use pairforge::fmm::{Options, Plan};
//!
//! let [x, y, z] = [[0.1, 0.7, 0.4], [0.2, 0.9, 0.5], [0.8, 0.3, 0.6]];
//! let plan = Plan::new([&x, &y, &z], &Options::default().tolerance(1e-6))?;
//! let field = plan.run(&[1.0, -2.0, 0.5])?;
//! assert_eq!(field.potential.len(), 3);
//! let [gx, gy, gz] = field.gradient.as_ref().expect("1/r has a gradient");
//! # let _ = (gx, gy, gz);
//! # Ok::<(), pairforge::Error>(())
//! ```
//!
//! Potentials are sums of q / |x_j - x_i| over all other particles, and gradients are those with respect to x_i; forces between masses
//! are `G m_i` times the gradient. Lengths and charges may be in any units.
//!
//! # Threads
//!
//! Plans are independent: any number of them can be made and run at once, from any thread. The runs of one plan follow each other. Loops
//! run in the pool of the thread that calls, so that `pool.install(|| plan.run(&charges))` takes a rayon pool of the caller's.

pub mod costs;
pub mod kernels;
mod options;
pub mod route;
pub mod solver;
pub mod task;
pub mod whole;

pub use fmm::data::particles::Field;
pub use fmm::data::periodic::Periodic;
pub use fmm::data::problem::{Geometry, Sources};
pub use fmm::direct::error::Errors;
pub use fmm::expansion::basis::Basis;
pub use fmm::octree::stats::Stats;
pub use fmm::octree::{Cancel, Coincident, Outputs, Precision, Solutions};
pub use options::{M2l, Options, Translations};

use crate::Error;
use solver::{Solved, Solver};
use std::sync::{Mutex, PoisonError};

/// What is computed: the points, and what the sources carry, set by set.
pub struct Problem<'a> {
    pub geometry: Geometry<'a>,
    pub sets: Vec<Sources<'a>>,
}

impl Problem<'_> {
    /// Whether there is no source.
    pub fn is_empty(&self) -> bool {
        self.geometry.sources[0].is_empty()
    }
}

/// An FMM for sources and targets at fixed positions, which are the caller's: columns of x, y and z.
pub struct Plan<'a> {
    geometry: Geometry<'a>,
    state: Mutex<State>,
}

struct State {
    solver: Solver,
    /// Kept from the first run on, where there is one on the CPU.
    plan: Option<fmm::octree::Plan>,
}

impl Options {
    /// Says which options are out of range, or do not go together.
    pub fn check(&self) -> Result<(), Error> {
        route::Route::new(self)?.check(self)
    }
}

impl<'a> Plan<'a> {
    /// For particles that are sources and targets, `[&x, &y, &z]`, or for a [`Geometry`] with targets of its own. Opens devices and
    /// compiles kernels where options name some.
    pub fn new(positions: impl Into<Geometry<'a>>, options: &Options) -> Result<Plan<'a>, Error> {
        let solver = Solver::new(options.clone())?;
        let geometry = positions.into();
        Ok(Plan { geometry, state: Mutex::new(State { solver, plan: None }) })
    }

    /// Potential and gradient at every target for charges of the sources, in their order.
    ///
    /// With a [tolerance](Options::tolerance) the first run finds order, precision and leaf size for its charges; later ones keep these.
    pub fn run(&self, charges: &[f64]) -> Result<Field, Error> {
        let mut found = self.run_all(&[charges.into()])?;
        Ok(found.fields.remove(0))
    }

    /// The same into columns of the caller's.
    pub fn run_into(&self, charges: &[f64], out: &mut Outputs) -> Result<(), Error> {
        let field = self.run(charges)?;
        let room = [out.potential.len(), out.gradient[0].len(), out.gradient[1].len(), out.gradient[2].len()];
        if room.iter().any(|len| *len != field.potential.len()) {
            let (room, n) = (room[0], field.potential.len());
            return Err(Error::Options(format!(
                "there is room for {room} results of {n} targets; give columns of {n}"
            )));
        }
        out.potential.copy_from_slice(&field.potential);
        for (a, column) in out.gradient.iter_mut().enumerate() {
            match &field.gradient {
                Some(gradient) => column.copy_from_slice(&gradient[a]),
                None => column.fill(0.0),
            }
        }
        if let (Some(out), Some(hessian)) = (&mut out.hessian, &field.hessian) {
            out.iter_mut().zip(hessian).for_each(|(out, of)| out.copy_from_slice(of));
        }
        Ok(())
    }

    /// The fields of several sets of charges or dipole moments, with the report of the run.
    pub fn run_all(&self, sets: &[Sources]) -> Result<Solutions, Error> {
        self.run_with(sets, &mut |_, _, _| {})
    }

    /// The same; `progress` is given the name of a stage, and how much of how many steps of it is done, or zeros.
    pub fn run_with(
        &self,
        sets: &[Sources],
        progress: &mut dyn FnMut(&'static str, usize, usize),
    ) -> Result<Solutions, Error> {
        let State { solver, plan } = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = Problem { geometry: self.geometry, sets: sets.to_vec() };
        if let Some(plan) = plan {
            return solver.again(plan, &problem, progress);
        }
        let Solved { solutions, plan: kept } = solver.solve(&problem, progress)?;
        *plan = kept;
        Ok(solutions)
    }
}
