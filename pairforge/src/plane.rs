//! The Fast Multipole Method in two dimensions, on the CPU, GPUs and pipelines.
//!
//! Sums are those of `Gamma_j / (z_j - z_i)` with complex strengths (point vortices, [`Kernel::Harmonic`]), or of `q_j log |z_i - z_j|` with
//! its gradient ([`Kernel::Log`]). A [`Plan`] is made of points and options, and serves many sets of strengths:
//!
//! ```
//! use pairforge::plane::{Kernel, Options, Plan};
//!
//! let (x, y) = ([0.1, 0.7, 0.4], [0.2, 0.9, 0.5]);
//! let plan = Plan::new([&x, &y], &Options::default().kernel(Kernel::Log).tolerance(1e-8))?;
//! let field = plan.run([1.0, -2.0, 0.5][..].into())?;
//! let [gx, gy] = &field.vector;
//! assert!(field.potential.len() == 3 && gx.len() == 3 && gy.len() == 3);
//! # Ok::<(), pairforge::Error>(())
//! ```
//!
//! Results are in the order of the input and in the user's units, whatever these are. The method is that of Goude & Engblom (2012): a
//! pyramid of boxes that are split at medians, so that clustered points take no longer than uniform ones.

mod options;
mod solver;

pub use fmm::octree::Cancel;
pub use fmm::plane::error::Errors;
pub use fmm::plane::stats::Stats;
pub use fmm::plane::{Field, Geometry, Kernel, Solution, Strengths};
pub use options::Options;
pub use solver::{Solved, Solver};

use crate::Error;
use crate::turn::{Turn, locked};
use fmm::data::problem::{self, Positions};
use fmm::parallel::on_a_thread;
use solver::{Choices, again};
use std::sync::{Arc, Mutex};

/// A solver, opened once: its kernel, backend or GPU, and with a tolerance the order that was found for it. Clones share it.
#[derive(Clone)]
pub struct Fmm(Arc<Opened>);

struct Opened {
    /// Executors, which one run uses at a time.
    solver: Turn<Solver>,
    /// The choices where native code on the CPU runs everything, which any number of runs can use at once.
    native: Option<Choices>,
    /// Options that keep the tolerance of the first run.
    found: Mutex<Option<fmm::plane::Options>>,
}

/// Points as columns of x and y of their own.
pub type Points = problem::Points<2>;

/// An FMM for points at fixed positions, which are the caller's or its own: columns of x and y.
pub struct Plan<'a> {
    positions: Positions<'a, 2>,
    fmm: Fmm,
    /// Made by the first run, where the CPU has a plan.
    kept: Mutex<Option<Arc<fmm::plane::Plan>>>,
}

impl Fmm {
    /// Checks the options, binds the kernel that they name, and opens its device.
    pub fn new(options: &Options) -> Result<Fmm, Error> {
        let solver = Solver::new(options.clone())?;
        let native = solver.native();
        Ok(Fmm(Arc::new(Opened { solver: Turn::new(solver), native, found: Mutex::new(None) })))
    }

    /// A plan for points that are sources and targets, `[&x, &y]`, or for a [`Geometry`] with targets of its own.
    pub fn plan<'a>(&self, positions: impl Into<Geometry<'a>>) -> Plan<'a> {
        self.plan_at(Positions::Borrowed(positions.into()))
    }

    /// The same for positions that the plan keeps.
    pub fn plan_owned(&self, points: Points) -> Plan<'static> {
        self.plan_at(Positions::Owned(points))
    }

    fn plan_at<'a>(&self, positions: Positions<'a, 2>) -> Plan<'a> {
        Plan { positions, fmm: self.clone(), kept: Mutex::new(None) }
    }
}

impl<'a> Plan<'a> {
    /// For points that are sources and targets, `[&x, &y]`, or for a [`Geometry`] with targets of its own.
    pub fn new(positions: impl Into<Geometry<'a>>, options: &Options) -> Result<Plan<'a>, Error> {
        Ok(Fmm::new(options)?.plan(positions))
    }

    /// Takes other positions, as many or not, and keeps what earlier runs have found for a [tolerance](Options::tolerance).
    pub fn update(&mut self, points: Points) {
        *self = self.fmm.plan_at(Positions::Owned(points));
    }

    /// The solver, which makes plans for other points.
    pub fn fmm(&self) -> &Fmm {
        &self.fmm
    }

    /// A plan with other options for the same points.
    pub fn with_options(&self, options: &Options) -> Result<Plan<'a>, Error> {
        Ok(Fmm::new(options)?.plan_at(self.positions.clone()))
    }

    /// The field at every target for strengths of the sources, in their order.
    ///
    /// With a [tolerance](Options::tolerance) the first run finds order, precision and points a box for its strengths; later ones keep
    /// these.
    pub fn run(&self, strengths: Strengths) -> Result<Field, Error> {
        let mut found = self.run_all(&[strengths])?;
        Ok(found.solutions.remove(0).field)
    }

    /// The fields of several sets of strengths, with the report of the run.
    pub fn run_all(&self, sets: &[Strengths]) -> Result<Solved, Error> {
        on_a_thread(|| self.run_with(sets, &mut |_, _, _| {}))
    }

    /// The same; `progress` is given the name of a stage, and how much of how many steps of it is done, or zeros.
    pub fn run_with(
        &self,
        sets: &[Strengths],
        progress: &mut dyn FnMut(&'static str, usize, usize),
    ) -> Result<Solved, Error> {
        let Opened { solver, native, found } = &*self.fmm.0;
        let kept = self.known()?;
        let solved = match (kept, native) {
            (Some(plan), Some(_)) => return again(plan, sets, &mut [], progress),
            (Some(plan), None) => return solver.take()?.again(plan, sets, progress),
            (None, Some(native)) => native.solve(self.positions.geometry(), sets, &mut [], progress)?,
            (None, None) => solver.take()?.solve(self.positions.geometry(), sets, progress)?,
        };
        if let Some(plan) = &solved.plan {
            locked(found).get_or_insert_with(|| plan.options.clone());
            locked(&self.kept).get_or_insert_with(|| plan.clone());
        }
        Ok(solved)
    }

    /// The plan of an earlier run, or one with the options that an earlier plan has found.
    fn known(&self) -> Result<Option<Arc<fmm::plane::Plan>>, Error> {
        if let Some(plan) = &*locked(&self.kept) {
            return Ok(Some(plan.clone()));
        }
        let Some(options) = locked(&self.fmm.0.found).clone() else { return Ok(None) };
        let plan = Arc::new(fmm::plane::Plan::new(self.positions.geometry(), &options)?);
        Ok(Some(locked(&self.kept).get_or_insert(plan).clone()))
    }
}
