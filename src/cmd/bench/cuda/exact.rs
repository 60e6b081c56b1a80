//! The exact mode of all shipped kernels: bits and flags as the emulator's, and the pairs a second of both.

use super::{Bench, failure, mode, sorted};
use gpu::cuda::pairs;
use hdl::Format;
use pairforge::backends::{self, BackendOptions};
use pg2::backend::cuda::{exact, module};
use pg2::graph::{Graph, PinClass};
use pipelines::job::{Backend, Job, Outcome, Run, SourceRange, Table};
use pipelines::predict::roofline::Work;
use serde::Serialize;
use sim::stimuli::{self, Style};
use std::time::Instant;
use terminal::failure::Failure;
use terminal::say;
use terminal::source;

/// Targets and sources that are measured, and those that are compared with the emulator.
const MEASURED: (usize, usize) = (1 << 16, 1 << 16);
const COMPARED: (usize, usize) = (512, 4096);

/// Generated kernels of higher orders take minutes to compile.
const LEFT_OUT: [&str; 6] = ["m2l_3", "m2l_4", "m2l_5", "m2l_6", "m2l_7", "m2l_8"];

#[derive(Serialize)]
pub struct Row {
    kernel: String,
    pairs: u64,
    /// Of the kernel on the GPU, sorted.
    seconds: Vec<f64>,
    /// Of whole runs: data there, results back.
    whole_seconds: f64,
    predicted_seconds: Option<f64>,
    pairs_per_second: f64,
    emulator_pairs_per_second: f64,
}

/// Random records of a kernel, and runs of them.
struct Case {
    graph: Graph,
    targets: Table,
    sources: Table,
    params: Vec<u64>,
    runs: Vec<Run>,
    segments: [SourceRange; 1],
}

impl Case {
    fn new(graph: &Graph, (n, m): (usize, usize)) -> Case {
        let runs = (0..n).step_by(128).map(|first| Run { first, count: 128.min(n - first), segments: 0..1 }).collect();
        Case {
            targets: records(graph, PinClass::Ipin, n),
            sources: records(graph, PinClass::Jpin, m),
            params: records(graph, PinClass::Param, 1).bits,
            runs,
            segments: [SourceRange { first: 0, count: m }],
            graph: graph.clone(),
        }
    }

    fn job(&self) -> Job<'_> {
        Job {
            graph: &self.graph,
            targets: &self.targets,
            sources: &self.sources,
            params: &self.params,
            runs: &self.runs,
            segments: &self.segments,
        }
    }

    fn pairs(&self) -> u64 {
        self.targets.len() as u64 * self.sources.len() as u64
    }
}

/// Random records of a class.
fn records(graph: &Graph, class: PinClass, n: usize) -> Table {
    let mut random = stimuli::Random::new(7);
    let list = stimuli::records(graph, class, n, Style::Wild { anchor: 0x1234_5678 }, &mut random);
    Table { elements: list.first().map_or(1, Vec::len), bits: list.concat() }
}

/// Every shipped kernel.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
    say!("  exact mode, 1e9 pairs/s on the GPU (predicted), and of the emulator:")?;
    let mut emulator = (backends::find("emulator")?.0.open)(&BackendOptions::default());
    for (name, _) in pg2::kernels::all().filter(|(name, _)| !LEFT_OUT.contains(name)) {
        let graph = source::load(name)?.1;
        let row = row(bench, &mut *emulator, &graph)?;
        let predicted = row.predicted_seconds.map_or("-".to_string(), |s| format!("{:.1}", row.pairs as f64 / s / 1e9));
        say!(
            "    {name:<16} {:>7.1}  ({predicted:>6})  {:>7.3}",
            row.pairs_per_second / 1e9,
            row.emulator_pairs_per_second / 1e9
        )?;
        bench.report.exact.push(row);
    }
    let (n, m) = MEASURED;
    say!("  input: {n} random targets and {m} sources; left out, since they take minutes to compile: m2l_3 to m2l_8")
}

fn row(bench: &mut Bench, emulator: &mut dyn Backend, graph: &Graph) -> Result<Row, Failure> {
    let text = module(graph, &exact::functions(graph));
    let identity = |o: &pg2::graph::Output| {
        let format: Format = graph.pins[o.pin].format;
        o.reduce.identity(format)
    };
    let identities: Vec<u64> = graph.outputs.iter().map(identity).collect();
    let mut on_card = |case: &Case| -> Result<(Outcome, f64), Failure> {
        pairs::timed(&mut bench.device, &text, &case.job(), &identities).map_err(failure)
    };
    let small = Case::new(graph, COMPARED);
    let mut emulated = || -> Result<(Outcome, f64), Failure> {
        let start = Instant::now();
        let outcome = emulator.run(&small.job(), &mut |_| {})?;
        Ok((outcome, start.elapsed().as_secs_f64()))
    };
    let (wanted, _) = emulated()?;
    let found = on_card(&small)?.0;
    if found.results != wanted.results || found.flags != wanted.flags {
        let text = format!("exact mode of {}: the GPU's bits or flags are not the emulator's", graph.name);
        return Err(Failure::Tool(text));
    }
    let (_, emulator_seconds) = emulated()?;
    let large = Case::new(graph, MEASURED);
    let (mut seconds, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..bench.repeat {
        let start = Instant::now();
        seconds.push(on_card(&large)?.1);
        whole.push(start.elapsed().as_secs_f64());
    }
    let ((median, seconds), (whole_seconds, _)) = (sorted(seconds), sorted(whole));
    let work = Work { targets: MEASURED.0 as u64, sources: MEASURED.1 as u64, pairs: large.pairs() };
    let predicted = bench.predicted(&mode(graph, "exact")?, &work);
    bench.note(graph, "exact", &work, [median, whole_seconds - median]);
    Ok(Row {
        kernel: graph.name.clone(),
        pairs: large.pairs(),
        seconds,
        whole_seconds,
        predicted_seconds: predicted.map(|p| p[0]),
        pairs_per_second: large.pairs() as f64 / median,
        emulator_pairs_per_second: small.pairs() as f64 / emulator_seconds,
    })
}
