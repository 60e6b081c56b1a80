//! `pairforge fmm`: the Fast Multipole Method with P2P and M2L on a backend.

mod card;
mod costs;
pub(super) mod engine;
pub(super) mod files;
pub(super) mod kernels;
pub(super) mod page;
mod periodic;
pub(super) mod predict;
mod ranks;
pub(super) mod roofline;
mod same;
mod table;
mod task;

use super::count::count;
use crate::failure::Failure;
use crate::output;
use crate::progress::Stages;
use ::ranks::mpi;
use clap::ValueEnum;
use engine::EngineArgs;
use fmm::data::problem::Geometry;
use fmm::data::random::{Charge, Distribution};
use fmm::expansion::basis::Basis;
use fmm::octree::executor::Executor;
use fmm::octree::tune::cost;
use fmm::octree::{Coincident, FmmError, FmmOptions, Precision, tune};
use gpu::octree::Gpu;
use kernels::Kernels;
use pairforge::backends::{self, BACKENDS, Entry, FMM_DEFAULT, Needs};
use pg2::graph::Graph;
use pipelines::octree::offload::Pipelines;
pub use ranks::{Telling, telling};
pub(in crate::cmd) use ranks::{agreed, of_rank, told};
use std::path::PathBuf;
use task::Task;

#[derive(clap::Args)]
pub struct Args {
    /// Number of random particles
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count)]
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
    #[arg(long, value_name = "FILE", conflicts_with = "predict")]
    targets: Option<PathBuf>,
    /// Compute the field at the particles too, and write it to this file (.csv, or .npy by its ending)
    #[arg(long, value_name = "OUT", requires = "targets")]
    at_sources: Option<PathBuf>,
    /// Compute second derivatives too: the columns hxx,hxy,hxz,hyy,hyz,hzz
    #[arg(long, conflicts_with = "predict")]
    hessian: bool,
    /// Write the particles (.csv, or .npy by its ending)
    #[arg(long, value_name = "FILE")]
    save_particles: Option<PathBuf>,
    /// Where P2P and M2L run: natively on `cpu` or `cuda`, or by pipelines (see `pairforge list backends`) [default: cpu]
    #[arg(long, value_name = "B")]
    backend: Option<String>,
    /// P2P kernel: a file or a shipped kernel [default: native code; on pipelines p2p]
    ///
    /// Backend cpu runs it by what it means in real numbers, pipelines to the bit. One that is not 1/r gets a far field of its own
    /// (docs/fmm.md, H15).
    #[arg(long, value_name = "FILE.pg2")]
    p2p: Option<String>,
    /// M2L kernel, or `native` for native code beside P2P on pipelines [default: native code; on pipelines the generated one]
    ///
    /// Its order is that of --order; `pairforge gen m2l --order P` writes one.
    #[arg(long, value_name = "FILE.pg2")]
    m2l: Option<String>,
    /// Where the stages besides P2P run on backend cuda [default: gpu where it takes the problem, else cpu]
    #[arg(long, value_enum, value_name = "WHERE")]
    translations: Option<PlaceArg>,
    /// Expansion order P [default: 4, or what --tol needs]
    #[arg(long, value_name = "P")]
    order: Option<usize>,
    /// M2L takes the order below between cells at offsets d with d.d above D [default: nowhere, or what --tol needs]
    ///
    /// Offsets along y count a quarter less and those along z a half. For solid harmonics only.
    #[arg(long, value_name = "D", conflicts_with_all = ["tol", "near_only", "predict"])]
    lower_beyond: Option<f64>,
    /// Find the order, precision and leaf size for a relative L2 error of the gradient of at most E, of every set of charges
    #[arg(long, value_name = "E", value_parser = tolerance, conflicts_with_all = ["order", "near_only", "predict"])]
    tol: Option<f64>,
    /// Opening angle, above 0 and up to 0.5 [default: 0.5, or what --tol needs]
    #[arg(long, value_name = "T")]
    theta: Option<f64>,
    /// Particles up to which a cell stays a leaf [default: by what the stages cost; 64 for --near-only]
    #[arg(long, value_name = "N")]
    leaf: Option<usize>,
    /// Edge of the root cell in edges of the particles' box, from 1 to below 2, with --leaf [default: 1]
    ///
    /// Without --leaf it is what makes the stages cost least on backend cpu.
    #[arg(long, value_name = "F", requires = "leaf", default_value_t = 1.0, hide_default_value = true)]
    enlarge: f64,
    /// Measure what the stages cost on this machine, show it, and keep it for the leaf sizes of later runs
    #[arg(long, conflicts_with_all = ["tol", "order", "leaf", "particles", "check", "output", "json", "report", "budget", "predict"])]
    tune: bool,
    /// Basis of the expansions [default: solid for native code, cartesian with --order and on pipelines]
    ///
    /// Cartesian is the paper's expansion, which M2L kernels compute. Solid harmonics, also the default of --tol and on a GPU, are more
    /// accurate at the same order. Chebyshev polynomials are for a P2P kernel that is not 1/r.
    #[arg(long, value_enum)]
    expansion: Option<BasisArg>,
    /// Arithmetic of native code [default: f64, or what --tol needs]
    #[arg(long, value_enum)]
    precision: Option<PrecisionArg>,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    /// GPUs of this host that share the work, on backend cuda [default: 1, of each rank]
    ///
    /// Ranks share out so many of their machine.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    gpus: Option<u32>,
    /// Share the work among so many ranks, which are threads of this process
    ///
    /// Under mpirun, ranks are processes, and mpirun says how many.
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=256))]
    ranks: Option<u32>,
    #[command(flatten)]
    engine: EngineArgs,
    /// Softening length: 1/sqrt(r^2 + E^2) in place of 1/r
    #[arg(long, value_name = "E", default_value_t = 0.0)]
    eps: f64,
    /// A parameter of the P2P kernel's own, such as kappa=4 for p2p_yukawa
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, requires = "p2p")]
    params: Vec<(String, f64)>,
    /// Whether pairs at distance 0 act by a kernel that is not 0 there [default: include]
    ///
    /// These are a particle and itself, and others in exactly its place. By 1/r they never act.
    #[arg(long, value_enum, value_name = "WHETHER", requires = "p2p")]
    coincident: Option<CoincidentArg>,
    /// Leave out the far field, for kernels that are not 1/r far away
    #[arg(long, conflicts_with = "m2l")]
    near_only: bool,
    /// Compare K random targets with direct summation in f64
    ///
    /// With --periodic the sums are over all images, with a P2P kernel that is not 1/r those of the kernel.
    #[arg(long, value_name = "K", value_parser = samples)]
    check: Option<usize>,
    /// Split the error at the targets of --check (1000 without it) into truncation and the formats of P2P and M2L
    #[arg(long, conflicts_with_all = ["near_only", "predict", "targets", "hessian"])]
    budget: bool,
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
pub const BYTES_A_PARTICLE: u64 = 200;

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
/// Who runs the stages besides P2P.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlaceArg {
    Cpu,
    Gpu,
}
choice!(DistArg => Distribution { Uniform, Normal, Layer, Sphere, Plummer });
choice!(ChargeArg => Charge { Random, Positive, Mass });
choice!(BasisArg => Basis { Cartesian, Solid, Chebyshev });
choice!(CoincidentArg => Coincident { Include, Exclude });
choice!(PrecisionArg => Precision { F32, F64 });

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 1024;

