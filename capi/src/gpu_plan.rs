//! Plans for data on a GPU.

use crate::arrays::{free, hand_out, handle, handle_mut};
use crate::options::pairforge_options;
use crate::status::{Failure, call, pairforge_status, usage};
use pairforge::fmm::device::{CallerStream, DeviceField, DevicePoints, DeviceSlice, DeviceSources, GpuPlan, Precision};
use std::ffi::{c_int, c_void};

/// Sources and targets on a GPU, of which the plan has copies there, for any number of charges. One thread at a time may use it.
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_gpu_plan(GpuPlan);

/// Points on a GPU: addresses there of coordinates `x[k * stride]` and so on, of `float` where `bytes` is 4 and of `double` where it is 8.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_gpu_points {
    pub x: *const c_void,
    pub y: *const c_void,
    pub z: *const c_void,
    pub count: usize,
    /// From one point to the next, in numbers.
    pub stride: isize,
    pub bytes: c_int,
}

/// Results at the targets, on a GPU, each at `[k * stride]`; null pointers for what is not wanted.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_gpu_field {
    pub potential: *mut c_void,
    pub gx: *mut c_void,
    pub gy: *mut c_void,
    pub gz: *mut c_void,
    /// xx, xy, xz, yy, yz, zz of the Hessian, where the option `hessian` asks for it.
    pub hessian: [*mut c_void; 6],
    /// The number of targets.
    pub count: usize,
    pub potential_stride: isize,
    pub gradient_stride: isize,
    pub hessian_stride: isize,
    pub bytes: c_int,
}

/// Loads of the sources, on a GPU: charges at `charges[k * charge_stride]`, dipole moments (charge times length) at `px[k * dipole_stride]`
/// and so on, or both. Null pointers for what they do not carry.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_gpu_sources {
    pub charges: *const c_void,
    pub px: *const c_void,
    pub py: *const c_void,
    pub pz: *const c_void,
    /// The number of sources.
    pub count: usize,
    pub charge_stride: isize,
    pub dipole_stride: isize,
    pub bytes: c_int,
}

fn precision(bytes: c_int) -> Result<Precision, Failure> {
    match bytes {
        4 => Ok(Precision::F32),
        8 => Ok(Precision::F64),
        _ => usage(format!("numbers on a GPU have 4 or 8 bytes, not {bytes}")),
    }
}

/// # Safety
/// The numbers must be there, on a GPU, until the call has ended and its stream has come so far.
unsafe fn slice(first: *const c_void, count: usize, stride: isize, bytes: c_int) -> Result<DeviceSlice, Failure> {
    // SAFETY: as for this function.
    Ok(unsafe { DeviceSlice::new(first as u64, count, precision(bytes)?) }.stride(stride))
}

/// # Safety
/// As for [`slice`]; `targets` may be null.
unsafe fn points(
    sources: *const pairforge_gpu_points,
    targets: *const pairforge_gpu_points,
) -> Result<DevicePoints, Failure> {
    // SAFETY: as for this function.
    unsafe {
        let columns = |points: &pairforge_gpu_points| -> Result<[DeviceSlice; 3], Failure> {
            let pairforge_gpu_points { x, y, z, count, stride, bytes } = *points;
            let column = |first| slice(first, count, stride, bytes);
            Ok([column(x)?, column(y)?, column(z)?])
        };
        let sources = columns(handle("sources", sources)?)?;
        Ok(DevicePoints { sources, targets: targets.as_ref().map(columns).transpose()? })
    }
}

fn order(stream: *mut c_void) -> CallerStream {
    CallerStream::One(stream as u64)
}

/// Makes a plan for `sources` on a GPU, which are the targets too where `targets` is null. `options` may be null for none; the backend is
/// `cuda`. The plan has copies, made behind what the CUDA stream `stream` has; null is the default stream. Where the GPU does not run all
/// stages, data go through the host if `through_host` is not 0, and else the plan is refused.
///
/// # Safety
/// The points must stay there until the stream has come so far, and `plan` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_gpu_plan_new(
    sources: *const pairforge_gpu_points,
    targets: *const pairforge_gpu_points,
    options: *const pairforge_options,
    through_host: c_int,
    stream: *mut c_void,
    plan: *mut *mut pairforge_gpu_plan,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let points = points(sources, targets)?;
            let options = options.as_ref().map_or_else(Default::default, |options| options.0.clone());
            let new = if through_host != 0 { GpuPlan::new_through_host } else { GpuPlan::new };
            hand_out(pairforge_gpu_plan(new(&points, &options, order(stream))?), plan)
        }
    })
}

