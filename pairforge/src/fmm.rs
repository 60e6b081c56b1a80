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
//! `fmm::ranks` shares a problem out among processes, and `fmm::predict` tells the time that a board would take which is not there.
//!
//! # Threads
//!
//! Plans are independent: any number of them can be made and run at once, from any thread, and so can the runs of one plan on the CPU.
//! Runs on a device follow each other. Loops run in the pool of the thread that calls, so that `pool.install(|| plan.run(&charges))` takes
//! a rayon pool of the caller's.

#[cfg(feature = "kernels")]
pub mod costs;
#[cfg(feature = "cuda")]
pub mod device;
#[cfg(feature = "kernels")]
pub mod kernels;
mod known;
#[cfg(not(feature = "kernels"))]
mod native;
mod options;
mod pinned;
#[cfg(feature = "kernels")]
pub mod predict;
#[cfg(feature = "mpi")]
pub mod ranks;
#[cfg(feature = "kernels")]
pub mod route;
#[cfg(feature = "kernels")]
pub mod solver;
pub mod task;
#[cfg(feature = "cuda")]
pub mod whole;

pub use fmm::data::particles::Field;
pub use fmm::data::periodic::Periodic;
pub use fmm::data::problem::{Geometry, Points, Sources};
pub use fmm::direct::error::Errors;
pub use fmm::expansion::basis::Basis;
pub use fmm::octree::stats::Stats;
pub use fmm::octree::{Cancel, Coincident, Outputs, Precision, Solutions};
pub use options::Options;
#[cfg(feature = "kernels")]
pub use options::{M2l, Translations};
pub use pinned::Pinned;

use crate::Error;
use crate::turn::{Turn, locked};
use fmm::data::problem::Positions;
use fmm::octree::{self, FmmOptions};
use fmm::parallel::on_a_thread;
#[cfg(not(feature = "kernels"))]
use native::{Native, Solver};
#[cfg(feature = "kernels")]
use solver::{Native, Solver};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The problem to compute: the points, and the charges and moments of the sources, set by set.
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

/// An FMM solver, opened once: compiled kernels, devices, and with a tolerance the order that was found for it. Clones share it.
///
/// It makes plans for positions that change, as in the steps of a simulation:
///
/// ```
/// use pairforge::fmm::{Fmm, Options};
///
/// let fmm = Fmm::new(&Options::default().tolerance(1e-5))?;
/// let mut particles = pairforge::random::uniform(500, 1);
/// for _ in 0..3 {
///     let field = fmm.plan(particles.columns()).run(&particles.q)?;
///     let [gx, _, _] = field.gradient.expect("1/r has a gradient");
///     particles.x.iter_mut().zip(&gx).for_each(|(x, g)| *x += 1e-9 * g);
/// }
/// # Ok::<(), pairforge::Error>(())
/// ```
#[derive(Clone)]
pub struct Fmm(Arc<Opened>);

struct Opened {
    /// Executors, which one run uses at a time.
    solver: Turn<Solver>,
    /// The choices where native code on the CPU runs everything, which any number of runs can use at once.
    native: Option<Native>,
    hessian: bool,
    /// Options that keep the tolerance of the first run.
    found: Mutex<Option<Found>>,
}

/// Options of the method that an earlier plan has found.
#[derive(Clone)]
enum Found {
    /// Leaves are sized anew for the number of particles.
    Sized(FmmOptions),
    /// They stay as they are.
    Pinned(FmmOptions),
}

/// Results: the fields of all sets of charges with the report, and the plan where there is one on the CPU.
pub struct Solved {
    pub solutions: Solutions,
    pub plan: Option<octree::Plan>,
}

/// An FMM for sources and targets at fixed positions, which are the caller's or its own: columns of x, y and z.
pub struct Plan<'a> {
    positions: Positions<'a>,
    /// A number that no other plan has.
    number: u64,
    fmm: Fmm,
    /// Made by the first run, where the CPU has a plan.
    kept: Mutex<Option<Arc<octree::Plan>>>,
}

impl Options {
    /// Says which options are out of range, or do not go together.
    pub fn check(&self) -> Result<(), Error> {
        #[cfg(feature = "kernels")]
        return route::Route::new(self)?.check(self);
        #[cfg(not(feature = "kernels"))]
        native::check(self).map(drop)
    }
}

impl Fmm {
    /// Checks the options, compiles the kernels that they name, and opens their devices.
    pub fn new(options: &Options) -> Result<Fmm, Error> {
        let solver = Solver::new(options.clone())?;
        let (native, hessian) = (solver.native(), options.hessian);
        Ok(Fmm(Arc::new(Opened { solver: Turn::new(solver), native, hessian, found: Mutex::new(None) })))
    }

    /// A plan for particles that are sources and targets, `[&x, &y, &z]`, or for a [`Geometry`] with targets of its own.
    pub fn plan<'a>(&self, positions: impl Into<Geometry<'a>>) -> Plan<'a> {
        self.plan_at(Positions::Borrowed(positions.into()))
    }

    /// The same for positions that the plan keeps.
    pub fn plan_owned(&self, points: Points) -> Plan<'static> {
        self.plan_at(Positions::Owned(points))
    }

    fn plan_at<'a>(&self, positions: Positions<'a>) -> Plan<'a> {
        static PLANS: AtomicU64 = AtomicU64::new(0);
        let number = PLANS.fetch_add(1, Ordering::Relaxed);
        Plan { positions, number, fmm: self.clone(), kept: Mutex::new(None) }
    }
}

