//! `pairforge nbody`: an N-body simulation with the forces of an FMM, or of direct sums, on a backend.

mod compare;
mod figure;
mod folder;
mod resumed;
mod start;
mod track;

use super::fmm::engine::EngineArgs;
use super::fmm::{ExpansionArg, PrecisionArg, param, tolerance};
use clap::ValueEnum;
use folder::Folder;
use pairforge::backends::{self, FMM_DEFAULT};
use std::path::PathBuf;
use std::time::Instant;
use terminal::count::{count, threads};
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::particles::TextArgs;
use terminal::program::start_threads;
use terminal::progress::Progress;
use terminal::say;
use terminal::snapshot::Units;
use track::Track;

#[derive(clap::Args)]
pub struct Args {
    /// Arrangement of the bodies at the start
    #[arg(long, value_enum, default_value = "plummer")]
    model: ModelArg,
    /// Number of bodies
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = bodies)]
    n: usize,
    /// Seed of the bodies
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Central potential W0 of King models, 0.1 to 16
    #[arg(long, value_name = "W0", default_value_t = 6.0)]
    w0: f64,
    /// Kinetic energy over the magnitude of the potential energy at the start of a collapse, from 0 to below 1
    #[arg(long, value_name = "Q", default_value_t = 0.05)]
    virial: f64,
    /// Model of each of two galaxies
    #[arg(long, value_enum, default_value = "plummer")]
    galaxy: GalaxyArg,
    /// Mass of the second galaxy over that of the first
    #[arg(long, value_name = "R", default_value_t = 1.0)]
    mass_ratio: f64,
    /// Distance of the galaxies' centres at the start
    #[arg(long, value_name = "D", default_value_t = 6.0)]
    separation: f64,
    /// Distance of the galaxies' centres at the closest approach of their parabola
    #[arg(long, value_name = "D", default_value_t = 0.5)]
    pericentre: f64,
    /// Read bodies (columns x,y,z,m,vx,vy,vz) instead, in units in which G = 1: CSV, .npy, .npz, or a snapshot in HDF5
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "n", "seed"])]
    bodies: Option<PathBuf>,
    #[command(flatten)]
    text: TextArgs,
    /// Softening length: 1/sqrt(r^2 + E^2) in place of 1/r [default: 1/sqrt(N), of hermite 0]
    #[arg(long, value_name = "E", value_parser = length)]
    eps: Option<f64>,
    /// Scheme: leapfrog with constant steps, or Hermite's of fourth order with block time steps and direct sums
    #[arg(long, value_enum, default_value = "leapfrog")]
    integrator: IntegratorArg,
    /// Accuracy of Hermite's scheme: steps of bodies go with its square root
    #[arg(long, value_name = "ETA", default_value_t = 0.02, value_parser = positive)]
    eta: f64,
    /// Length of a step; of hermite the longest one of a body
    #[arg(long, value_name = "DT", default_value_t = 1.0 / 256.0, value_parser = positive)]
    step: f64,
    /// Time at which the run ends; a crossing time is 2 sqrt 2 [default: 1]
    #[arg(long, value_name = "T", value_parser = positive)]
    until: Option<f64>,
    /// Backend that computes the forces (see `pairforge list backends`)
    #[arg(long, value_name = "B", default_value = FMM_DEFAULT.name)]
    backend: String,
    /// Run a second integration on this backend beside it, and show where they part
    #[arg(long, value_name = "B")]
    compare: Option<String>,
    /// Sum over all pairs by P2P, without a far field
    #[arg(long, conflicts_with_all = ["tol", "order", "theta", "leaf", "expansion"])]
    direct: bool,
    /// P2P kernel with a gradient: a file or a shipped kernel [default: native code; on pipelines p2p]
    #[arg(long, value_name = "FILE.pg2")]
    p2p: Option<String>,
    /// A parameter of the P2P kernel's own
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, requires = "p2p")]
    params: Vec<(String, f64)>,
    /// Order, precision and leaf size are those that a relative L2 error of the first forces of at most E takes
    #[arg(long, value_name = "E", value_parser = tolerance, conflicts_with = "order")]
    tol: Option<f64>,
    /// Expansion order P [default: 4, or what --tol needs]
    #[arg(long, value_name = "P")]
    order: Option<usize>,
    /// Opening angle, above 0 and up to 0.5 [default: 0.5, or what --tol needs]
    #[arg(long, value_name = "T")]
    theta: Option<f64>,
    /// Bodies up to which a cell stays a leaf [default: by what the stages cost]
    #[arg(long, value_name = "N")]
    leaf: Option<usize>,
    /// Basis of the expansions [default: as `fmm` has it]
    #[arg(long, value_enum)]
    expansion: Option<ExpansionArg>,
    /// Arithmetic of native code [default: f64, or what --tol needs]
    #[arg(long, value_enum)]
    precision: Option<PrecisionArg>,
    /// Threads; 0 for one a core. Results do not depend on them
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads)]
    threads: usize,
    #[command(flatten)]
    engine: EngineArgs,
    /// Folder of the run: energy.csv, energy.svg, snapshots, and restart.hdf5
    #[arg(short, value_name = "DIR", required_unless_present = "resume")]
    output: Option<PathBuf>,
    /// Go on with the run of a folder, from its last restart.hdf5: its files get the bytes that they have without an interruption
    ///
    /// Everything is as it was begun; --until can be later.
    #[arg(long, value_name = "DIR", conflicts_with_all = BEGINNING)]
    resume: Option<PathBuf>,
    /// Steps from one snapshot to the next [default: the first and the last one alone]
    #[arg(long, value_name = "K", value_parser = steps)]
    snapshot_every: Option<u64>,
    /// Format of snapshots: HDF5 in Gadget's layout, or CSV with the columns x,y,z,m,vx,vy,vz
    #[arg(long, value_enum, default_value = "hdf5")]
    snapshots: SnapshotArg,
    /// Steps from one line of energy.csv to the next
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = steps)]
    log_every: u64,
    /// Steps from one restart.hdf5 to the next; there is one in the end too
    #[arg(long, value_name = "K", default_value_t = 100, value_parser = steps)]
    restart_every: u64,
    /// Unit of length in parsecs, for programs that show physical units of snapshots
    #[arg(long, value_name = "PC", default_value_t = 1.0, value_parser = positive)]
    unit_length: f64,
    /// Unit of mass in masses of the Sun
    #[arg(long, value_name = "MSUN", default_value_t = 1.0, value_parser = positive)]
    unit_mass: f64,
}

