//! Plans for data on a GPU, and arrays there.

use crate::{errors, options};
use options::Report;
use pairforge::fmm::device::{
    self as gpu, CallerStream, DeviceField, DevicePoints, DeviceSlice, DeviceSources, Memory, Precision,
};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

mod dlpack;

pub use dlpack::dlpack_view;

/// Numbers on a GPU: the address of the first, how many, the stride in numbers, the bytes of one, and the number of the GPU if it is known.
type Column = (u64, usize, isize, u8, Option<usize>);

/// # Safety
/// The numbers must stay there while a call uses them.
unsafe fn slice((address, len, stride, bytes, device): Column) -> DeviceSlice {
    // SAFETY: as for this function.
    let slice = unsafe { DeviceSlice::new(address, len, precision(bytes)) }.stride(stride);
    device.map_or(slice, |device| slice.on(device))
}

fn precision(bytes: u8) -> Precision {
    if bytes == 4 { Precision::F32 } else { Precision::F64 }
}

fn order(stream: Option<u64>) -> CallerStream {
    stream.map_or(CallerStream::All, CallerStream::One)
}

fn points(sources: [Column; 3], targets: Option<[Column; 3]>) -> DevicePoints {
    // SAFETY: the package's modules hold the arrays until a call has ended.
    let columns = |all: [Column; 3]| all.map(|one| unsafe { slice(one) });
    DevicePoints { sources: columns(sources), targets: targets.map(columns) }
}

/// An FMM for points on a GPU. Runs follow each other.
#[pyclass(frozen, module = "pairforge._pairforge")]
pub struct GpuPlan {
    plan: Mutex<gpu::GpuPlan>,
}

#[pymethods]
impl GpuPlan {
    #[new]
    fn new(
        py: Python<'_>,
        sources: [Column; 3],
        targets: Option<[Column; 3]>,
        given: &Bound<'_, PyDict>,
        through_host: bool,
        stream: Option<u64>,
    ) -> PyResult<GpuPlan> {
        let options = options::in_space(given)?;
        let new = if through_host { gpu::GpuPlan::new_through_host } else { gpu::GpuPlan::new };
        let points = points(sources, targets);
        let plan = py.detach(|| new(&points, &options, order(stream))).map_err(errors::of_library)?;
        Ok(GpuPlan { plan: Mutex::new(plan) })
    }

    /// Takes other positions.
    fn update(
        &self,
        py: Python<'_>,
        sources: [Column; 3],
        targets: Option<[Column; 3]>,
        stream: Option<u64>,
    ) -> PyResult<()> {
        let points = points(sources, targets);
        self.with(py, |plan| plan.update(&points, order(stream)).and_then(|()| plan.finish()))
    }

    /// Writes what is wanted of the field of one set of charges, of dipole moments, or of both.
    fn run(
        &self,
        py: Python<'_>,
        sources: (Option<Column>, Option<[Column; 3]>),
        field: (Option<Column>, Option<[Column; 3]>, Option<[Column; 6]>),
        stream: Option<u64>,
    ) -> PyResult<Report> {
        let ((charges, dipoles), (potential, gradient, hessian)) = (sources, field);
        // SAFETY: the package's modules hold the arrays until the call has ended.
        let one = |column: Column| unsafe { slice(column) };
        let sources = DeviceSources { charges: charges.map(one), dipoles: dipoles.map(|all| all.map(one)) };
        let field = DeviceField {
            potential: potential.map(one),
            gradient: gradient.map(|all| all.map(one)),
            hessian: hessian.map(|all| all.map(one)),
        };
        let run = |plan: &mut gpu::GpuPlan| {
            let stats = plan.run(sources, &field, order(stream))?;
            plan.finish().map(|()| stats)
        };
        Ok(Report::new(self.with(py, run)?))
    }

    /// An array on the plan's GPU.
    fn empty(&self, py: Python<'_>, shape: Vec<usize>, bytes: u8) -> PyResult<DeviceArray> {
        let size = shape.iter().product::<usize>() * bytes as usize;
        let (memory, device) = self.with(py, |plan| Ok((plan.allocate(size)?, plan.device())))?;
        Ok(DeviceArray { memory: Arc::new(memory), shape, bytes, device })
    }

    /// The number of the GPU.
    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |plan| Ok(plan.device()))
    }
}

impl GpuPlan {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut gpu::GpuPlan) -> Result<R, pairforge::Error> + Send,
    ) -> PyResult<R> {
        let done = py.detach(|| work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner)));
        done.map_err(errors::of_library)
    }
}

/// Numbers on a GPU, in the order of C, which other libraries use as they are.
#[pyclass(frozen, module = "pairforge")]
pub struct DeviceArray {
    memory: Arc<Memory>,
    #[pyo3(get)]
    shape: Vec<usize>,
    bytes: u8,
    device: usize,
}

/// `kDLCUDA` of DLPack.
const ON_CUDA: i32 = 2;

#[pymethods]
impl DeviceArray {
    /// The type of its numbers, as NumPy has it.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.getattr("dtype")?.call1((self.type_name(),))
    }

    /// The number of the GPU.
    #[getter]
    fn device(&self) -> usize {
        self.device
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        interface.set_item("typestr", self.type_name())?;
        interface.set_item("data", (self.memory.address(), false))?;
        interface.set_item("strides", py.None())?;
        // Whoever has the array has it after the work on it is done.
        interface.set_item("stream", py.None())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (i32, usize) {
        (ON_CUDA, self.device)
    }

    /// The array as DLPack has it. All work on it is done, so that no stream has to wait.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, usize)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (stream, max_version);
        if dl_device.is_some_and(|(kind, number)| (kind, number) != self.__dlpack_device__()) || copy == Some(true) {
            return Err(PyBufferError::new_err(
                "a DeviceArray is given as it is, on its GPU; `.numpy()` copies it to the host",
            ));
        }
        dlpack::capsule(
            py,
            &dlpack::Tensor {
                owner: self.memory.clone(),
                address: self.memory.address(),
                shape: &self.shape,
                bits: 8 * self.bytes,
                device: self.__dlpack_device__(),
            },
        )
    }

    /// A copy on the host.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bytes = py.detach(|| self.memory.fetch()).map_err(errors::of_library)?;
        let of = py.import("numpy")?;
        let flat = of.getattr("frombuffer")?.call1((pyo3::types::PyByteArray::new(py, &bytes), self.type_name()))?;
        flat.call_method1("reshape", (PyTuple::new(py, &self.shape)?,))
    }

    fn __len__(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let of = if self.bytes == 4 { "float32" } else { "float64" };
        format!("<pairforge.DeviceArray of {}: {of} on GPU {}>", shape.join(" by "), self.device)
    }
}

impl DeviceArray {
    /// The name of the type of its numbers.
    fn type_name(&self) -> &'static str {
        if self.bytes == 4 { "<f4" } else { "<f8" }
    }
}
