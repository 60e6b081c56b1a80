//! DLPack: arrays of other libraries as they describe them, and own ones in capsules.

use crate::errors;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// `kDLFloat`.
const FLOAT: u8 = 2;

/// The structs of dlpack.h.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

/// The array that a capsule of another library describes: address, shape, strides in numbers or None, the type of the numbers (code and bits), the
/// device, and whether it is read-only. The capsule keeps the memory while it is held.
#[pyfunction]
pub fn dlpack_view<'py>(py: Python<'py>, capsule: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let pointer = |name: &CStr| {
        // SAFETY: the object lives, and the name ends with a byte 0.
        unsafe {
            match ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) {
                0 => None,
                _ => Some(ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr())),
            }
        }
    };
    let (tensor, is_read_only) = match (pointer(PLAIN), pointer(VERSIONED)) {
        // SAFETY: a capsule of that name holds that struct.
        (Some(found), _) => (unsafe { &(*found.cast::<Managed>()).tensor }, false),
        (_, Some(found)) => {
            // SAFETY: as above; the first fields are the same in all versions, and the rest in those of one major version.
            let managed = unsafe { &*found.cast::<ManagedVersioned>() };
            if managed.version[0] != 1 {
                return Err(errors::input(format!(
                    "it is of version {} of DLPack, and 1 is known",
                    managed.version[0]
                )));
            }
            (&managed.tensor, managed.flags & READ_ONLY != 0)
        }
        _ => return Err(errors::input("`__dlpack__` gave no capsule of DLPack")),
    };
    let n = tensor.ndim.max(0) as usize;
    // SAFETY: there are as many numbers, unless there are none.
    let numbers =
        |first: *mut i64| unsafe { (!first.is_null() && n > 0).then(|| std::slice::from_raw_parts(first, n).to_vec()) };
    let view = PyDict::new(py);
    view.set_item("address", (tensor.data as u64).wrapping_add(tensor.byte_offset))?;
    view.set_item("shape", numbers(tensor.shape).unwrap_or_default())?;
    view.set_item("strides", numbers(tensor.strides))?;
    view.set_item("type", (tensor.code, tensor.bits, tensor.lanes))?;
    view.set_item("device", (tensor.device[0], tensor.device[1]))?;
    view.set_item("read_only", is_read_only)?;
    Ok(view)
}

/// An array of the order of C, to be put into a capsule.
pub struct Tensor<'a> {
    /// The owner of the memory.
    pub owner: Arc<dyn Any + Send + Sync>,
    pub address: u64,
    pub shape: &'a [usize],
    pub bits: u8,
    pub device: (i32, usize),
}

/// Memory that a capsule's struct points at, freed with it.
struct Held {
    _owner: Arc<dyn Any + Send + Sync>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Frees the struct of a capsule, which is made here; no lock of Python's is needed.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: both were made by `capsule`, and are freed once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

/// Frees what nobody has taken out of a capsule: who takes it gives the capsule another name.
unsafe extern "C" fn end(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with the capsule.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// The capsule of an array.
pub fn capsule<'py>(py: Python<'py>, of: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let shape: Vec<i64> = of.shape.iter().map(|n| *n as i64).collect();
    let strides = (0..shape.len()).map(|k| shape[k + 1..].iter().product()).collect();
    let mut held = Box::new(Held { _owner: of.owner.clone(), shape, strides });
    let tensor = DlTensor {
        data: of.address as *mut c_void,
        device: [of.device.0, of.device.1 as i32],
        ndim: held.shape.len() as i32,
        code: FLOAT,
        bits: of.bits,
        lanes: 1,
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let managed = Managed { tensor, context: Box::into_raw(held).cast(), deleter: Some(delete) };
    let managed = Box::into_raw(Box::new(managed));
    // SAFETY: the struct lives until `delete`, which the capsule calls, or who takes it over.
    unsafe {
        let made = ffi::PyCapsule_New(managed.cast(), PLAIN.as_ptr(), Some(end));
        if made.is_null() {
            delete(managed);
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, made))
    }
}
