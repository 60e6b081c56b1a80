//! `pairforge fmm`: the Fast Multipole Method with P2P and M2L on a backend.

mod periodic;
mod predict;
mod table;

use super::lanes::LaneArgs;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{input, memory, output, source};
use clap::ValueEnum;
use hdl::circuit::target::Clock;
use host::backends::{self, BACKENDS, BackendOptions, Entry, Needs};
use host::data::input::{Input, columns_of, to_csv};
use host::data::particles::{Field, Particles};
use host::data::problem::{Geometry, Sources};
use host::data::random::{Charge, Distribution};
use host::data::{self, npy, random};
use host::direct::error;
use host::direct::summation::Direct;
use host::expansion::basis::Basis;
use host::fmm::executor::Executor;
use host::fmm::gpu::Gpu;
use host::fmm::offload::{self, Pipelines};
use host::fmm::stats::Stats;
use host::fmm::{self, FmmError, MOST_PARTICLES, Plan, Precision, Solution, Solutions, bind, function, tune};
use host::tree::boxmap::BoxMap;
use host::tree::lists::near2;
use pg2::graph::Graph;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Number of random particles
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    n: usize,
    /// Where random particles lie
    #[arg(long, value_enum, default_value = "uniform")]
    dist: DistArg,
    /// Charges of random particles: [-1,1), [0,1), or 1/N [default: random, mass for plummer]
    #[arg(long, value_enum)]
    charge: Option<ChargeArg>,
    /// Seed of random particles and of the targets of --check
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Read particles (columns x,y,z,q, dipoles px,py,pz, more charges q2; .csv or .npy) instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "dist", "charge"])]
    particles: Option<PathBuf>,
    /// Compute the field at these points (columns x,y,z; .csv or .npy), not at the particles
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tol", "predict"])]
    targets: Option<PathBuf>,
    /// Compute second derivatives too: the columns hxx,hxy,hxz,hyy,hyz,hzz
    #[arg(long, conflicts_with_all = ["tol", "predict"])]
    hessian: bool,
    /// Write the particles (.csv, or .npy by its ending)
    #[arg(long, value_name = "FILE")]
    save_particles: Option<PathBuf>,
    /// Where P2P and M2L run (see `pairforge list backends`)
    #[arg(long, value_name = "B", default_value = BACKENDS[0].name)]
    backend: String,
    /// P2P kernel: a file or a shipped kernel [default: p2p; on backend cpu native code]
    #[arg(long, value_name = "FILE.pg2")]
    p2p: Option<String>,
    /// M2L kernel of the order, or `native` for native code beside P2P on a backend [default: the generated one; on backend
    /// cpu native code]
    #[arg(long, value_name = "FILE.pg2")]
    m2l: Option<String>,
    /// Expansion order P [default: 4, or what --tol needs]
    #[arg(long, value_name = "P")]
    order: Option<usize>,
    /// Find the order, precision and leaf size for a relative L2 error of the gradient of at most E
    #[arg(long, value_name = "E", value_parser = tolerance, conflicts_with_all = ["order", "near_only", "predict"])]
    tol: Option<f64>,
    /// Opening angle, above 0 and up to 0.5 [default: 0.5, or what --tol needs]
    #[arg(long, value_name = "T")]
    theta: Option<f64>,
    /// Particles up to which a cell stays a leaf [default: 64; for native solid harmonics by what the stages cost]
    #[arg(long, value_name = "N")]
    leaf: Option<usize>,
    /// Basis of the expansions [default: cartesian, solid for --tol, chebyshev for a P2P kernel that is not 1/r]
    #[arg(long, value_enum)]
    expansion: Option<BasisArg>,
    /// Arithmetic of native code [default: f64, or what --tol needs]
    #[arg(long, value_enum)]
    precision: Option<PrecisionArg>,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    #[command(flatten)]
    lanes: LaneArgs,
    /// j memory of the engine in 32-bit words [default: 262144; 16384 for --predict]
    #[arg(long, value_name = "WORDS")]
    jmem: Option<u32>,
    /// Width of the engine's streams in bits
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = ["32", "64", "128"])]
    stream: String,
    /// Softening length of P2P: 1/sqrt(r^2 + E^2)
    #[arg(long, value_name = "E", default_value_t = 0.0)]
    eps: f64,
    /// Leave out the far field, for kernels that are not 1/r far away
    #[arg(long, conflicts_with = "m2l")]
    near_only: bool,
    /// Compare K random targets with direct summation in f64
    #[arg(long, value_name = "K", value_parser = samples)]
    check: Option<usize>,
    /// Write potential,gx,gy,gz in the order of the input (.csv, or .npy by its ending)
    #[arg(short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write statistics
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
    /// Write a report with the table and where the time went
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    periodic: periodic::PeriodicArgs,
    #[command(flatten)]
    predict: predict::PredictArgs,
}

