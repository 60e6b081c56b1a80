//! `pairforge explore`: error against cost over the widths of a kernel's formats.

mod page;
pub mod picture;
mod point;
mod table;
mod tol;

use super::build::ClockArgs;
use pairforge::backends::{self, BACKENDS, BackendOptions, Entry, Needs};
use pairforge::kernel::explore::{Inputs, Reference};
use pg2::graph::{Graph, PinClass};
use pg2::vary::{self, Varied};
use point::{Data, Failed, Point};
use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use terminal::csv::{self, Text, held_columns, parameters};
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::progress::Progress;
use terminal::{input, output, source};

/// The most points of one exploration: each is compiled and emulated.
const MOST: usize = 1000;

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    /// Targets: CSV with a column for each i-pin element
    #[arg(long, value_name = "I.csv", required_unless_present = "tol", requires = "j")]
    i: Option<PathBuf>,
    /// Sources: CSV with a column for each j-pin element
    #[arg(long, value_name = "J.csv", required_unless_present = "tol", requires = "i")]
    j: Option<PathBuf>,
    /// What to vary: a format as the file writes it, a pin or value for its format, or a const
    ///
    /// Of a float, fixed or log format the fraction bits take the values lo to hi, of an int the width. Several --vary make a grid.
    #[arg(long = "vary", value_name = "NAME=LO..HI[:STEP]", required_unless_present = "tol", conflicts_with = "tol")]
    vary: Vec<String>,
    /// Where the points run: a backend that gives the bits; on `cuda-exact` their reference runs on the GPU too
    #[arg(long, value_name = "B", default_value = BACKENDS[0].name)]
    backend: String,
    /// A parameter; of a vector an element as name[k]=value, or all of them as name=1,2,3 or name=@FILE
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Draw error against cost; with --tol: write the program
    #[arg(short, value_name = "OUT.svg")]
    output: Option<PathBuf>,
    /// Write all points; with --tol: formats, error and cost
    #[arg(long, value_name = "OUT.json")]
    json: Option<PathBuf>,
    /// Write a page with error against cost and a table that sorts
    #[arg(long, value_name = "OUT.html", conflicts_with = "tol")]
    report: Option<PathBuf>,
    #[command(flatten)]
    tol: tol::TolArgs,
    #[command(flatten)]
    clock: ClockArgs,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().kernels("FILE", [&self.file]).data("--i", &self.i).data("--j", &self.j);
        let kind = if self.tol.tol.is_some() { files::KERNEL } else { files::SVG };
        files.writes("-o", &self.output, kind).writes("--json", &self.json, files::JSON).writes(
            "--report",
            &self.report,
            files::HTML,
        )
    }
}

/// The varied format or const, and its numbers.
pub struct Axis {
    pub varied: Varied,
    /// As the command line names it.
    pub name: String,
    pub numbers: Vec<i64>,
}

/// Everything, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
struct Report<'a> {
    kernel: &'a str,
    ni: usize,
    nj: usize,
    target: &'a str,
    mhz: f64,
    vary: Vec<&'a str>,
    points: &'a [Point],
    failed: &'a [Failed],
    /// The flags of the file's own kernel in real-arithmetic semantics.
    reference_flags: Vec<&'static str>,
}

/// Compiles and emulates every point, and shows them.
pub fn run(args: Args) -> Result<(), Failure> {
    if let Some(tolerance) = args.tol.tol {
        return tol::run(&args, tolerance);
    }
    let (Some(i), Some(j)) = (&args.i, &args.j) else { unreachable!("the parser asks for records") };
    let clock = args.clock.clock(None)?;
    let (kernel, graph) = source::load(&args.file)?;
    let axes = axes(&args.vary, &kernel.text, &graph)?;
    let backend = backend(&args.backend)?;
    let [targets, sources] = [csv::open(i)?, csv::open(j)?];
    let reference = reference(&args, &graph, backend, [(i, &targets), (j, &sources)])?;
    let data = Data {
        backend,
        kernel: &kernel,
        axes: &axes,
        clock,
        i: &targets,
        j: &sources,
        params: &args.params,
        reference: &reference,
    };
    let grid = grid(&axes);
    let done = AtomicUsize::new(0);
    let progress = Mutex::new(Progress::new("exploring", grid.len()));
    let tried: Vec<Result<Point, Failed>> = grid
        .par_iter()
        .map(|numbers| {
            let point = data.point(numbers);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Ok(mut progress) = progress.try_lock() {
                progress.at(done);
            }
            point
        })
        .collect();
    drop(progress);
    let (mut points, mut failed) = (Vec::new(), Vec::new());
    tried.into_iter().for_each(|t| match t {
        Ok(point) => points.push(point),
        Err(reason) => failed.push(reason),
    });
    if points.is_empty() {
        return Err(Failure::Input(format!("no point can be run\n{}", table::failures(&axes, &failed))));
    }
    point::mark_front(&mut points);
    if let Some(path) = &args.output {
        output::write_text(path, &picture::svg(&kernel.name, &axes, &points))?;
    }
    let report = Report {
        kernel: &kernel.name,
        ni: reference.ni,
        nj: reference.nj,
        target: clock.target.name,
        mhz: clock.mhz,
        vary: axes.iter().map(|a| a.name.as_str()).collect(),
        points: &points,
        failed: &failed,
        reference_flags: reference.flags.names(),
    };
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if let Some(path) = &args.report {
        output::write_text(path, &page::page(&terminal::report::Data::new(&report)).html()?)?;
    }
    output::print(&table::table(&axes, &points).to_string())?;
    if !reference.flags.is_empty() {
        output::print(&format!("\n{}", table::flagged(reference.flags)))?;
    }
    if !failed.is_empty() {
        output::print(&format!("\n{}", table::failures(&axes, &failed)))?;
    }
    Ok(())
}

