//! The built command in a folder of its own.

use std::ops::Deref;

/// A folder in which the command runs.
pub struct Place(testkit::place::Place);

impl Place {
    pub fn new() -> Place {
        Place(testkit::place::Place::of(env!("CARGO_BIN_EXE_pairforge-bench")))
    }

    /// Runs a command line that is refused with a status and a message of these parts, and prints nothing else.
    pub fn refused(&self, words: &str, code: i32, parts: &[&str]) {
        let ended = self.run(words).expect(code);
        assert!(ended.out.is_empty() && parts.iter().all(|part| ended.err.contains(part)), "{words}: {ended:?}");
    }
}

impl Deref for Place {
    type Target = testkit::place::Place;

    fn deref(&self) -> &testkit::place::Place {
        &self.0
    }
}
