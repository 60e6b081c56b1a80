//! The built command in a folder of its own, and kernels and records that several tests use.

pub mod board;
#[cfg(unix)]
pub mod browser;
pub mod command;
pub mod network;
#[cfg(unix)]
pub mod simulated;

use pairforge::backends::{BACKENDS, Entry, Needs};
use std::ops::Deref;
use std::path::Path;
use std::time::{Duration, Instant};
pub use testkit::place::Ended;

/// A folder in which the command runs.
pub struct Place(testkit::place::Place);

impl Place {
    pub fn new() -> Place {
        Place(testkit::place::Place::of(env!("CARGO_BIN_EXE_pairforge")))
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(name)).expect("the command writes JSON")
    }
}

impl Deref for Place {
    type Target = testkit::place::Place;

    fn deref(&self) -> &testkit::place::Place {
        &self.0
    }
}

/// Asserts that a run that was to write `out.csv` ends soon with status 3 and a message of these parts, and leaves no file.
pub fn told_soon(place: &Place, run: impl FnOnce() -> Ended, parts: &[&str]) {
    let start = Instant::now();
    let ended = run().expect(3);
    assert!(parts.iter().all(|part| ended.err.contains(part)), "{parts:?}: {}", ended.err);
    assert!(start.elapsed() < Duration::from_secs(20), "{parts:?}: {:?}", start.elapsed());
    assert!(!place.names().contains(&"out.csv".to_string()), "{parts:?}");
}

/// Whether Verilator is there. If not, the test is skipped.
pub fn has_verilator() -> bool {
    testkit::require("verilator")
}

/// Every backend that can run here. One with a place needs a device at it.
pub fn backends() -> Vec<&'static Entry> {
    let can_run = |entry: &&Entry| match entry.needs {
        Needs::Simulator => has_verilator(),
        Needs::Gpu => has_gpu(entry),
        Needs::Nothing | Needs::Device => true,
    };
    BACKENDS.iter().filter(can_run).collect()
}

/// Whether there is the GPU that a backend needs. No machine must have one, so that REQUIRE_TOOLS does not ask for it.
pub fn has_gpu(entry: &Entry) -> bool {
    let found = pairforge::backends::gpu_of(entry).is_some_and(|found| found.is_ok());
    if !found {
        eprintln!("skipped on {}: GPU not found", entry.name);
    }
    found
}

/// Those that need no device.
pub fn plain_backends() -> Vec<&'static Entry> {
    backends().into_iter().filter(|b| b.place.is_none()).collect()
}

/// The text of a shipped kernel's file.
pub fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("pg2/kernels").join(format!("{name}.pg2"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