/// `NAME=LO..HI[:STEP]`, each.
fn axes(given: &[String], text: &str, graph: &Graph) -> Result<Vec<Axis>, Failure> {
    let mut axes: Vec<Axis> = Vec::new();
    for words in given {
        let usage = || Failure::Usage(format!("--vary takes NAME=LO..HI or NAME=LO..HI:STEP, not `{words}`"));
        let (name, range) = words.split_once('=').ok_or_else(usage)?;
        let (range, step) = range.split_once(':').unwrap_or((range, "1"));
        let (low, high) = range.split_once("..").ok_or_else(usage)?;
        let number = |word: &str| word.trim().parse::<i32>().map(i64::from).map_err(|_| usage());
        let (low, high, step) = (number(low)?, number(high)?, number(step)?);
        if step < 1 || low > high {
            return Err(usage());
        }
        if (high - low) / step >= MOST as i64 {
            return Err(too_many());
        }
        let varied = vary::find(text, graph, name.trim()).map_err(Failure::Input)?;
        if let Some(other) = axes.iter().find(|a| a.varied == varied) {
            return Err(Failure::Usage(format!(
                "`{}` and `{}` are varied by one --vary: they are the same",
                other.name, name
            )));
        }
        let numbers = (low..=high).step_by(step as usize).collect();
        axes.push(Axis { varied, name: name.trim().to_string(), numbers });
    }
    let points = axes.iter().try_fold(1usize, |n, a| n.checked_mul(a.numbers.len()));
    if points.is_none_or(|n| n > MOST) { Err(too_many()) } else { Ok(axes) }
}

fn too_many() -> Failure {
    Failure::Usage(format!("more than {MOST} points; take a shorter range or a step, as in --vary NAME=8..32:4"))
}

/// All combinations, the last axis fastest.
fn grid(axes: &[Axis]) -> Vec<Vec<i64>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let with = |p: &Vec<i64>| axis.numbers.iter().map(|n| [p.as_slice(), &[*n]].concat()).collect::<Vec<_>>();
        points.iter().flat_map(with).collect()
    })
}

/// The backend of a name that gives the bits.
fn backend(name: &str) -> Result<&'static Entry, Failure> {
    let (entry, _) = backends::find(name).map_err(|e| Failure::Usage(e.to_string()))?;
    let suits = |b: &&Entry| b.exact && b.place.is_none();
    if suits(&entry) {
        return Ok(entry);
    }
    let names: Vec<&str> = BACKENDS.iter().filter(suits).map(|b| b.name).collect();
    Err(Failure::Usage(format!("explore compares bits with the real meaning; --backend takes {}", names.join(", "))))
}

/// The real-arithmetic reference: backend `cpu`, or `cuda` where the points run on a GPU.
fn reference(args: &Args, graph: &Graph, points: &Entry, texts: [(&PathBuf, &Text); 2]) -> Result<Reference, Failure> {
    let name = if points.needs == Needs::Gpu { "cuda" } else { "cpu" };
    let mut backend = (backends::find(name)?.0.open)(&BackendOptions::default());
    let [i, j, params] =
        [PinClass::Ipin, PinClass::Jpin, PinClass::Param].map(|class| held_columns(graph, class, &*backend));
    let (targets, ignored) = texts[0].1.table(&i, false).map_err(Failure::Input)?;
    input::note_ignored(texts[0].0, &ignored);
    let (sources, ignored) = texts[1].1.table(&j, false).map_err(Failure::Input)?;
    input::note_ignored(texts[1].0, &ignored);
    let params = parameters(&params, &args.params, false)?;
    Ok(Reference::new(graph, &mut *backend, &Inputs { targets, sources, params })?)
}