/// What `--m2l` takes in place of a kernel.
const NATIVE: &str = "native";

/// What an FMM takes at least for each particle: itself, its place in the tree, its potential and gradient.
const BYTES_A_PARTICLE: u64 = 200;

/// clap's view of an enumeration of `host`.
macro_rules! choice {
    ($name:ident => $of:ty { $($word:ident),* }) => {
        #[derive(Clone, Copy, ValueEnum)]
        enum $name { $($word),* }
        impl From<$name> for $of {
            fn from(x: $name) -> $of {
                match x { $($name::$word => <$of>::$word),* }
            }
        }
    };
}
choice!(DistArg => Distribution { Uniform, Normal, Layer, Sphere, Plummer });
choice!(ChargeArg => Charge { Random, Positive, Mass });
choice!(BasisArg => Basis { Cartesian, Solid, Chebyshev });
choice!(PrecisionArg => Precision { F32, F64 });

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 1024;

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().map_err(|e| e.to_string())?;
    if count <= MOST_THREADS { Ok(count) } else { Err(format!("at most {MOST_THREADS} threads are possible")) }
}

fn samples(text: &str) -> Result<usize, String> {
    match text.parse::<usize>().map_err(|e| e.to_string())? {
        0 => Err("at least one target must be compared; leave --check out for none".into()),
        count => Ok(count),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        wanted if wanted > 0.0 && wanted < 1.0 => Ok(wanted),
        wanted => Err(format!("an error must be above 0 and below 1, not {wanted:?}")),
    }
}

