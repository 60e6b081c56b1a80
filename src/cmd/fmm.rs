//! `pairforge fmm`: the Fast Multipole Method with P2P and M2L on a backend.

mod costs;
pub(super) mod engine;
pub(super) mod files;
pub(super) mod page;
mod periodic;
pub(super) mod predict;
mod ranks;
pub(super) mod roofline;
mod slice;
mod table;

use clap::ValueEnum;
use engine::EngineArgs;
use fmm::data::random::{Charge, Distribution};
use fmm::octree::FmmOptions;
use fmm::parallel::on_a_thread;
use pairforge::backends::{self, BACKENDS, FMM_DEFAULT};
use pairforge::fmm::costs::LEAF;
use pairforge::fmm::route::{self, Route};
use pairforge::fmm::solver::Solver;
use pairforge::fmm::{Basis, Coincident, M2l, Options, Precision, Problem, Solutions, Solved, Translations};
use pairforge::kernel::Kernel;
pub use ranks::{ErrorReporter, error_reporter};
pub(in crate::cmd) use ranks::{agreed, failure_of, of_rank};
use std::path::PathBuf;
use terminal::count::{count, threads};
use terminal::failure::Failure;
use terminal::particles::TextArgs;
use terminal::program::start_threads;
use terminal::progress::Stages;
use terminal::{output, source};

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
    /// Read particles (columns x,y,z,q, dipoles px,py,pz, more charges q2) instead: CSV, .npy, .npz, HDF5, LAMMPS dumps or data
    ///
    /// FILE:/PLACE names a dataset, group or frame inside of a file (docs/guides/files.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "dist", "charge"])]
    particles: Option<PathBuf>,
    /// Compute the field at these points (columns x,y,z), not at the particles
    #[arg(long, value_name = "FILE", conflicts_with = "predict")]
    targets: Option<PathBuf>,
    #[command(flatten)]
    text: TextArgs,
    /// Compute the field at the particles too, and write it to this file (.csv, or .npy, .vtk, .vtu by its ending)
    #[arg(long, value_name = "OUT", requires = "targets")]
    at_sources: Option<PathBuf>,
    /// Compute second derivatives too: the columns hxx,hxy,hxz,hyy,hyz,hzz
    #[arg(long, conflicts_with = "predict")]
    hessian: bool,
    /// Write the particles (.csv, or .npy, .vtk, .vtu by its ending)
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
    expansion: Option<ExpansionArg>,
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
    /// Write potential,gx,gy,gz in the order of the input (.csv, or .npy, .vtk, .vtu by its ending)
    #[arg(short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write statistics
    #[arg(long, value_name = "STATS.json")]
    json: Option<PathBuf>,
    /// Write a page with what ran when, the tree, and how errors are spread
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    periodic: periodic::PeriodicArgs,
    #[command(flatten)]
    predict: predict::PredictArgs,
}

/// The word that `--m2l` takes in place of a kernel.
const NATIVE: &str = "native";

/// The least memory of an FMM for each particle: itself, its place in the tree, its potential and gradient.
pub const BYTES_A_PARTICLE: u64 = 200;