pub(in crate::cmd) fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().map_err(|e| e.to_string())?;
    if count <= MOST_THREADS { Ok(count) } else { Err(format!("at most {MOST_THREADS} threads are possible")) }
}

pub(super) fn samples(text: &str) -> Result<usize, String> {
    match count(text)? {
        0 => Err("at least one target must be compared; leave --check out for none".into()),
        count => Ok(count),
    }
}

pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        wanted if wanted > 0.0 && wanted < 1.0 => Ok(wanted),
        wanted => Err(format!("an error must be above 0 and below 1, not {wanted:?}")),
    }
}

pub(super) fn param(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("a parameter is given as NAME=VALUE")?;
    match value.trim().parse::<f64>().map_err(|e| e.to_string())? {
        value if value.is_finite() => Ok((name.trim().to_string(), value)),
        value => Err(format!("a parameter is a finite number, not {value:?}")),
    }
}

impl Args {
    fn backend(&self) -> &str {
        self.backend.as_deref().unwrap_or(FMM_DEFAULT.name)
    }

    fn has_m2l_kernel(&self) -> bool {
        self.m2l.as_deref().is_some_and(|m| m != NATIVE)
    }

    /// Says what runs an M2L kernel where nobody has chosen that: those who name one think of pipelines.
    fn tell_of_kernels(&self) {
        if self.backend.is_none() && self.predict.predict.is_none() && self.has_m2l_kernel() {
            let (here, pipelines) = (FMM_DEFAULT.name, BACKENDS[0].name);
            output::tell(&format!(
                "note: kernels run on backend {here} by what they mean in real numbers; --backend {pipelines} gives the bits of their \
                 pipelines\n"
            ));
        }
    }
}

