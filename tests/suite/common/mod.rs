//! The built command in a folder of its own, and kernels and records that several tests use.

pub mod board;
pub mod command;
pub mod network;
#[cfg(unix)]
pub mod simulated;

use pairforge::backends::{BACKENDS, Entry, Needs};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any command here needs, even on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The outcome of a command.
#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
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

/// A temporary folder that commands run in, so that files are named as a user names them.
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

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the folder is writable");
    }

    /// Writes a program, in a folder that need not be there. A shell does it: if this process had the file open, a child that
    /// another test starts in that moment would inherit it, and Linux runs no program that is open for writing.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file in the folder")).expect("the folder is writable");
        let status = Command::new("/bin/sh")
            .args(["-c", r#"printf '#!/bin/sh\n%s\n' "$2" > "$1" && chmod 755 "$1""#, "sh"])
            .arg(path)
            .arg(script)
            .status();
        assert!(status.expect("a shell starts").success(), "{name} is not written");
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("the command writes UTF-8")
    }

    pub fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(name)).expect("the command writes JSON")
    }

    /// Names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("the folder is there");
        let name = |e: std::io::Result<std::fs::DirEntry>| e.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|e| name(e).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// The command with words separated by spaces.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pairforge"));
        command.args(words.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Runs a command line to its end.
    pub fn run(&self, words: &str) -> Ended {
        self.finish(self.command(words))
    }

    /// Runs a command to its end, which must come within [`LIMIT`].
    pub fn finish(&self, command: Command) -> Ended {
        self.finish_within(command, LIMIT.as_secs())
    }

    /// The same with a limit in seconds.
    pub fn finish_within(&self, mut command: Command, limit: u64) -> Ended {
        let (out, err) = (tempfile::tempfile().expect("a file"), tempfile::tempfile().expect("a file"));
        command.stdout(out.try_clone().expect("a handle")).stderr(err.try_clone().expect("a handle"));
        let start = Instant::now();
        let mut child = command.spawn().expect("the command starts");
        let status = loop {
            if let Some(status) = child.try_wait().expect("the command can be waited for") {
                break status;
            }
            if start.elapsed() > Duration::from_secs(limit) {
                let _ = child.kill();
                panic!("{command:?} did not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Ended { code: status.code(), out: all(out), err: all(err) }
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

fn all(mut file: std::fs::File) -> String {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file that was just written");
    String::from_utf8_lossy(&bytes).into_owned()
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
