//! `pairforge fmm2`: the adaptive FMM in two dimensions.

use super::fmm::{failure, samples, start_threads, threads, tolerance};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{input, memory, output};
use clap::ValueEnum;
use host::data::input::to_csv;
use host::data::npy;
use host::data::plane::{self as files, Distribution, Points};
use host::data::random::Charge;
use host::fmm::{MOST_PARTICLES, Precision};
use host::plane::direct::Direct;
use host::plane::error::{Errors, Reference};
use host::plane::gpu::Gpu;
use host::plane::stats::Stats;
use host::plane::{Field, Geometry, Kernel, Options, Plan, Solution, Strengths, tune};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// What acts between two points: strength / (z_j - z_i), or log |z_i - z_j| and its gradient
    #[arg(long, value_enum, default_value = "harmonic")]
    kernel: KernelArg,
    /// Number of random points
    #[arg(long, value_name = "N", default_value_t = 10_000)]
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
    /// Read points (columns x,y,q or x,y,re,im; .csv or .npy) instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "dist", "charge", "complex"])]
    particles: Option<PathBuf>,
    /// Compute the field at these points (columns x,y; .csv or .npy), not at the sources
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// Write the points (.csv, or .npy by its ending)
    #[arg(long, value_name = "FILE")]
    save_particles: Option<PathBuf>,
    /// Terms p of the expansions, 1 to 60 [default: 17, or what --tol needs]
    #[arg(long, value_name = "P")]
    order: Option<usize>,
    /// Find the order, precision and leaf size for a relative L2 error (of the gradient, or of the harmonic sums) of at most E
    #[arg(long, value_name = "E", value_parser = tolerance, conflicts_with = "order")]
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
    /// What runs all stages: the CPU, or an NVIDIA GPU, which leaves to the CPU what it does not take
    #[arg(long, value_enum, default_value = "cpu")]
    backend: BackendArg,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    /// Compare K random targets with direct summation in f64
    #[arg(long, value_name = "K", value_parser = samples)]
    check: Option<usize>,
    /// Write re,im (harmonic) or potential,gx,gy (log) in the order of the input (.csv, or .npy by its ending)
    #[arg(short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write statistics
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BackendArg {
    Cpu,
    Cuda,
}

#[derive(Clone, Copy, ValueEnum)]
enum PrecisionArg {
    F32,
    F64,
}

/// What an FMM takes at least for each point: itself, its place in the mesh, expansions and results.
const BYTES_A_POINT: u64 = 150;

/// Targets that `--tol` is judged by without `--check`.
const SAMPLES: usize = 1000;

/// The order without `--order` and `--tol`: the paper's.
const ORDER: usize = 17;

/// Points, plan, run, check, and what was asked for on paper.
pub fn run(args: Args) -> Result<(), Failure> {
    let options = options(&args);
    options.check().map_err(failure)?;
    check_outputs(&args)?;
    start_threads(args.threads)?;
    let points = points(&args)?;
    let targets = targets(&args)?;
    if let Some(path) = &args.save_particles {
        write_columns(path, &points.columns())?;
    }
    let geometry =
        Geometry { sources: [&points.x, &points.y], targets: targets.as_ref().map(|[x, y]| [&x[..], &y[..]]) };
    let sets = sets(&args, &points);
    let on_card = match args.backend {
        BackendArg::Cpu => None,
        BackendArg::Cuda => on_card(&args, geometry, &sets, &options)?,
    };
    let (solutions, stats) = match on_card {
        Some(found) => found,
        None => solve(&args, geometry, &sets, &options)?,
    };
    write(&args, &solutions, &stats)
}

/// The sets of strengths that are run one by one: with the kernel `log`, complex ones are two.
fn sets<'p>(args: &Args, points: &'p Points) -> Vec<Strengths<'p>> {
    let re = &points.re[..];
    match (&points.im, args.kernel) {
        (Some(im), KernelArg::Log) => [re, im].map(|re| Strengths { re, im: None }).to_vec(),
        (im, _) => vec![Strengths { re, im: im.as_deref() }],
    }
}

