//! Direct sums over all pairs in f64, in space and in the plane.

use crate::fmm::Sets;
use crate::{arrays, errors, options, work};
use ::fmm::data::periodic::Periodic;
use ::fmm::direct::error::reference_of;
use ::fmm::direct::summation::Direct;
use ::fmm::octree::Cancel;
use ::fmm::octree::options::check_positions;
use ::fmm::plane;
use ::fmm::plane::Strengths;
use ::fmm::plane::powers::Powers;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pairforge::Error;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Pairs between two looks at whether it goes on.
const PIECE: usize = 1 << 27;

/// Sums at all `targets` by a function for some of them, piece after piece of `sources` each.
fn in_pieces<const N: usize>(
    targets: usize,
    sources: usize,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&'static str, usize, usize),
    at: &dyn Fn(&[usize]) -> Vec<[f64; N]>,
) -> Result<Vec<[f64; N]>, Error> {
    let all: Vec<usize> = (0..targets).collect();
    let mut found = Vec::with_capacity(targets);
    for piece in all.chunks((PIECE / sources.max(1)).max(64)) {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        found.extend(at(piece));
        progress("direct", found.len(), targets);
    }
    Ok(found)
}

/// Some columns of rows.
fn columns<const N: usize>(rows: &[[f64; N]], which: std::ops::Range<usize>) -> Vec<f64> {
    which.flat_map(|column| rows.iter().map(move |row| row[column])).collect()
}

/// The rows, where all are numbers that f64 holds.
fn held<const N: usize>(rows: Vec<[f64; N]>) -> PyResult<Vec<[f64; N]>> {
    match rows.iter().position(|row| row.iter().any(|x| !x.is_finite())) {
        Some(k) => Err(errors::input(format!("the sum at target {k} is beyond the range of f64; choose other units"))),
        None => Ok(rows),
    }
}

/// For each set potential, gradient and Hessian.
#[pyfunction]
#[pyo3(signature = (sources, targets, charges, dipoles, eps, hessian, periodic, progress))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub fn direct<'py>(
    py: Python<'py>,
    sources: PyReadonlyArray2<'py, f64>,
    targets: Option<PyReadonlyArray2<'py, f64>>,
    charges: Option<Vec<PyReadonlyArray1<'py, f64>>>,
    dipoles: Option<Vec<PyReadonlyArray2<'py, f64>>>,
    eps: f64,
    hessian: bool,
    periodic: Option<(f64, [bool; 3])>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let points = crate::fmm::points(&sources, targets.as_ref())?;
    let given = Sets::of(charges, dipoles);
    let moments = given.moments()?;
    let sets = given.sources(&moments)?;
    let geometry = points.geometry();
    check_positions(geometry).map_err(|e| errors::of_library(e.into()))?;
    let periodic = periodic.map(|(length, axes)| Periodic { length, axes });
    let (n, m) = (geometry.sources[0].len(), geometry.targets.unwrap_or(geometry.sources)[0].len());
    let cancel = Cancel::new();
    let mut all = Vec::new();
    for set in sets {
        let direct = Direct { geometry, sources: set, eps, hessian };
        let at = |targets: &[usize]| match periodic {
            Some(_) => reference_of(&direct, targets, periodic.as_ref()),
            None => direct.at(targets),
        };
        let found = work::run(py, progress, &cancel, |report| in_pieces(m, n, &cancel, report, &at))?;
        let rows = held(found.map_err(errors::of_library)?)?;
        let seconds = hessian.then(|| arrays::matrix(py, columns(&rows, 4..10), 6)).transpose()?;
        let gradient = arrays::matrix(py, columns(&rows, 1..4), 3)?;
        all.push((arrays::vector(py, columns(&rows, 0..1)), gradient, seconds).into_pyobject(py)?);
    }
    Ok(all)
}

/// For each set potential and the two columns of the vector.
#[pyfunction]
#[pyo3(signature = (sources, targets, sets, kernel, progress))]
pub fn direct2<'py>(
    py: Python<'py>,
    sources: PyReadonlyArray2<'py, f64>,
    targets: Option<PyReadonlyArray2<'py, f64>>,
    sets: Vec<(PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, f64>>)>,
    kernel: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let points = crate::plane::points(&sources, targets.as_ref())?;
    let kernel = options::plane_kernel("kernel", kernel)?;
    let strengths = crate::plane::strengths(&sets)?;
    let geometry = points.geometry();
    let refused = |e: ::fmm::octree::FmmError| errors::of_library(e.into());
    plane::options::check_positions(geometry).map_err(refused)?;
    let (n, m) = (geometry.sources[0].len(), geometry.targets.unwrap_or(geometry.sources)[0].len());
    let cancel = Cancel::new();
    let mut all = Vec::new();
    for strengths in strengths {
        plane::options::check_strengths(n, kernel, &strengths).map_err(refused)?;
        let direct = plane::direct::Direct { kernel, geometry, strengths };
        let at = |targets: &[usize]| direct.at(targets);
        let found = work::run(py, progress, &cancel, |report| in_pieces(m, n, &cancel, report, &at))?;
        let rows = held(found.map_err(errors::of_library)?)?;
        let [a, b, potential] = [0, 1, 2].map(|k| arrays::vector(py, columns(&rows, k..k + 1)));
        all.push((potential, a, b).into_pyobject(py)?);
    }
    Ok(all)
}

/// For each set of complex strengths real and imaginary parts of the sums of strength / (z_i - z_j)^power at all targets, without pairs
/// in one place: over all pairs, or by expansions with a relative error of at most `tol`.
#[pyfunction]
#[pyo3(signature = (sources, targets, sets, power, tol))]
pub fn powers2<'py>(
    py: Python<'py>,
    sources: PyReadonlyArray2<'py, f64>,
    targets: PyReadonlyArray2<'py, f64>,
    sets: Vec<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
    power: u32,
    tol: Option<f64>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let [x, y] = arrays::columns::<2>("sources", &sources)?;
    let [at_x, at_y] = arrays::columns::<2>("targets", &targets)?;
    let geometry = plane::Geometry { sources: [&x, &y], targets: Some([&at_x, &at_y]) };
    let cancel = Cancel::new();
    let powers = Powers { geometry, power, cancel: cancel.clone() };
    let mut all = Vec::new();
    for (re, im) in &sets {
        let strengths = Strengths { re: arrays::finite("strengths", re)?, im: Some(arrays::finite("strengths", im)?) };
        let refused = |e: ::fmm::octree::FmmError| errors::of_library(e.into());
        powers.check(&strengths).map_err(refused)?;
        let found = work::run(py, None, &cancel, |report| match tol {
            Some(wanted) => Ok(powers.within(wanted, &strengths)?),
            None => in_pieces(at_x.len(), x.len(), &cancel, report, &|targets| powers.at(&strengths, targets))
                .map(|rows| [0..1, 1..2].map(|part| columns(&rows, part))),
        })?;
        let [re, im] = found.map_err(errors::of_library)?;
        let rows: Vec<[f64; 2]> = re.iter().zip(&im).map(|(re, im)| [*re, *im]).collect();
        held(rows)?;
        all.push((arrays::vector(py, re), arrays::vector(py, im)).into_pyobject(py)?);
    }
    Ok(all)
}
