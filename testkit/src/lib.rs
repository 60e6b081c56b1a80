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

/// Whether tests with many cases take all of them, as in `make proofs` (`PROOFS=1`).
pub fn in_depth() -> bool {
    std::env::var_os("PROOFS").is_some_and(|v| v == "1")
}

/// A test's cases: all of them in depth, else so many, evenly spread from the first one on.
pub fn some<T>(cases: impl IntoIterator<Item = T>, count: usize) -> impl Iterator<Item = T> {
    let cases: Vec<T> = cases.into_iter().collect();
    let all = cases.len();
    let taken = if in_depth() { all } else { count.min(all) };
    let bin = move |k: usize| k * taken / all;
    cases.into_iter().enumerate().filter(move |(k, _)| *k == 0 || bin(*k) != bin(k - 1)).map(|(_, case)| case)
}

#[cfg(test)]
mod tests {
    #[test]
    fn some_cases_are_spread_from_the_first_on() {
        if !super::in_depth() {
            assert_eq!(super::some(0..10, 3).collect::<Vec<_>>(), [0, 4, 7]);
            assert_eq!(super::some(0..2, 3).collect::<Vec<_>>(), [0, 1]);
            assert_eq!(super::some(0..5, 1).collect::<Vec<_>>(), [0]);
        }
        assert_eq!(super::some(0..0, 3).count(), 0);
    }
}
