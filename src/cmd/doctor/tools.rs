//! Programs and libraries that are looked for at run time, each found by the code that uses it.

use super::super::deploy;
use super::{ANSWER, begun};
use flow::FlowError;
use fmm::shown;
use gpu::cuda::{compile, device};
use serde::Serialize;
use sim::ask::{first_line_of_all, on_path};
use sim::{SimError, verilator};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A tool as it was found.
#[derive(Serialize)]
pub struct Finding {
    pub name: String,
    pub status: Status,
    version: Option<String>,
    path: Option<String>,
    /// The purpose of it in Pairforge.
    purpose: String,
    /// The fault, and its remedy.
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Found,
    Missing,
    /// It is there, and does not do what it should.
    Broken,
}

impl Status {
    pub fn word(self) -> &'static str {
        match self {
            Status::Found => "found",
            Status::Missing => "missing",
            Status::Broken => "broken",
        }
    }
}

impl Finding {
    /// For people, the first of which stands beside the name.
    pub fn lines(&self) -> Vec<String> {
        let purpose = format!("for {}", self.purpose);
        let found = [self.version.clone(), self.path.clone()].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let all = [found, purpose, self.remedy.clone().unwrap_or_default()];
        all.into_iter()
            .filter(|line| !line.is_empty())
            .flat_map(|l| l.lines().map(str::to_string).collect::<Vec<_>>())
            .collect()
    }
}

/// A thing that is there: its version and file, as far as they are known.
type Looked = Result<(Option<String>, Option<PathBuf>), (Status, String)>;

/// A tool that is looked for.
struct Subject {
    name: String,
    purpose: String,
    look: Box<dyn FnOnce() -> Looked + Send>,
}

impl Subject {
    fn new(name: &str, purpose: &str, look: impl FnOnce() -> Looked + Send + 'static) -> Subject {
        Subject { name: name.into(), purpose: purpose.into(), look: Box::new(look) }
    }

    /// Begins to look for it.
    fn begun(self) -> impl FnOnce() -> Finding {
        let Subject { name, purpose, look } = self;
        let looked = begun(look);
        move || {
            let hangs = || Err((Status::Broken, format!("{name} has not answered in {} s", super::LONGEST.as_secs())));
            let (status, version, path, remedy) = match looked().unwrap_or_else(hangs) {
                Ok((version, path)) => (Status::Found, version, path, None),
                Err((status, remedy)) => (status, None, None, Some(remedy)),
            };
            let path = path.as_deref().map(shown::path);
            Finding { name, status, version, path, purpose, remedy }
        }
    }
}

/// Looks for all of them at the same time.
pub fn find() -> Vec<Finding> {
    let begun: Vec<_> = subjects().into_iter().map(Subject::begun).collect();
    begun.into_iter().map(|found| found()).collect()
}

fn subjects() -> Vec<Subject> {
    let of = |found: fn(Duration) -> Result<verilator::Program, SimError>| move || simulator(found(ANSWER));
    let mut all = vec![
        Subject::new("Verilator", "the backend `cycle`, waveforms and `board-sim`", of(verilator::verilator)),
        Subject::new("C++ compiler", "what Verilator makes", of(verilator::compiler)),
        Subject::new("Icarus Verilog", "testbenches of `build --testbench`", || {
            program("iverilog", "-V", "apt-get install iverilog")
        }),
        Subject::new("GHDL", "simulating components of `build --wrapper vhdl`", || {
            program("ghdl", "--version", "apt-get install ghdl")
        }),
    ];
    all.extend(flow::family::tools().into_iter().map(|(tool, targets)| {
        let purpose = format!("`synth`, targets {}", targets.join(", "));
        Subject::new(tool.name, &purpose, move || synthesis(tool))
    }));
    all.push(Subject::new("Z3", "`prove`", || synthesis(&flow::prove::Z3)));
    all.push(Subject::new(deploy::TOOL, "`deploy`", || program(deploy::TOOL, "--Version", deploy::HOW)));
    all.push(Subject::new("CUDA driver", "the backends `cuda` and `cuda-exact`", || {
        library(device::driver().and_then(|version| device::seen().map(|_| version)), "libcuda.so")
    }));
    all.push(Subject::new("NVRTC", "the backends `cuda` and `cuda-exact`", || {
        library(compile::version(), "libnvrtc.so")
    }));
    all.push(Subject::new("Open MPI", "`fmm` on many ranks by `mpirun`", message_passing));
    all
}

