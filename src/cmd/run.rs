//! `pairforge run`: one kernel over targets and sources from CSV files: all pairs, those of neighbouring cells, or those of a
//! list.

mod page;
mod predict;
mod profile;
mod work;

use super::folding::FoldArgs;
use super::lanes::{FilterArgs, LaneArgs};
use pairforge::backends::{self, BACKENDS, BackendOptions};
use pairforge::kernel::raised::{Raised, raised};
use pg2::graph::PinClass;
use pipelines::cells::Report;
use pipelines::job::Outcome;
use predict::PredictArgs;
use profile::Profile;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use terminal::csv::{self, held_columns, parameters};
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::progress::Progress;
use terminal::report::Data;
use terminal::{output, source};
use work::Work;

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    /// Where to run it (see `pairforge list backends`)
    #[arg(long, value_name = "B", default_value = BACKENDS[0].name)]
    backend: String,
    /// Targets: CSV with a column for each i-pin element
    #[arg(long, value_name = "I.csv")]
    i: PathBuf,
    /// Sources: CSV with a column for each j-pin element
    #[arg(long, value_name = "J.csv")]
    j: PathBuf,
    /// Where to write the outputs as CSV [default: standard output, unless --json goes there]
    #[arg(short, value_name = "OUT.csv")]
    output: Option<PathBuf>,
    /// A parameter; of a vector an element as name[k]=value, or all of them as name=1,2,3 or name=@FILE
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Read and write every value as the unsigned integer of its bit pattern
    #[arg(long)]
    raw: bool,
    /// Print for each value the range and the bits that it takes (standard error)
    #[arg(long)]
    profile: bool,
    /// Add a column with the flags of each target
    #[arg(long)]
    flags: bool,
    #[command(flatten)]
    lanes: LaneArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    fold: FoldArgs,
    #[command(flatten)]
    which: work::Which,
    #[command(flatten)]
    predict: PredictArgs,
    /// Write a waveform (backend cycle)
    #[arg(long, value_name = "W.fst")]
    trace: Option<PathBuf>,
    /// Write statistics
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
    /// Write a page with the flags by line of the source, and with ranges and bits of the values where the backend has the formats' bits
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().kernels("FILE", [&self.file]).data("--i", [&self.i]).data("--j", [&self.j]);
        let files = self.which.files(files).writes("-o", &self.output(), files::CSV);
        // The simulation writes the waves itself.
        files.writes("--trace", &self.trace, files::WAVE).writes("--json", &self.json, files::JSON).writes(
            "--report",
            &self.report,
            files::HTML,
        )
    }

    /// Where the results go: to standard output where nobody says otherwise and nothing else is asked for there.
    fn output(&self) -> Option<PathBuf> {
        let is_taken = [&self.json, &self.report].into_iter().flatten().any(|path| files::is_standard(path));
        // A prediction has none.
        let is_taken = is_taken || self.predict.is_given();
        self.output.clone().or((!is_taken).then(|| "-".into()))
    }
}

/// The statistics of a run, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
struct Stats {
    backend: String,
    ni: usize,
    nj: usize,
    pairs: u64,
    seconds: f64,
    /// Of a prediction.
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<predict::Place>,
    cycles: Option<u64>,
    utilisation: Option<f64>,
    /// Of an engine with filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    filters: Option<Filters>,
    raised: Vec<Raised>,
    flags: Vec<&'static str>,
    /// Where the run went over cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    cells: Option<Report>,
    /// Of the values, with `--profile` or `--report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
}

/// The pipelines behind filters.
#[derive(Serialize)]
struct Filters {
    each: u32,
    passed: u64,
    busy: Option<f64>,
}

