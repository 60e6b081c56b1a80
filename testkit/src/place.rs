//! A built command in a folder of its own.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
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
    program: PathBuf,
}

impl Place {
    /// A new folder for a program that was built.
    pub fn of(program: &str) -> Place {
        Place { dir: tempfile::tempdir().expect("a temporary folder"), program: program.into() }
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
        let mut command = Command::new(&self.program);
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

fn all(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("a file that was just written");
    String::from_utf8_lossy(&bytes).into_owned()
}
