//! Plans in two dimensions.

use crate::{arrays, errors, options, work};
use ::fmm::octree::Cancel;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use options::Report;
use pairforge::plane::{Fmm, Options, Plan, Points, Strengths};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An FMM for points of the plane that do not move between two updates.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Plan2 {
    /// The plan, and what ends its runs: replaced as a whole, as those in space are.
    state: Mutex<Arc<(Plan<'static>, Cancel)>>,
    options: Options,
    turn: Option<Mutex<()>>,
}

#[pymethods]
impl Plan2 {
    #[new]
    #[pyo3(signature = (sources, targets, given))]
    fn new(
        py: Python<'_>,
        sources: PyReadonlyArray2<'_, f64>,
        targets: Option<PyReadonlyArray2<'_, f64>>,
        given: &Bound<'_, PyDict>,
    ) -> PyResult<Plan2> {
        let options = options::in_the_plane(given)?;
        let is_native = options::is_native(given, "p2p")?;
        let points = points(&sources, targets.as_ref())?;
        let cancel = Cancel::new();
        let own = options.clone().cancel(cancel.clone());
        let plan = py.detach(move || Fmm::new(&own).map(|fmm| fmm.plan_owned(points))).map_err(errors::of_library)?;
        Ok(Plan2 { state: Mutex::new(Arc::new((plan, cancel))), options, turn: (!is_native).then(|| Mutex::new(())) })
    }

    fn update(&self, sources: PyReadonlyArray2<'_, f64>, targets: Option<PyReadonlyArray2<'_, f64>>) -> PyResult<()> {
        let points = points(&sources, targets.as_ref())?;
        let before = self.state();
        *self.lock() = Arc::new((before.0.fmm().plan_owned(points), before.1.clone()));
        Ok(())
    }

    /// For each set of strengths, real parts and perhaps imaginary ones, potential and vector; and the report.
    #[pyo3(signature = (sets, progress))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        sets: Vec<(PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>)>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<Bound<'py, PyTuple>>, Report)> {
        let strengths = strengths(&sets)?;
        let _turn = self.turn.as_ref().map(|turn| work::take(py, turn)).transpose()?;
        let state = self.state();
        let (plan, cancel) = &*state;
        let ran = work::run(py, progress, cancel, |report| plan.run_with(&strengths, report));
        if cancel.is_cancelled() {
            py.detach(|| self.renew()).map_err(errors::of_library)?;
        }
        let solved = ran?.map_err(errors::of_library)?;
        let fields = solved.solutions.into_iter().map(|solution| {
            let [a, b] = solution.field.vector;
            (arrays::vector(py, solution.field.potential), arrays::vector(py, a), arrays::vector(py, b))
                .into_pyobject(py)
        });
        Ok((fields.collect::<PyResult<_>>()?, Report::new(solved.stats)))
    }
}

impl Plan2 {
    fn lock(&self) -> MutexGuard<'_, Arc<(Plan<'static>, Cancel)>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> Arc<(Plan<'static>, Cancel)> {
        self.lock().clone()
    }

    fn renew(&self) -> Result<(), pairforge::Error> {
        let before = self.state();
        if before.1.is_cancelled() {
            let cancel = Cancel::new();
            let plan = before.0.with_options(&self.options.clone().cancel(cancel.clone()))?;
            *self.lock() = Arc::new((plan, cancel));
        }
        Ok(())
    }
}

/// Sets of real or complex strengths.
pub fn strengths<'a>(
    sets: &'a [(PyReadonlyArray1<'_, f64>, Option<PyReadonlyArray1<'_, f64>>)],
) -> PyResult<Vec<Strengths<'a>>> {
    let one = |(re, im): &'a (PyReadonlyArray1<'_, f64>, Option<PyReadonlyArray1<'_, f64>>)| {
        let im = im.as_ref().map(|im| arrays::finite("q", im)).transpose()?;
        Ok(Strengths { re: arrays::finite("q", re)?, im })
    };
    sets.iter().map(one).collect()
}

pub fn points(sources: &PyReadonlyArray2<'_, f64>, targets: Option<&PyReadonlyArray2<'_, f64>>) -> PyResult<Points> {
    let targets = targets.map(|rows| arrays::columns("targets", rows)).transpose()?;
    Ok(Points { sources: arrays::columns("x", sources)?, targets })
}