/// Runs all stages on a GPU, or says why the CPU has to.
fn on_card(
    args: &Args,
    geometry: Geometry,
    sets: &[Strengths],
    options: &Options,
) -> Result<Option<(Vec<Solution>, Stats)>, Failure> {
    if args.tol.is_some() {
        return Err(Failure::Usage("--tol runs on the CPU; give --order for --backend cuda".into()));
    }
    let mut gpu = Gpu::open().map_err(failure)?;
    let mut answers = Vec::new();
    for set in sets {
        match gpu.field(geometry, *set, options, true).map_err(failure)? {
            Ok(answer) => answers.push(answer),
            Err(why) => {
                output::tell(&format!("the GPU leaves this to the CPU: {why}\n"));
                return Ok(None);
            }
        }
    }
    let stats = Stats::of_card(geometry, options, &answers);
    let solutions: Vec<Solution> = answers.into_iter().map(Solution::from).collect();
    let error = args.check.map(|count| errors(count, args.seed, geometry, sets, options, &solutions));
    Ok(Some((solutions, Stats { error, ..stats })))
}

/// Compares with direct summation.
fn errors(
    count: usize,
    seed: u64,
    geometry: Geometry,
    sets: &[Strengths],
    options: &Options,
    solutions: &[Solution],
) -> Errors {
    let direct: Vec<Direct> =
        sets.iter().map(|set| Direct { kernel: options.kernel, geometry, strengths: *set }).collect();
    let fields: Vec<&Field> = solutions.iter().map(|s| &s.field).collect();
    Reference::new(&direct, count, seed).errors(&fields)
}

fn solve(
    args: &Args,
    geometry: Geometry,
    sets: &[Strengths],
    options: &Options,
) -> Result<(Vec<Solution>, Stats), Failure> {
    let mut shown: Option<(&'static str, Progress)> = None;
    let progress = &mut |stage, done, total| {
        if shown.as_ref().is_none_or(|(name, _)| *name != stage) {
            shown = Some((stage, Progress::new(stage, total)));
        }
        shown.iter_mut().for_each(|(_, p)| p.at(done));
    };
    let (plan, solutions, mut error) = match args.tol {
        Some(wanted) => {
            let problem = tune::Problem {
                geometry,
                sets,
                seed: args.seed,
                samples: args.check.unwrap_or(SAMPLES),
                is_leaf_free: args.leaf.is_none(),
            };
            let tuned = tune::within(wanted, &problem, options, progress).map_err(failure)?;
            (tuned.plan, tuned.solutions, Some(tuned.errors))
        }
        None => {
            let plan = Plan::new(geometry, options).map_err(failure)?;
            let run = |set: &Strengths| plan.run(set, &mut [], progress).map_err(failure);
            let solutions = sets.iter().map(run).collect::<Result<Vec<_>, Failure>>()?;
            (plan, solutions, None)
        }
    };
    if let (Some(count), None) = (args.check, &error) {
        error = Some(errors(count, args.seed, geometry, sets, options, &solutions));
    }
    let stats = Stats { error, ..Stats::of(&plan, &solutions) };
    Ok((solutions, stats))
}

fn options(args: &Args) -> Options {
    let kernel = match args.kernel {
        KernelArg::Harmonic => Kernel::Harmonic,
        KernelArg::Log => Kernel::Log,
    };
    let precision = match args.precision {
        Some(PrecisionArg::F32) => Precision::F32,
        Some(PrecisionArg::F64) => Precision::F64,
        None => args.tol.map_or(Precision::F64, tune::precision),
    };
    let order = args.order.unwrap_or(ORDER);
    let leaf = args.leaf.unwrap_or_else(|| tune::leaf(order, kernel, precision));
    Options { kernel, order, theta: args.theta, leaf, precision }
}

/// Says of the files that are to be written whether they can be, and that no two are one.
fn check_outputs(args: &Args) -> Result<(), Failure> {
    let named = [("-o", &args.output), ("--json", &args.json), ("--save-particles", &args.save_particles)];
    output::check_apart(&named)
}

fn points(args: &Args) -> Result<Points, Failure> {
    let Some(path) = &args.particles else {
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        memory::check(args.n as u64 * BYTES_A_POINT, format!("an FMM of {} points", args.n))?;
        let distribution = match args.dist {
            DistArg::Uniform => Distribution::Uniform,
            DistArg::Normal => Distribution::Normal,
            DistArg::Layer => Distribution::Layer,
        };
        let charge = match args.charge {
            ChargeArg::Random => Charge::Random,
            ChargeArg::Positive => Charge::Positive,
            ChargeArg::Mass => Charge::Mass,
        };
        return Ok(Points::random(args.n, distribution, charge, args.complex, args.seed));
    };
    let bytes = input::read(path)?;
    let read = match npy::is_npy(&bytes) {
        true => Points::from_npy(&bytes),
        false => Points::from_csv(input::csv(path, &bytes)?),
    };
    read.map_err(|e| Failure::file(path, e))
}

/// The targets, where they are not the sources.
fn targets(args: &Args) -> Result<Option<[Vec<f64>; 2]>, Failure> {
    let Some(path) = &args.targets else { return Ok(None) };
    let bytes = input::read(path)?;
    let read = match npy::is_npy(&bytes) {
        true => files::targets_from_npy(&bytes),
        false => files::targets_from_csv(input::csv(path, &bytes)?),
    };
    read.map(Some).map_err(|e| Failure::file(path, e))
}

/// The results as columns of a file.
fn columns(args: &Args, solutions: &[Solution]) -> Vec<(String, Vec<f64>)> {
    let suffix = |set: usize| if set == 0 { "" } else { "_im" };
    let of = |(set, solution): (usize, &Solution)| {
        let [a, b] = solution.field.vector.clone();
        match args.kernel {
            KernelArg::Harmonic => vec![("re".to_string(), a), ("im".to_string(), b)],
            KernelArg::Log => {
                let named = |name: &str| format!("{name}{}", suffix(set));
                vec![(named("potential"), solution.field.potential.clone()), (named("gx"), a), (named("gy"), b)]
            }
        }
    };
    solutions.iter().enumerate().flat_map(of).collect()
}

fn write(args: &Args, solutions: &[Solution], stats: &Stats) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let columns = columns(args, solutions);
        write_columns(path, &columns.iter().map(|(name, c)| (name.clone(), &c[..])).collect::<Vec<_>>())?;
    }
    if let Some(path) = &args.json {
        output::write_json(path, stats)?;
    }
    // Results that go to standard output are not mixed with a table for people.
    let standard = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if !standard(&args.output) && !standard(&args.json) && !standard(&args.save_particles) {
        output::print(&table(stats))?;
    }
    Ok(())
}

