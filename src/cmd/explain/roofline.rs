//! `pairforge explain --roofline`: how long a kernel takes on GPUs and pipelines by their rates, beside what was measured.

use super::Args;
use crate::cmd::bench::measured::{self, Measured};
use hdl::engine::usual;
use hdl::serial::kernel_hash;
use pg2::graph::Graph;
use pipelines::predict::roofline::{self, Engine, GPUS, GpuModel, HANEY, Kernel, Lanes, Mode, Prediction, Work};
use serde::Serialize;
use std::path::{Path, PathBuf};
use terminal::count::within;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::{input, output, source};

#[derive(clap::Args)]
pub struct RooflineArgs {
    /// Predict the times of the link and of computing, and the operations a byte, on GPUs and on pipelines
    #[arg(long, conflicts_with_all = ["svg", "lines"])]
    pub roofline: bool,
    /// With --roofline: numbers of particles, each of which acts on each [default: 4913 9261 13824 24389 97336]
    #[arg(long, value_name = "N", requires = "roofline", num_args = 1.., value_delimiter = ',', value_parser = |n: &str| within(n, 1, 1_000_000_000))]
    n: Vec<u64>,
    /// With --roofline: a GPU of your own, besides those that are known
    #[arg(long, value_name = "CARD.json", requires = "roofline")]
    card: Option<PathBuf>,
    /// With --roofline: number of pipelines [default: 8]
    #[arg(long, value_name = "N", requires = "roofline", value_parser = clap::value_parser!(u32).range(1..=255))]
    pipelines: Option<u32>,
    /// With --roofline: width of the streams of an engine without a board, in bits [default: 32]
    #[arg(long, value_name = "BITS", requires = "roofline", value_parser = ["32", "64", "128"])]
    stream: Option<String>,
    /// With --roofline: write the predictions; with --error: the bounds
    #[arg(long, value_name = "OUT.json")]
    pub json: Option<PathBuf>,
}

impl RooflineArgs {
    pub fn files(&self, files: Files) -> Files {
        files.reads("--card", &self.card).writes("--json", &self.json, files::JSON)
    }
}

/// The output of --json.
#[derive(Serialize)]
struct Report {
    kernel: String,
    modes: Vec<Counts>,
    predictions: Vec<Row>,
}

/// The instructions of a pair on a GPU, and the bytes of a target, a source and a result.
#[derive(Serialize)]
struct Counts {
    mode: &'static str,
    fused: u32,
    plain: u32,
    functions: u32,
    conversions: u32,
    integer: u32,
    loads: u32,
    issued: u32,
    bytes: roofline::Bytes,
}

/// A prediction and what was measured of the same work on such a GPU.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    predicted: Prediction,
    measured: Option<Measured>,
}

/// Prints the predictions for a kernel.
pub fn run(args: &Args) -> Result<(), Failure> {
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = super::built(args, &kernel, &graph)?;
    let lanes = Lanes {
        pipelines: args.roofline.pipelines.unwrap_or(usual::PIPELINES),
        ii: built.ii(),
        latency: built.schedule.depth,
    };
    let report = report(&args.roofline, built.library.clock.mhz, &graph, &lanes)?;
    if let Some(path) = &args.roofline.json {
        output::write_json(path, &report)?;
    }
    output::print(&text(&report))
}

fn report(args: &RooflineArgs, mhz: f64, graph: &Graph, lanes: &Lanes) -> Result<Report, Failure> {
    let kernel = Kernel::new(graph).map_err(Failure::Input)?;
    let stream: u32 = args.stream.as_deref().and_then(|s| s.parse().ok()).unwrap_or(usual::STREAM_BITS);
    let mut gpus = GPUS.to_vec();
    if let Some(path) = &args.card {
        gpus.push(gpu(path)?);
    }
    let mut engines = vec![Engine {
        name: format!("engine at {mhz} MHz"),
        lanes: *lanes,
        mhz,
        link: stream as f64 / 8.0 * mhz * 1e6,
    }];
    engines.extend(roofline::boards(lanes));
    let sizes = if args.n.is_empty() { HANEY.to_vec() } else { args.n.clone() };
    let works: Vec<Work> = sizes.into_iter().map(Work::all_pairs).collect();
    let known = measured::known();
    let hash = kernel_hash(&graph.canonical());
    let row = |predicted: Prediction| Row { measured: measured::find(&known, hash, &predicted), predicted };
    let predictions = roofline::predictions(&kernel, &gpus, &engines, &works).into_iter().map(row).collect();
    Ok(Report { kernel: graph.name.clone(), modes: kernel.modes.iter().map(counts).collect(), predictions })
}

