//! `pairforge fmm2`: the adaptive FMM in two dimensions, with P2P on a backend.

mod files;
mod predict;
mod table;

use super::fmm::engine::EngineArgs;
use super::fmm::files::save;
use super::fmm::predict::PredictArgs;
use super::fmm::{param, samples, tolerance};
use clap::ValueEnum;
use fmm::data::plane::Points;
use fmm::octree::Precision;
use fmm::plane::Options as MethodOptions;
use fmm::stages::FmmError;
use pairforge::plane::{Geometry, Kernel, Options, Solved, Solver, Strengths};
use pairforge::{backends, kernel};
use pipelines::plane::bind::{P2p, shipped};
use std::path::PathBuf;
use terminal::count::{count, threads};
use terminal::failure::Failure;
use terminal::particles::TextArgs;
use terminal::program::start_threads;
use terminal::progress::Stages;
use terminal::{output, source};

#[derive(clap::Args)]
pub struct Args {
    /// What acts between two points: strength / (z_j - z_i), or log |z_i - z_j| and its gradient
    #[arg(long, value_enum, default_value = "harmonic")]
    kernel: KernelArg,
    /// Number of random points
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count)]
    n: usize,
    /// Where random points lie in the unit square
    #[arg(long, value_enum, default_value = "uniform")]
    dist: DistArg,
    /// Strengths of random points: [-1,1), [0,1), or 1/N
    #[arg(long, value_enum, default_value = "random")]
    charge: ChargeArg,
    /// Draw imaginary parts of strengths too
    #[arg(long)]
    complex: bool,
    /// Seed of random points and of the targets of --check
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Read points (columns x,y,q or x,y,re,im) instead: CSV, .npy, .npz, HDF5, LAMMPS dumps or data
    ///
    /// FILE:/PLACE names a dataset, group or frame inside of a file (docs/guides/files.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "dist", "charge", "complex"])]
    particles: Option<PathBuf>,
    /// Compute the field at these points (columns x,y), not at the sources
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    #[command(flatten)]
    text: TextArgs,
    /// Write the points (.csv, or .npy, .vtk, .vtu by its ending)
    #[arg(long, value_name = "FILE")]
    save_particles: Option<PathBuf>,
    /// Terms p of the expansions, 1 to 60 [default: 17, or what --tol needs]
    #[arg(long, value_name = "P")]
    order: Option<usize>,
    /// Find the order, precision and leaf size for a relative L2 error (of the gradient, or of the harmonic sums) of at most E
    #[arg(long, value_name = "E", value_parser = tolerance, conflicts_with_all = ["order", "predict"])]
    tol: Option<f64>,
    /// Boxes with radii R >= r at distance d are well separated where R + T r <= T d; 0.05 to 0.95
    #[arg(long, value_name = "T", default_value_t = 0.5)]
    theta: f64,
    /// Wanted number of points in a finest box [default: what costs least for the order]
    #[arg(long, value_name = "N")]
    leaf: Option<usize>,
    /// Arithmetic of the expansions [default: f64, or what --tol needs]
    #[arg(long, value_enum)]
    precision: Option<PrecisionArg>,
    /// Where it runs: natively on `cpu` or `cuda`, or P2P by pipelines (see `pairforge list backends`)
    ///
    /// On `cuda` an NVIDIA GPU runs all of it, and the CPU what that does not take.
    #[arg(long, value_name = "B", default_value = "cpu")]
    backend: String,
    /// P2P kernel: a file or a shipped kernel [default: harmonic2d or log2d; on backends cpu and cuda native code]
    #[arg(long, value_name = "FILE.pg2")]
    p2p: Option<String>,
    /// A parameter of the P2P kernel's own
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, requires = "p2p")]
    params: Vec<(String, f64)>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    /// Compare K random targets with direct summation in f64
    #[arg(long, value_name = "K", value_parser = samples)]
    check: Option<usize>,
    /// Write re,im (harmonic) or potential,gx,gy (log) in the order of the input (.csv, or .npy, .vtk, .vtu by its ending)
    #[arg(short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write statistics
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
    /// Write a page with what ran when, the errors, and P2P as other machines would take it
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    predict: PredictArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KernelArg {
    Harmonic,
    Log,
}