/// Writes an `.npy` file or CSV, by the ending of its name.
fn write_columns(path: &Path, columns: &[(String, &[f64])]) -> Result<(), Failure> {
    let is_npy = path.extension().is_some_and(|e| e == "npy");
    let bytes = if is_npy { npy::write_columns(columns) } else { to_csv(columns).into_bytes() };
    output::write_with(path, |out: &mut dyn Write| out.write_all(&bytes))
}

/// The table of a run.
fn table(s: &Stats) -> String {
    let mut out = format!(
        "FMM of {} points of a plane on {}: kernel {}, order {}, theta {}, leaf {}, {} levels\n\n{:<8} {:>10} {:>14}\n",
        s.n, s.backend, s.kernel, s.order, s.theta, s.leaf, s.levels, "stage", "seconds", "pairs"
    );
    let t = &s.seconds;
    let rows = [
        ("sort", t.sort, None),
        ("connect", t.connect, None),
        ("P2M", t.p2m, None),
        ("M2M", t.m2m, None),
        ("M2L", t.m2l, Some(s.pairs.m2l)),
        ("P2L", t.p2l, Some(s.pairs.p2l)),
        ("L2L", t.l2l, None),
        ("L2P", t.l2p, None),
        ("M2P", t.m2p, Some(s.pairs.m2p)),
        ("P2P", t.p2p, Some(s.pairs.p2p)),
    ];
    for (stage, seconds, pairs) in rows {
        let pairs = pairs.map_or("-".into(), |p| p.to_string());
        out += &format!("{stage:<8} {seconds:>10.4} {pairs:>14}\n");
    }
    out += &format!("{:<8} {:>10.4}\n", "total", t.total);
    let Some(e) = &s.error else { return out };
    out += &format!("\ntargets compared with direct summation: {}\n", e.samples);
    let number = |x: f64| format!("{x:.3e}");
    let mut rows = vec![
        ("potential, relative L2 error", number(e.potential_rel_l2)),
        ("potential, largest relative error of a target", number(e.potential_largest)),
    ];
    let gradient = [
        ("gradient, relative L2 error", e.gradient_rel_l2),
        ("gradient, median relative error", e.gradient_median),
        ("gradient, 99th percentile", e.gradient_p99),
        ("gradient, largest relative error of a target", e.gradient_largest),
    ];
    rows.extend(gradient.into_iter().filter_map(|(name, x)| Some((name, number(x?)))));
    rows.iter().for_each(|(name, value)| out += &format!("{name}: {value}\n"));
    out
}