/// The GPU of a file.
fn gpu(path: &Path) -> Result<GpuModel, Failure> {
    let text = input::text(path, "")?;
    let fields = || {
        let known = serde_json::to_string(&GPUS[0]).expect("numbers and a name");
        format!("a GPU is written as {known}")
    };
    let gpu: GpuModel = serde_json::from_str(&text).map_err(|e| Failure::file(path, format!("{e}; {}", fields())))?;
    gpu.check().map_err(|why| Failure::file(path, format!("{why}; {}", fields())))?;
    Ok(gpu)
}

fn counts(mode: &Mode) -> Counts {
    let of = &mode.operations;
    Counts {
        mode: mode.name,
        fused: of.fused + of.fused_f64,
        plain: of.plain + of.plain_f64,
        functions: of.functions,
        conversions: of.conversions,
        integer: of.integer,
        loads: of.loads,
        issued: of.issued(),
        bytes: mode.bytes,
    }
}

/// The tables for a terminal.
fn text(report: &Report) -> String {
    let mut out = format!("{}: each of N particles acts on each\n\ninstructions of a pair on a GPU\n\n", report.kernel);
    let head = ["mode", "fused", "sums, products", "functions", "conversions", "integer", "tables", "issued", "bytes"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for c in &report.modes {
        let numbers = [c.fused, c.plain, c.functions, c.conversions, c.integer, c.loads, c.issued];
        let bytes = format!("{} + {} + {}", c.bytes.target, c.bytes.source, c.bytes.result);
        let cells = numbers.iter().map(u32::to_string);
        rows.push(std::iter::once(c.mode.to_string()).chain(cells).chain([bytes]).collect());
    }
    out += &columns(&rows, 1);
    out += "\nbytes: of a target, a source and a result\n\npredicted seconds\n\n";
    out += &columns(&predictions(&report.predictions), 2);
    out += "\nops/byte: operations a byte of the link. GPUs send, compute and fetch in turn; pipelines stream while they \
            compute.\n";
    if report.predictions.iter().any(|r| r.measured.is_some()) {
        out += "measured: seconds on the GPU, without the link, by `pairforge bench cuda`\n";
    }
    out
}

fn predictions(list: &[Row]) -> Vec<Vec<String>> {
    let has_measured = list.iter().any(|r| r.measured.is_some());
    let head = ["machine", "mode", "N", "ops/byte", "link", "memory", "compute", "all", "limit", "pairs/s", "measured"];
    let width = if has_measured { head.len() } else { head.len() - 1 };
    let mut rows = vec![head[..width].iter().map(|h| h.to_string()).collect::<Vec<_>>()];
    let seconds = |s: f64| format!("{s:.2e}");
    for Row { predicted: p, measured } in list {
        let mut row = vec![
            p.machine.clone(),
            p.mode.to_string(),
            p.targets.to_string(),
            format!("{:.1}", p.intensity),
            seconds(p.link_seconds),
            p.memory_seconds.map_or("-".into(), seconds),
            seconds(p.compute_seconds),
            seconds(p.seconds),
            p.limit.to_string(),
            format!("{:.2e}", p.pairs_per_second),
        ];
        if has_measured {
            row.push(measured.as_ref().map_or("-".into(), |m| seconds(m.seconds)));
        }
        rows.push(row);
    }
    rows
}

/// Cells in columns: the first `left` flush left, the others flush right.
fn columns(rows: &[Vec<String>], left: usize) -> String {
    let wide = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(wide).collect();
    let mut out = String::new();
    for row in rows {
        let cell = |(c, text): (usize, &String)| match c < left {
            true => format!("{text:<0$}", widths[c]),
            false => format!("{text:>0$}", widths[c]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}
