//! Ends of calls: a status, and a sentence for whoever wants to know more.

use pairforge::kernel::{CompileError, RunError};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The status of a call. The numbers are those of the command's exit statuses.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(non_camel_case_types, reason = "it is a name in C")]
pub enum pairforge_status {
    PAIRFORGE_OK = 0,
    /// Input that cannot be computed: numbers, options, the text of a kernel.
    PAIRFORGE_INPUT = 1,
    /// The call itself is wrong: a null pointer, a name that is not there.
    PAIRFORGE_USAGE = 2,
    /// A tool or a device is missing or has failed.
    PAIRFORGE_TOOL = 3,
    /// A fault of the library.
    PAIRFORGE_INTERNAL = 4,
}

pub use pairforge_status::*;

/// Why a call failed.
pub struct Failure(pub pairforge_status, pub String);

pub fn usage<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure(PAIRFORGE_USAGE, text.into()))
}

pub fn input<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure(PAIRFORGE_INPUT, text.into()))
}

impl From<pairforge::Error> for Failure {
    fn from(e: pairforge::Error) -> Failure {
        let status = if matches!(e, pairforge::Error::Tool(_)) { PAIRFORGE_TOOL } else { PAIRFORGE_INPUT };
        Failure(status, e.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(e: RunError) -> Failure {
        match e {
            RunError::Backend(e) => pairforge::Error::from(e).into(),
            e => Failure(PAIRFORGE_INPUT, e.to_string()),
        }
    }
}

impl From<CompileError> for Failure {
    fn from(e: CompileError) -> Failure {
        Failure(PAIRFORGE_INPUT, e.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Does the work of a call. A panic ends the call and not the program.
pub fn call(work: impl FnOnce() -> Result<(), Failure>) -> pairforge_status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return PAIRFORGE_OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure(PAIRFORGE_INTERNAL, "the library has failed; please report what it was given".into()),
    };
    let text = CString::new(failure.1.replace('\0', "?")).expect("it has no byte 0");
    // While a thread ends its sentence may be gone, and nobody asks for it.
    let _ = LAST.try_with(|last| last.replace(text));
    failure.0
}

/// The sentence of the last call of this thread that failed, empty if none has. It stays until the next one that fails.
#[unsafe(no_mangle)]
pub extern "C" fn pairforge_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn pairforge_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
