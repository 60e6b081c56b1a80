//! `pairforge explore --tol`: formats that are found for an error.

mod data;
mod price;
mod ranges;
mod search;

use super::{Args, backend};
use data::{Data, largest};
use hdl::circuit::target::Clock;
use pairforge::kernel::explore::{Measured, OutputError};
use pg2::error::analyse;
use pg2::graph::Graph;
use pg2::vary::apart::{Apart, Knob};
use pipelines::octree::bind::P2p;
use price::Price;
use search::{Found, Search, bound};
use serde::Serialize;
use std::fmt::Write as _;
use terminal::csv;
use terminal::failure::Failure;
use terminal::{output, source};

#[derive(clap::Args)]
pub struct TolArgs {
    /// Find the cheapest formats whose error is below T: each value's width apart, for the target. Prints the program with them
    ///
    /// The error is the largest relative L2 error of an output against the file's own kernel in real arithmetic, on the records of --i
    /// and --j or, without these, on draws from the ranges of the pins.
    #[arg(long, value_name = "T", value_parser = tolerance)]
    pub tol: Option<f64>,
    /// With --tol: the bound that `explain --error` proves is to be below T too
    #[arg(long, requires = "tol")]
    pub proven: bool,
    /// With --tol: pins and values whose formats stay, as in --keep xi,xj; with a fixed or log all that are written in the same one
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "tol")]
    pub keep: Vec<String>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        t if t > 0.0 && t < 1.0 => Ok(t),
        _ => Err("a tolerance is a relative error between 0 and 1, such as 1e-4".into()),
    }
}

/// Everything, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
struct Report<'a> {
    kernel: &'a str,
    target: &'a str,
    mhz: f64,
    tolerance: f64,
    ni: usize,
    nj: usize,
    /// Whether targets and sources were drawn.
    drawn: bool,
    error: f64,
    errors: &'a [OutputError],
    flags: Vec<&'static str>,
    /// The proven bound, where it was asked for.
    bound: Option<f64>,
    #[serde(flatten)]
    price: Price,
    /// The best formats with one fraction for all floats.
    uniform: Option<Price>,
    formats: Vec<Choice>,
    program: &'a str,
}

/// A format that was chosen.
#[derive(Serialize)]
struct Choice {
    name: String,
    line: usize,
    written: String,
    found: String,
}

/// The facts of a search that the program's heading states.
struct Facts {
    tolerance: f64,
    bound: Option<f64>,
    counts: (usize, usize),
    drawn: bool,
    clock: Clock,
}

/// The part of a tolerance that is kept free where inputs are drawn: others have other errors.
const SPARE: f64 = 0.05;

/// Searches, of which each keeps more free.
const TIMES: usize = 4;

