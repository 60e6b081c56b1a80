//! `pairforge bench`: the benchmarks, each printing its figure and its input.

mod build;
mod card;
mod cells;
mod cuda;
mod cycle;
mod emulator;
mod fmm;
mod fmm2;
mod link;
pub mod measured;
mod mpi;
mod native;
mod power;
mod ranks;
mod scaling;
mod schedule;

use super::count::within_u32;
use ::fmm::shown::shown;
use ::ranks::mpi as launched;
use std::path::PathBuf;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::files::{self, Files};
use terminal::launch::{self, Refusal};
use terminal::say;

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
    /// Particles of the benchmark `card`, or of a rank of `mpi` [default: 16384] and `ranks` [default: 256]
    ///
    /// Those of `card` are made on each GPU, in place of its usual problems; up to 2^31.
    #[arg(long, value_name = "N", value_parser = |n: &str| within_u32(n, 1, 1 << 31))]
    n: Option<u32>,
    /// Order of the expansions with --n
    #[arg(long, value_name = "P", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10), requires = "n")]
    order: u32,
    /// Start the ranks of the benchmark `mpi` by this command, such as "mpirun -n" [default: ranks are threads]
    ///
    /// The number of ranks is added to it.
    #[arg(long, value_name = "COMMAND")]
    mpirun: Option<String>,
    /// The ranks of the benchmark `mpi` compute on GPUs, in turn those of this host
    #[arg(long)]
    on_gpus: bool,
    /// Write the figures of the benchmark `cuda`, or of `card`, `fmm2` or `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.json")]
    json: Option<PathBuf>,
    /// The most ranks that the benchmark `ranks` simulates
    #[arg(long, value_name = "P", default_value_t = 4096, value_parser = |n: &str| within_u32(n, 4, 65536))]
    ranks: u32,
    /// Write what the benchmark `ranks` counts, or the figures of `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.csv")]
    csv: Option<PathBuf>,
    /// Draw the seconds by size of `cuda`, or the growth of `ranks` or the scaling of `mpi` where it alone is named
    #[arg(long, value_name = "FIGURES.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    figures: fmm2::figures::FigureArgs,
}

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().writes("--json", &self.json, files::JSON).writes("--csv", &self.csv, files::CSV);
        self.figures.files(files.writes("--svg", &self.svg, files::SVG))
    }
}

/// A benchmark: its name, what it measures, and how.
struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn(args: &Args) -> Result<(), Failure>,
}

/// Every benchmark.
static BENCHES: &[Bench] = &[
    Bench { name: "build", what: "compilation of a kernel to Verilog", run: |a| build::run(a.repeat) },
    Bench { name: "schedule", what: "depth and register bits of pipelines", run: |a| schedule::run(a.repeat) },
    Bench { name: "power", what: "tables of x^(n/d): method, memory, greatest error", run: |a| power::run(a.repeat) },
    Bench { name: "emulator", what: "bit-exact emulation of the paper's P2P", run: |a| emulator::run(a.repeat) },
    Bench {
        name: "cycle",
        what: "cycle simulation of a whole engine, 8 pipelines, the paper's P2P",
        run: |a| cycle::run(a.repeat),
    },
    Bench {
        name: "p2p",
        what: "engine utilisation of P2P, by size of leaves and lane groups",
        run: |a| fmm::p2p(a.repeat),
    },
    Bench {
        name: "m2l",
        what: "engine utilisation of M2L at order 2, on streams of 32, 64 and 128 bits",
        run: |a| fmm::m2l(a.repeat),
    },
    Bench { name: "cells", what: "short-range kernels over neighbouring cells", run: |a| cells::run(a.repeat) },
    Bench {
        name: "words",
        what: "j records sent for each particle, by size of the j memory",
        run: |a| link::run(a.repeat),
    },
    Bench {
        name: "fmm",
        what: "seconds of a native FMM of 1e6 particles at three accuracies",
        run: |a| native::run(a.repeat),
    },
    Bench {
        name: "scaling",
        what: "seconds of a native FMM of 1e4 to 1.6e7 particles, and the line through them",
        run: |a| scaling::run(a.repeat),
    },
    Bench {
        name: "backends",
        what: "seconds and errors of an FMM of 1e5 particles, by backend",
        run: |a| fmm::backends(a.repeat),
    },
    Bench {
        name: "cuda",
        what: "P2P, exact mode and FMMs on a GPU, every result checked on the CPU first",
        run: cuda::run,
    },
    Bench { name: "ranks", what: "partition, boxes and messages of many ranks, without the physics", run: ranks::run },
    Bench {
        name: "mpi",
        what: "an FMM on 1, 2 and 4 ranks: errors by order, weak and strong scaling, and what is not the FMM's own",
        run: mpi::run,
    },
    Bench {
        name: "fmm2",
        what: "the FMM in two dimensions with all stages on a GPU, or (--figures) the paper's experiments; checked against direct sums",
        run: fmm2::run,
    },
    Bench { name: "card", what: "an FMM with all stages on a GPU, checked against direct sums", run: card::run },
];

/// The benchmarks that run on ranks of MPI.
const ON_RANKS: [&str; 1] = ["card"];

/// Runs the named benchmarks one after the other.
pub fn run(args: Args) -> Result<(), Failure> {
    let known = || BENCHES.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let mut chosen: Vec<&Bench> = Vec::new();
    for name in &args.names {
        let bench = BENCHES.iter().find(|b| b.name == name);
        chosen.push(bench.ok_or_else(|| {
            Failure::Usage(format!("there is no benchmark `{}`; the benchmarks are {}", shown(name), known()))
        })?);
    }
    if chosen.is_empty() {
        chosen.extend(BENCHES);
    }
    for bench in chosen.iter().filter(|bench| !ON_RANKS.contains(&bench.name)) {
        match launch::refused_part(&format!("the benchmark `{}`", bench.name)) {
            None => {}
            Some(Refusal::Told(failure)) => return Err(failure),
            Some(Refusal::Silent) => return Ok(()),
        }
    }
    if fmm2::figures::folder(&args).is_some() && !chosen.iter().any(|b| b.name == "fmm2") {
        return Err(Failure::Usage("--figures is for the benchmark `fmm2`; name it".into()));
    }
    // Of ranks the first one speaks.
    let speaks = launched::number().is_none_or(|rank| rank == 0);
    for bench in chosen {
        if speaks {
            say!("{}: {}", bench.name, bench.what)?;
        }
        (bench.run)(&args)?;
        if speaks {
            say!("")?;
        }
    }
    Ok(())
}

/// Seconds of `repeat` calls of `work`, sorted.
fn timed<T>(repeat: u32, mut work: impl FnMut() -> Result<T, Failure>) -> Result<Vec<f64>, Failure> {
    let mut seconds = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        std::hint::black_box(work()?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(seconds)
}

/// The median of a sorted list, and its ends: `12.3 (11.9 to 14.0)` after `scale`.
fn spread(sorted: &[f64], show: impl Fn(f64) -> String) -> String {
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    format!("{} ({} to {})", show(sorted[sorted.len() / 2]), show(first), show(last))
}