/// The options that say what a run begins with.
const BEGINNING: [&str; 38] = [
    "bodies",
    "delimiter",
    "integrator",
    "eta",
    "compare",
    "model",
    "n",
    "seed",
    "w0",
    "virial",
    "galaxy",
    "mass_ratio",
    "separation",
    "pericentre",
    "eps",
    "step",
    "backend",
    "direct",
    "p2p",
    "params",
    "tol",
    "order",
    "theta",
    "leaf",
    "expansion",
    "precision",
    "output",
    "snapshot_every",
    "snapshots",
    "log_every",
    "restart_every",
    "unit_length",
    "unit_mass",
    "pipelines",
    "groups",
    "ii",
    "jmem",
    "stream",
];

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModelArg {
    /// Plummer's sphere in equilibrium
    Plummer,
    /// King's model in equilibrium
    King,
    /// A uniform sphere that is too cold to stay
    Collapse,
    /// Two galaxies that meet on a parabola
    Galaxies,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum IntegratorArg {
    Leapfrog,
    Hermite,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GalaxyArg {
    Plummer,
    King,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SnapshotArg {
    Hdf5,
    Csv,
    None,
}

fn bodies(text: &str) -> Result<usize, String> {
    match count(text)? {
        0 => Err("at least one body must be there".into()),
        n => Ok(n),
    }
}

fn steps(text: &str) -> Result<u64, String> {
    terminal::count::within(text, 1, MOST_STEPS)
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        x if x > 0.0 && x.is_finite() => Ok(x),
        x => Err(format!("a number above 0 is needed, not {x:?}")),
    }
}

fn length(text: &str) -> Result<f64, String> {
    match text.parse::<f64>().map_err(|e| e.to_string())? {
        x if x >= 0.0 && x.is_finite() => Ok(x),
        x => Err(format!("a length is 0 or above, not {x:?}")),
    }
}

/// More steps are not told apart as f64.
const MOST_STEPS: u64 = 1 << 53;

impl Args {
    pub fn files(&self) -> Files {
        let files = Files::default().particles("--bodies", &self.bodies);
        files.kernels("--p2p", &self.p2p).fills("-o", &self.output).fills("--resume", &self.resume)
    }

    fn units(&self) -> Units {
        Units { length: self.unit_length, mass: self.unit_mass }
    }

    /// The number of steps of the whole run, which ends at the first one that is not before its end.
    fn total(&self) -> Result<u64, Failure> {
        let (until, step) = (self.until.unwrap_or(1.0), self.step);
        let steps = (until / step * (1.0 - 1e-12)).ceil();
        match steps <= MOST_STEPS as f64 {
            true => Ok(steps as u64),
            false => Err(Failure::Usage(format!("a run until {until:?} in steps of {step:?} has too many of them"))),
        }
    }

    /// Steps between two snapshots.
    fn between_snapshots(&self, total: u64) -> u64 {
        self.snapshot_every.unwrap_or(total.max(1))
    }
}

/// Begins a run or takes one up, and goes through its steps.
pub fn run(args: Args) -> Result<(), Failure> {
    start_threads(args.threads)?;
    match args.resume.clone() {
        Some(folder) => resumed::run(args, folder),
        None => {
            let total = args.total()?;
            let folder = Folder::new(args.output.as_deref().expect("it is required"))?;
            let backends = std::iter::once(&args.backend).chain(&args.compare);
            let tracks = backends.map(|backend| start::track(&args, backend)).collect::<Result<Vec<_>, _>>()?;
            Run { args: &args, folder, tracks, words: resumed::words(), total }.go(true)
        }
    }
}

/// A run on its way.
struct Run<'a> {
    args: &'a Args,
    folder: Folder,
    /// The integration, and one beside it.
    tracks: Vec<Track>,
    /// The words of the command line that began it.
    words: Vec<String>,
    total: u64,
}

impl Run<'_> {
    fn go(mut self, is_new: bool) -> Result<(), Failure> {
        if is_new {
            self.log()?;
            self.snapshot(0)?;
        }
        let first = self.tracks[0].steps();
        let what = format!("{} bodies on {}", self.tracks[0].len(), self.args.backend);
        let mut progress = Progress::of_steps(what, first, self.total);
        let start = Instant::now();
        for step in first + 1..=self.total {
            self.tracks.iter_mut().try_for_each(Track::advance)?;
            if step.is_multiple_of(self.args.log_every) || step == self.total {
                self.log()?;
            }
            if step.is_multiple_of(self.args.between_snapshots(self.total)) || step == self.total {
                self.snapshot(step)?;
            }
            if step.is_multiple_of(self.args.restart_every) && step < self.total {
                self.keep()?;
            }
            progress.at((step - first) as usize);
        }
        drop(progress);
        let seconds = start.elapsed().as_secs_f64();
        self.keep()?;
        self.folder.finish()?;
        self.tell(seconds / self.total.saturating_sub(first) as f64)
    }

    fn log(&mut self) -> Result<(), Failure> {
        self.tracks.iter_mut().try_for_each(Track::observe)?;
        compare::note(&mut self.tracks)
    }

    fn snapshot(&mut self, step: u64) -> Result<(), Failure> {
        if matches!(self.args.snapshots, SnapshotArg::None) {
            return Ok(());
        }
        let number = step.div_ceil(self.args.between_snapshots(self.total));
        let observed = self.tracks[0].integrator.observed()?;
        self.folder.snapshot(&observed, number, self.args)
    }

    /// Writes what the run can be taken up from, and what has been found so far.
    fn keep(&mut self) -> Result<(), Failure> {
        let kept = self.tracks.iter_mut().map(Track::kept).collect::<Result<Vec<_>, _>>()?;
        let hash = start::hash(self.args)?;
        let time = self.tracks[0].integrator.time();
        self.folder.restart((time, kept), self.args.units(), &self.words, hash)?;
        self.folder.energies(&self.tracks, self.args)?;
        self.folder.comparison(&self.tracks, self.args)
    }

    /// Says what came out, and the seconds that a step took, if there was one.
    fn tell(&self, seconds: f64) -> Result<(), Failure> {
        for track in &self.tracks {
            let Some((first, last)) = track.log.first().zip(track.log.last()) else { continue };
            let (first, sums) = (first.sums.energy(), &last.sums);
            say!(
                "  {} bodies on {}, {} steps to t = {}: energy {:.6}, changed by {:.1e} of itself",
                track.len(),
                track.backend,
                track.steps(),
                sums.time,
                sums.energy(),
                (sums.energy() - first) / first
            )?;
            if let Some(remark) = track.integrator.remark() {
                say!("  {remark}")?;
            }
            if last.apart > 0.0 {
                say!("  bodies are {:.1e} apart, as a root mean square", last.apart)?;
            }
        }
        if seconds.is_finite() {
            say!("  {:.2} ms a step, with what is written meanwhile", 1e3 * seconds)?;
        }
        say!("  {}", self.folder.summary())
    }
}

/// The backend's row, checked against the options for engines.
fn entry(args: &Args, backend: &str) -> Result<(&'static backends::Entry, String), Failure> {
    let (entry, place) = backends::find(backend).map_err(|e| Failure::Usage(e.to_string()))?;
    args.engine.check(entry, false)?;
    Ok((entry, place.to_string()))
}
