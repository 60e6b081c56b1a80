//! Verilog to a loaded shared library, through Verilator and a C++ compiler, with everything built kept in the cache.
//!
//! A [`Model`] is one Verilog top made into object files; a library is some models, a driver in C++ that holds the
//! clock loop, and Verilator's run-time, linked. Each is a cache entry of its own, so that a lane's objects
//! serve engines of any number of lanes.

mod binary;
mod foreign;
mod library;
mod tools;

use crate::SimError;
use crate::cache::Cache;
use binary::BinaryType;
pub use foreign::foreign_word;
pub use library::library;
pub(crate) use library::{ClockLoop, load, symbol};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
pub use tools::{Program, Tools, compiler, verilator};

/// One Verilog top to be compiled.
#[derive(Clone, Debug)]
pub struct Source {
    /// The C++ class; the header is `prefix.h`. Models in one library need different ones.
    pub prefix: String,
    /// Name of the top module.
    pub top: String,
    pub verilog: String,
    /// Compile in the writing of an FST waveform.
    pub trace: bool,
    /// Any warning of Verilator is an error.
    pub clean: bool,
    pub effort: Effort,
}

impl Source {
    /// A design that runs for long: whatever Verilator warns of is no error, and no waves are written.
    pub(crate) fn of_design(prefix: &str, (top, verilog): (&str, &str)) -> Source {
        let (prefix, top, verilog) = (prefix.into(), top.into(), verilog.into());
        Source { prefix, top, verilog, trace: false, clean: false, effort: Effort::Full }
    }
}

/// How well the C++ of a simulation is optimised: the longer it runs, the more its compilation may take.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Effort {
    /// For some thousands of clocks.
    Least,
    /// For up to about a million clocks.
    Moderate,
    #[default]
    Full,
}

impl Effort {
    /// The effort that takes the least time in all for about so many pairs.
    pub fn of_pairs(pairs: u64) -> Effort {
        match pairs {
            0..1_000_000 => Effort::Least,
            1_000_000..10_000_000 => Effort::Moderate,
            _ => Effort::Full,
        }
    }

    /// The compiler's flag.
    fn level(self) -> &'static str {
        match self {
            Effort::Least => "-O0",
            Effort::Moderate => "-O1",
            Effort::Full => "-O2",
        }
    }
}

/// A compiled top: a directory with headers and object files, and its source, to make it again where that is damaged.
#[derive(Clone, Debug)]
pub struct Model {
    dir: PathBuf,
    source: Source,
}

/// Generated C++ files up to this many bytes in all are compiled as one, since reading the headers costs most; so are
/// larger ones where little is optimised, which gains nothing from parts on several cores.
const UNITY_BYTES: u64 = 400_000;

/// Flags of every compilation. The definitions are those of Verilator's own makefile.
const CXX_FLAGS: &[&str] = &[
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE_VCD=0",
];

/// Compiles one top, or finds it in the cache.
pub fn model(tools: &Tools, cache: &Cache, source: &Source) -> Result<Model, SimError> {
    let mut flags = vec!["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--no-timing"];
    // One file holds all modules.
    let warnings: &[&str] =
        if source.clean { &["-Wall", "-Wno-DECLFILENAME"] } else { &["-Wno-fatal", "-Wno-lint", "-Wno-style"] };
    flags.extend(warnings);
    flags.extend(["--prefix", &source.prefix, "--top-module", &source.top]);
    if source.trace {
        flags.extend(["--trace-fst", "--trace-params"]);
    }
    let flags_key = format!("{} {} {:?}", flags.join(" "), CXX_FLAGS.join(" "), source.effort);
    let key = format!("model\n{}\n{flags_key}\n{}", tools.key(), source.verilog);
    let dir = cache.entry(&key, |dir| {
        let work = tempfile::tempdir_in(dir).map_err(SimError::io(dir))?;
        let verilog = work.path().join("model.v");
        fs::write(&verilog, &source.verilog).map_err(SimError::io(&verilog))?;
        let mut command = Command::new(&tools.verilator);
        command.args(&flags).arg("--Mdir").arg(work.path()).arg(&verilog);
        tools::finish(command, cache, &source.prefix)?;
        compile(tools, cache, source, work.path(), dir)
    })?;
    Ok(Model { dir, source: source.clone() })
}

