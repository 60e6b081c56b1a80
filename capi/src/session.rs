//! Kernels on a backend that stays open, and what runs of kernels give.

use crate::arrays::{Room, free, hand_out, handle, handle_mut, pairforge_column, text};
use crate::kernel::{Columns, pairforge_kernel};
use crate::status::{call, input, pairforge_status, usage};
use pairforge::kernel::{Backend, Session, Sums};
use std::ffi::c_char;

/// A kernel on an open backend with sources, for many runs. One thread uses it at a time.
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_session(Session);

/// Sums of a kernel at every target.
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_sums(pub Sums);

/// Opens a backend for many runs of a kernel with the parameters that it has.
///
/// # Safety
/// `kernel` must have been made, `backend` end with a byte 0, and `session` be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_session_open(
    kernel: *const pairforge_kernel,
    backend: *const c_char,
    session: *mut *mut pairforge_session,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let backend: Backend = text("the name of a backend", backend)?.parse()?;
            let mut opened = handle("kernel", kernel)?.0.open(&backend)?;
            opened.prepare()?;
            hand_out(pairforge_session(opened), session)
        }
    })
}

/// Gives a parameter another value.
///
/// # Safety
/// `session` must have been opened, and `name` end with a byte 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_session_set_param(
    session: *mut pairforge_session,
    name: *const c_char,
    value: f64,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (session, name) = unsafe { (handle_mut("session", session)?, text("the name of a parameter", name)?) };
        session.0.set_param(name, value);
        Ok(())
    })
}

/// Takes sources, for all runs until the next ones.
///
/// # Safety
/// There must be as many columns as is said, with their numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_session_set_sources(
    session: *mut pairforge_session,
    j: *const pairforge_column,
    columns: usize,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (session, j) = unsafe { (handle_mut("session", session)?, Columns::of("j", j, columns)?) };
        Ok(session.0.set_sources(&j.records())?)
    })
}

/// Sums over all sources at targets.
///
/// # Safety
/// As for `pairforge_session_set_sources`; `sums` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_session_run(
    session: *mut pairforge_session,
    i: *const pairforge_column,
    columns: usize,
    sums: *mut *mut pairforge_sums,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let (session, i) = (handle_mut("session", session)?, Columns::of("i", i, columns)?);
            hand_out(pairforge_sums(session.0.run(&i.records())?), sums)
        }
    })
}

/// Closes a session.
///
/// # Safety
/// `session` must be null, or was opened and not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_session_close(session: *mut pairforge_session) {
    unsafe { free(session) }
}

/// Writes what an output, or an element of one as in `gout[0]`, is at all targets to `values[k * stride]`; `count` is the number of
/// targets.
///
/// # Safety
/// There must be room for the values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_sums_column(
    sums: *const pairforge_sums,
    name: *const c_char,
    values: *mut f64,
    count: usize,
    stride: isize,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let (sums, name) = (&handle("sums", sums)?.0, text("the name of an output", name)?);
            if !sums.names().iter().any(|known| known == name) {
                return usage(format!("there is no output `{name}`; there are {}", sums.names().join(", ")));
            }
            let column = sums.column(name);
            if column.len() != count {
                return input(format!("there is room for {count} values of {} targets; give as many", column.len()));
            }
            Room { first: values, stride }.write(column)
        }
    })
}

/// All flags that the sums at a target have raised, as bits: overflow 1, underflow 2, saturation 4, invalid 8, wrap 16; 0 for a target that
/// is not there.
///
/// # Safety
/// `sums` must have been made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_sums_flags(sums: *const pairforge_sums, target: usize) -> u32 {
    // SAFETY: as for this function.
    let sums = unsafe { sums.as_ref() };
    sums.and_then(|sums| sums.0.flags.get(target)).map_or(0, |flags| flags.0 as u32)
}

/// Frees sums.
///
/// # Safety
/// `sums` must be null, or was made and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_sums_free(sums: *mut pairforge_sums) {
    unsafe { free(sums) }
}
