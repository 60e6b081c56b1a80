//! `pairforge explain --error`: proven bounds of a kernel's rounding errors, and the flags that it can raise.

use super::Args;
use pg2::error::{FlagProof, OutputBound, Report, ValueBound, Witness, analyse, gappa};
use pg2::graph::Graph;
use pg2::report::selections;
use pg2::syntax::sources::Sources;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::{output, source};

#[derive(clap::Args)]
pub struct ErrorArgs {
    /// Prove a bound of the rounding error of each value and output, for every input
    #[arg(long, conflicts_with_all = ["svg", "lines", "roofline"])]
    pub error: bool,
    /// With --error: write the claim for Gappa, which proves it again
    #[arg(long, value_name = "OUT.g", requires = "error")]
    gappa: Option<PathBuf>,
}

impl ErrorArgs {
    pub fn files(&self, files: Files) -> Files {
        files.writes("--gappa", &self.gappa, files::PLAIN)
    }
}

/// The output of --json.
#[derive(Serialize)]
struct Json {
    kernel: String,
    values: Vec<JsonValue>,
    outputs: Vec<JsonOutput>,
    flags: Vec<JsonFlag>,
}

#[derive(Serialize)]
struct JsonValue {
    name: String,
    line: usize,
    low: Option<f64>,
    high: Option<f64>,
    absolute: Option<f64>,
    relative: Option<f64>,
    proved: bool,
    why: Option<String>,
}

#[derive(Serialize)]
struct JsonOutput {
    #[serde(flatten)]
    value: JsonValue,
    per_sum: Option<PerSum>,
    /// The most pairs whose sum cannot leave the format.
    pairs: Option<u64>,
}

/// The bound of a sum over N pairs: `fixed` + N `per_pair`.
#[derive(Serialize)]
struct PerSum {
    fixed: f64,
    per_pair: Option<f64>,
}

#[derive(Serialize)]
struct JsonFlag {
    flag: &'static str,
    never: bool,
    lines: Vec<usize>,
    raised_by: Option<Vec<Input>>,
}

/// The pattern of an input.
#[derive(Serialize)]
struct Input {
    column: String,
    bits: u64,
}

/// Prints the bounds of a kernel.
pub fn run(args: &Args) -> Result<(), Failure> {
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let report = analyse(&graph);
    if let Some(path) = &args.error.gappa {
        let script = gappa::script(&graph).map_err(Failure::Input)?;
        output::write_text(path, &script)?;
    }
    if let Some(path) = &args.roofline.json {
        output::write_json(path, &json(&graph, &report, &kernel.sources))?;
    }
    output::print(&text(&graph, &report, &kernel.sources))
}

