//! `pairforge fmm --predict BOARD`: what an FMM with P2P, or P2P and M2L, on a board would take, without the board.

mod bitstream;
pub mod fill;
pub mod ranks;
mod tables;

use super::engine::EngineArgs;
use super::files::{self, particles};
use super::{Args, LEAF, failure, options_of_kernels};
use crate::cmd::lanes::{Share, each};
use fmm::data::input::Input;
use fmm::octree::stats::{Pairs, PerKernel, Seconds, Stats};
use fmm::octree::{FmmError, Plan};
use fmm::shown::shown;
use hdl::board::{BOARDS, Board, board, gigabit};
use hdl::circuit::target::{Clock, target};
use hdl::engine::{Config, usual};
use hdl::serial::kernel_hash;
use pairforge::fmm::kernels::{Kernels, generated};
use pg2::graph::Graph;
use pipelines::driver::StreamBackend;
use pipelines::job::Backend;
use pipelines::octree::offload;
use pipelines::octree::offload::Pipelines;
use pipelines::predict::{self, LinkUse, Setup};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::{output, source};

#[derive(clap::Args)]
pub struct PredictArgs {
    /// Predict the times on a board (see `pairforge list boards`), and the best leaf size
    ///
    /// P2P, or P2P and M2L, are on the board, and all else is on this CPU. No board is needed.
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["backend", "check", "output", "report"])]
    pub predict: Option<String>,
    /// With --predict: the folder of `synth --board BOARD`
    ///
    /// It says what --pipelines, --groups, --ii, --jmem, --stream and --freq say otherwise.
    #[arg(long, value_name = "DIR", requires = "predict", conflicts_with_all = ["freq", "pipelines", "groups", "ii", "jmem", "stream"])]
    synth: Option<PathBuf>,
    /// With --predict: clock that the board's PLL is to come close to [default: the usual one of the board]
    ///
    /// Where engines fill the board, the default is a slower clock, which such designs meet.
    #[arg(long, value_name = "MHZ", requires = "predict", value_parser = crate::cmd::build::mhz)]
    freq: Option<f64>,
    /// With --predict: the serial line, at this baud rate [default: the board's, where it has no Ethernet]
    #[arg(long, value_name = "BAUD", requires = "predict", value_parser = clap::value_parser!(u32).range(1..))]
    baud: Option<u32>,
    /// With --predict: the link over Ethernet, which is the default where the board has it
    #[arg(long, requires = "predict", conflicts_with_all = ["baud", "synth"])]
    ethernet: bool,
    /// With --predict: milliseconds until the host answers a byte [default: 2, over Ethernet 0.05]
    ///
    /// With 0 the seconds are those that `board-sim` counts.
    #[arg(long, value_name = "MS", requires = "predict")]
    turnaround: Option<f64>,
}

impl PredictArgs {
    pub fn files(&self, files: Files) -> Files {
        files.made("--synth", &self.synth)
    }

    /// Whether the link of a board that is not made yet goes over Ethernet: its fastest one, unless a line is asked for.
    fn over_ethernet(&self, board: &Board) -> bool {
        board.ethernet.is_some() && self.baud.is_none()
    }

    /// The line's baud rate, 0 for Ethernet, and the milliseconds that the host takes.
    fn line(&self, board: &Board, over_ethernet: bool) -> (u32, f64) {
        match over_ethernet {
            true => (0, self.turnaround.unwrap_or(0.05)),
            false => (self.baud.unwrap_or(board.baud), self.turnaround.unwrap_or(2.0)),
        }
    }
}

/// An FMM whose times on a board are asked for.
pub struct Asked<'a> {
    pub predict: &'a PredictArgs,
    pub kernels: &'a Kernels,
    /// The kind of points: particles, or points of a plane.
    pub what: &'static str,
    pub n: usize,
    pub order: usize,
    pub theta: f64,
    pub leaf: usize,
    /// How many ranks share it, where several do.
    pub ranks: Option<usize>,
    /// Runs it with a leaf size and P2P, or P2P and M2L, on the model of a board.
    pub run: &'a dyn Fn(usize, &Machine) -> Result<Ran, Failure>,
}

/// The requirements of a board.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub predict: &'a PredictArgs,
    pub engine: &'a EngineArgs,
    pub kernels: &'a Kernels,
    /// Pairs that the kernels have to stream.
    pub work: &'a dyn Fn() -> Result<fill::Work, Failure>,
}

