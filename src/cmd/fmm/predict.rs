//! `pairforge fmm --predict BOARD`: what an FMM with P2P, or P2P and M2L, on a board would take, without the board.

mod bitstream;
pub mod ranks;
mod tables;

use super::engine::EngineArgs;
use super::files::{self, plain};
use super::{Args, LEAF, options_of_kernels};
use crate::cmd::lanes::{FilterArgs, each};
use fmm::data::input::Input;
use fmm::octree::{FmmOptions, Plan};
use hdl::board::Board;
use hdl::engine::usual;
use pairforge::fmm::kernels::{Kernels, generated};
use pairforge::fmm::predict::fill::{Filled, Work};
use pairforge::fmm::predict::machine::{self, Lanes, Link, Machine, Planned};
use pairforge::fmm::predict::{Question, Ran, Report};
use pairforge::kernel::parts::{Part, part};
use pg2::graph::Graph;
use pipelines::octree::offload;
use pipelines::octree::offload::Pipelines;
use std::path::PathBuf;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::progress::Steps;
use terminal::{output, source};

#[derive(clap::Args)]
pub struct PredictArgs {
    /// Predict the times on a board or a device (see `pairforge list boards` and `devices`), and the best leaf size
    ///
    /// P2P, or P2P and M2L, are on the board, and all else is on this CPU. No board is needed.
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["backend", "check", "output", "report"])]
    pub predict: Option<String>,
    /// With --predict: the folder of `synth --board BOARD`
    ///
    /// It says what --pipelines, --groups, --filters, --ii, --jmem, --stream and --freq say otherwise.
    #[arg(long, value_name = "DIR", requires = "predict", conflicts_with_all = ["freq", "pipelines", "groups", "filters", "ii", "jmem", "stream"])]
    synth: Option<PathBuf>,
    /// With --predict: filters in front of each pipeline, of a P2P kernel with `where (condition);`
    #[arg(long, value_name = "F", requires = "predict", value_parser = FilterArgs::range())]
    filters: Option<u32>,
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
    /// Filters of each pipeline of P2P; 0 for none.
    fn filters(&self) -> u32 {
        self.filters.unwrap_or(0)
    }

    pub fn files(&self, files: Files) -> Files {
        files.made("--synth", &self.synth)
    }

    /// Whether the link of a board that is not made yet goes over Ethernet: its fastest one, unless a line is asked for.
    fn over_ethernet(&self, board: &Board) -> bool {
        board.ethernet.is_some() && self.baud.is_none()
    }

    /// The link, with the milliseconds that the host takes.
    fn link(&self, board: &Board, over_ethernet: bool) -> Link {
        let usual = if over_ethernet { Link::GIGABIT } else { Link::serial(self.baud.unwrap_or(board.baud)) };
        Link { turnaround_ms: self.turnaround.unwrap_or(usual.turnaround_ms), ..usual }
    }
}

/// The device of a prediction.
#[derive(Clone, Copy)]
pub enum Place {
    Board(&'static Board),
    /// Filled with lanes.
    Part(&'static Part),
}

/// The requirements of a board.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub predict: &'a PredictArgs,
    pub engine: &'a EngineArgs,
    pub kernels: &'a Kernels,
    /// Pairs that the kernels have to stream.
    pub work: &'a dyn Fn() -> Result<Work, Failure>,
}

impl PredictArgs {
    /// The board or device of a name, if the options suit it.
    pub fn place(&self, name: &str, engine: &EngineArgs) -> Result<Place, Failure> {
        let Some(part) = part(name) else { return self.board(name).map(Place::Board) };
        let given = [
            ("--synth", self.synth.is_some()),
            ("--freq", self.freq.is_some()),
            ("--baud", self.baud.is_some()),
            ("--ethernet", self.ethernet),
            ("--turnaround", self.turnaround.is_some()),
            ("--filters", self.filters.is_some()),
            ("--pipelines", !engine.lanes.pipelines.is_empty()),
            ("--groups", engine.lanes.groups.are_given()),
            ("--ii", engine.fold.ii != [1]),
            ("--jmem", engine.jmem.is_some()),
            ("--stream", engine.has_stream()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "--predict {name} fills the device by rules of its own; leave {option} out"
            ))),
            None => Ok(Place::Part(part)),
        }
    }

    /// The board of a name, if the options suit it.
    pub fn board(&self, name: &str) -> Result<&'static Board, Failure> {
        if part(name).is_some() {
            return Err(Failure::Usage(format!(
                "{name} is predicted by `fmm` of one process alone; name a board here"
            )));
        }
        let board = crate::cmd::board::find(name)?;
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
fn kernels(args: &Args, place: Place) -> Result<Kernels, Failure> {
    let p2p = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    let m2l = match place {
        Place::Board(board) => m2l(args, board, &p2p)?,
        Place::Part(_) => match args.m2l.as_deref() {
            Some(name) if name == super::NATIVE => None,
            Some(file) => Some(source::load(file)?.1),
            None => Some(generated(options_of_kernels(args).order)?),
        },
    };
    offload::bind(&p2p, m2l.as_ref(), &options_of_kernels(args))?;
    Ok(Kernels { p2p, m2l })
}

