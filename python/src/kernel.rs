//! Kernels of PG2: compiled, run and built.

use crate::{arrays, errors, work};
use ::fmm::octree::Cancel;
use numpy::{PyArray1, PyReadonlyArray1};
use pairforge::backends::BackendOptions;
use pairforge::kernel::{self, Backend, CompileError, Diagnostic, Engine, Records, RunError, Severity, Sources};
use pg2::graph::PinClass;
use pg2::report::explain::{self, Row};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::json;
use std::path::Path;
use terminal::failure::Failure;
use terminal::source;

/// A compiled kernel with the values of its parameters.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Kernel {
    pub kernel: kernel::Kernel,
}

/// Compiles a text, or a file with what it includes.
#[pyfunction]
#[pyo3(signature = (name, text, path))]
pub fn compile(py: Python<'_>, name: &str, text: Option<&str>, path: Option<&str>) -> PyResult<Kernel> {
    let (name, sources) = match (text, path) {
        (_, Some(path)) if !Path::new(path).is_file() => {
            return Err(errors::input(format!("there is no file `{path}`")));
        }
        (_, Some(path)) => {
            let read = source::read(path).map_err(of_failure)?;
            (read.name, read.sources)
        }
        (text, None) => (pg2::identifier(name), Sources::alone(name, text.unwrap_or_default())),
    };
    let compiled = py.detach(|| kernel::compile_sources(&name, sources.clone()));
    let kernel = compiled.map_err(|e| {
        let shown = source::rendered(&sources, &e.diagnostics, false);
        not_compiled(py, shown.trim_end(), &e)
    })?;
    Ok(Kernel { kernel })
}

/// A kernel that is shipped, or None.
#[pyfunction]
pub fn shipped(name: &str) -> Option<Kernel> {
    kernel::shipped(name).map(|kernel| Kernel { kernel })
}

/// The errors of a text that is no kernel, with their places as data.
fn not_compiled(py: Python<'_>, name: &str, e: &CompileError) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("pairforge._errors")?.getattr("CompileError")?;
        let diagnostics: Vec<Bound<'_, PyDict>> =
            e.diagnostics.iter().map(|one| diagnostic(py, one, &e.text)).collect::<PyResult<_>>()?;
        Ok(PyErr::from_value(class.call1((name, &e.text, diagnostics))?))
    };
    made().unwrap_or_else(|e| e)
}

fn of_failure(failure: Failure) -> PyErr {
    let text = failure.text();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    match failure {
        Failure::Usage(_) => errors::usage(text),
        Failure::Tool(_) => errors::tool(text),
        _ => errors::input(text),
    }
}

/// A diagnostic as data: code, message, remedy, and its place by line and column from 1.
pub fn diagnostic<'py>(py: Python<'py>, one: &Diagnostic, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let before = text.get(..one.span().start.min(text.len())).unwrap_or_default();
    let all = PyDict::new(py);
    all.set_item("severity", if one.severity == Severity::Error { "error" } else { "warning" })?;
    all.set_item("code", one.code)?;
    all.set_item("message", &one.message)?;
    all.set_item("help", &one.help)?;
    all.set_item("line", before.matches('\n').count() + 1)?;
    all.set_item("column", before.chars().rev().take_while(|c| *c != '\n').count() + 1)?;
    Ok(all)
}

/// Columns of records: numbers, or bit patterns.
#[derive(FromPyObject)]
enum Given<'py> {
    Patterns(PyReadonlyArray1<'py, u64>),
    Numbers(PyReadonlyArray1<'py, f64>),
}

impl Given<'_> {
    fn len(&self) -> PyResult<usize> {
        match self {
            Given::Patterns(bits) => bits.len(),
            Given::Numbers(numbers) => numbers.len(),
        }
    }
}

