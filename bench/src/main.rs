//! `pairforge-bench`: the benchmarks that developers of Pairforge run, each printing its figure and its input. Those by which a user
//! judges a machine are `pairforge bench`.

mod build;
mod cells;
mod engine;
mod fmm2;
mod model;
mod mpi;
mod power;
mod ranks;
mod schedule;
mod settings;
mod words;

use clap::{CommandFactory, FromArgMatches, Parser};
use std::path::PathBuf;
use std::process::ExitCode;
use terminal::bench::{self, Bench};
use terminal::count::within_u32;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::{memory, program, tables};

/// Benchmarks of Pairforge, each printing its figure and its input; those by which a user judges a machine are `pairforge bench`
#[derive(Parser)]
#[command(name = "pairforge-bench", version)]
struct Args {
    /// Benchmarks to run; all if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Repetitions, of which the median is printed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Particles of a rank of the benchmarks `mpi` [default: 16384] and `ranks` [default: 256], or all of `settings` [default: 100000]
    #[arg(long, value_name = "N", value_parser = |n: &str| within_u32(n, 1, 1 << 31))]
    n: Option<u32>,
    /// Start the ranks of the benchmark `mpi` by this command, such as "mpirun -n" [default: ranks are threads]
    ///
    /// The number of ranks is added to it.
    #[arg(long, value_name = "COMMAND")]
    mpirun: Option<String>,
    /// The ranks of the benchmark `mpi` compute on GPUs, in turn those of this host
    #[arg(long)]
    on_gpus: bool,
    /// The most ranks that the benchmark `ranks` simulates
    #[arg(long, value_name = "P", default_value_t = 4096, value_parser = |n: &str| within_u32(n, 4, 65536))]
    ranks: u32,
    /// Write the figures of the benchmark `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.json")]
    json: Option<PathBuf>,
    /// Write what the benchmark `ranks` counts, or the figures of `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.csv")]
    csv: Option<PathBuf>,
    /// Draw the growth of `ranks` or the scaling of `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    figures: fmm2::FigureArgs,
}

impl Args {
    fn files(&self) -> Files {
        let files = Files::default().writes("--json", &self.json, files::JSON).writes("--csv", &self.csv, files::CSV);
        self.figures.files(files.writes("--svg", &self.svg, files::SVG))
    }
}

/// Every benchmark.
static BENCHES: &[Bench<Args>] = &[
    Bench::new("build", "compilation of a kernel to Verilog", |a| build::run(a.repeat)),
    Bench::new("schedule", "depth and register bits of pipelines", |_| schedule::run()),
    Bench::new("power", "tables of x^(n/d): method, memory, greatest error", |_| power::run()),
    Bench::new("p2p", "engine utilisation of P2P, by size of leaves and lane groups", |_| engine::p2p()),
    Bench::new("m2l", "engine utilisation of M2L at order 2, on streams of 32, 64 and 128 bits", |_| engine::m2l()),
    Bench::new("cells", "short-range kernels over neighbouring cells", |a| cells::run(a.repeat)),
    Bench::new("settings", "settings of the native FMM that meet the same error, beside the one that is chosen", |a| {
        settings::run(a.n, a.repeat)
    }),
    Bench::new("words", "j records sent for each particle, by size of the j memory", |_| words::run()),
    Bench::new("ranks", "partition, boxes and messages of many ranks, without the physics", ranks::run),
    Bench::new(
        "mpi",
        "an FMM on 1, 2 and 4 ranks: errors by order, weak and strong scaling, and what is not the FMM's own",
        mpi::run,
    ),
    Bench::new(
        "fmm2",
        "the experiments of the paper on the FMM in two dimensions; checked against direct sums",
        fmm2::run,
    ),
];

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

fn main() -> ExitCode {
    ended().into()
}

/// The exit status.
fn ended() -> u8 {
    program::begin(std::env::args_os().collect());
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() == Some(mpi::work::WORD) {
        // This process is one that the benchmark `mpi` has started.
        return program::end(mpi::work::run(&words.next().unwrap_or_default()));
    }
    let matches = program::with_negative_numbers(Args::command()).try_get_matches_from(program::words());
    let args = match matches.and_then(|mut matches| Args::from_arg_matches_mut(&mut matches)) {
        Ok(args) => args,
        Err(e) => return program::explain(&e),
    };
    tables::keep();
    program::end(run(&args))
}

fn run(args: &Args) -> Result<(), Failure> {
    args.files().check()?;
    let is_named = args.names.iter().any(|name| name == "fmm2");
    match args.figures.folder() {
        None if is_named => {
            return Err(Failure::Usage("the benchmark `fmm2` writes files; name their folder with --figures".into()));
        }
        Some(_) if !is_named && !args.names.is_empty() => {
            return Err(Failure::Usage("--figures is for the benchmark `fmm2`; name it".into()));
        }
        _ => {}
    }
    bench::run(BENCHES, &args.names, args)
}
