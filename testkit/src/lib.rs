//! Parts that the tests of several crates share: programs that they need, recorded texts, random numbers, uses of every operator, and
//! an interpreter in exact fractions.
//!
//! Where a program is not found the test skips, and says so; under `REQUIRE_TOOLS=1` it fails.

pub mod document;
pub mod exact;
pub mod golden;
pub mod place;
pub mod uses;

mod order;
mod random;
mod slang;

pub use order::used_before_declared;
pub use random::Random;
pub use slang::slang;

use std::io::{ErrorKind, Write};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Whether a program is on `PATH`. If not, see [`missing`].
pub fn require(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if !found {
        missing(tool);
    }
    found
}

/// Says that a test is skipped since a program is not found, which is a failure under `REQUIRE_TOOLS=1`.
pub fn missing(tool: &str) {
    assert!(std::env::var_os("REQUIRE_TOOLS").is_none_or(|v| v != "1"), "{tool} not found");
    // What `print` writes is shown of tests that fail alone.
    let _ = writeln!(std::io::stderr(), "skipped: {tool} not found");
}

/// Whether a program ended well, and what it wrote: its errors, then its output. `None` if it is not found.
pub fn run(command: &mut Command) -> Option<(bool, String)> {
    let tool = command.get_program().to_string_lossy().into_owned();
    match command.output() {
        Ok(o) => Some((o.status.success(), String::from_utf8_lossy(&[o.stderr, o.stdout].concat()).into_owned())),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            missing(&tool);
            None
        }
        Err(e) => panic!("{tool}: {e}"),
    }
}

/// Runs `verilator --lint-only -Wall` and more arguments; it must say nothing. Nothing is checked if it is not found.
pub fn lint(arguments: &[&str], what: &str) {
    if let Some((good, said)) = run(Command::new("verilator").args(["--lint-only", "-Wall"]).args(arguments)) {
        assert!(good && said.trim().is_empty(), "{what}: {said}");
    }
}

/// The same of one text that holds all modules.
pub fn lint_text(top: &str, verilog: &str, what: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("pairforge-lint-{}-{}.v", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, verilog).expect("the temporary folder is writable");
    // Modules are not looked for in files of their names.
    let file_name = file.to_str().expect("a path in UTF-8");
    lint(&["-Wno-DECLFILENAME", "--top-module", top, file_name], what);
    std::fs::remove_file(&file).expect("it was written");
}