/// Particles, plan, run, check, and what was asked for on paper.
pub fn run(args: Args) -> Result<(), Failure> {
    let (entry, place) = backends::find(&args.backend).map_err(|e| Failure::Usage(e.to_string()))?;
    let engine = BackendOptions { place: place.to_string(), ..engine(&args)? };
    let on_gpu = gpu_kernel(entry, &args)?;
    // A kernel that is named is run, on the CPU by its real-number meaning.
    let is_plain = args.p2p.is_none() && args.m2l.is_none();
    let native = on_gpu.is_some() || entry.native && entry.needs != Needs::Gpu && is_plain;
    if args.hessian && !native {
        return Err(Failure::Usage(
            "kernels have no pins for Hessians; compute them natively, with --backend cpu and no kernel".into(),
        ));
    }
    let mut options = options(&args, native);
    options.check().map_err(failure)?;
    if options.periodic.is_some() && (!native || on_gpu.is_some()) {
        return Err(Failure::Usage(fmm::NO_IMAGES.into()));
    }
    if options.periodic.is_some() && args.check.is_some() && (args.targets.is_some() || args.hessian) {
        return Err(Failure::Usage(
            "the Ewald sums of --check give potential and gradient at the particles; leave --check out for --targets and --hessian"
                .into(),
        ));
    }
    check_outputs(&args)?;
    if args.threads > 0 {
        // The only pool is the global one; it can be sized once, before its first use.
        rayon::ThreadPoolBuilder::new()
            .num_threads(args.threads)
            .build_global()
            .map_err(|e| Failure::Tool(format!("threads cannot be started: {e}")))?;
    }
    if let Some(board) = &args.predict.predict {
        return predict::run(&args, board);
    }
    let kernels = if native { None } else { Some(Kernels::load(&args, &mut options)?) };
    let mut gpu = on_gpu.as_ref().map(|kernel| Gpu::open(entry.name, kernel)).transpose().map_err(failure)?;
    let mut backend = (entry.open)(&engine);
    if let Some(k) = &kernels {
        let pairs = expected_pairs(&args);
        k.graphs().try_for_each(|graph| backend.prepare(graph, pairs))?;
    }
    let input = input(&args)?;
    let particles = &input.particles;
    let mut pipelines = kernels.as_ref().map(|k| Pipelines::new(&mut *backend, &k.p2p, k.m2l.as_ref()));
    if let Some(pipelines) = &mut pipelines {
        // The softening length is a parameter in units of the particles' box.
        let Geometry { sources, targets } = input.geometry();
        pipelines.check(&options, &BoxMap::over(&[sources, targets.unwrap_or(sources)])).map_err(failure)?;
    }
    if let Some(path) = &args.save_particles {
        let columns = input.columns();
        save(path, || npy::write_columns(&columns), || to_csv(&columns))?;
    }
    let of_kernel = kernels.as_ref().map(|k| &k.p2p).or(on_gpu.as_ref().filter(|_| args.p2p.is_some()));
    let of_kernel = of_kernel.filter(|_| options.basis == Basis::Chebyshev);
    let mut executors: Vec<&mut dyn Executor> = pipelines.iter_mut().map(|p| p as &mut dyn Executor).collect();
    executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
    let mut shown: Option<(&'static str, Progress)> = None;
    let progress = &mut |stage, done, total| {
        if shown.as_ref().is_none_or(|(name, _)| *name != stage) {
            shown = Some((stage, Progress::new(format!("{stage} on {}", args.backend), total)));
        }
        shown.iter_mut().for_each(|(_, p)| p.at(done));
    };
    let sources = input.sources();
    let (plan, solutions) = match args.tol {
        None => {
            let plan = Plan::for_kernel(input.geometry(), &options, of_kernel).map_err(failure)?;
            let found = plan.solve_all(&sources, args.hessian, &mut executors, progress).map_err(failure)?;
            (plan, found)
        }
        Some(_) if !input.is_plain() => {
            return Err(Failure::Usage(
                "--tol finds the order for particles with one charge each; give an --order for other ones".into(),
            ));
        }
        Some(wanted) => {
            let free = tune::Free {
                theta: args.theta.is_none(),
                precision: args.precision.is_none(),
                leaf: args.leaf.is_none() && native,
            };
            let problem = tune::Problem { particles, p2p: of_kernel, seed: args.seed, is_promise: true, free };
            let tuned = tune::within(wanted, &problem, &options, &mut executors, progress).map_err(failure)?;
            let Solution { field, stats } = tuned.solution;
            let stats = Stats { error: Some(tuned.errors), ..stats };
            (tuned.plan, Solutions { fields: vec![field], stats })
        }
    };
    drop(shown);
    let (fields, mut stats) = (solutions.fields, solutions.stats);
    if let Some(count) = args.check {
        let one = |(sources, field): (&Sources, &Field)| match (of_kernel, &options.periodic) {
            (None, None) => {
                let direct =
                    Direct { geometry: input.geometry(), sources: *sources, eps: args.eps, hessian: args.hessian };
                Ok(error::measure_all(&direct, field, count, args.seed))
            }
            (None, periodic) => {
                let targets = error::sample(particles.len(), count, args.seed);
                let q = sources.charges.expect("dipoles were refused").to_vec();
                let particles = Particles { q, ..particles.clone() };
                let reference = error::reference(&particles, &targets, options.eps, periodic.as_ref());
                Ok(error::compare(field, &targets, &reference))
            }
            (Some(graph), _) => {
                let targets = error::sample(field.potential.len(), count, args.seed);
                let charges = sources.charges.expect("kernels take charges alone");
                let reference = offload::direct(&plan, charges, graph, &targets).map_err(failure)?;
                Ok(error::compare(field, &targets, &reference))
            }
        };
        let mut errors = sources.iter().zip(&fields).map(one).collect::<Result<Vec<_>, Failure>>()?.into_iter();
        stats.error = errors.next();
        stats.more_errors = errors.collect();
    }
    write(&args, &fields, &stats)
}

/// The P2P kernel that a GPU runs natively beside the CPU's far field: the usual one, or one that is named and has a native form.
fn gpu_kernel(entry: &Entry, args: &Args) -> Result<Option<Graph>, Failure> {
    let is_far_native = args.m2l.as_deref().is_none_or(|m| m == NATIVE);
    if entry.needs != Needs::Gpu || !entry.native || !is_far_native {
        return Ok(None);
    }
    let kernel = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    Ok(Some(kernel).filter(Gpu::takes_kernel))
}

/// The kernels of an FMM on pipelines.
struct Kernels {
    p2p: Graph,
    m2l: Option<Graph>,
}

impl Kernels {
    /// Compiles them and checks that they can be used. A P2P kernel that is not 1/r gets a black-box expansion.
    fn load(args: &Args, options: &mut fmm::FmmOptions) -> Result<Kernels, Failure> {
        let p2p = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
        let is_free = args.expansion.is_none() && args.m2l.as_deref().is_none_or(|m| m == NATIVE) && !args.near_only;
        if is_free && bind::P2p::bind(&p2p, true).is_ok_and(|kernel| !kernel.coulomb) {
            options.basis = Basis::Chebyshev;
        }
        if options.basis == Basis::Chebyshev && !args.near_only {
            // The softening length is one of the particles' box, which is not known yet.
            function::check(&p2p, 0.0, near2(options.theta)).map_err(|e| failure(e.into()))?;
        }
        if args.tol.is_some() && args.m2l.as_deref().is_some_and(|m| m != NATIVE) {
            return Err(Failure::Usage(
                "--tol finds the order, which an M2L kernel has already; leave --m2l out".into(),
            ));
        }
        let m2l = match &args.m2l {
            _ if args.near_only => None,
            None if options.basis == Basis::Chebyshev || args.tol.is_some() => None,
            Some(file) if file == NATIVE => None,
            Some(file) => Some(source::load(file)?.1),
            None => {
                let text = pg2::gen_m2l(options.order as u32).map_err(Failure::Usage)?;
                let name = format!("m2l_p{}", options.order);
                Some(source::compile(&source::Kernel::shipped(&name, &text))?)
            }
        };
        if options.precision == Precision::F32 && (m2l.is_some() || args.near_only) {
            return Err(Failure::Usage(
                "--precision is that of native code; leave it out for kernels, whose formats are their own".into(),
            ));
        }
        offload::bind(&p2p, m2l.as_ref(), options).map_err(failure)?;
        Ok(Kernels { p2p, m2l })
    }

    fn graphs(&self) -> impl Iterator<Item = &Graph> {
        [&self.p2p].into_iter().chain(&self.m2l)
    }
}

/// Says of the files that are to be written whether they can be, and that no two are one.
fn check_outputs(args: &Args) -> Result<(), Failure> {
    let named = [
        ("-o", &args.output),
        ("--json", &args.json),
        ("--report", &args.report),
        ("--save-particles", &args.save_particles),
    ];
    output::check_all(named.map(|n| n.1))?;
    let is_device = |path: &Path| path.metadata().is_ok_and(|m| !m.is_file());
    let named: Vec<(&str, &PathBuf)> = named.iter().filter_map(|(o, path)| Some((*o, path.as_ref()?))).collect();
    for (k, (option, path)) in named.iter().enumerate() {
        if let Some((other, _)) = named[..k].iter().find(|(_, p)| p == path && !is_device(path)) {
            let name = path.display();
            return Err(Failure::Usage(format!("{other} and {option} both name {name}; give them two files")));
        }
    }
    Ok(())
}

/// The leaf size where kernels run: it suits engines.
const LEAF: usize = 64;

/// What was asked for, and for the rest what is best. `native` code alone runs everything.
fn options(args: &Args, native: bool) -> fmm::FmmOptions {
    let usual = if args.tol.is_some() { Basis::Solid } else { Basis::Cartesian };
    let precision = args.tol.filter(|_| native).map_or(Precision::F64, tune::precision);
    let mut options = fmm::FmmOptions {
        order: args.order.unwrap_or(4),
        theta: args.theta.unwrap_or(0.5),
        leaf: LEAF,
        precision: args.precision.map_or(precision, Precision::from),
        basis: args.expansion.map_or(usual, Basis::from),
        eps: args.eps,
        near_only: args.near_only,
        periodic: args.periodic.get(),
    };
    if let Some(wanted) = args.tol {
        options = tune::start(&options, wanted);
    }
    let is_tuned = native && !args.near_only && options.basis != Basis::Cartesian;
    let best = || if is_tuned { tune::leaf(options.basis, options.order, options.precision) } else { LEAF };
    options.leaf = args.leaf.unwrap_or_else(best);
    options
}

fn engine(args: &Args) -> Result<BackendOptions, Failure> {
    Ok(BackendOptions {
        pipelines: args.lanes.pipelines,
        groups: args.lanes.groups()?,
        jmem_words: args.jmem.unwrap_or(backends::BackendOptions::default().jmem_words),
        stream_bits: args.stream.parse().unwrap_or(32),
        threads: args.threads,
        trace: None,
        clock: Clock::default_clock(),
        ..BackendOptions::default()
    })
}

/// About how many pairs there will be, before any particle is read or drawn.
fn expected_pairs(args: &Args) -> u64 {
    // A particle in a file is four numbers of about eight bytes.
    let bytes = |path: &PathBuf| path.metadata().map_or(0, |m| m.len() as usize);
    let n = args.particles.as_ref().map_or(args.n, |path| bytes(path) / 32);
    // A target has the particles of 27 cells for neighbours; cells are half full in the mean.
    n.saturating_mul(n.min(27 * args.leaf.unwrap_or(LEAF) / 2)) as u64
}

fn input(args: &Args) -> Result<Input, Failure> {
    let Some(path) = &args.particles else {
        let distribution: Distribution = args.dist.into();
        let charge = args.charge.map_or(distribution.default_charge(), Charge::from);
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        memory::check(args.n as u64 * BYTES_A_PARTICLE, format!("an FMM of {} particles", args.n))?;
        let particles = random::generate(args.n, distribution, charge, args.seed);
        return Ok(Input { targets: targets(args)?, ..particles.into() });
    };
    let bytes = input::read(path)?;
    let mut input = match npy::is_npy(&bytes) {
        true => Input::from_npy(&bytes).map_err(|e| Failure::file(path, e))?,
        false => Input::from_csv(text(path, &bytes)?).map_err(|e| Failure::file(path, e))?,
    };
    input.targets = targets(args)?;
    Ok(input)
}

fn text<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::file(path, "is neither CSV text nor an .npy file"))
}

