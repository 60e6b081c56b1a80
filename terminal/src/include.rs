//! The files that kernels include: relative to the file that names them, and shipped ones for shipped kernels.

use crate::input;
use fmm::shown;
pub use pg2::kernels::SHIPPED;
use pg2::syntax::sources::Loaded;
use std::path::Path;

/// The key that identifies a file, by whatever path it is named.
pub fn key(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    absolute.to_string_lossy().into_owned()
}

/// The text, or the line and column of the first byte that is not UTF-8.
pub fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        let column = good.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        format!("{line}:{column}")
    })
}

/// Finds the file that the file of the key `from` includes by `path`.
pub fn load(from: &str, path: &str) -> Result<Loaded, String> {
    if from.starts_with(SHIPPED) {
        return pg2::kernels::included(path).ok_or("a shipped kernel includes shipped files alone".into());
    }
    let path = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
    let kind = path.metadata().map_err(|e| format!("{}: {e}", shown::path(&path)))?;
    // Reading a device might never end.
    if !kind.is_file() {
        return Err(format!("{} is no file", shown::path(&path)));
    }
    let bytes = input::kernel(&path).map_err(|e| format!("{}: {e}", shown::path(&path)))?;
    let text = utf8(bytes).map_err(|at| format!("{} is not UTF-8 at {at}", shown::path(&path)))?;
    Ok(Loaded { key: key(&path), origin: shown(&path), text })
}

/// A path as messages show it: from the folder where the program runs, if it lies in there.
fn shown(path: &Path) -> String {
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let here = std::env::current_dir().and_then(|d| d.canonicalize()).unwrap_or_default();
    shown::path(absolute.strip_prefix(&here).unwrap_or(&absolute))
}