/// The records of named columns.
fn records<'a>(columns: &'a [(String, Given<'_>)]) -> PyResult<Records<'a>> {
    let contiguous = |name: &str| errors::input(format!("`{name}` is not contiguous"));
    columns.iter().try_fold(Records::new(), |all, (name, column)| match column {
        Given::Numbers(numbers) => Ok(all.column(name, numbers.as_slice().map_err(|_| contiguous(name))?)),
        Given::Patterns(bits) => Ok(all.patterns(name, bits.as_slice().map_err(|_| contiguous(name))?)),
    })
}

/// A backend by its name on the command line.
fn backend(name: &str) -> PyResult<Backend> {
    let (entry, place) = pairforge::backends::find(name).map_err(|e| errors::usage(e.to_string()))?;
    let plain = [Backend::Cpu, Backend::Emulator, Backend::Cycle, Backend::Cuda, Backend::CudaExact];
    Ok(plain.into_iter().find(|b| b.name() == entry.name).unwrap_or_else(|| Backend::Board(place.to_string())))
}

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    /// For each pin its name, class, format, shape, and the names of its elements.
    #[allow(clippy::type_complexity, reason = "a row of a table")]
    fn pins(&self) -> Vec<(String, &'static str, String, Vec<u32>, Vec<String>)> {
        let one = |pin: &pg2::graph::Pin| {
            let class = match pin.class {
                PinClass::Ipin => "ipin",
                PinClass::Jpin => "jpin",
                PinClass::Param => "param",
                PinClass::Fout => "fout",
            };
            let shape = match (pin.len, pin.columns) {
                (Some(len), Some(columns)) => vec![len / columns, columns],
                (Some(len), None) => vec![len],
                (None, _) => Vec::new(),
            };
            let elements = (0..pin.elements()).map(|k| pin.column(k)).collect();
            (pin.name.clone(), class, pin.format.to_string(), shape, elements)
        };
        self.kernel.graph().pins.iter().map(one).collect()
    }

    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let text = self.kernel.sources().text();
        self.kernel.warnings().iter().map(|one| diagnostic(py, one, text)).collect()
    }

    /// The same kernel with values for parameters, by the names of their elements.
    fn with_params(&self, params: Vec<(String, f64)>) -> Kernel {
        let kernel = params.iter().fold(self.kernel.clone(), |kernel, (name, value)| kernel.with_param(name, *value));
        Kernel { kernel }
    }

    fn params(&self) -> Vec<(String, f64)> {
        self.kernel.params().to_vec()
    }

    /// Sums over all sources at every target.
    #[pyo3(signature = (i, j, backend, pipelines, progress))]
    fn run(
        &self,
        py: Python<'_>,
        i: Vec<(String, Given<'_>)>,
        j: Vec<(String, Given<'_>)>,
        backend: &str,
        pipelines: Option<u32>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Sums> {
        let targets = i.first().map_or(Ok(0), |(_, column)| column.len())?;
        let (i, j) = (records(&i)?, records(&j)?);
        let backend = self::backend(backend)?;
        let usual = BackendOptions::default();
        let options = BackendOptions { pipelines: pipelines.unwrap_or(usual.pipelines), ..usual };
        let cancel = Cancel::new();
        let ran = work::run(py, progress, &cancel, |report| {
            self.kernel.run_with(&i, &j, backend, &options, &mut |done| report("run", done, targets))
        });
        let sums = ran?.map_err(|e| match e {
            RunError::Backend(e) => errors::of_library(e.into()),
            e => errors::input(e.to_string()),
        })?;
        Ok(Sums { sums })
    }

    /// An engine of pipelines as Verilog.
    fn build(&self, py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Design> {
        let engine = engine(given)?;
        let design = py.detach(|| self.kernel.build(&engine)).map_err(|e| errors::usage(e.to_string()))?;
        let explained = explain::explain(&design.built, self.kernel.sources());
        let svg = explain::svg(&design.built, self.kernel.sources());
        Ok(Design { design, explained, svg })
    }
}

/// The engine of keyword arguments; those that are None are left out.
fn engine(given: &Bound<'_, PyDict>) -> PyResult<Engine> {
    let mut engine = Engine::default();
    for (name, value) in given {
        if value.is_none() {
            continue;
        }
        let name: String = name.cast::<PyString>()?.extract()?;
        let wrong = |_| errors::usage(format!("`{name}` cannot be {value}"));
        match name.as_str() {
            "pipelines" => engine.pipelines = value.extract().map_err(wrong)?,
            "groups" => engine.groups = value.extract().map_err(wrong)?,
            "jmem_words" => engine.jmem_words = value.extract().map_err(wrong)?,
            "stream_bits" => engine.stream_bits = value.extract().map_err(wrong)?,
            "interval" => engine.interval = value.extract().map_err(wrong)?,
            "target" => engine.target = value.extract().map_err(wrong)?,
            "mhz" => engine.mhz = value.extract().map_err(wrong)?,
            "multipliers" => engine.multipliers = Some(value.extract().map_err(wrong)?),
            _ => return Err(errors::usage(format!("there is no option `{name}`"))),
        }
    }
    Ok(engine)
}

/// The results of a kernel at every target.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Sums {
    sums: kernel::Sums,
}

#[pymethods]
impl Sums {
    fn names(&self) -> Vec<String> {
        self.sums.names().to_vec()
    }

    fn values<'py>(&self, py: Python<'py>, name: &str) -> Bound<'py, PyArray1<f64>> {
        arrays::vector(py, self.sums.column(name).to_vec())
    }

    fn patterns<'py>(&self, py: Python<'py>, name: &str) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, self.sums.patterns(name))
    }

    /// The sticky flags of each target, one bit each, and the names of the bits from the lowest on.
    fn flags<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u8>>, Vec<&'static str>) {
        let flags: Vec<u8> = self.sums.flags.iter().map(|flags| flags.0).collect();
        (PyArray1::from_vec(py, flags), hdl::Flags::NAMES.to_vec())
    }

    /// Pairs, clock cycles and utilisation.
    fn counts(&self) -> (u64, Option<u64>, Option<f64>) {
        (self.sums.pairs, self.sums.cycles, self.sums.utilisation)
    }
}