/// The times of a run, with those of a board that is not there.
pub struct Ran {
    pub seconds: Seconds,
    pub pairs: Pairs,
    pub cycles: PerKernel<Option<u64>>,
    pub utilisation: PerKernel<Option<f64>>,
    /// The use of the board's link, and how much of the run the model took in its place.
    pub seen: LinkUse,
    pub modelled: f64,
    /// Seconds in which ranks exchanged multipoles and results, where there are ranks.
    pub exchange: Option<f64>,
}

/// The prediction, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Report {
    #[serde(skip)]
    what: &'static str,
    board: &'static str,
    kernel: String,
    n: usize,
    /// Ranks with a board each, where several share it. Seconds are those of the slowest.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<usize>,
    order: usize,
    theta: f64,
    pipelines: u32,
    clock_mhz: f64,
    baud: u32,
    turnaround_ms: f64,
    /// The names of the seconds that are predicted and of those that were measured on this CPU.
    predicted: Vec<&'static str>,
    measured: Vec<&'static str>,
    /// The engines, that of P2P first.
    engines: Vec<Engine>,
    /// The command that makes the bitstream of a board that was filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    synth: Option<String>,
    /// Of the leaf size that was asked for.
    #[serde(flatten)]
    asked: Row,
    seconds: Seconds,
    /// The time of exchanges between ranks, measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange_seconds: Option<f64>,
    pairs: Pairs,
    /// Of P2P.
    cycles: Option<u64>,
    utilisation: Option<f64>,
    /// Of M2L on the board.
    m2l_cycles: Option<u64>,
    m2l_utilisation: Option<f64>,
    bytes_in: u64,
    bytes_out: u64,
    joules: Option<f64>,
    best_leaf: usize,
    leaves: Vec<Row>,
}

/// An engine on the board.
#[derive(Serialize)]
struct Engine {
    kernel: String,
    pipelines: u32,
    groups: u32,
    ii: u32,
}

fn engine(config: &Config) -> Engine {
    let (pipelines, groups, ii) = (config.pipelines, config.groups, config.ii);
    Engine { kernel: config.layout.kernel.clone(), pipelines, groups, ii }
}

/// The stages in the order of the report.
const STAGES: [&str; 9] = ["tree", "p2m", "m2m", "m2l", "l2l", "l2p", "m2p", "p2l", "p2p"];

/// A leaf size.
#[derive(Clone, Serialize)]
struct Row {
    leaf: usize,
    p2p_seconds: f64,
    cpu_seconds: f64,
    total_seconds: f64,
    /// Pairs of P2P in the seconds of P2P.
    pairs_per_second: f64,
}

/// The board as it is or would be.
pub struct Machine {
    board: &'static Board,
    setup: Setup,
    /// For P2P, and for M2L if that is on the board; each with the hash of its kernel.
    engines: Vec<(Config, u64)>,
    joules_per_pair: Option<f64>,
    /// The command that makes its bitstream, where nobody said what is on it.
    synth: Option<String>,
}

/// The use of a modelled board's link.
type Seen = Arc<Mutex<LinkUse>>;

impl Machine {
    /// The model of the board, ready for some kernels.
    pub fn backend(&self, kernels: &Kernels) -> Result<(StreamBackend, Seen), FmmError> {
        let seen = Seen::default();
        let mut backend = predict::backend(self.setup, self.engines.clone(), seen.clone());
        kernels.graphs().try_for_each(|graph| backend.prepare(graph, 0))?;
        Ok((backend, seen))
    }
}

impl Ran {
    /// A run of one process, whose P2P, and M2L if that is on the board, the model took.
    pub fn alone(stats: Stats, kernels: &Kernels, seen: &Seen) -> Ran {
        let Stats { seconds, pairs, cycles, utilisation, .. } = stats;
        let modelled = seconds.p2p + if kernels.m2l.is_some() { seconds.m2l } else { 0.0 };
        Ran {
            seconds,
            pairs,
            cycles,
            utilisation,
            seen: *seen.lock().unwrap_or_else(PoisonError::into_inner),
            modelled,
            exchange: None,
        }
    }
}

