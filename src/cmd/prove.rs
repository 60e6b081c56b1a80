//! `pairforge prove`: whether the Verilog of a kernel's operators and of its pipeline has the specified bits: by a solver, by all arguments,
//! or by many.

mod tried;

use super::build::{ClockArgs, warn_of_clock};
use flow::prove::{Claim, Verdict};
use hdl::Flags;
use hdl::circuit::Pipelined;
use hdl::op::{Inst, Operator};
use pg2::backend::build::{Built, build};
use pg2::graph::{NodeId, NodeKind};
use pg2::report::explain::{Explain, explain};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::progress::{Progress, Steps};
use terminal::{output, say, source};
use tried::{Pairs, Tried};

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    /// Seconds that a solver may take for each operator; 0 for no solver
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    seconds: u32,
    /// Arguments to simulate of each operator that has too many for all, and pairs of the pipeline
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    samples: u32,
    #[command(flatten)]
    clock: ClockArgs,
    /// Write the table
    #[arg(long, value_name = "PROOFS.json")]
    json: Option<PathBuf>,
}

impl Args {
    pub fn files(&self) -> Files {
        Files::default().kernels("FILE", [&self.file]).writes("--json", &self.json, files::JSON)
    }
}

/// A use of an operator, by all nodes that have it.
pub struct Use<'a> {
    op: &'static dyn Operator,
    inst: &'a Inst,
    hardware: &'a Pipelined,
    /// Nodes, of which the first has the line and the formats.
    nodes: usize,
    line: usize,
    formats: String,
}

/// Knowledge of a row.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    /// A solver found that nothing differs.
    Proved,
    /// All arguments were simulated.
    Exhausted,
    /// Many arguments were simulated.
    Tried,
}

/// A row of the table.
#[derive(Serialize)]
struct Row {
    operator: &'static str,
    formats: String,
    line: usize,
    uses: usize,
    known: Known,
    /// Arguments, or pairs, that were simulated.
    simulated: u64,
    /// The reason for which the solver has not proved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<String>,
    seconds: f64,
}

/// Arguments for which the Verilog is not what it should be.
pub struct Difference {
    args: Vec<u64>,
    wanted: (u64, Flags),
    got: (u64, Flags),
}

#[derive(Serialize)]
struct Table<'a> {
    kernel: &'a str,
    target: &'static str,
    mhz: f64,
    rows: &'a [Row],
}

/// Prints the table; differences are an error.
pub fn run(args: Args) -> Result<(), Failure> {
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = build(&graph, args.clock.clock(None)?, &kernel.sources, Vec::new());
    warn_of_clock(&built, &args.clock);
    let uses = uses(&built, &explain(&built, &kernel.sources));
    let mut differences = Vec::new();
    let tried = Steps::during("simulating the operators", || tried::operators(&uses, args.samples))?;
    let mut rows = Vec::new();
    let mut progress = Progress::new("proving operators", uses.len());
    for (k, (of, tried)) in uses.iter().zip(tried).enumerate() {
        progress.at(k);
        let Tried { simulated, all, seconds, difference } = tried;
        let (begun, mut open) = (Instant::now(), None);
        let mut known = if all { Known::Exhausted } else { Known::Tried };
        let mut found = difference;
        if args.seconds > 0 && !all && found.is_none() {
            match solved(of, args.seconds)? {
                Verdict::Proved => known = Known::Proved,
                Verdict::Open(why) => open = Some(why),
                Verdict::Differs { args, value, flags } => found = Some(of.difference(args, value, flags)),
            }
        }
        differences.extend(found.map(|found| of.wrong(&found)));
        let seconds = seconds + begun.elapsed().as_secs_f64();
        let (operator, formats) = (of.op.name(), of.formats.clone());
        rows.push(Row { operator, formats, line: of.line, uses: of.nodes, known, simulated, open, seconds });
    }
    drop(progress);
    if let Some(Pairs { simulated, seconds, difference }) =
        Steps::during("simulating the pipeline", || tried::pipeline(&graph, &built, args.samples))?
    {
        differences.extend(difference);
        let formats = format!("{} cycles", built.schedule.depth);
        let (operator, known) = ("pipeline", Known::Tried);
        rows.push(Row { operator, formats, line: 0, uses: 1, known, simulated, open: None, seconds });
    }
    finish(&args, &built, &rows, differences)
}