impl<'a> Plan<'a> {
    /// For particles that are sources and targets, `[&x, &y, &z]`, or for a [`Geometry`] with targets of its own.
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

    /// Potential and gradient at every target for charges of the sources, in their order.
    ///
    /// With a [tolerance](Options::tolerance) the first run finds order, precision and leaf size for its charges; later ones keep these.
    pub fn run(&self, charges: &[f64]) -> Result<Field, Error> {
        let mut found = self.run_all(&[charges.into()])?;
        Ok(found.fields.remove(0))
    }

    /// The same into columns of the caller's. Runs on the CPU write there directly, from the second one on.
    pub fn run_into(&self, charges: &[f64], out: &mut Outputs) -> Result<(), Error> {
        let out = std::slice::from_mut(out);
        on_a_thread(|| self.run_all_into(&[charges.into()], out, &mut |_, _, _| {}).map(drop))
    }

    /// The fields of several sets into columns of the caller's, which ask for the Hessian where the options do; the report of the run. For
    /// `progress` see [`Plan::run_with`].
    pub fn run_all_into(
        &self,
        sets: &[Sources],
        out: &mut [Outputs],
        progress: &mut dyn FnMut(&'static str, usize, usize),
    ) -> Result<Stats, Error> {
        if let Some(plan) = self.known()?.filter(|_| self.fmm.0.native.is_some()) {
            return Ok(plan.run(sets, &mut [], out, progress)?);
        }
        let Solutions { fields, stats } = self.run_with(sets, progress)?;
        fields.iter().zip(out).try_for_each(|(field, out)| write(field, out))?;
        Ok(stats)
    }

    /// The fields of several sets of charges or dipole moments, with the report of the run.
    pub fn run_all(&self, sets: &[Sources]) -> Result<Solutions, Error> {
        on_a_thread(|| self.run_with(sets, &mut |_, _, _| {}))
    }

    /// The same; `progress` is given the name of a stage, and how much of how many steps of it is done, or zeros.
    pub fn run_with(
        &self,
        sets: &[Sources],
        progress: &mut dyn FnMut(&'static str, usize, usize),
    ) -> Result<Solutions, Error> {
        let problem = Problem { geometry: self.positions.geometry(), sets: sets.to_vec() };
        let fmm = &*self.fmm.0;
        if let Some(plan) = self.known()? {
            return match fmm.native {
                Some(_) => Ok(plan.solve_all(sets, fmm.hessian, &mut [], progress)?),
                None => fmm.solver.take()?.again(&plan, &problem, progress),
            };
        }
        let Solved { solutions, plan } = match &fmm.native {
            Some(native) => native.solve(&problem, progress)?,
            None => {
                let mut solver = fmm.solver.take()?;
                solver.set_positions(self.number);
                solver.solve(&problem, progress)?
            }
        };
        if let Some(plan) = plan {
            locked(&fmm.found).get_or_insert_with(|| Found::Sized(plan.options.clone()));
            locked(&self.kept).get_or_insert_with(|| Arc::new(plan));
        }
        Ok(solutions)
    }

    /// The plan of an earlier run, or one with the options that an earlier plan has found.
    fn known(&self) -> Result<Option<Arc<octree::Plan>>, Error> {
        if let Some(plan) = &*locked(&self.kept) {
            return Ok(Some(plan.clone()));
        }
        let fmm = &*self.fmm.0;
        let Some(options) = locked(&fmm.found).clone() else { return Ok(None) };
        let geometry = self.positions.geometry();
        let options = match options {
            Found::Sized(options) => self.fmm.sized(&options, geometry.sources[0].len())?,
            Found::Pinned(options) => options,
        };
        let plan = match &fmm.native {
            Some(native) => native.plan(geometry, &options)?,
            None => fmm.solver.take()?.plan(geometry, &options)?,
        };
        Ok(Some(locked(&self.kept).get_or_insert_with(|| Arc::new(plan)).clone()))
    }
}

/// Copies a field into columns of the caller's.
fn write(field: &Field, out: &mut Outputs) -> Result<(), Error> {
    let n = field.potential.len();
    let rooms = [&out.potential[..], &*out.gradient[0], &*out.gradient[1], &*out.gradient[2]];
    if let Some(room) = rooms.iter().map(|column| column.len()).find(|room| *room != n) {
        return Err(Error::Input(format!("there is room for {room} results of {n} particles")));
    }
    out.potential.copy_from_slice(&field.potential);
    let zeros = [(); 3].map(|()| Vec::new());
    for (column, gradient) in out.gradient.iter_mut().zip(field.gradient.as_ref().unwrap_or(&zeros)) {
        if gradient.is_empty() { column.fill(0.0) } else { column.copy_from_slice(gradient) }
    }
    if let Some((out, hessian)) = out.hessian.as_mut().zip(field.hessian.as_ref()) {
        out.iter_mut().zip(hessian).for_each(|(out, of)| out.copy_from_slice(of));
    }
    Ok(())
}