/// Gives a plan the positions that are there now, as many or not, without the host.
///
/// # Safety
/// As for `pairforge_gpu_plan_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_gpu_plan_update(
    plan: *mut pairforge_gpu_plan,
    sources: *const pairforge_gpu_points,
    targets: *const pairforge_gpu_points,
    stream: *mut c_void,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (plan, points) = unsafe { (handle_mut("plan", plan)?, points(sources, targets)?) };
        Ok(plan.0.update(&points, order(stream))?)
    })
}

/// Computes the field of charges `charges[k * stride]` on the GPU, `float` or `double` by their `bytes`, as many as there are sources. What
/// the stream has later sees the results.
///
/// # Safety
/// The charges and room for results must stay there until the stream has come so far.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_gpu_plan_run(
    plan: *mut pairforge_gpu_plan,
    charges: *const c_void,
    count: usize,
    stride: isize,
    bytes: c_int,
    field: *const pairforge_gpu_field,
    stream: *mut c_void,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let (plan, field) = (handle_mut("plan", plan)?, handle("field", field)?);
            let charges = slice(charges, count, stride, bytes)?;
            plan.0.run(charges, &field.slices()?, order(stream)).map(drop)?;
            Ok(())
        }
    })
}

/// The same for charges or dipole moments, or both. The first moments take a copy of the positions to the host and back.
///
/// # Safety
/// As for `pairforge_gpu_plan_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_gpu_plan_run_set(
    plan: *mut pairforge_gpu_plan,
    set: *const pairforge_gpu_sources,
    field: *const pairforge_gpu_field,
    stream: *mut c_void,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let (plan, set, field) = (handle_mut("plan", plan)?, handle("set", set)?, handle("field", field)?);
            plan.0.run(set.slices()?, &field.slices()?, order(stream)).map(drop)?;
            Ok(())
        }
    })
}

/// Frees a plan.
///
/// # Safety
/// `plan` must be null, or was made and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_gpu_plan_free(plan: *mut pairforge_gpu_plan) {
    unsafe { free(plan) }
}

/// Columns that are there together or not at all, by their names.
///
/// # Safety
/// As for [`slice`].
unsafe fn together<const N: usize>(
    (what, names): (&str, &str),
    columns: [*const c_void; N],
    column: impl Fn(*const c_void) -> Result<DeviceSlice, Failure>,
) -> Result<Option<[DeviceSlice; N]>, Failure> {
    match columns.iter().filter(|first| first.is_null()).count() {
        missing if missing == N => Ok(None),
        0 => {
            let mut found = [column(columns[0])?; N];
            for (found, first) in found.iter_mut().zip(columns) {
                *found = column(first)?;
            }
            Ok(Some(found))
        }
        _ => usage(format!("a column of {what} is a null pointer, and another is not; give {names} or none")),
    }
}

impl pairforge_gpu_field {
    /// # Safety
    /// As for [`slice`].
    unsafe fn slices(&self) -> Result<DeviceField, Failure> {
        let pairforge_gpu_field { potential, gx, gy, gz, hessian, count, bytes, .. } = *self;
        // SAFETY: as for this function.
        unsafe {
            let column = |stride| move |first: *const c_void| slice(first, count, stride, bytes);
            let (gradient, second) =
                ([gx, gy, gz].map(<*mut c_void>::cast_const), hessian.map(<*mut c_void>::cast_const));
            let of = column(self.potential_stride);
            Ok(DeviceField {
                potential: if potential.is_null() { None } else { Some(of(potential)?) },
                gradient: together(("the gradient", "gx, gy and gz"), gradient, column(self.gradient_stride))?,
                hessian: together(("the Hessian", "all six"), second, column(self.hessian_stride))?,
            })
        }
    }
}

impl pairforge_gpu_sources {
    /// # Safety
    /// As for [`slice`].
    unsafe fn slices(&self) -> Result<DeviceSources, Failure> {
        let pairforge_gpu_sources { charges, px, py, pz, count, charge_stride, dipole_stride, bytes } = *self;
        // SAFETY: as for this function.
        unsafe {
            let column = |stride| move |first: *const c_void| slice(first, count, stride, bytes);
            let of = column(charge_stride);
            let dipoles = together(("dipole moments", "px, py and pz"), [px, py, pz], column(dipole_stride))?;
            let charges = if charges.is_null() && dipoles.is_some() { None } else { Some(of(charges)?) };
            Ok(DeviceSources { charges, dipoles })
        }
    }
}
