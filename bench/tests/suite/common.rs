//! The built command in a folder of its own.

use std::path::PathBuf;
use std::process::Command;

/// The outcome of a command.
#[derive(Debug)]
pub struct Ended {
    code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Asserts an exit status, and that nothing panicked.
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}

/// A temporary folder that commands run in.
pub struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the folder is writable");
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Runs the command with words to its end.
    pub fn run_words(&self, words: &[&str]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pairforge-bench"));
        let ended = command.args(words).current_dir(self.dir.path()).output().expect("the command starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { code: ended.status.code(), out: text(&ended.stdout), err: text(&ended.stderr) }
    }

    /// The same with words that are separated by spaces.
    pub fn run(&self, words: &str) -> Ended {
        self.run_words(&words.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs a command line that is refused with a status and a message of these parts, and prints nothing else.
    pub fn refused(&self, words: &str, code: i32, parts: &[&str]) {
        let ended = self.run(words).expect(code);
        assert!(ended.out.is_empty() && parts.iter().all(|part| ended.err.contains(part)), "{words}: {ended:?}");
    }
}
