//! `pairforge bench`: the benchmarks by which a user judges a machine, each printing its figure and its input. Those of the development
//! of Pairforge are `pairforge-bench`.

mod backends;
mod card;
mod conformance;
mod cuda;
mod cycle;
mod emulator;
mod fmm2;
pub mod measured;
mod native;
mod paper;
mod scaling;

use std::path::PathBuf;
use terminal::bench::{self, Bench};
use terminal::count::within_u32;
use terminal::failure::Failure;
use terminal::files::{self, Files};

#[derive(clap::Args)]
pub struct Args {
    /// Benchmarks to run; all if none is named
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Repetitions, of which the median is printed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// GPUs of this host on which the benchmark `card` runs: one, and twice as many up to so many
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: u32,
    /// In the benchmark `card`, one GPU does the work of all: how much more that is than the work of one
    #[arg(long)]
    in_place: bool,
    /// In the benchmark `card`, only trees of one depth: what adaptive trees gain
    #[arg(long)]
    one_depth: bool,
    /// Particles of the benchmark `card`
    ///
    /// They are made on each GPU, in place of its usual problems; up to 2^31.
    #[arg(long, value_name = "N", value_parser = |n: &str| within_u32(n, 1, 1 << 31))]
    n: Option<u32>,
    /// Order of the expansions with --n
    #[arg(long, value_name = "P", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10), requires = "n")]
    order: u32,
    /// Write the figures of the benchmark `cuda`, or of `card` or `fmm2` where it alone is named
    #[arg(long, value_name = "FIGURES.json")]
    json: Option<PathBuf>,
    /// Draw the seconds by size of the benchmark `cuda`
    #[arg(long, value_name = "FIGURES.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    paper: paper::PaperArgs,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().writes("--json", &self.json, files::JSON).writes("--svg", &self.svg, files::SVG);
        self.paper.files(files)
    }
}

/// Every benchmark.
static BENCHES: &[Bench<Args>] = &[
    Bench::new("emulator", "bit-exact emulation of the paper's P2P", |a| emulator::run(a.repeat)),
    Bench::new("cycle", "cycle simulation of a whole engine, 8 pipelines, the paper's P2P", |a| cycle::run(a.repeat)),
    Bench::new("fmm", "seconds of a native FMM of 1e6 particles at three accuracies", |a| native::run(a.repeat)),
    Bench::new("scaling", "seconds of a native FMM of 1e4 to 1.6e7 particles, and the line through them", |a| {
        scaling::run(a.repeat)
    }),
    Bench::new("backends", "seconds and errors of an FMM of 1e5 particles, by backend", |a| backends::run(a.repeat)),
    Bench::new("cuda", "P2P, exact mode and FMMs on a GPU, every result checked on the CPU first", cuda::run),
    Bench::new("fmm2", "the FMM in two dimensions with all stages on a GPU; checked against direct sums", fmm2::run),
    Bench::new(
        "conformance",
        "errors of FMMs on a GPU beside the CPU's: distributions, boundaries, orders, precisions",
        conformance::run,
    ),
    Bench::new(
        "paper",
        "the figures of Ukawa and Narumi: this CPU, and FPGAs by the model of their clocks and links",
        paper::run,
    ),
    Bench::new("card", "an FMM with all stages on a GPU, checked against direct sums", card::run).on_ranks(),
];

/// Runs the named benchmarks one after the other.
pub fn run(args: Args) -> Result<(), Failure> {
    bench::run(BENCHES, &args.names, &args)
}
