//! slang, the strictest parser of Verilog, by its Python package `pyslang` (scripts/tools.txt).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Elaborates the files of its arguments as Verilog-2005, and fails unless they are free of errors and warnings.
const SCRIPT: &str = "import sys; from pyslang.driver import Driver; d = Driver(); d.addStandardArgs()
sys.exit(not (d.parseCommandLine('slang --std 1364-2005 ' + ' '.join(sys.argv[1:])) and d.processOptions() and d.parseAllSources()
    and d.runFullCompilation(True)))";

/// The Python that has the package: beside the synthesis tools, or the usual one.
fn python() -> Option<&'static PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
        let tools = folder("PAIRFORGE_TOOLS").or_else(|| cache.map(|cache| cache.join("pairforge/tools")));
        let folders = std::env::split_paths(&path).chain(tools.map(|t| t.join("bin")));
        let has = |python: &PathBuf| {
            let said = Command::new(python).args(["-c", "import pyslang"]).output();
            said.is_ok_and(|said| said.status.success())
        };
        folders.map(|folder| folder.join("python3")).filter(|python| python.is_file()).find(has)
    };
    FOUND.get_or_init(find).as_ref()
}

/// Whether slang takes these files, named from `folder`, without errors, and what it says; `None` if it is not found.
pub fn slang(folder: &Path, files: &[&str]) -> Option<(bool, String)> {
    let Some(python) = python() else {
        crate::missing("pyslang");
        return None;
    };
    crate::run(Command::new(python).args(["-c", SCRIPT]).args(files).current_dir(folder))
}