/// A program of the simulation.
fn simulator(found: Result<verilator::Program, SimError>) -> Looked {
    let found = found.map_err(|e| match e {
        SimError::ToolMissing { .. } => (Status::Missing, e.to_string()),
        e => (Status::Broken, e.to_string()),
    })?;
    Ok((Some(version(found.version, &found.path)?), Some(found.path)))
}

/// A program on `PATH` that says its version when it is asked by an option.
fn program(name: &str, option: &str, how: &str) -> Looked {
    let missing = || SimError::ToolMissing { tool: name.into(), how: how.into() };
    let path = on_path(name).ok_or_else(|| (Status::Missing, missing().to_string()))?;
    Ok((Some(asked(&path, option, missing())?), Some(path)))
}

/// A program of the synthesis flow.
fn synthesis(tool: &'static flow::tools::Tool) -> Looked {
    let path = super::super::tools().find(tool).map_err(|e| match e {
        FlowError::ToolMissing { .. } => (Status::Missing, e.to_string()),
        e => (Status::Broken, e.to_string()),
    })?;
    if let Some(version) = tool.package_version(&path) {
        return Ok((Some(format!("{} {version}", tool.package)), Some(path)));
    }
    // One of a package is not started: its first start takes a minute.
    let is_native = path.file_name().is_some_and(|name| name == tool.name);
    let missing = SimError::ToolMissing { tool: tool.name.into(), how: format!("pip install {}", tool.package) };
    let version = tool.asks.filter(|_| is_native).map(|option| asked(&path, option, missing)).transpose()?;
    Ok((version, Some(path)))
}

/// The answer of a program to the question for its version.
fn asked(path: &Path, option: &str, missing: SimError) -> Result<String, (Status, String)> {
    let line = first_line_of_all(Command::new(path).arg(option), ANSWER, missing);
    version(line.map_err(|e| (Status::Broken, e.to_string()))?, path)
}

/// Longest version that is shown.
const LONGEST_VERSION: usize = 100;

/// A line that can be a version: it has a number and is no longer than one, and a terminal shows it.
fn version(line: String, path: &Path) -> Result<String, (Status, String)> {
    let line = line.trim();
    let is_plain = !line.contains(char::is_control) && line.chars().count() <= LONGEST_VERSION;
    if is_plain && line.contains(|c: char| c.is_ascii_digit()) {
        return Ok(line.to_string());
    }
    let line: String = line.chars().take(LONGEST_VERSION).collect();
    let path = shown::path(path);
    Err((
        Status::Broken,
        format!("{path} says `{line}` when it is asked for its version; is it the program of that name?"),
    ))
}

/// A library of CUDA.
fn library(version: Result<(u32, u32), gpu::cuda::CudaError>, file: &str) -> Looked {
    match version {
        Ok((major, minor)) => Ok((Some(format!("CUDA {major}.{minor}")), loaded(file))),
        Err(e) => Err((status_of(file), e.to_string())),
    }
}

fn message_passing() -> Looked {
    const FILE: &str = "libmpi.so";
    let said = ranks::mpi::version().map_err(|e| (status_of(FILE), e.to_string()))?;
    // What follows names who built it.
    Ok((said.split(',').next().map(str::to_string), loaded(FILE)))
}

/// The status of a library that cannot be used.
fn status_of(file: &str) -> Status {
    if loaded(file).is_some() { Status::Broken } else { Status::Missing }
}

/// The file of a library that this process has loaded, by the beginning of its name. Only Linux tells.
fn loaded(file: &str) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_it = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(file));
    paths.find(is_it).map(Path::to_path_buf)
}
