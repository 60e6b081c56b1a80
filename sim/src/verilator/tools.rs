//! Finding Verilator and a C++ compiler, and running them.

use super::CXX_FLAGS;
use super::binary::BinaryType;
use crate::SimError;
use crate::ask::{TIMEOUT, first_line, on_path, output};
use crate::cache::Cache;
use crate::process::ends_with_us;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The programs that a simulation is built with.
#[derive(Clone, Debug)]
pub struct Tools {
    pub verilator: PathBuf,
    /// First line of `verilator --version`.
    pub version: String,
    root: PathBuf,
    cxx: PathBuf,
    cxx_version: String,
    /// Flags for speed that this compiler takes.
    tuning: Vec<&'static str>,
}

/// Random data makes branches of a model's multiplexers mispredict; these let clang turn more of them into selections.
/// They are LLVM's own and not promised by any version, so they are tried before they are used.
const TUNING: &[&str] = &["-mllvm", "-two-entry-phi-node-folding-threshold=100", "-mllvm", "-x86-cmov-converter=0"];

/// Instructions for installing the missing tools.
const HOW: &str = "apt-get install verilator clang";
/// The oldest major version whose command line and run-time we know.
const OLDEST: u32 = 5;

impl Tools {
    /// Finds the programs on `PATH`, once for the process.
    pub fn find() -> Result<Tools, SimError> {
        static FOUND: OnceLock<Option<Tools>> = OnceLock::new();
        // Only success is remembered; a failure is looked at again for its reason.
        match FOUND.get_or_init(|| look().ok()) {
            Some(tools) => Ok(tools.clone()),
            None => look(),
        }
    }

    /// Programs that stand in for the real ones.
    #[cfg(test)]
    pub(super) fn of(verilator: PathBuf, root: PathBuf, cxx: PathBuf) -> Tools {
        Tools { verilator, version: "a script".into(), root, cxx, cxx_version: "a script".into(), tuning: Vec::new() }
    }

    /// The key of the toolchain: the inputs of a build besides its texts.
    pub fn key(&self) -> String {
        let tuning = self.tuning.join(" ");
        format!("{}\n{}\n{tuning}\n{}", self.version, self.cxx_version, env!("CARGO_PKG_VERSION"))
    }

    /// Verilator's C++ run-time.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// A compiler call with the flags that all objects share.
    pub fn compiler(&self, trace: bool) -> Command {
        let mut command = Command::new(&self.cxx);
        command.args(CXX_FLAGS).args(&self.tuning).arg(format!("-DVM_TRACE={}", trace as u32));
        command.arg(format!("-DVM_TRACE_FST={}", trace as u32));
        if !self.is_clang() {
            // Unique symbols would be shared between libraries, each of which must have its own run-time.
            command.arg("-fno-gnu-unique");
        }
        command.arg("-I").arg(self.include()).arg("-I").arg(self.include().join("vltstd"));
        command
    }

    /// A linker call.
    pub fn linker(&self) -> Command {
        Command::new(&self.cxx)
    }

    /// That the compiler made this file, whole and for this machine, now that it ended well.
    pub(super) fn check(&self, made: &Path, kind: BinaryType) -> Result<(), SimError> {
        let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let wrong = match std::fs::read(made) {
            Err(_) => Err("is not there"),
            Ok(bytes) => kind.check(&bytes),
        };
        wrong.map_err(|what| self.useless(&name(&self.cxx), &format!("made {}, which {what}", name(made))))
    }

    /// The error of a tool that ended well and did not do its work.
    pub(super) fn useless(&self, tool: &str, what: &str) -> SimError {
        SimError::ToolUseless { tool: tool.into(), what: what.into(), how: HOW.into() }
    }

    /// Whether the compiler is clang; else it is taken to be gcc.
    pub fn is_clang(&self) -> bool {
        self.cxx_version.contains("clang")
    }
}

/// A program that is there, and the first line that it says of its version.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub version: String,
}

fn missing(tool: &str) -> SimError {
    SimError::ToolMissing { tool: tool.into(), how: HOW.into() }
}

/// Verilator, if it is new enough and says so in time.
pub fn verilator(timeout: Duration) -> Result<Program, SimError> {
    let path = on_path("verilator").ok_or_else(|| missing("verilator"))?;
    let version = first_line(Command::new(&path).arg("--version"), timeout, missing("verilator"))?;
    let major = version.split_whitespace().nth(1).and_then(|v| v.split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|m| m < OLDEST) {
        return Err(missing(&format!("verilator {OLDEST} or newer (there is: {version})")));
    }
    Ok(Program { path, version })
}

/// The C++ compiler, if it says in time what it is.
pub fn compiler(timeout: Duration) -> Result<Program, SimError> {
    let path = ["clang++", "g++"].iter().find_map(|c| on_path(c)).ok_or_else(|| missing("clang++ or g++"))?;
    let version = first_line(Command::new(&path).arg("--version"), timeout, missing("clang++ or g++"))?;
    Ok(Program { path, version })
}

fn look() -> Result<Tools, SimError> {
    let Program { path: verilator, version } = verilator(TIMEOUT)?;
    let root = first_line(
        Command::new(&verilator).args(["--getenv", "VERILATOR_ROOT"]),
        TIMEOUT,
        missing("verilator's include directory"),
    )?;
    let root = Some(PathBuf::from(root)).filter(|r| r.join("include/verilated.h").exists());
    let root = root.ok_or_else(|| missing("verilator's include directory"))?;
    let Program { path: cxx, version: cxx_version } = compiler(TIMEOUT)?;
    let tuning = if takes(&cxx, TUNING) { TUNING.to_vec() } else { Vec::new() };
    Ok(Tools { verilator, version, root, cxx, cxx_version, tuning })
}

/// Whether a compiler accepts these flags.
fn takes(cxx: &Path, flags: &[&str]) -> bool {
    let mut command = Command::new(cxx);
    command.args(flags).args(["-x", "c++", "-c", "/dev/null", "-o", "/dev/null"]);
    output(&mut command, TIMEOUT).is_ok_and(|done| done.is_some_and(|done| done.status.success()))
}

/// Runs a program to its end; what it prints is kept only if it fails.
pub fn finish(mut command: Command, cache: &Cache, what: &str) -> Result<(), SimError> {
    let tool = PathBuf::from(command.get_program());
    let tool = tool.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    ends_with_us(&mut command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|_| SimError::ToolMissing { tool: tool.clone(), how: HOW.into() })?;
    if output.status.success() {
        return Ok(());
    }
    let mut text = format!("{command:?}\n");
    text += &String::from_utf8_lossy(&output.stdout);
    text += &String::from_utf8_lossy(&output.stderr);
    text += &format!("{} ended with {}\n", tool, output.status);
    let log = cache.keep_log(what, &text);
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines[lines.len().saturating_sub(12)..].join("\n");
    Err(SimError::ToolFailed { tool, log: log.unwrap_or_else(|_| "not written".into()), tail })
}

/// Runs programs, as many at once as there are cores, and gives the first failure.
pub fn finish_all(commands: Vec<Command>, cache: &Cache, what: &str) -> Result<(), SimError> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get()).min(commands.len());
    let queue = std::sync::Mutex::new(commands);
    let worker = || -> Result<(), SimError> {
        while let Some(command) = { queue.lock().expect("no worker panics").pop() } {
            finish(command, cache, what)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|w| w.join().expect("a worker does not panic"))
    })
}