/// Finds formats and prints the program.
pub fn run(args: &Args, tolerance: f64) -> Result<(), Failure> {
    let clock = args.clock.clock(None)?;
    let (kernel, graph) = source::load(&args.file)?;
    let mut data = Data::new(backend(&args.backend)?, &args.params);
    let files = args.i.as_ref().zip(args.j.as_ref());
    match files {
        Some((i, j)) => data.add(&graph, csv::open(i)?, csv::open(j)?)?,
        None => data.draw(&graph, false)?,
    }
    let mut apart = Apart::new(&kernel.sources, &graph);
    if args.tol.proven {
        apart.keep_parameters();
    }
    for name in &args.tol.keep {
        if !apart.keep(&graph, name) {
            let names: Vec<&str> = graph.pins.iter().map(|p| p.name.as_str()).collect();
            let (origin, names) = (&kernel.origin, names.join(", "));
            return Err(Failure::Input(format!(
                "--keep: {origin} has no pin and no float named `{name}`; its pins are {names}"
            )));
        }
    }
    if apart.knobs.iter().all(|knob| knob.is_kept) {
        let what = "has no float, fixed or log whose width could be chosen, and ints are exact";
        return Err(Failure::Input(format!("{} {what}", kernel.origin)));
    }
    let spare = if files.is_some() { 0.0 } else { SPARE };
    let wanted = Wanted { clock, tolerance, spare, proven: args.tol.proven };
    let problem = Problem { kernel: &kernel, apart: &apart, graph: &graph };
    let found = if files.is_some() {
        problem.find(&data, wanted)?
    } else {
        let mut fresh = Data::new(data.backend, &args.params);
        fresh.draw(&graph, true)?;
        let found = problem.find_for_all(&data, &fresh, wanted)?;
        data.batches.append(&mut fresh.batches);
        // Where single steps lead nowhere, the search sees all inputs.
        found.map_or_else(|| problem.find(&data, wanted), Ok)?
    };
    let text = apart.text(&found.best.chosen);
    let variant = kernel.with_text(text.clone());
    let again = source::graph(&variant)
        .map_err(|mistakes| Failure::Diagnostics(source::render(&variant.sources, &mistakes)))?;
    let measured = data.measure(&again)?;
    let bound = wanted.proven.then(|| bound(&analyse(&again)));
    let facts = Facts { tolerance, bound, counts: data.counts(), drawn: files.is_none(), clock };
    let mut heading = heading(&facts, &measured, &found);
    if let Some(why) = refused(&graph, &again) {
        let _ =
            writeln!(heading, "`pairforge fmm --p2p` takes these formats no longer: {why}; --keep xi,xj keeps them");
    }
    let program = heading.lines().map(|line| format!("// {line}\n")).collect::<String>() + "\n" + &text;
    let mut batch = output::Batch::default();
    if let Some(path) = &args.json {
        let one = |(knob, format): (&Knob, &hdl::Format)| Choice {
            name: knob.name.clone(),
            line: knob.line,
            written: knob.format.to_string(),
            found: format.to_string(),
        };
        let report = Report {
            kernel: &kernel.name,
            target: clock.target.name,
            mhz: clock.mhz,
            tolerance,
            ni: facts.counts.0,
            nj: facts.counts.1,
            drawn: facts.drawn,
            error: largest(&measured.errors),
            errors: &measured.errors,
            flags: measured.flags.names(),
            bound,
            price: found.best.price,
            uniform: found.uniform.as_ref().map(|u| u.price),
            formats: apart.knobs.iter().zip(&found.best.chosen).map(one).collect(),
            program: &program,
        };
        batch.add_json(path, &report)?;
    }
    if let Some(path) = &args.output {
        batch.add_text(path, &program)?;
    }
    batch.finish()?;
    output::print(if args.output.is_some() { &heading } else { &program })
}

/// The reason why an FMM takes a kernel no longer with other formats; `None` where it takes it, or never did.
fn refused(written: &Graph, found: &Graph) -> Option<String> {
    let any = !P2p::bind(written, true, &[]).ok()?.coulomb;
    P2p::bind(found, any, &[]).err().map(|why| why.to_string())
}

/// A kernel whose formats are looked for.
struct Problem<'a> {
    kernel: &'a source::Kernel,
    apart: &'a Apart,
    graph: &'a Graph,
}

/// The conditions that formats are to meet, and what they are built for.
#[derive(Clone, Copy)]
struct Wanted {
    clock: Clock,
    tolerance: f64,
    spare: f64,
    proven: bool,
}

/// The formats that were found.
struct Formats {
    best: Found,
    /// The best with one fraction for all floats.
    uniform: Option<Found>,
}