impl PredictArgs {
    /// The board of a name, if the options suit it.
    pub fn board(&self, name: &str) -> Result<&'static Board, Failure> {
        let board = board(name).ok_or_else(|| {
            let known = BOARDS.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
            Failure::Usage(format!("there is no board `{}`; the boards are {known}", shown(name)))
        })?;
        if let Some(turnaround) = self.turnaround.filter(|ms| !(0.0..=1000.0).contains(ms)) {
            return Err(Failure::Usage(format!("--turnaround takes 0 to 1000 ms, not {turnaround}")));
        }
        if self.ethernet && board.ethernet.is_none() {
            return Err(Failure::Usage(format!("the board {} has no Ethernet", board.name)));
        }
        Ok(board)
    }
}

/// The kernels on the board.
fn kernels(args: &Args, board: &Board) -> Result<Kernels, Failure> {
    let p2p = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    let m2l = m2l(args, board, &p2p)?;
    offload::bind(&p2p, m2l.as_ref(), &options_of_kernels(args)).map_err(failure)?;
    Ok(Kernels { p2p, m2l })
}

/// Predicts the leaf size that was asked for and those around the best.
pub fn run(args: &Args, name: &str) -> Result<(), Failure> {
    let board = args.predict.board(name)?;
    let kernels = kernels(args, board)?;
    let particles = particles(args)?;
    if let Some(path) = &args.save_particles {
        files::save(path, &Input::from(particles.clone()).columns())?;
    }
    let plan = |leaf: usize| {
        let options = fmm::octree::FmmOptions { leaf, ..options_of_kernels(args) };
        Plan::new(particles.columns(), &options).map_err(failure)
    };
    let ran = |leaf: usize, machine: &Machine| {
        let (mut backend, seen) = machine.backend(&kernels).map_err(failure)?;
        let mut pipelines = Pipelines::new(&mut backend, &kernels.p2p, kernels.m2l.as_ref());
        let executors: &mut [&mut dyn fmm::octree::executor::Executor] = &mut [&mut pipelines];
        let stats = plan(leaf)?.solve(&particles.q, executors, &mut |_, _, _| {}).map_err(failure)?.stats;
        Ok(Ran::alone(stats, &kernels, &seen))
    };
    let leaf = args.leaf.unwrap_or(LEAF);
    let work = || plan(leaf).map(|plan| fill::Work { p2p: plan.pairs.p2p, m2l: plan.pairs.m2l });
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = wanted.machine(board)?;
    asked(args, &kernels, particles.len(), &ran).report(&machine)?.write(&args.json)
}

/// An FMM by its options.
fn asked<'a>(
    args: &'a Args,
    kernels: &'a Kernels,
    n: usize,
    run: &'a dyn Fn(usize, &Machine) -> Result<Ran, Failure>,
) -> Asked<'a> {
    let (theta, leaf) = (args.theta.unwrap_or(0.5), args.leaf.unwrap_or(LEAF));
    let order = options_of_kernels(args).order;
    Asked { predict: &args.predict, kernels, what: "particles", n, order, theta, leaf, ranks: None, run }
}

impl Report {
    /// Writes it where that is asked for, and prints its table.
    pub fn write(&self, json: &Option<PathBuf>) -> Result<(), Failure> {
        if let Some(path) = json {
            output::write_json(path, self)?;
        }
        output::print(&tables::text(self))
    }
}

/// Whether engines for both kernels fill the board, since nobody says how many lanes there are.
fn fills(predict: &PredictArgs, engine: &EngineArgs, board: &Board) -> bool {
    predict.synth.is_none()
        && predict.over_ethernet(board)
        && engine.lanes.pipelines.is_empty()
        && engine.fold.ii == [1]
}

/// The M2L kernel that is on the board too, if one is: it is named, there are numbers for a second engine, both fill the board, or
/// both are in the bitstream.
fn m2l(args: &Args, board: &Board, p2p: &Graph) -> Result<Option<Graph>, Failure> {
    match (args.m2l.as_deref(), &args.predict.synth) {
        (Some(name), _) if name == super::NATIVE => Ok(None),
        (Some(file), _) => Ok(Some(source::load(file)?.1)),
        (None, Some(dir)) => bitstream::m2l(board, dir, p2p, &options_of_kernels(args)),
        (None, None) => {
            let several = args.engine.lanes.pipelines.len() > 1 || args.engine.fold.ii.len() > 1;
            let is_there = several || fills(&args.predict, &args.engine, board);
            is_there.then(|| Ok::<Graph, Failure>(generated(options_of_kernels(args).order)?)).transpose()
        }
    }
}

fn hashed(graph: &Graph, config: Config) -> (Config, u64) {
    (config, kernel_hash(&graph.canonical()))
}

