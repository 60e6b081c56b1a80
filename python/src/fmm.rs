//! Plans in space.

use crate::{arrays, errors, options, work};
use ::fmm::octree::Cancel;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use options::Report;
use pairforge::fmm::{Fmm, Options, Outputs, Plan as Points3, Points, Sources};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An FMM for points that do not move between two updates. Any number of threads may run it.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Plan {
    /// Replaced as a whole: a run keeps the one that it began with. No lock is held while threads of the pool work, since one that waits
    /// for a part of its work takes up other work, and would wait for itself.
    state: Mutex<Arc<State>>,
    options: Options,
    has_hessian: bool,
    /// Where native code on the CPU does not run everything: runs follow each other.
    turn: Option<Mutex<()>>,
}

struct State {
    fmm: Fmm,
    plan: Points3<'static>,
    sources: usize,
    targets: usize,
    /// Ends the runs of this plan.
    cancel: Cancel,
    /// Nanoseconds of the last run.
    took: AtomicU64,
}

impl State {
    fn new(fmm: Fmm, points: Points, cancel: Cancel) -> State {
        let (sources, targets) = counts(&points);
        State { plan: fmm.plan_owned(points), fmm, sources, targets, cancel, took: AtomicU64::new(u64::MAX) }
    }
}

/// The arguments of a run: for each set its charges, its dipole moments, or both.
pub struct Sets<'py> {
    charges: Option<Vec<PyReadonlyArray1<'py, f64>>>,
    dipoles: Option<Vec<PyReadonlyArray2<'py, f64>>>,
}

#[pymethods]
impl Plan {
    /// `sources` and `targets` are rows of coordinates.
    #[new]
    #[pyo3(signature = (sources, targets, given))]
    fn new(
        py: Python<'_>,
        sources: PyReadonlyArray2<'_, f64>,
        targets: Option<PyReadonlyArray2<'_, f64>>,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Plan> {
        let options = options::in_space(given)?;
        let flag = |name: &str| -> PyResult<bool> { given.get_item(name)?.map_or(Ok(false), |value| value.extract()) };
        let has_hessian = flag("hessian")?;
        let is_native = options::is_native(given, "kernel")?;
        let points = points(&sources, targets.as_ref())?;
        let cancel = Cancel::new();
        let own = options.clone().cancel(cancel.clone());
        let fmm = py.detach(|| Fmm::new(&own)).map_err(errors::of_library)?;
        let state = Mutex::new(Arc::new(State::new(fmm, points, cancel)));
        Ok(Plan { state, options, has_hessian, turn: (!is_native).then(|| Mutex::new(())) })
    }

    /// Takes other positions.
    fn update(&self, sources: PyReadonlyArray2<'_, f64>, targets: Option<PyReadonlyArray2<'_, f64>>) -> PyResult<()> {
        let points = points(&sources, targets.as_ref())?;
        let before = self.state();
        *self.lock() = Arc::new(State::new(before.fmm.clone(), points, before.cancel.clone()));
        Ok(())
    }

    /// The numbers of sources and of targets.
    fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.sources, state.targets)
    }

    /// For each set potential, gradient and Hessian, or None for what is not there; and the report.
    #[pyo3(signature = (charges, dipoles, progress))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        charges: Option<Vec<PyReadonlyArray1<'py, f64>>>,
        dipoles: Option<Vec<PyReadonlyArray2<'py, f64>>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<Bound<'py, PyTuple>>, Report)> {
        let given = Sets::of(charges, dipoles);
        let moments = given.moments()?;
        let sets = given.sources(&moments)?;
        let _turn = self.turn.as_ref().map(|turn| work::take(py, turn)).transpose()?;
        let state = self.state();
        let new = |_| Room::new(state.targets, self.has_hessian);
        let mut fields = sets.iter().map(new).collect::<PyResult<Vec<Room>>>()?;
        let work = |report: &mut dyn FnMut(&'static str, usize, usize)| {
            let (start, mut out) = (Instant::now(), fields.iter_mut().map(Room::outputs).collect::<Vec<Outputs>>());
            let ran = state.plan.run_all_into(&sets, &mut out, report);
            state.took.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
            ran
        };
        let is_brief = Duration::from_nanos(state.took.load(Ordering::Relaxed)) < work::BRIEF;
        let ran = match is_brief && progress.is_none() {
            true => work::run_briefly(py, work),
            false => work::run(py, progress, &state.cancel, work),
        };
        if state.cancel.is_cancelled() {
            py.detach(|| self.renew()).map_err(errors::of_library)?;
        }
        let stats = ran?.map_err(errors::of_library)?;
        let has_gradient = stats.has_gradient;
        let fields = fields.into_iter().map(|room| room.arrays(py, has_gradient)).collect::<PyResult<_>>()?;
        Ok((fields, Report::new(stats)))
    }
}

