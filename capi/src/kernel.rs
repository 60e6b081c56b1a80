//! Kernels of PG2: compiled from text, run, built as Verilog.

use crate::arrays::{free, hand_out, handle, handle_mut, numbers, pairforge_column, text};
use crate::session::pairforge_sums;
use crate::status::{Failure, call, pairforge_status, usage};
use pairforge::kernel::{self, Backend, Engine, Kernel, Records};
use std::borrow::Cow;
use std::ffi::{CString, c_char};

/// A compiled kernel with values of its parameters. Runs of one kernel can go on at once in any number of threads; setting a parameter
/// and freeing is for one thread while no other uses it.
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub struct pairforge_kernel(pub Kernel);

/// Compiles a text of PG2; `name` is what its Verilog modules are called. All mistakes of the text are in `pairforge_last_error`, one a
/// line, each with line, column, code and remedy.
///
/// # Safety
/// The texts must end with a byte 0, and `kernel` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_compile(
    name: *const c_char,
    source: *const c_char,
    kernel: *mut *mut pairforge_kernel,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let compiled =
                kernel::compile_named(text("the name of a kernel", name)?, text("the text of a kernel", source)?)?;
            hand_out(pairforge_kernel(compiled), kernel)
        }
    })
}

/// Takes a shipped kernel, such as `p2p`.
///
/// # Safety
/// `name` must end with a byte 0, and `kernel` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_shipped(
    name: *const c_char,
    kernel: *mut *mut pairforge_kernel,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let name = text("the name of a kernel", name)?;
            let Some(found) = kernel::shipped(name) else {
                let known: Vec<&str> = kernel::all_shipped().collect();
                return usage(format!("there is no kernel `{name}`; there are {}", known.join(", ")));
            };
            hand_out(pairforge_kernel(found), kernel)
        }
    })
}

/// Frees a kernel; sessions that were opened with it keep theirs.
///
/// # Safety
/// `kernel` must be null, or was made and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_free(kernel: *mut pairforge_kernel) {
    unsafe { free(kernel) }
}

/// The compiler's warnings as a text, one a line; to be freed by `pairforge_text_free`.
///
/// # Safety
/// `kernel` must have been made, and `warnings` be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_warnings(
    kernel: *const pairforge_kernel,
    warnings: *mut *mut c_char,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let kernel = handle("kernel", kernel)?;
            let lines: Vec<String> =
                kernel.0.warnings().iter().map(|one| format!("{} [{}]", one.message, one.code)).collect();
            hand_out_text(&lines.join("\n"), warnings)
        }
    })
}

/// Gives a parameter a value; of a vector each element has one, as in `a[0]`.
///
/// # Safety
/// `kernel` must have been made, and `name` end with a byte 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_set_param(
    kernel: *mut pairforge_kernel,
    name: *const c_char,
    value: f64,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        let (kernel, name) = unsafe { (handle_mut("kernel", kernel)?, text("the name of a parameter", name)?) };
        kernel.0 = kernel.0.clone().with_param(name, value);
        Ok(())
    })
}

/// Sums over all sources (columns `j`) at every target (columns `i`), on a backend such as `emulator`.
///
/// # Safety
/// There must be as many columns as is said, with their numbers, and `sums` must be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_run(
    kernel: *const pairforge_kernel,
    backend: *const c_char,
    i: *const pairforge_column,
    i_columns: usize,
    j: *const pairforge_column,
    j_columns: usize,
    sums: *mut *mut pairforge_sums,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let kernel = handle("kernel", kernel)?;
            let backend: Backend = text("the name of a backend", backend)?.parse()?;
            let (i, j) = (Columns::of("i", i, i_columns)?, Columns::of("j", j, j_columns)?);
            hand_out(pairforge_sums(kernel.0.run(&i.records(), &j.records(), backend)?), sums)
        }
    })
}

/// Builds an engine of so many pipelines as synthesisable Verilog: a text, to be freed by `pairforge_text_free`.
///
/// # Safety
/// `kernel` must have been made, and `verilog` be room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_kernel_build(
    kernel: *const pairforge_kernel,
    pipelines: u32,
    verilog: *mut *mut c_char,
) -> pairforge_status {
    call(|| {
        // SAFETY: as for this function.
        unsafe {
            let engine = Engine { pipelines, ..Engine::default() };
            let design = handle("kernel", kernel)?.0.build(&engine);
            let design = design.map_err(|e| Failure(pairforge_status::PAIRFORGE_INPUT, e.to_string()))?;
            hand_out_text(&design.verilog, verilog)
        }
    })
}

/// Frees a text that a call has made.
///
/// # Safety
/// `text` must be null, or was made by this library and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pairforge_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it was made by `hand_out_text`.
        drop(unsafe { CString::from_raw(text) });
    }
}

unsafe fn hand_out_text(text: &str, to: *mut *mut c_char) -> Result<(), Failure> {
    // SAFETY: the caller gives room for a pointer.
    let to = unsafe { handle_mut("place of the result", to)? };
    *to = CString::new(text.replace('\0', "?")).expect("it has no byte 0").into_raw();
    Ok(())
}

/// Columns of the caller's by the names of pins.
pub struct Columns<'a>(Vec<(&'a str, Cow<'a, [f64]>)>);

impl<'a> Columns<'a> {
    /// # Safety
    /// There must be as many columns as is said, with their numbers.
    pub unsafe fn of(class: &str, first: *const pairforge_column, count: usize) -> Result<Columns<'a>, Failure> {
        if count > 0 && first.is_null() {
            return usage(format!("the columns of {class} are a null pointer; give the address of {count}"));
        }
        let one = |k: usize| -> Result<(&'a str, Cow<'a, [f64]>), Failure> {
            // SAFETY: as for this function.
            unsafe {
                let column = &*first.add(k);
                let name = text(&format!("the name of column {k} of {class}"), column.name)?;
                Ok((name, numbers(&format!("column `{name}`"), column.values, column.count, column.stride)?))
            }
        };
        (0..count).map(one).collect::<Result<_, _>>().map(Columns)
    }

    pub fn records(&self) -> Records<'_> {
        self.0.iter().fold(Records::new(), |all, (name, values)| all.column(name, values))
    }
}