/// The board with engines as `build` makes them.
fn planned(wanted: &Wanted, board: &'static Board) -> Result<Machine, Failure> {
    let Wanted { predict, engine: args, kernels, work } = *wanted;
    let target = target(board.device.target).expect("every board's device names a target");
    let over_ethernet = predict.over_ethernet(board);
    let next = |wanted: f64| {
        let mhz = match over_ethernet {
            true => gigabit::clocks(board, wanted).map(|clocks| clocks.mhz),
            false => board.pll.source(board.oscillator_mhz, wanted).map(|(_, mhz)| mhz),
        };
        mhz.map_err(Failure::Usage)
    };
    let is_full = fills(predict, args, board) && kernels.m2l.is_some();
    let usual = if is_full { board.full_mhz } else { board.usual_mhz };
    let clock_mhz = next(predict.freq.unwrap_or(usual))?;
    // Of a full device, pipelines are scheduled for a faster clock than it runs at.
    let mhz = next(predict.freq.unwrap_or(board.usual_mhz))?;
    let clock = Clock { target, mhz, blocks: None };
    let all: Vec<&Graph> = kernels.graphs().collect();
    let mut share = Share::of(Some(board.device), all.len());
    share.jmem_words = args.jmem.unwrap_or(share.jmem_words);
    let around = fill::Around { share, stream_bits: args.stream() };
    let filled = match is_full {
        true => {
            let found = fill::fill(board, clock, kernels, &around, work()?);
            let (device, remedy) = (board.device.name, "leave M2L to the CPU by --m2l native");
            Some(found.ok_or_else(|| Failure::Input(format!("P2P and M2L do not fit {device} together; {remedy}")))?)
        }
        false => None,
    };
    let asked = |k: usize| match (filled, (k, all.len())) {
        (Some(filled), _) => Ok([(filled.p2p, 1), (1, filled.m2l_ii)][k]),
        (None, place) => Ok((args.lanes.of(place)?.0, each(&args.fold.ii, place, "--ii")?)),
    };
    let lanes = (0..all.len()).map(asked).collect::<Result<Vec<(u32, u32)>, Failure>>()?;
    // As `synth` shares them out.
    let blocks = board.device.multipliers / lanes.iter().map(|(pipelines, _)| pipelines).sum::<u32>();
    let clock = Clock { blocks: Some(blocks), ..clock };
    let engine = |(k, graph): (usize, &&Graph)| {
        let (pipelines, ii) = lanes[k];
        let built = pg2::backend::build::build_folded(graph, (clock, ii), "", Vec::new());
        let groups = args.lanes.groups.of(pipelines, (k, all.len()))?;
        Ok(hashed(graph, Config { groups, ..fill::config(&built, pipelines, &around) }))
    };
    let engines = all.iter().enumerate().map(engine).collect::<Result<_, Failure>>()?;
    let (baud, turnaround) = predict.line(board, over_ethernet);
    let setup = Setup { clock_mhz, baud, turnaround: turnaround / 1e3 };
    let synth = filled.map(|filled| synth(wanted, &filled, (clock_mhz, mhz), board));
    Ok(Machine { board, setup, engines, joules_per_pair: None, synth })
}

/// The command that makes the bitstream of a board that was filled.
fn synth(wanted: &Wanted, filled: &fill::Filled, (clock_mhz, scheduled_mhz): (f64, f64), board: &Board) -> String {
    let file = |name: &str| match name.replacen("m2l_p", "m2l_", 1) {
        shipped if pg2::kernels::find(&shipped).is_some() => shipped,
        _ => format!("{name}.pg2"),
    };
    let kernels: Vec<String> = wanted.kernels.graphs().map(|graph| file(&graph.name)).collect();
    let mut command = format!(
        "pairforge synth {} --board {} --ethernet --pipelines {},1 --ii 1,{} --freq {clock_mhz}",
        kernels.join(" "),
        board.name,
        filled.p2p,
        filled.m2l_ii
    );
    if scheduled_mhz != clock_mhz {
        command += &format!(" --schedule {scheduled_mhz}");
    }
    if let Some(words) = wanted.engine.jmem {
        command += &format!(" --jmem {words}");
    }
    if wanted.engine.stream() != usual::STREAM_BITS {
        command += &format!(" --stream {}", wanted.engine.stream());
    }
    command + " -o DIR"
}