impl Problem<'_> {
    fn search<'b>(&'b self, data: &'b Data, wanted: Wanted) -> Result<Search<'b>, Failure> {
        let flags = data.measure(self.graph)?.flags;
        let kernel = (self.kernel, self.apart);
        Ok(Search::new(kernel, data, wanted.clock, (wanted.tolerance, wanted.spare, wanted.proven), flags))
    }

    /// The cheapest formats for these inputs.
    fn find(&self, data: &Data, wanted: Wanted) -> Result<Formats, Failure> {
        let search = self.search(data, wanted)?;
        let needs = ranges::needs(self.graph, self.apart, data)?;
        let (uniform, base) = search.begin().map_err(|least| self.impossible(least, wanted))?;
        let best = search.cheapest(&base, uniform.as_ref(), &needs);
        best.map(|best| Formats { best, uniform }).ok_or_else(|| self.impossible(f64::INFINITY, wanted))
    }

    /// The cheapest formats for these inputs whose error is below the tolerance on others too: where it is not, more of the tolerance is
    /// kept free, and at last formats are made longer one by one. `None` where that does not help.
    fn find_for_all(&self, data: &Data, fresh: &Data, wanted: Wanted) -> Result<Option<Formats>, Failure> {
        let (search, on_fresh) = (self.search(data, wanted)?, self.search(fresh, wanted)?);
        let needs = ranges::needs(self.graph, self.apart, data)?;
        let (uniform, base) = search.begin().map_err(|least| self.impossible(least, wanted))?;
        let mut best = None;
        for _ in 0..TIMES {
            let found = search.cheapest(&base, uniform.as_ref(), &needs);
            let found = found.ok_or_else(|| self.impossible(f64::INFINITY, wanted))?;
            let error = on_fresh.error(&found.chosen);
            best = Some(found);
            if error <= wanted.tolerance {
                break;
            }
            search.keep_free(error);
        }
        let chosen = best.and_then(|best| on_fresh.repaired(best.chosen));
        let best = chosen.and_then(|chosen| search.found(chosen));
        // The best one format for all is that of all inputs too.
        let uniform = uniform.and_then(|uniform| on_fresh.longer(uniform));
        Ok(best.map(|best| Formats { best, uniform }))
    }

    /// The refusal of a tolerance, with what would help.
    fn impossible(&self, least: f64, wanted: Wanted) -> Failure {
        let tolerance = wanted.tolerance;
        let best = if least.is_finite() {
            format!("the least that was found is {least:.2e}")
        } else if wanted.proven {
            "nothing is bounded with any".to_string()
        } else {
            "with all that compile the kernel raises flags that it does not raise as it is".to_string()
        };
        let why = if wanted.proven {
            let report = analyse(self.graph);
            let why = report.outputs.iter().find_map(|o| Some(format!("{}: {}", o.value.name, o.value.why.as_ref()?)));
            why.map_or(String::new(), |why| format!(" ({why})"))
        } else {
            String::new()
        };
        Failure::Input(format!(
            "no formats give an error below {tolerance:e}: {best}{why}\nints stay as they are, and so does what they \
             round; take a larger --tol, or write ints that are to be rounded less as fixeds"
        ))
    }
}

/// The facts that are known of the formats, in lines.
fn heading(facts: &Facts, measured: &Measured, found: &Formats) -> String {
    let Clock { target, mhz, .. } = facts.clock;
    let (ni, nj) = facts.counts;
    let inputs = if facts.drawn { "drawn from the ranges of the pins" } else { "that were given" };
    let mut text =
        format!("Formats by `pairforge explore --tol {:e}` for {}, {mhz} MHz\n", facts.tolerance, target.name);
    for e in &measured.errors {
        let _ = writeln!(text, "{}: relative L2 error {:.2e}, largest {:.2e}", e.output, e.rel_l2, e.rel_max);
    }
    let _ = writeln!(text, "on {ni} targets and {nj} sources {inputs}, against real arithmetic");
    if !measured.flags.is_empty() {
        let _ = writeln!(text, "raises {} there", measured.flags.names().join(", "));
    }
    if let Some(bound) = facts.bound {
        let _ = writeln!(text, "proven: {bound:.2e} at most, of one pair, for every input");
    }
    let price = |p: &Price| {
        let Price { cost, tables, registers, multipliers, memories } = p;
        format!("{cost} ({tables} tables, {registers} registers, {multipliers} multipliers, {memories} memories)")
    };
    let _ = writeln!(text, "cost of a lane: {}", price(&found.best.price));
    if let Some(uniform) = &found.uniform {
        let saved = |of: &dyn Fn(&Price) -> f64| 100.0 * (1.0 - of(&found.best.price) / of(&uniform.price));
        let (all, logic) = (saved(&|p| p.cost), saved(&|p| (p.tables + p.registers) as f64));
        let _ = writeln!(text, "one fraction for all floats: {}", price(&uniform.price));
        let _ = writeln!(text, "saved against that: {all:.0} %, of tables and registers {logic:.0} %");
    }
    text
}