/// Reads the records, runs every target against every source, and writes the outputs.
pub fn run(args: Args) -> Result<(), Failure> {
    let (entry, place) = backends::find(&args.backend).map_err(|e| Failure::Usage(e.to_string()))?;
    if args.trace.is_some() && !entry.traced {
        let traced: Vec<&str> = BACKENDS.iter().filter(|b| b.traced).map(|b| b.name).collect();
        let needed = traced.join(" or ");
        return Err(Failure::Usage(format!("--trace needs --backend {needed}; `{}` shows no waves", entry.name)));
    }
    if args.profile && !entry.exact {
        return Err(Failure::Usage(format!(
            "--profile needs a backend with the formats' bits; `{}` has others",
            entry.name
        )));
    }
    if !args.predict.is_given() {
        args.fold.check(entry)?;
        args.filters.check(entry)?;
    }
    let (kernel, graph) = source::load(&args.file)?;
    if args.flags && graph.pins_of(PinClass::Fout).any(|(_, pin)| pin.name == csv::FLAGS) {
        let what =
            format!("--flags adds a column `{0}`, and the kernel has an output of that name; rename it", csv::FLAGS);
        return Err(Failure::Input(what));
    }
    let (pipelines, groups) = args.lanes.one()?;
    let options = BackendOptions {
        pipelines,
        groups,
        ii: args.fold.one()?,
        filters: args.filters.count(),
        trace: args.trace.clone(),
        place: place.to_string(),
        ..BackendOptions::default()
    };
    let mut model = args.predict.model(&graph, &options)?;
    let mut opened = model.is_none().then(|| (entry.open)(&options));
    let backend = model.as_mut().map(|m| &mut m.backend).or(opened.as_mut()).expect("one of both is there");
    let [i, j, params, outputs] = [PinClass::Ipin, PinClass::Jpin, PinClass::Param, PinClass::Fout]
        .map(|class| held_columns(&graph, class, &**backend));
    let params = parameters(&params, &args.params, args.raw)?;
    let targets = csv::read(&args.i, &i, args.raw)?;
    let sources = csv::read(&args.j, &j, args.raw)?;
    let (ni, nj) = (targets.len(), sources.len());
    let is_profiled = args.profile || args.report.is_some() && entry.exact;
    let profile = is_profiled.then(|| Profile::new(&kernel, &graph, [&targets, &sources], &params));
    if let Some(profile) = profile.as_ref().filter(|_| args.profile) {
        output::tell(&profile.text());
    }
    let started = Instant::now();
    let work = Work::new(&args.which, &graph, &**backend, targets, sources)?;
    let mut progress = Progress::new(format!("running on {}", args.backend), ni);
    let outcome = backend.run(&work.job(&graph, &params), &mut |done| progress.at(done))?;
    drop(progress);
    if let Some(model) = &model {
        let (seconds, predicted) = (model.seconds(&outcome), Some(model.place.clone()));
        let stats = Stats {
            backend: predict::BACKEND.into(),
            predicted,
            ..stats(&args, (ni, nj), seconds, &outcome, work, Vec::new())
        };
        args.json.iter().try_for_each(|path| output::write_json(path, &stats))?;
        return output::print(&model.text(&outcome));
    }
    let (results, flags) = work.restored(outcome.results, outcome.flags);
    let outcome = Outcome { results, flags, ..outcome };
    let seconds = started.elapsed().as_secs_f64();
    let flags = args.flags.then_some(&outcome.flags[..]);
    if let Some(path) = &args.output() {
        csv::write(path, &outputs, &outcome.results, flags, args.raw)?;
    }
    let raised = raised((&kernel.origin, &kernel.sources), &graph, &outcome.flags);
    raised.iter().for_each(|one| eprintln!("{}", one.text(ni)));
    let stats = Stats { profile, ..stats(&args, (ni, nj), seconds, &outcome, work, raised) };
    if let Some(path) = &args.json {
        output::write_json(path, &stats)?;
    }
    if let Some(path) = &args.report {
        output::write_text(path, &page::page(&kernel, &Data::new(&stats)).html()?)?;
    }
    Ok(())
}

fn stats(
    args: &Args,
    (ni, nj): (usize, usize),
    seconds: f64,
    outcome: &Outcome,
    work: Work,
    raised: Vec<Raised>,
) -> Stats {
    Stats {
        backend: args.backend.clone(),
        ni,
        nj,
        pairs: outcome.pairs,
        seconds,
        predicted: None,
        cycles: outcome.cycles,
        utilisation: outcome.utilisation(),
        filters: outcome.filtered.map(|f| Filters { each: f.filters, passed: f.passed, busy: outcome.busy() }),
        flags: raised.iter().map(|one| one.flag).collect(),
        raised,
        cells: work.cells,
        profile: None,
    }
}