#[derive(Clone, Copy, ValueEnum)]
enum DistArg {
    Uniform,
    Normal,
    Layer,
}

#[derive(Clone, Copy, ValueEnum)]
enum ChargeArg {
    Random,
    Positive,
    Mass,
}

#[derive(Clone, Copy, ValueEnum)]
enum PrecisionArg {
    F32,
    F64,
}

/// The least memory of an FMM for each point: itself, its place in the mesh, expansions and results.
const BYTES_A_POINT: u64 = 150;

/// Points, plan, run, check, and what was asked for on paper.
pub fn run(args: Args) -> Result<(), Failure> {
    let (entry, place) = backends::find(&args.backend).map_err(|e| Failure::Usage(e.to_string()))?;
    if args.predict.predict.is_none() {
        args.engine.check(entry, args.report.is_some())?;
    }
    let asked = args.asked();
    let options = asked.of_method();
    options.check()?;
    let graph = source::load(args.p2p.as_deref().unwrap_or(shipped(options.kernel)))?.1;
    start_threads(args.threads)?;
    if let Some(board) = &args.predict.predict {
        P2p::bind(&graph, options.kernel, &args.params).map_err(FmmError::from)?;
        return predict::run(&args, board, &options, graph);
    }
    let asked = asked.backend(&args.backend).engine(args.engine.options(place, args.threads)?);
    let kernel =
        args.params.iter().fold(kernel::Kernel::of_graph(graph.clone()), |k, (name, x)| k.with_param(name, *x));
    let mut solver = Solver::new(if args.p2p.is_some() { asked.p2p(kernel) } else { asked })?;
    solver.prepare(expected_pairs(&args, &options))?;
    let points = files::points(&args)?;
    let targets = files::targets(&args)?;
    if let Some(path) = &args.save_particles {
        save(path, &points.columns(), &[])?;
    }
    let geometry =
        Geometry { sources: [&points.x, &points.y], targets: targets.as_ref().map(|[x, y]| [&x[..], &y[..]]) };
    let mut shown = Stages::new((!entry.native || args.p2p.is_some()).then_some(&args.backend));
    let solved = solver.solve(geometry, &sets(&args, &points), &mut |stage, done, total| shown.at(stage, done, total));
    drop(shown);
    let Solved { solutions, stats, left_to_cpu, .. } = solved?;
    if let Some(why) = left_to_cpu {
        output::tell(&format!("the GPU leaves this to the CPU: {why}\n"));
    }
    files::write(&args, &geometry, (&solutions, &stats), &graph)
}

/// About how many pairs there will be, before any point is read or drawn.
fn expected_pairs(args: &Args, options: &MethodOptions) -> u64 {
    // A point in a file is three numbers of about eight bytes; a target has the sources of about 16 boxes.
    let bytes = |path: &PathBuf| path.metadata().map_or(0, |m| m.len() as usize);
    let n = args.particles.as_ref().map_or(args.n, |path| bytes(path) / 24);
    n.saturating_mul(n.min(16 * options.leaf)) as u64
}

/// The sets of strengths that are run one by one: with the kernel `log`, complex ones are two.
fn sets<'p>(args: &Args, points: &'p Points) -> Vec<Strengths<'p>> {
    let re = &points.re[..];
    match (&points.im, args.kernel) {
        (Some(im), KernelArg::Log) => [re, im].map(|re| Strengths { re, im: None }).to_vec(),
        (im, _) => vec![Strengths { re, im: im.as_deref() }],
    }
}

impl Args {
    /// The options of the method for the library.
    fn asked(&self) -> Options {
        let kernel = match self.kernel {
            KernelArg::Harmonic => Kernel::Harmonic,
            KernelArg::Log => Kernel::Log,
        };
        let precision = self.precision.map(|precision| match precision {
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        });
        let mut asked = Options::default().kernel(kernel).theta(self.theta).seed(self.seed);
        macro_rules! given {
            ($($value:expr => $option:ident),*) => {
                $(if let Some(value) = $value { asked = asked.$option(value); })*
            };
        }
        given!(
            self.tol => tolerance,
            self.order => order,
            self.leaf => leaf,
            precision => precision,
            self.check => samples
        );
        asked
    }
}