/// Predicts the leaf size that was asked for and those around the best.
pub fn run(args: &Args, name: &str) -> Result<(), Failure> {
    let place = args.predict.place(name, &args.engine)?;
    let kernels = kernels(args, place)?;
    let particles = plain(args)?;
    if let Some(path) = &args.save_particles {
        files::save(path, &Input::from(particles.clone()).columns(), &[])?;
    }
    let plan = |leaf: usize| {
        let options = FmmOptions { leaf, ..options_of_kernels(args) };
        Plan::new(particles.columns(), &options).map_err(Failure::from)
    };
    let ran = |leaf: usize, machine: &Machine| -> Result<Ran, Failure> {
        let mut fleet = machine.fleet(&kernels)?;
        let mut pipelines = Pipelines::new(&mut fleet, &kernels.p2p, kernels.m2l.as_ref());
        let executors: &mut [&mut dyn fmm::octree::executor::Executor<Plan>] = &mut [&mut pipelines];
        let stats = plan(leaf)?.solve(&particles.q, executors, &mut |_, _, _| {})?.stats;
        Ok(Ran::alone(stats, &kernels, fleet.seen(None)))
    };
    let leaf = args.leaf.unwrap_or(LEAF);
    let work = || plan(leaf).map(|plan| Work { p2p: plan.pairs.p2p, m2l: plan.pairs.m2l });
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = match place {
        Place::Board(board) => wanted.machine(board)?,
        Place::Part(part) => wanted.filled(part)?,
    };
    let FmmOptions { order, theta, .. } = options_of_kernels(args);
    let (kernels, n) = (&kernels, particles.len());
    let question = Question { kernels, what: "particles", n, order, theta, leaf, ranks: None, run: &ran };
    write(&question.report(&machine)?, &args.json)
}

/// Writes a report where that is asked for, and prints its table.
pub fn write(report: &Report, json: &Option<PathBuf>) -> Result<(), Failure> {
    if let Some(path) = json {
        output::write_json(path, report)?;
    }
    output::print(&tables::text(report))
}

/// Whether engines for both kernels fill the board, since nobody says how many lanes there are.
fn fills(predict: &PredictArgs, engine: &EngineArgs, board: &Board) -> bool {
    predict.synth.is_none()
        && predict.over_ethernet(board)
        && engine.lanes.pipelines.is_empty()
        && engine.fold.ii == [1]
        && predict.filters() == 0
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

/// The board with engines as `build` makes them.
fn planned(wanted: &Wanted, board: &'static Board) -> Result<Machine, Failure> {
    let Wanted { predict, engine: args, kernels, work } = *wanted;
    let count = kernels.graphs().count();
    if predict.filters() > 0 && (count > 1 || args.fold.ii != [1]) {
        let text = "--filters is for a board with P2P alone, which takes a pair in each clock; leave out --ii, and M2L to the CPU by \
                    --m2l native";
        return Err(Failure::Usage(text.into()));
    }
    let (mut steps, started) = (Steps::default(), Instant::now());
    let mut tries = |ii: u32| steps.at(&format!("estimating the area of M2L with --ii {ii}"), started.elapsed());
    let given = |k: usize| Ok((args.lanes.of((k, count))?.0, each(&args.fold.ii, (k, count), "--ii")?));
    let lanes = match fills(predict, args, board) && kernels.m2l.is_some() {
        true => Lanes::Fill { work, tries: &mut tries },
        false => Lanes::Given((0..count).map(given).collect::<Result<_, Failure>>()?),
    };
    let plan = machine::Plan {
        board,
        kernels,
        link: predict.link(board, predict.over_ethernet(board)),
        freq: predict.freq,
        jmem_words: args.jmem,
        stream_bits: args.stream(),
        filters: predict.filters(),
        lanes,
        groups: &|pipelines, k| args.lanes.groups.of(pipelines, (k, count)),
    };
    let Planned { machine, filled, scheduled_mhz } = plan.machine()?;
    let synth = filled.map(|filled| synth(wanted, &filled, (machine.clock_mhz, scheduled_mhz), board));
    Ok(Machine { synth, ..machine })
}

/// The command that makes the bitstream of a board that was filled.
fn synth(wanted: &Wanted, filled: &Filled, (clock_mhz, scheduled_mhz): (f64, f64), board: &Board) -> String {
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

impl Wanted<'_> {
    /// A device with as many lanes as fit.
    fn filled(&self, part: &'static Part) -> Result<Machine, Failure> {
        let (mut steps, started) = (Steps::default(), Instant::now());
        let mut tries = |ii: u32| steps.at(&format!("estimating the area of M2L with --ii {ii}"), started.elapsed());
        Ok(pairforge::fmm::predict::part::machine(part, self.kernels, (self.work)()?, &mut tries)?)
    }

    /// The board with its engines.
    pub fn machine(&self, board: &'static Board) -> Result<Machine, Failure> {
        match &self.predict.synth {
            Some(dir) => bitstream::machine(self, board, dir),
            None => planned(self, board),
        }
    }
}
