//! The extension module `pairforge._pairforge`: what Python cannot say itself of the crate [`pairforge`].
//!
//! The package's own modules take what a caller gives and check it: arrays of any layout, charges of any shape. What comes here is plain:
//! columns of `f64`, dictionaries of options. A class here is a type of the crate (`Plan`, `Kernel`) or a result that Python asks
//! parts of (`Report`, `Design`).
//!
//! All work runs on a pool of threads of this process, away from Python's lock, while the thread that called looks for signals ([`work`]).
//! Errors are Python's exceptions with the sentence of the command ([`errors`]). Results are columns that NumPy takes over as they are
//! ([`arrays`]).

mod arrays;
mod device;
mod direct;
mod errors;
mod fmm;
mod kernel;
mod options;
mod plane;
mod work;

use pyo3::prelude::*;
use std::ffi::OsString;

#[global_allocator]
static ALLOCATOR: terminal::memory::Allocator = terminal::memory::Allocator;

/// Runs the command line, and gives its exit status.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| pairforge_cli::run(words))
}

#[pymodule]
fn _pairforge(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_function(wrap_pyfunction!(command, m)?)?;
    m.add_function(wrap_pyfunction!(work::set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(work::get_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(direct::direct, m)?)?;
    m.add_function(wrap_pyfunction!(direct::direct2, m)?)?;
    m.add_function(wrap_pyfunction!(direct::powers2, m)?)?;
    m.add_function(wrap_pyfunction!(device::dlpack_view, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::compile, m)?)?;
    m.add_function(wrap_pyfunction!(kernel::shipped, m)?)?;
    m.add_class::<fmm::Plan>()?;
    m.add_class::<plane::Plan2>()?;
    m.add_class::<device::GpuPlan>()?;
    m.add_class::<device::DeviceArray>()?;
    m.add_class::<options::Report>()?;
    m.add_class::<kernel::Kernel>()?;
    m.add_class::<kernel::Sums>()?;
    m.add_class::<kernel::Design>()?;
    Ok(())
}