/// Who runs the stages, and with which options.
struct Chosen<'a> {
    entry: &'static Entry,
    place: &'a str,
    /// Whether native code runs everything, and the kernel of P2P where it does so on a GPU.
    native: bool,
    on_gpu: Option<Graph>,
    /// Whether the GPU is to run all stages.
    whole: bool,
    options: FmmOptions,
}

impl Chosen<'_> {
    fn new(args: &Args) -> Result<Chosen<'_>, Failure> {
        let (entry, place) = backends::find(args.backend()).map_err(|e| Failure::Usage(e.to_string()))?;
        if args.predict.predict.is_none() {
            args.engine.check(entry, args.report.is_some())?;
        }
        let on_gpu = kernels::on_gpu(entry, args)?;
        if args.gpus.is_some_and(|count| count > 1) && on_gpu.is_none() {
            return Err(Failure::Usage("--gpus shares out native code on GPUs; take it with --backend cuda".into()));
        }
        // A kernel that is named is run, on the CPU by its real-number meaning.
        let is_plain = args.p2p.is_none() && !args.has_m2l_kernel();
        let native = on_gpu.is_some() || entry.native && entry.needs != Needs::Gpu && is_plain;
        let mut options = options(args, native);
        let whole = card::asked(args, on_gpu.is_some())?;
        if whole && args.enlarge != 1.0 {
            let why = "--enlarge is for trees of the CPU; leave it out, or take --translations cpu";
            return Err(Failure::Usage(why.into()));
        }
        // An order alone is that of the paper's expansion, as on pipelines.
        let is_free = args.order.is_none() && args.lower_beyond.is_none() && !args.has_m2l_kernel();
        if args.expansion.is_none() && (whole || entry.native && is_free) {
            options.basis = Basis::Solid;
        }
        start_threads(args.threads)?;
        Ok(Chosen { entry, place, native, on_gpu, whole, options })
    }
}

/// Particles, plan, run, check, and what was asked for on paper.
pub fn run(args: Args) -> Result<(), Failure> {
    if let Some(world) = ranks::asked(&args) {
        return ranks::run(&args, world);
    }
    let Chosen { entry, place, native, on_gpu, whole, mut options } = Chosen::new(&args)?;
    check(&args, &options, native)?;
    args.tell_of_kernels();
    if let Some(board) = &args.predict.predict {
        return predict::run(&args, board);
    }
    if args.tune {
        return costs::measure();
    }
    let kernels = if native { None } else { Some(Kernels::load(&args, entry, &mut options)?) };
    let mut gpu = on_gpu
        .as_ref()
        .map(|kernel| Gpu::open_cards(entry.name, kernel, args.gpus.unwrap_or(1) as usize))
        .transpose()
        .map_err(failure)?;
    let engine = args.engine.options(place, args.threads)?;
    let mut backend = (entry.open)(&engine);
    if let Some(k) = &kernels {
        let pairs = expected_pairs(&args);
        k.graphs().try_for_each(|graph| backend.prepare(graph, pairs))?;
    }
    let input = files::input(&args)?;
    let known = costs::known();
    if args.leaf.is_none() {
        let is_board = entry.needs == Needs::Device;
        let board = kernels.as_ref().filter(|_| is_board).map(|k| (&k.p2p, engine.clock.mhz));
        let on = (board, native && on_gpu.is_none());
        let cost::Shape { leaf, enlarge } = costs::shape(&known.costs, &args, &options, on, input.particles.len());
        (options.leaf, options.enlarge) = (leaf, enlarge);
    }
    let mut pipelines = kernels.as_ref().map(|k| Pipelines::new(&mut *backend, &k.p2p, k.m2l.as_ref()));
    if let Some(pipelines) = &mut pipelines {
        // The softening length is a parameter in units of the particles' box.
        let Geometry { sources, targets } = input.geometry();
        let map = options.root(&[sources, targets.unwrap_or(sources)]);
        pipelines.check(&options, &map).map_err(failure)?;
    }
    files::save_particles(&args, &input)?;
    let p2p = kernels.as_ref().map(|k| &k.p2p).or(on_gpu.as_ref());
    let task = Task { args: &args, options: &options, input: &input, known: &known, native, p2p };
    let whole =
        gpu.as_mut().filter(|_| whole && !input.particles.is_empty()).map(|gpu| card::run(gpu, &task)).transpose()?;
    let mut executors: Vec<&mut dyn Executor> = pipelines.iter_mut().map(|p| p as &mut dyn Executor).collect();
    executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
    let mut shown = Stages::new(Some(args.backend()));
    let progress = &mut |stage, done, total| shown.at(stage, done, total);
    let (fields, stats) = task.run(whole, &mut executors, progress)?;
    drop(shown);
    files::write(&args, &fields, &stats)
}