/// Writes and prints the table if there is no difference.
fn finish(args: &Args, built: &Built, rows: &[Row], differences: Vec<String>) -> Result<(), Failure> {
    if !differences.is_empty() {
        return Err(Failure::Input(differences.join("\n")));
    }
    let clock = built.library.clock;
    if let Some(path) = &args.json {
        let (kernel, target, mhz) = (built.graph.name.as_str(), clock.target.name, clock.mhz);
        output::write_json(path, &Table { kernel, target, mhz, rows })?;
    }
    let width = |of: &dyn Fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0).max(8);
    let (first, second) = (width(&|r| r.operator.len()), width(&|r| r.formats.chars().count()));
    say!("{:first$}  {:second$}  {:>4}  {:>4}  {:>7}  found", "operator", "formats", "line", "uses", "seconds")?;
    for row in rows {
        let Row { operator, formats, uses, seconds, .. } = row;
        let line = if row.line > 0 { row.line.to_string() } else { String::new() };
        say!("{operator:first$}  {formats:second$}  {line:>4}  {uses:>4}  {seconds:>7.1}  {}", row.found())?;
    }
    let operators = rows.iter().filter(|r| r.operator != "pipeline");
    let (whole, all) = (operators.clone().filter(|r| r.known != Known::Tried).count(), operators.count());
    say!(
        "{whole} of {all} operators hold for all arguments; what else is here was tried on arguments, and nothing differed"
    )
}

impl Row {
    fn found(&self) -> String {
        match (self.known, &self.open) {
            (Known::Proved, _) => "equal for all arguments, by Z3".into(),
            (Known::Exhausted, _) => format!("equal on all {} arguments, simulated", self.simulated),
            (Known::Tried, Some(why)) => format!("equal on {} arguments, simulated; {why}", self.simulated),
            (Known::Tried, None) if self.operator == "pipeline" => {
                format!("equal on {} pairs, simulated", self.simulated)
            }
            (Known::Tried, None) => format!("equal on {} arguments, simulated", self.simulated),
        }
    }
}

/// The different uses of operators, in the order of their first nodes.
fn uses<'a>(built: &'a Built, explained: &Explain) -> Vec<Use<'a>> {
    let mut uses: Vec<Use> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for (k, node) in built.graph.nodes.iter().enumerate() {
        let NodeKind::Op { op, inst, .. } = &node.kind else { continue };
        // An entry of a table that is loaded at run time is none of its arguments' alone.
        let Some(hardware) = built.library.module(NodeId(k as u32)).filter(|_| !inst.is_open()) else { continue };
        let at = *known.entry((*op, inst, &hardware.module.name)).or_insert(uses.len());
        if at < uses.len() {
            uses[at].nodes += 1;
            continue;
        }
        let row = explained.rows.iter().find(|row| row.node as usize == k);
        let (line, formats) = row.map_or((0, String::new()), |row| (row.line, row.formats.clone()));
        uses.push(Use { op: *op, inst, hardware, nodes: 1, line, formats });
    }
    uses
}

/// The solver's verdict.
fn solved(of: &Use, seconds: u32) -> Result<Verdict, Failure> {
    let folder =
        tempfile::tempdir().map_err(|e| Failure::Tool(format!("there is no folder for temporary files: {e}")))?;
    let claim = Claim { op: of.op, inst: of.inst, hardware: of.hardware };
    Ok(flow::prove::prove(&super::tools(), &claim, (folder.path(), seconds), &mut |_| ())?)
}

impl Use<'_> {
    /// Flags of the bits of port `f`.
    fn raised(&self, bits: u64) -> Flags {
        let stated = self.op.flags(self.inst);
        let set = stated.iter().enumerate().filter(|(k, _)| bits >> k & 1 == 1);
        set.fold(Flags::NONE, |all, (_, flag)| all | flag)
    }

    fn difference(&self, args: Vec<u64>, value: u64, flags: u64) -> Difference {
        Difference { wanted: self.op.bits(self.inst, &args), got: (value, self.raised(flags)), args }
    }

    /// A sentence on a difference.
    fn wrong(&self, found: &Difference) -> String {
        let Difference { args, wanted, got } = found;
        let number = |format: &hdl::Format, bits: u64| format!("{bits:#x} ({})", format.to_f64(bits));
        let of: Vec<String> = self.inst.args.iter().zip(args).map(|(format, bits)| number(format, *bits)).collect();
        let result = |(bits, flags): &(u64, Flags)| match flags.is_empty() {
            true => number(&self.inst.result, *bits),
            false => format!("{} and {flags:?}", number(&self.inst.result, *bits)),
        };
        let (name, place) = (self.op.name(), format!("line {}: {} ({})", self.line, self.op.name(), self.formats));
        if wanted == got {
            return format!(
                "{place}: of {} the Verilog gives {}, as specified, but the exact C of `{name}` gives something else",
                of.join(" and "),
                result(got)
            );
        }
        let (wanted, got) = (result(wanted), result(got));
        format!("{place}: of {} the specification gives {wanted}, and the Verilog {got}", of.join(" and "))
    }
}