/// Compiles the C++ that Verilator left in `work`; objects and headers go to `dir`.
fn compile(tools: &Tools, cache: &Cache, source: &Source, work: &Path, dir: &Path) -> Result<(), SimError> {
    let mut texts = Vec::new();
    let mut bytes = 0;
    for file in fs::read_dir(work).map_err(SimError::io(work))? {
        let path = file.map_err(SimError::io(work))?.path();
        match path.extension().and_then(|e| e.to_str()) {
            Some("h") => {
                let to = dir.join(path.file_name().expect("a listed file has a name"));
                fs::copy(&path, &to).map_err(SimError::io(&to))?;
            }
            Some("cpp") => {
                bytes += path.metadata().map_err(SimError::io(&path))?.len();
                texts.push(path);
            }
            _ => {}
        }
    }
    if texts.is_empty() || !dir.join(format!("{}.h", source.prefix)).is_file() {
        return Err(tools.useless("verilator", "wrote no C++"));
    }
    texts.sort();
    // Set-up code runs once; optimising it takes most of a large model's build.
    let slow = |text: &Path| text.to_string_lossy().ends_with("__Slow.cpp");
    if bytes <= UNITY_BYTES || source.effort != Effort::Full {
        let include = |p: PathBuf| format!("#include \"{}\"\n", p.display());
        let (set_up, clocked): (Vec<PathBuf>, Vec<PathBuf>) =
            texts.into_iter().partition(|text| bytes > UNITY_BYTES && source.effort != Effort::Least && slow(text));
        texts = Vec::new();
        for (name, part) in [("all", clocked), ("all__Slow", set_up)].into_iter().filter(|(_, part)| !part.is_empty()) {
            let unit = work.join(format!("{}_{name}.cpp", source.prefix));
            fs::write(&unit, part.into_iter().map(include).collect::<String>()).map_err(SimError::io(&unit))?;
            texts.push(unit);
        }
    }
    let jobs: Vec<Compilation> = texts
        .into_iter()
        .map(|text| {
            let name = text.file_stem().expect("a listed file has a name");
            let object = dir.join(name).with_extension("o");
            let level = if slow(&text) { Effort::Least } else { source.effort }.level();
            Compilation { level, folders: vec![work.into()], text, object }
        })
        .collect();
    compile_all(tools, cache, source.trace, &source.prefix, &jobs)
}

/// One C++ text to be made an object.
struct Compilation {
    text: PathBuf,
    object: PathBuf,
    /// Where its headers are, besides Verilator's.
    folders: Vec<PathBuf>,
    level: &'static str,
}

/// Compiles texts that include Verilator's headers.
fn compile_all(tools: &Tools, cache: &Cache, trace: bool, what: &str, jobs: &[Compilation]) -> Result<(), SimError> {
    let command = |job: &Compilation, headers: Option<&PathBuf>| {
        let mut command = tools.compiler(trace);
        command.arg(job.level);
        if let Some(headers) = headers {
            command.arg("-include-pch").arg(headers.join(HEADERS));
        }
        for folder in &job.folders {
            command.arg("-I").arg(folder);
        }
        command.arg("-c").arg(&job.text).arg("-o").arg(&job.object);
        command
    };
    let mut headers = BTreeMap::new();
    for job in jobs {
        if !headers.contains_key(job.level) {
            headers.insert(job.level, precompiled(tools, cache, trace, job.level)?);
        }
    }
    let all = |headers: &BTreeMap<&str, Option<PathBuf>>| {
        let headers = |job: &Compilation| headers.get(job.level).and_then(Option::as_ref);
        tools::finish_all(jobs.iter().map(|job| command(job, headers(job))).collect(), cache, what)?;
        jobs.iter().try_for_each(|job| tools.check(&job.object, BinaryType::Object))
    };
    match all(&headers) {
        Err(_) if headers.values().any(Option::is_some) => {
            // An update of the system may have changed a header behind the precompiled ones, which are then made anew.
            for dir in headers.values().flatten() {
                let _ = fs::remove_dir_all(dir);
            }
            all(&BTreeMap::new())
        }
        other => other,
    }
}

/// Name of the precompiled headers in their entry.
const HEADERS: &str = "verilated.pch";

/// Verilator's headers as clang knows them after reading: reading them is most of what compiling a small text takes. `None`
/// if the compiler is another one.
fn precompiled(tools: &Tools, cache: &Cache, trace: bool, level: &str) -> Result<Option<PathBuf>, SimError> {
    if !tools.is_clang() {
        return Ok(None);
    }
    let flags = CXX_FLAGS.join(" ");
    let key = format!("headers\n{}\n{flags}\n{trace} {level}\n{}", tools.key(), tools.include().display());
    let entry = cache.entry(&key, |dir| {
        // The header of waves includes the other.
        let header = tools.include().join(if trace { "verilated_fst_c.h" } else { "verilated.h" });
        let mut command = tools.compiler(trace);
        command.arg(level).args(["-x", "c++-header"]).arg(header).arg("-o").arg(dir.join(HEADERS));
        tools::finish(command, cache, "headers")
    });
    entry.map(Some)
}

/// Verilator's run-time as objects, compiled once for all models.
fn runtime(tools: &Tools, cache: &Cache, trace: bool) -> Result<PathBuf, SimError> {
    let key = format!("runtime\n{}\n{}\n{trace}", tools.key(), CXX_FLAGS.join(" "));
    cache.entry(&key, |dir| {
        // 5.006 refers to the threads file even from models without threads.
        let mut names = vec!["verilated", "verilated_threads"];
        if trace {
            names.push("verilated_fst_c");
        }
        let object = |name: &&str| dir.join(name).with_extension("o");
        let jobs = names.iter().map(|name| {
            let mut command = tools.compiler(trace);
            // Little of it runs at every clock, unless waves are written.
            command.arg("-O1").arg("-c").arg(tools.include().join(format!("{name}.cpp")));
            command.arg("-o").arg(object(name));
            command
        });
        tools::finish_all(jobs.collect(), cache, "runtime")?;
        names.iter().try_for_each(|name| tools.check(&object(name), BinaryType::Object))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