/// Refuses options that do not go together.
fn check(args: &Args, options: &FmmOptions, native: bool) -> Result<(), Failure> {
    let refuse = |why: &str| Err(Failure::Usage(why.into()));
    if args.hessian && !native {
        return refuse("kernels have no pins for Hessians; compute them natively, with --backend cpu and no kernel");
    }
    options.check().map_err(failure)?;
    Ok(())
}

pub(super) fn start_threads(threads: usize) -> Result<(), Failure> {
    let is_told = threads > 0 || std::env::var_os("RAYON_NUM_THREADS").is_some();
    let threads = if is_told { threads } else { mpi::cores().unwrap_or(0) };
    if threads == 0 {
        return Ok(());
    }
    // The only pool is the global one; it can be sized once, before its first use.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|e| Failure::Tool(format!("threads cannot be started: {e}")))
}

/// Runs `f` on one of the threads that work is shared out to. On any other thread each loop would be handed over and waited for, and
/// a thread that has waited starts late: small problems took up to a fifth longer so.
fn on_a_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    rayon::join(f, || ()).0
}

/// The leaf size where costs do not choose it.
const LEAF: usize = 64;

/// What was asked for, and for the rest what is best. `native` code alone runs everything.
fn options(args: &Args, native: bool) -> FmmOptions {
    let usual = if args.tol.is_some() { Basis::Solid } else { Basis::Cartesian };
    let precision = args.tol.filter(|_| native).map_or(Precision::F64, tune::precision);
    let mut options = FmmOptions {
        order: args.order.unwrap_or(4),
        lower_beyond: args.lower_beyond,
        theta: args.theta.unwrap_or(0.5),
        leaf: LEAF,
        enlarge: args.enlarge,
        precision: args.precision.map_or(precision, Precision::from),
        basis: args.expansion.map_or(usual, Basis::from),
        eps: args.eps,
        coincident: args.coincident.map_or(Default::default(), Into::into),
        near_only: args.near_only,
        periodic: args.periodic.get(),
        params: args.params.clone(),
    };
    if let Some(wanted) = args.tol {
        options = tune::start(&options, wanted);
    }
    options.leaf = args.leaf.unwrap_or(LEAF);
    options
}

/// About how many pairs there will be, before any particle is read or drawn.
fn expected_pairs(args: &Args) -> u64 {
    // A particle in a file is four numbers of about eight bytes.
    let bytes = |path: &PathBuf| path.metadata().map_or(0, |m| m.len() as usize);
    let n = args.particles.as_ref().map_or(args.n, |path| bytes(path) / 32);
    // A target has the particles of 27 cells for neighbours; cells are half full in the mean.
    n.saturating_mul(n.min(27 * args.leaf.unwrap_or(LEAF) / 2)) as u64
}

pub(super) fn failure(e: FmmError) -> Failure {
    match e {
        FmmError::Backend(e) => e.into(),
        FmmError::Option(text) => Failure::Usage(text),
        e => Failure::Input(e.to_string()),
    }
}