/// clap's view of an enumeration of the library.
macro_rules! choice {
    ($name:ident => $of:ty { $($word:ident),* }) => {
        #[derive(Clone, Copy, ValueEnum)]
        pub enum $name { $($word),* }
        impl From<$name> for $of {
            fn from(x: $name) -> $of {
                match x { $($name::$word => <$of>::$word),* }
            }
        }
    };
}
choice!(PlaceArg => Translations { Cpu, Gpu });
choice!(DistArg => Distribution { Uniform, Normal, Layer, Sphere, Plummer });
choice!(ChargeArg => Charge { Random, Positive, Mass });
choice!(ExpansionArg => Basis { Cartesian, Solid, Chebyshev });
choice!(CoincidentArg => Coincident { Include, Exclude });
choice!(PrecisionArg => Precision { F32, F64 });

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
    /// The options for the library; kernels that are named are read and compiled.
    fn asked(&self) -> Result<Options, Failure> {
        let mut asked = Options::default().backend(self.backend());
        let kernel = |file: &String| source::load(file).map(|(_, graph)| Kernel::of_graph(graph));
        // A prediction reads its kernels itself.
        if self.predict.predict.is_none() {
            asked = asked.engine(self.engine.options("", self.threads)?);
            if let Some(file) = &self.p2p {
                let kernel = kernel(file)?;
                asked = asked.kernel(self.params.iter().fold(kernel, |k, (name, value)| k.with_param(name, *value)));
            }
            asked = match &self.m2l {
                None => asked,
                Some(word) if word == NATIVE => asked.m2l(M2l::Native),
                Some(file) => asked.m2l(M2l::Kernel(kernel(file)?)),
            };
        }
        Ok(self.with_numbers(asked))
    }

    /// Options of the method.
    fn with_numbers(&self, asked: Options) -> Options {
        let asked = asked.enlarge(self.enlarge).softening(self.eps).near_only(self.near_only).hessian(self.hessian);
        let mut asked = asked.budget(self.budget).seed(self.seed);
        macro_rules! given {
            ($($value:expr => $option:ident),*) => {
                $(if let Some(value) = $value { asked = asked.$option(value); })*
            };
        }
        given!(
            self.translations.map(Translations::from) => translations,
            self.gpus.map(|count| count as usize) => gpus,
            self.tol => tolerance,
            self.order => order,
            self.lower_beyond => lower_beyond,
            self.theta => theta,
            self.leaf => leaf,
            self.expansion.map(Basis::from) => expansion,
            self.precision.map(Precision::from) => precision,
            self.coincident.map(Coincident::from) => coincident,
            self.periodic.get() => periodic,
            self.check => samples
        );
        asked
    }

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

/// Options of the library with the route that follows from them.
struct Chosen {
    asked: Options,
    route: Route,
}

impl Chosen {
    fn new(args: &Args) -> Result<Chosen, Failure> {
        let asked = args.asked()?;
        let (entry, _) = backends::find(args.backend()).map_err(|e| Failure::Usage(e.to_string()))?;
        if args.predict.predict.is_none() {
            args.engine.check(entry, args.report.is_some())?;
        }
        let route = Route::new(&asked)?;
        start_threads(args.threads)?;
        Ok(Chosen { asked, route })
    }
}

/// Particles, plan, run, check, and what was asked for on paper.
pub fn run(args: Args) -> Result<(), Failure> {
    if let Some(world) = ranks::asked(&args) {
        return ranks::run(&args, world);
    }
    let Chosen { asked, route } = Chosen::new(&args)?;
    route.check(&asked)?;
    args.tell_of_kernels();
    if let Some(board) = &args.predict.predict {
        return predict::run(&args, board);
    }
    if args.tune {
        return costs::measure();
    }
    let (is_on_cpu, is_native) = (route.is_on_cpu(), route.native);
    let mut solver = Solver::on(asked, route)?;
    if !is_native {
        solver.prepare(expected_pairs(&args))?;
    }
    let input = files::input(&args)?;
    costs::warn(&solver.known);
    let problem = Problem { geometry: input.geometry(), sets: input.sources() };
    solver.check(&problem)?;
    files::save_particles(&args, &input)?;
    let place = (!is_on_cpu).then(|| args.backend());
    let mut solve = || {
        let mut shown = Stages::new(place);
        solver.solve(&problem, &mut |stage, done, total| shown.at(stage, done, total))
    };
    let solved = if is_on_cpu { on_a_thread(solve) } else { solve() };
    let Solved { solutions: Solutions { fields, stats }, plan } = solved?;
    let results = files::Results { fields: &fields, stats: &stats, ranks: None, plan: plan.as_ref() };
    files::write(&args, &problem.geometry, &results)
}

/// About how many pairs there will be, before any particle is read or drawn.
fn expected_pairs(args: &Args) -> u64 {
    // A particle in a file is four numbers of about eight bytes.
    let bytes = |path: &PathBuf| path.metadata().map_or(0, |m| m.len() as usize);
    let n = args.particles.as_ref().map_or(args.n, |path| bytes(path) / 32);
    // A target has the particles of 27 cells for neighbours; cells are half full in the mean.
    n.saturating_mul(n.min(27 * args.leaf.unwrap_or(LEAF) / 2)) as u64
}

/// Options of the method where kernels run all of P2P and M2L.
fn options_of_kernels(args: &Args) -> FmmOptions {
    let params = args.params.clone();
    FmmOptions { params, ..route::options(&args.with_numbers(Options::default()), false) }
}