/// An engine as text, with its schedule.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct Design {
    design: kernel::Design,
    explained: explain::Explain,
    svg: String,
}

#[pymethods]
impl Design {
    #[getter]
    fn verilog(&self) -> &str {
        &self.design.verilog
    }

    /// The manifest as JSON.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(&self.design.manifest).map_err(|e| errors::bug(&e.to_string()))
    }

    /// Names and texts of the files of a folder for other tools.
    fn files(&self) -> Vec<(String, String)> {
        self.design.files().into_iter().map(|file| (file.name, file.text)).collect()
    }

    /// The schedule as the command `explain` prints it, with the line of the source of each value where that is wanted.
    fn explain(&self, lines: bool) -> String {
        if lines { format!("{:#}", self.explained) } else { self.explained.to_string() }
    }

    /// The figure of the pipeline.
    #[getter]
    fn svg(&self) -> &str {
        &self.svg
    }

    /// The schedule as JSON.
    fn schedule(&self) -> String {
        let e = &self.explained;
        let row = |row: &Row| {
            json!({
                "operator": row.operator, "name": row.name, "formats": row.formats, "reads": row.reads, "start": row.start,
                "latency": row.latency, "ready": row.ready, "is_static": row.fixed, "line": row.line, "file": row.file,
                "operator_bits": row.operator_bits, "delay_bits": row.delay_bits,
            })
        };
        let all = json!({
            "kernel": e.kernel, "target": e.target, "mhz": e.mhz, "cycles": e.depth,
            "register_bits": e.register_bits(), "operator_bits": e.operator_bits, "delay_bits": e.delay_bits,
            "flag_bits": e.flag_bits, "sum_bits": e.lane.sum_bits, "target_bits": e.lane.target_bits,
            "memory_bits": e.memory_bits + e.lane.memory_bits, "multipliers": e.multipliers(), "table_bits": e.rom_bits(),
            "rows": e.rows.iter().map(row).collect::<Vec<_>>(),
        });
        all.to_string()
    }
}
