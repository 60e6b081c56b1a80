//! Verilog to a loaded shared library, through Verilator and a C++ compiler, with everything built kept in the cache.
//!
//! A [`Model`] is one Verilog top made into object files; a library is some models, a driver in C++ that holds the
//! clock loop, and Verilator's run-time, linked. Each is a cache entry of its own, so that a lane's objects
//! serve engines of any number of lanes.

mod ask;
mod tools;

use crate::SimError;
use crate::cache::Cache;
use askama::Template;
use libloading::Library;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
pub use tools::Tools;

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
    /// What takes the least time in all for about so many pairs.
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

/// A compiled top: a directory with headers and object files.
#[derive(Clone, Debug)]
pub struct Model {
    dir: PathBuf,
    trace: bool,
    effort: Effort,
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
    Ok(Model { dir, trace: source.trace, effort: source.effort })
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
    let commands = jobs.iter().map(|job| command(job, headers[job.level].as_ref())).collect();
    match tools::finish_all(commands, cache, what) {
        Err(_) if headers.values().any(Option::is_some) => {
            // An update of the system may have changed a header behind the precompiled ones, which are then made anew.
            for dir in headers.values().flatten() {
                let _ = fs::remove_dir_all(dir);
            }
            tools::finish_all(jobs.iter().map(|job| command(job, None)).collect(), cache, what)
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
        let jobs = names.iter().map(|name| {
            let mut command = tools.compiler(trace);
            // Little of it runs at every clock, unless waves are written.
            command.arg("-O1").arg("-c").arg(tools.include().join(format!("{name}.cpp")));
            command.arg("-o").arg(dir.join(name).with_extension("o"));
            command
        });
        tools::finish_all(jobs.collect(), cache, "runtime")
    })
}

/// One top with the clock loop of a driver's template as a loaded library.
pub(crate) fn load(source: &Source, driver: &impl Template, cache: &Cache) -> Result<Library, SimError> {
    let tools = Tools::find()?;
    let model = model(&tools, cache, source)?;
    let text = driver.render().expect("the template renders into memory");
    library(&tools, cache, &[model], &text)
}

/// Links models and a driver (C++ that includes their headers and exports `extern "C"` functions), or finds
/// the result in the cache, and loads it.
pub fn library(tools: &Tools, cache: &Cache, models: &[Model], driver: &str) -> Result<Library, SimError> {
    let trace = models.iter().any(|m| m.trace);
    let level = models.iter().map(|m| m.effort).max().unwrap_or_default().level();
    let runtime = runtime(tools, cache, trace)?;
    let name = |d: &Path| d.file_name().expect("an entry has a name").to_string_lossy().into_owned();
    let parts: Vec<String> = models.iter().map(|m| name(&m.dir)).collect();
    let key = format!("library\n{}\n{}\n{}\n{driver}", tools.key(), name(&runtime), parts.join("\n"));
    let dir = cache.entry(&key, |dir| {
        let text = dir.join("driver.cpp");
        fs::write(&text, driver).map_err(SimError::io(&text))?;
        let folders = models.iter().map(|m| m.dir.clone()).collect();
        let driver = Compilation { text, object: dir.join("driver.o"), folders, level };
        compile_all(tools, cache, trace, "driver", &[driver])?;
        let mut command = tools.linker();
        command
            .args(["-shared", "-Wl,-Bsymbolic", "-pthread", "-o"])
            .arg(dir.join("model.so"))
            .arg(dir.join("driver.o"));
        for part in models.iter().map(|m| &m.dir).chain([&runtime]) {
            command.args(objects(part)?);
        }
        command.arg("-latomic");
        if trace {
            command.arg("-lz");
        }
        tools::finish(command, cache, "link")
    })?;
    let path = dir.join("model.so");
    // SAFETY: the library was built above from Verilator's output and our driver, whose initialisers only
    // register the run-time's own statics.
    unsafe { Library::new(&path) }.map_err(|e| SimError::Load { path, reason: e.to_string() })
}

fn objects(dir: &Path) -> Result<Vec<PathBuf>, SimError> {
    let mut list = Vec::new();
    for file in fs::read_dir(dir).map_err(SimError::io(dir))? {
        let path = file.map_err(SimError::io(dir))?.path();
        if path.extension().is_some_and(|e| e == "o") {
            list.push(path);
        }
    }
    list.sort();
    Ok(list)
}

/// Looks a function up.
///
/// # Safety
/// `F` must be the function's type in the driver, and `library` must outlive the copy.
pub(crate) unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> F {
    // SAFETY: passed on to the caller.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    *found.expect("the driver exports this function")
}