/// Everything about one leaf size.
struct One {
    row: Row,
    seconds: Seconds,
    pairs: Pairs,
    cycles: PerKernel<Option<u64>>,
    utilisation: PerKernel<Option<f64>>,
    seen: LinkUse,
    exchange: Option<f64>,
}

/// Runs an FMM whose P2P, and M2L if that is on the board, go through the model of the board.
fn one(asked: &Asked, machine: &Machine, leaf: usize) -> Result<One, Failure> {
    let Ran { mut seconds, pairs, cycles, utilisation, seen, modelled, exchange } = (asked.run)(leaf, machine)?;
    let cpu = seconds.total - modelled;
    (seconds.p2p, seconds.total) = (seen.seconds, cpu + seen.seconds);
    if asked.kernels.m2l.is_some() {
        // Both are done when the board is: it runs them at the same time.
        seconds.m2l = 0.0;
    }
    let row = Row {
        leaf,
        p2p_seconds: seen.seconds,
        cpu_seconds: cpu,
        total_seconds: seconds.total,
        pairs_per_second: if seen.seconds > 0.0 { pairs.p2p as f64 / seen.seconds } else { 0.0 },
    };
    Ok(One { row, seconds, pairs, cycles, utilisation, seen, exchange })
}

impl Wanted<'_> {
    /// The board with its engines.
    pub fn machine(&self, board: &'static Board) -> Result<Machine, Failure> {
        match &self.predict.synth {
            Some(dir) => bitstream::machine(self, board, dir),
            None => planned(self, board),
        }
    }
}

/// Leaf sizes that are looked at first.
const LEAVES: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];

impl Asked<'_> {
    /// Everything about the leaf size that was asked for, and the best one.
    pub fn report(&self, machine: &Machine) -> Result<Report, Failure> {
        predicted(self, machine)
    }
}

fn predicted(fmm: &Asked, machine: &Machine) -> Result<Report, Failure> {
    let kernels = fmm.kernels;
    let asked = one(fmm, machine, fmm.leaf)?;
    let mut rows = vec![asked.row.clone()];
    let look = |leaf: usize, rows: &mut Vec<Row>| -> Result<(), Failure> {
        if leaf > 0 && rows.iter().all(|r| r.leaf != leaf) {
            rows.push(one(fmm, machine, leaf)?.row);
        }
        Ok(())
    };
    let best = |rows: &[Row]| rows.iter().min_by(|a, b| a.total_seconds.total_cmp(&b.total_seconds)).map(|r| r.leaf);
    // From the number of particles on, all leaf sizes are one.
    let most = fmm.n.max(LEAVES[0]);
    for leaf in LEAVES.into_iter().filter(|l| *l < 2 * most) {
        look(leaf, &mut rows)?;
    }
    // Then half way to both neighbours.
    if let Some(found) = best(&rows) {
        for step in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
            look((found as f64 * step).round() as usize, &mut rows)?;
        }
    }
    let is_predicted = |stage: &str| stage == "p2p" || stage == "m2l" && kernels.m2l.is_some();
    let best_leaf = best(&rows).unwrap_or(fmm.leaf);
    rows.sort_by_key(|r| r.leaf);
    Ok(Report {
        what: fmm.what,
        board: machine.board.name,
        kernel: kernels.p2p.name.clone(),
        n: fmm.n,
        ranks: fmm.ranks,
        order: fmm.order,
        theta: fmm.theta,
        pipelines: machine.engines[0].0.pipelines,
        engines: machine.engines.iter().map(|(config, _)| engine(config)).collect(),
        synth: machine.synth.clone(),
        clock_mhz: machine.setup.clock_mhz,
        baud: machine.setup.baud,
        turnaround_ms: fmm.predict.line(machine.board, machine.setup.baud == 0).1,
        predicted: STAGES.into_iter().filter(|stage| is_predicted(stage)).collect(),
        measured: STAGES.into_iter().filter(|stage| !is_predicted(stage)).collect(),
        joules: machine.joules_per_pair.map(|j| j * asked.pairs.p2p as f64),
        asked: asked.row,
        seconds: asked.seconds,
        exchange_seconds: asked.exchange,
        pairs: asked.pairs,
        cycles: asked.cycles.p2p,
        utilisation: asked.utilisation.p2p,
        m2l_cycles: asked.cycles.m2l,
        m2l_utilisation: asked.utilisation.m2l,
        bytes_in: asked.seen.bytes_in,
        bytes_out: asked.seen.bytes_out,
        best_leaf,
        leaves: rows,
    })
}