impl Plan {
    fn lock(&self) -> MutexGuard<'_, Arc<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> Arc<State> {
        self.lock().clone()
    }

    /// Makes the plan one that can be run, after it was cancelled. What it has found is found again.
    fn renew(&self) -> Result<(), pairforge::Error> {
        let before = self.state();
        if !before.cancel.is_cancelled() {
            return Ok(());
        }
        let cancel = Cancel::new();
        let plan = before.plan.with_options(&self.options.clone().cancel(cancel.clone()))?;
        let State { sources, targets, .. } = *before;
        let took = AtomicU64::new(u64::MAX);
        *self.lock() = Arc::new(State { fmm: plan.fmm().clone(), plan, sources, targets, cancel, took });
        Ok(())
    }
}

impl Sets<'_> {
    /// The columns of dipole moments.
    pub fn moments(&self) -> PyResult<Vec<[Vec<f64>; 3]>> {
        self.dipoles.iter().flatten().map(|rows| arrays::columns("dipoles", rows)).collect()
    }

    /// The sets, as many as there are of charges or moments.
    pub fn sources<'a>(&'a self, moments: &'a [[Vec<f64>; 3]]) -> PyResult<Vec<Sources<'a>>> {
        let charges = self.charges.iter().flatten().map(|q| arrays::finite("q", q)).collect::<PyResult<Vec<_>>>()?;
        let count = charges.len().max(moments.len());
        let one = |k: usize| Sources {
            charges: charges.get(k).copied(),
            dipoles: moments.get(k).map(|m| m.each_ref().map(Vec::as_slice)),
        };
        Ok((0..count).map(one).collect())
    }
}

impl<'py> Sets<'py> {
    pub fn of(
        charges: Option<Vec<PyReadonlyArray1<'py, f64>>>,
        dipoles: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    ) -> Self {
        Sets { charges, dipoles }
    }
}

/// The results of one set of charges, in columns that follow each other.
pub struct Room {
    potential: Vec<f64>,
    gradient: Vec<f64>,
    hessian: Option<Vec<f64>>,
}

impl Room {
    fn new(n: usize, has_hessian: bool) -> PyResult<Room> {
        let hessian = if has_hessian { Some(arrays::zeros(6 * n)?) } else { None };
        Ok(Room { potential: arrays::zeros(n)?, gradient: arrays::zeros(3 * n)?, hessian })
    }

    fn outputs(&mut self) -> Outputs<'_> {
        Outputs {
            potential: &mut self.potential,
            gradient: arrays::split(&mut self.gradient),
            hessian: self.hessian.as_mut().map(|all| arrays::split(all)),
        }
    }

    fn arrays(self, py: Python<'_>, has_gradient: bool) -> PyResult<Bound<'_, PyTuple>> {
        let gradient = has_gradient.then(|| arrays::matrix(py, self.gradient, 3)).transpose()?;
        let hessian = self.hessian.map(|all| arrays::matrix(py, all, 6)).transpose()?;
        (arrays::vector(py, self.potential), gradient, hessian).into_pyobject(py)
    }
}

/// Points from rows of coordinates.
pub fn points(sources: &PyReadonlyArray2<'_, f64>, targets: Option<&PyReadonlyArray2<'_, f64>>) -> PyResult<Points> {
    let targets = targets.map(|rows| arrays::columns("targets", rows)).transpose()?;
    Ok(Points { sources: arrays::columns("x", sources)?, targets })
}

fn counts(points: &Points) -> (usize, usize) {
    let n = points.sources[0].len();
    (n, points.targets.as_ref().map_or(n, |targets| targets[0].len()))
}
