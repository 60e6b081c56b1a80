//! The same where there are no files and no threads, such as in a browser: shipped files can be included, and the page has a clock.

use hdl::number::real::work::patiently;
use pg2::syntax::sources::Loaded;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Seconds that an editor waits for the functions of a file to be fitted.
pub const EDITOR: f64 = 2.0;

/// Set where nobody waits any longer, which without threads nobody can do.
pub type Stop = Arc<AtomicBool>;

/// The key that identifies a file.
pub fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Finds the shipped file of a name.
pub fn load(_from: &str, path: &str) -> Result<Loaded, String> {
    pg2::kernels::included(path).ok_or("here a kernel includes shipped kernels alone".into())
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Seconds of the page's clock, from any beginning.
    safe fn seconds() -> f64;
}

/// Does something for which so many seconds may be spent on functions that are fitted.
pub fn within_or_stopped<T>(limit: f64, _stop: &Stop, work: impl FnOnce() -> T) -> T {
    patiently(|| seconds(), limit, work)
}

/// Gives freed memory back, which a page cannot do.
pub fn give_back() {}