fn line(sources: &Sources, span: pg2::diag::Span) -> usize {
    let (file, place) = sources.place(span);
    sources.text_of(file)[..place.start].matches('\n').count() + 1
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn json(graph: &Graph, report: &Report, sources: &Sources) -> Json {
    let value = |v: &ValueBound| JsonValue {
        name: v.name.clone(),
        line: line(sources, v.span),
        low: finite(v.bound.real.lo),
        high: finite(v.bound.real.hi),
        absolute: finite(v.bound.absolute),
        relative: finite(v.bound.relative),
        proved: v.is_proved,
        why: v.why.clone(),
    };
    let output = |o: &OutputBound| {
        let sums = o.reduce == hdl::Reduce::Sum;
        let per_pair = finite(o.value.bound.absolute);
        JsonOutput { value: value(&o.value), per_sum: sums.then_some(PerSum { fixed: 0.0, per_pair }), pairs: o.pairs }
    };
    let flag = |f: &FlagProof| {
        let lines = f.places.iter().map(|s| line(sources, *s)).collect();
        let inputs =
            |w: &Witness| w.iter().map(|(column, bits)| Input { column: column.clone(), bits: *bits }).collect();
        let raised_by = f.witness.as_ref().map(inputs);
        JsonFlag { flag: f.flag.names()[0], never: f.places.is_empty(), lines, raised_by }
    };
    Json {
        kernel: graph.name.clone(),
        values: report.values.iter().map(value).collect(),
        outputs: report.outputs.iter().map(output).collect(),
        flags: report.flags.iter().map(flag).collect(),
    }
}

fn text(graph: &Graph, report: &Report, sources: &Sources) -> String {
    let mut rows = vec![["value", "line", "from", "to", "absolute", "relative"].map(String::from)];
    let number = |x: f64| if x.is_finite() { format!("{x:.3e}") } else { "-".into() };
    let row = |v: &ValueBound| {
        let [low, high, absolute, relative] =
            [v.bound.real.lo, v.bound.real.hi, v.bound.absolute, v.bound.relative].map(number);
        let absolute = if v.is_proved { absolute } else { "none".into() };
        [v.name.clone(), line(sources, v.span).to_string(), low, high, absolute, relative]
    };
    rows.extend(report.values.iter().map(row));
    let outputs = rows.len();
    rows.extend(report.outputs.iter().map(|o| row(&o.value)));
    let mut out = format!("{}: distance of computed values from real ones, for every input\n\n", graph.name);
    let width = |c: usize| rows.iter().map(|r| r[c].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for (k, row) in rows.iter().enumerate() {
        if k == outputs {
            out.push('\n');
        }
        let _ = write!(out, "{:w$}", row[0], w = widths[0]);
        for c in 1..6 {
            let _ = write!(out, "  {:>w$}", row[c], w = widths[c]);
        }
        out.push('\n');
    }
    for v in report.values.iter().chain(report.outputs.iter().map(|o| &o.value)) {
        if let Some(why) = &v.why {
            let _ = write!(out, "\n{}: no bound: {why}", v.name);
        }
    }
    out.push('\n');
    for o in report.outputs.iter().filter(|o| o.reduce == hdl::Reduce::Sum && o.value.is_proved) {
        let pairs = match o.pairs {
            None => String::new(),
            Some(0) => "; that of one pair may wrap".into(),
            Some(1) => "; that of one pair never wraps".into(),
            Some(n) => format!("; up to {n} pairs never wrap"),
        };
        let _ = writeln!(
            out,
            "{}: a sum of N pairs is off by N times {:.3e} at most{pairs}",
            o.value.name, o.value.bound.absolute
        );
    }
    selected(&mut out, graph, report);
    out.push('\n');
    report.flags.iter().for_each(|f| flag_text(&mut out, graph, f, sources));
    out
}

/// The subject of the bounds of values that come with a key.
fn selected(out: &mut String, graph: &Graph, report: &Report) {
    for row in selections::rows(graph).iter().filter(|row| row.outputs.len() > 1) {
        let key = &row.outputs[0];
        let of_pin =
            |name: &str| graph.pins.iter().any(|p| p.name == *key && (0..p.elements()).any(|e| p.column(e) == name));
        let is_key = |o: &&OutputBound| o.value.name == *key || of_pin(&o.value.name);
        let bound = report.outputs.iter().filter(is_key).map(|o| o.value.bound.absolute).fold(0.0, f64::max);
        if bound > 0.0 {
            let (names, far) = (row.outputs[1..].join(", "), 2.0 * bound);
            let near = if far.is_finite() { format!("less than {far:.3e} apart") } else { "near each other".into() };
            let _ = writeln!(
                out,
                "{names}: of the pair that is chosen; it may be another one where two of `{key}` are {near}"
            );
        }
    }
}

fn flag_text(out: &mut String, graph: &Graph, f: &FlagProof, sources: &Sources) {
    let name = f.flag.names()[0];
    let mut lines: Vec<String> = f.places.iter().map(|s| line(sources, *s).to_string()).collect();
    lines.dedup();
    let _ = match &f.witness {
        None if f.places.is_empty() => writeln!(out, "{name}: never"),
        None => writeln!(out, "{name}: not excluded at line {}; no input found that raises it", lines.join(", ")),
        Some(witness) => {
            let values = witness.iter().map(|(column, bits)| {
                let pin = graph.pins.iter().find(|p| (0..p.elements()).any(|e| p.column(e) == *column));
                let shown = pin.map_or_else(|| bits.to_string(), |p| hdl::number::exact::print(p.format, *bits));
                format!("{column} = {shown}")
            });
            writeln!(out, "{name}: line {}; raised by {}", lines.join(", "), values.collect::<Vec<_>>().join(", "))
        }
    };
}
