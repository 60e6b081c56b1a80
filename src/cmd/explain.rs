//! `pairforge explain`: the schedule of a kernel, as a table that can be checked by hand; or what the code of a diagnostic
//! means.

mod error;
mod filters;
mod roofline;

use super::build::{ClockArgs, warn_of_clock};
use super::folding::FitArgs;
use super::lanes::FilterArgs;
use hdl::engine::Config;
use pairforge::kernel::fit::Wanted;
use pg2::backend::build::Built;
use pg2::diag::codes;
use pg2::graph::Graph;
use std::path::{Path, PathBuf};
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::{output, source};

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, the name of a shipped kernel, or the code of a diagnostic, such as PG0012
    #[arg(value_name = "FILE|CODE")]
    file: String,
    /// Draw the pipeline: operators by cycle, delays as lines as thick as their bits
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Show the line of the file that each value comes from
    #[arg(long)]
    lines: bool,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    fit: FitArgs,
    #[command(flatten)]
    clock: ClockArgs,
    #[command(flatten)]
    roofline: roofline::RooflineArgs,
    #[command(flatten)]
    error: error::ErrorArgs,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().kernels("FILE", [&self.file]).writes("--svg", &self.svg, files::SVG);
        self.error.files(self.roofline.files(files))
    }
}

/// Prints the table, and draws the figure if one was asked for.
pub fn run(args: Args) -> Result<(), Failure> {
    if codes::looks_like_one(&args.file) && !Path::new(&args.file).exists() {
        return code(&args);
    }
    if args.filters.count() > 0 && (!args.fit.each_clock() || args.roofline.roofline || args.error.error) {
        let text = "--filters is for the table of a pipeline that takes a pair in each clock; leave out --ii, --fit, --roofline and --error";
        return Err(Failure::Usage(text.into()));
    }
    if args.roofline.roofline {
        return roofline::run(&args);
    }
    if args.error.error {
        return error::run(&args);
    }
    if args.roofline.json.is_some() {
        return Err(Failure::Usage("--json goes with --error or --roofline".into()));
    }
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = built(&args, &kernel, &graph)?;
    warn_of_clock(&built, &args.clock);
    if let Some(path) = &args.svg {
        output::write_text(path, &pg2::report::explain::svg(&built, &kernel.sources))?;
    }
    let explained = pg2::report::explain::explain(&built, &kernel.sources);
    match args.lines {
        true => output::print(&format!("{explained:#}"))?,
        false => output::print(&format!("{explained}"))?,
    }
    if let Some(parts) = pg2::report::filtered::parts(&graph, built.library.clock) {
        output::print(&format!("\n{parts}"))?;
    }
    filters::print(&args.filters, &kernel, &graph, &built)
}

/// The kernel as a pipeline for the clock and the folding that are asked for.
fn built(args: &Args, kernel: &source::Kernel, graph: &Graph) -> Result<Built, Failure> {
    let clock = args.clock.clock(args.fit.device())?;
    // With --fit the engine around it is the smallest: one lane.
    let wanted = Wanted { graph, sources: &kernel.sources, clock, pipelines: 1 };
    let small = |built: &Built| {
        let usual = Config::usual(built.layout(), built.schedule.depth);
        Ok(Config { pipelines: 1, groups: 1, i_banks: 1, jmem_records: 1, segments: 16, ii: built.ii(), ..usual })
    };
    args.fit.build(&wanted, &small)
}

/// Prints the page of a code.
fn code(args: &Args) -> Result<(), Failure> {
    let name = &args.file;
    if args.svg.is_some() || args.lines || args.filters.count() > 0 || args.roofline.roofline || args.error.error {
        return Err(Failure::Usage(format!(
            "--svg, --lines, --filters, --error and --roofline are for kernels; `{name}` is the code of a diagnostic"
        )));
    }
    let Some(code) = codes::find(name) else {
        let hint = match codes::similar(name) {
            Some(close) => format!("did you mean `{close}`?"),
            None => "codes are written as in diagnostics, for example `PG0012`".into(),
        };
        return Err(Failure::Input(format!("there is no diagnostic `{name}`; {hint}")));
    };
    output::print(&plain(code.page).to_string())?;
    Ok(())
}

/// A page for a terminal: code indented instead of fenced, links as their words.
fn plain(page: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if code {
            out += &format!("    {line}\n");
        } else {
            out += &unlinked(line.trim_start_matches("# "));
            out.push('\n');
        }
    }
    out
}

/// `[words](address)` becomes `words`.
fn unlinked(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((before, link)) = rest.split_once('[')
        && let Some((words, behind)) = link.split_once("](")
        && let Some((_, behind)) = behind.split_once(')')
    {
        out += before;
        out += words;
        rest = behind;
    }
    out + rest
}