/// The targets, where they are not the particles.
fn targets(args: &Args) -> Result<Option<[Vec<f64>; 3]>, Failure> {
    let Some(path) = &args.targets else { return Ok(None) };
    let bytes = input::read(path)?;
    let read = match npy::is_npy(&bytes) {
        true => data::input::targets_from_npy(&bytes),
        false => data::input::targets_from_csv(text(path, &bytes)?),
    };
    read.map(Some).map_err(|e| Failure::file(path, e))
}

/// Particles with one charge each, which are their own targets.
fn particles(args: &Args) -> Result<Particles, Failure> {
    let input = input(args)?;
    match input.is_plain() {
        true => Ok(input.particles),
        false => Err(Failure::Usage("a prediction is for particles with one charge each".into())),
    }
}

fn failure(e: FmmError) -> Failure {
    match e {
        FmmError::Backend(e) => e.into(),
        FmmError::Option(text) => Failure::Usage(text),
        e => Failure::Input(e.to_string()),
    }
}

fn write(args: &Args, fields: &[Field], stats: &Stats) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let columns = columns_of(fields);
        save(path, || npy::write_columns(&columns), || to_csv(&columns))?;
    }
    if let Some(path) = &args.json {
        output::write_json(path, stats)?;
    }
    if let Some(path) = &args.report {
        output::write_text(path, &table::html(stats)?)?;
    }
    // Results that go to standard output are not mixed with a table for people.
    let standard = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if !standard(&args.output) && !standard(&args.json) && !standard(&args.save_particles) {
        output::print(&table::text(stats).to_string())?;
    }
    Ok(())
}

fn save(path: &Path, npy: impl FnOnce() -> Vec<u8>, csv: impl FnOnce() -> String) -> Result<(), Failure> {
    let bytes = if path.extension().is_some_and(|e| e == "npy") { npy() } else { csv().into_bytes() };
    output::write_with(path, |out: &mut dyn Write| out.write_all(&bytes))
}
