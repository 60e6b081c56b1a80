//! Options as keyword arguments, and reports as JSON.

use crate::errors;
use crate::kernel::Kernel;
use ::fmm::octree::{Coincident, Precision};
use pairforge::fmm::{Basis, Options, Periodic};
use pairforge::plane;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Serialize;

/// The report of a run: JSON, which is written when it is asked for.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Report(Box<dyn Fn() -> serde_json::Result<String> + Send + Sync>);

impl Report {
    pub fn new(stats: impl Serialize + Send + Sync + 'static) -> Report {
        Report(Box::new(move || serde_json::to_string(&stats)))
    }
}

#[pymethods]
impl Report {
    fn json(&self) -> PyResult<String> {
        (self.0)().map_err(|e| errors::bug(&e.to_string()))
    }
}

/// One of the words that an option takes.
fn word<T: Copy>(name: &str, value: &Bound<'_, PyAny>, known: &[(&str, T)]) -> PyResult<T> {
    let given: String = value.extract()?;
    let found = known.iter().find(|(word, _)| *word == given);
    let words = || known.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    found.map(|(_, of)| *of).ok_or_else(|| errors::usage(format!("`{name}` is {}, not `{given}`", words())))
}

const PRECISIONS: [(&str, Precision); 2] = [("f32", Precision::F32), ("f64", Precision::F64)];

/// Keyword arguments that are not None.
fn stated<'py>(given: &Bound<'py, PyDict>) -> impl Iterator<Item = PyResult<(String, Bound<'py, PyAny>)>> {
    let all = given.iter().filter(|(_, value)| !value.is_none());
    all.map(|(name, value)| Ok((name.cast::<PyString>()?.extract()?, value)))
}

/// Whether native code on the CPU runs everything: no other backend is named, and no kernel by the name of `kernel`.
pub fn is_native(given: &Bound<'_, PyDict>, kernel: &str) -> PyResult<bool> {
    let backend: Option<String> = given.get_item("backend")?.map(|value| value.extract()).transpose()?;
    let has_kernel = given.get_item(kernel)?.is_some_and(|value| !value.is_none());
    Ok(backend.is_none_or(|name| name == "cpu") && !has_kernel)
}

/// Options of an FMM from keyword arguments; those that are None are left out.
pub fn in_space(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut all = Options::default();
    for given in stated(given) {
        let (name, value) = given?;
        all = match name.as_str() {
            "tol" => all.tolerance(tolerance(&name, &value)?),
            "order" => all.order(natural(&name, &value)?),
            "theta" => all.theta(number(&name, &value)?),
            "leaf" => all.leaf(natural(&name, &value)?),
            "eps" => all.softening(number(&name, &value)?),
            "precision" => all.precision(word(&name, &value, &PRECISIONS)?),
            "expansion" => {
                let known = [("cartesian", Basis::Cartesian), ("solid", Basis::Solid), ("chebyshev", Basis::Chebyshev)];
                all.expansion(word(&name, &value, &known)?)
            }
            "coincident" => {
                let known = [("include", Coincident::Include), ("exclude", Coincident::Exclude)];
                all.coincident(word(&name, &value, &known)?)
            }
            "near_only" => all.near_only(value.extract()?),
            "hessian" => all.hessian(value.extract()?),
            "check" => all.samples(natural(&name, &value)?),
            "seed" => all.seed(value.extract()?),
            "gpus" => all.gpus(natural(&name, &value)?),
            "backend" => all.backend(value.extract::<String>()?),
            "kernel" => all.kernel(value.cast::<Kernel>()?.get().kernel.clone()),
            "periodic" => {
                let (length, axes) = value.extract::<(f64, [bool; 3])>()?;
                all.periodic(Periodic { length, axes })
            }
            _ => return Err(unknown(&name)),
        };
    }
    Ok(all)
}

/// Options of an FMM in two dimensions.
pub fn in_the_plane(given: &Bound<'_, PyDict>) -> PyResult<plane::Options> {
    let mut all = plane::Options::default();
    for given in stated(given) {
        let (name, value) = given?;
        all = match name.as_str() {
            "tol" => all.tolerance(tolerance(&name, &value)?),
            "order" => all.order(natural(&name, &value)?),
            "theta" => all.theta(number(&name, &value)?),
            "leaf" => all.leaf(natural(&name, &value)?),
            "precision" => all.precision(word(&name, &value, &PRECISIONS)?),
            "kernel" => all.kernel(plane_kernel(&name, &value)?),
            "check" => all.samples(natural(&name, &value)?),
            "seed" => all.seed(value.extract()?),
            "backend" => all.backend(value.extract::<String>()?),
            "p2p" => all.p2p(value.cast::<Kernel>()?.get().kernel.clone()),
            _ => return Err(unknown(&name)),
        };
    }
    Ok(all)
}

pub fn plane_kernel(name: &str, value: &Bound<'_, PyAny>) -> PyResult<plane::Kernel> {
    word(name, value, &[("log", plane::Kernel::Log), ("harmonic", plane::Kernel::Harmonic)])
}

pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract().map_err(|_| errors::usage(format!("`{name}` is a number, not {value}")))
}

fn tolerance(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let wanted = number(name, value)?;
    let is_error = wanted > 0.0 && wanted < 1.0;
    is_error
        .then_some(wanted)
        .ok_or_else(|| errors::usage(format!("`{name}` must be above 0 and below 1, not {value}")))
}

pub fn natural(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    value.extract().map_err(|_| errors::usage(format!("`{name}` is a whole number from 0 on, not {value}")))
}

fn unknown(name: &str) -> PyErr {
    errors::usage(format!("there is no option `{name}`"))
}
