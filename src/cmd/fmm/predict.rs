//! `pairforge fmm --predict BOARD`: what an FMM with P2P on a board would take, without the board.

use super::files::{self, particles};
use super::{Args, LEAF, failure, options};
use crate::failure::Failure;
use crate::{input, output, source};
use flow::summary::Summary;
use hdl::board::{BOARDS, Board, board};
use hdl::circuit::target::{Clock, target};
use hdl::engine::usual;
use host::data::particles::Particles;
use host::fmm::Plan;
use host::fmm::offload;
use host::fmm::offload::Pipelines;
use host::fmm::stats::{Pairs, Seconds};
use host::predict::{self, LinkUse, Setup};
use pg2::graph::Graph;
use pg2::report::shown::shown;
use serde::Serialize;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

#[derive(clap::Args)]
pub struct PredictArgs {
    /// Predict the times with P2P on a board (see `pairforge list boards`) and all else on this CPU, and the best leaf size
    #[arg(long, value_name = "BOARD", conflicts_with_all = ["backend", "check", "output", "report"])]
    pub predict: Option<String>,
    /// With --predict: the folder of `synth --board BOARD`, in place of --pipelines, --groups, --ii, --jmem, --stream and --freq
    #[arg(long, value_name = "DIR", requires = "predict", conflicts_with_all = ["freq", "pipelines", "groups", "ii", "jmem", "stream"])]
    synth: Option<PathBuf>,
    /// With --predict: clock that the board's PLL is to come close to, by default the usual one of the family
    #[arg(long, value_name = "MHZ", requires = "predict")]
    freq: Option<f64>,
    /// With --predict: baud rate of the line, by default the board's
    #[arg(long, value_name = "BAUD", requires = "predict", value_parser = clap::value_parser!(u32).range(1..))]
    baud: Option<u32>,
    /// With --predict: the link over Ethernet in place of the serial line
    #[arg(long, requires = "predict", conflicts_with_all = ["baud", "synth"])]
    ethernet: bool,
    /// With --predict: milliseconds until the host answers a byte, 0 for what `board-sim` counts [default: 2, over Ethernet 0.05]
    #[arg(long, value_name = "MS", requires = "predict")]
    turnaround: Option<f64>,
}

impl PredictArgs {
    /// The line's baud rate, 0 for Ethernet, and the milliseconds that the host takes.
    fn line(&self, board: &Board) -> (u32, f64) {
        match self.ethernet {
            true => (0, self.turnaround.unwrap_or(0.05)),
            false => (self.baud.unwrap_or(board.baud), self.turnaround.unwrap_or(2.0)),
        }
    }
}

/// What is predicted, in the keys that docs/fmm.md names.
#[derive(Serialize)]
struct Report {
    board: &'static str,
    kernel: String,
    n: usize,
    order: usize,
    theta: f64,
    pipelines: u32,
    clock_mhz: f64,
    baud: u32,
    turnaround_ms: f64,
    /// Which of the seconds are predicted and which were measured on this CPU.
    predicted: [&'static str; 1],
    measured: [&'static str; 8],
    /// Of the leaf size that was asked for.
    #[serde(flatten)]
    asked: Row,
    seconds: Seconds,
    pairs: Pairs,
    cycles: Option<u64>,
    utilisation: Option<f64>,
    bytes_in: u64,
    bytes_out: u64,
    joules: Option<f64>,
    best_leaf: usize,
    leaves: Vec<Row>,
}

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
struct Machine {
    board: &'static Board,
    setup: Setup,
    jmem_records: u32,
    latency: u32,
    joules_per_pair: Option<f64>,
}

/// Predicts the leaf size that was asked for and those around the best.
pub fn run(args: &Args, name: &str) -> Result<(), Failure> {
    let board = board(name).ok_or_else(|| {
        let known = BOARDS.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
        Failure::Usage(format!("there is no board `{}`; the boards are {known}", shown(name)))
    })?;
    if args.m2l.as_deref().is_some_and(|m| m != super::NATIVE) {
        return Err(Failure::Usage("--predict has P2P on the board and M2L on the CPU; leave --m2l out".into()));
    }
    let turnaround = args.predict.line(board).1;
    if !(0.0..=1000.0).contains(&turnaround) {
        return Err(Failure::Usage(format!("--turnaround takes 0 to 1000 ms, not {turnaround}")));
    }
    if args.predict.ethernet && !board.ethernet {
        return Err(Failure::Usage(format!("the board {} has no Ethernet", board.name)));
    }
    let graph = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    offload::bind(&graph, None, &options(args, false)).map_err(failure)?;
    let machine = match &args.predict.synth {
        Some(dir) => synthesised(args, board, dir, &graph)?,
        None => planned(args, board, &graph)?,
    };
    let particles = particles(args)?;
    if let Some(path) = &args.save_particles {
        files::save(path, || host::data::npy::write_particles(&particles), || particles.to_csv())?;
    }
    let report = predicted(args, &machine, &graph, &particles)?;
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    let standard = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if !standard(&args.json) && !standard(&args.save_particles) {
        output::print(&text(&report).to_string())?;
    }
    Ok(())
}

/// The board that `synth` has made a bitstream for.
fn synthesised(args: &Args, board: &'static Board, dir: &Path, graph: &Graph) -> Result<Machine, Failure> {
    let path = dir.join("synth.json");
    let make = format!("make it with `pairforge synth FILE --board {} -o DIR`", board.name);
    let bytes = input::text(&path, &format!("; {make}"))?;
    let said =
        Summary::parse(&bytes).map_err(|e| Failure::file(&path, format!("is not what this program writes: {e}")))?;
    let clock_mhz = match (&said.board, said.clock_mhz) {
        (Some(name), Some(mhz)) if name == board.name => mhz,
        (Some(name), _) => {
            return Err(Failure::file(&path, format!("is for the board {}, not {}", shown(name), board.name)));
        }
        _ => return Err(Failure::file(&path, format!("is of no board; {make}"))),
    };
    if said.kernel != graph.name {
        let text = format!("is of the kernel {}, not {}; name it with --p2p", shown(&said.kernel), graph.name);
        return Err(Failure::file(&path, text));
    }
    let setup = Setup {
        pipelines: said.pipelines,
        groups: said.groups,
        i_banks: said.i_banks,
        ii: said.ii.max(1),
        segments: said.segments,
        stream_bits: said.stream_bits,
        clock_mhz,
        baud: args.predict.line(board).0,
        turnaround: args.predict.line(board).1 / 1e3,
    };
    let (jmem_records, latency) = (said.jmem_records, said.latency);
    Ok(Machine { board, setup, jmem_records, latency, joules_per_pair: said.joules_per_pair })
}

/// The board with an engine as `build` makes it.
fn planned(args: &Args, board: &'static Board, graph: &Graph) -> Result<Machine, Failure> {
    let target = target(board.device.target).expect("every board's device names a target");
    let wanted = args.predict.freq.unwrap_or(board.usual_mhz);
    let (_, mhz) = board.pll.source(board.oscillator_mhz, wanted).map_err(Failure::Usage)?;
    let clock = Clock { target, mhz, blocks: None };
    let built = pg2::backend::build::build_folded(graph, (clock, args.fold.ii), "", Vec::new());
    let setup = Setup {
        pipelines: args.lanes.pipelines,
        groups: args.lanes.groups()?,
        i_banks: usual::I_BANKS,
        ii: args.fold.ii,
        segments: usual::SEGMENTS,
        stream_bits: args.stream.parse().unwrap_or(usual::STREAM_BITS),
        clock_mhz: mhz,
        baud: args.predict.line(board).0,
        turnaround: args.predict.line(board).1 / 1e3,
    };
    let jmem_records = args.jmem.unwrap_or(usual::JMEM_WORDS) / built.graph.layout().j_words();
    Ok(Machine { board, setup, jmem_records, latency: built.schedule.depth, joules_per_pair: None })
}

/// Everything about one leaf size.
struct One {
    row: Row,
    seconds: Seconds,
    pairs: Pairs,
    cycles: Option<u64>,
    utilisation: Option<f64>,
    seen: LinkUse,
}

/// Runs an FMM whose P2P only goes through the model of the board.
fn one(args: &Args, machine: &Machine, graph: &Graph, particles: &Particles, leaf: usize) -> Result<One, Failure> {
    let options = host::fmm::FmmOptions { leaf, ..options(args, false) };
    let fmm = Plan::new(particles.columns(), &options).map_err(failure)?;
    let seen = Rc::new(RefCell::new(LinkUse::default()));
    let mut backend = predict::backend(machine.setup, machine.jmem_records, machine.latency, seen.clone());
    let mut pipelines = Pipelines::new(&mut backend, graph, None);
    let stats = fmm.solve(&particles.q, &mut [&mut pipelines], &mut |_, _, _| {}).map_err(failure)?.stats;
    let seen = *seen.borrow();
    let mut seconds = stats.seconds;
    let cpu = seconds.total - seconds.p2p;
    (seconds.p2p, seconds.total) = (seen.seconds, cpu + seen.seconds);
    let row = Row {
        leaf,
        p2p_seconds: seen.seconds,
        cpu_seconds: cpu,
        total_seconds: seconds.total,
        pairs_per_second: if seen.seconds > 0.0 { stats.pairs.p2p as f64 / seen.seconds } else { 0.0 },
    };
    Ok(One { row, seconds, pairs: stats.pairs, cycles: stats.cycles.p2p, utilisation: stats.utilisation.p2p, seen })
}

/// Leaf sizes that are looked at first.
const LEAVES: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];

fn predicted(args: &Args, machine: &Machine, graph: &Graph, particles: &Particles) -> Result<Report, Failure> {
    let asked = one(args, machine, graph, particles, args.leaf.unwrap_or(LEAF))?;
    let mut rows = vec![asked.row.clone()];
    let look = |leaf: usize, rows: &mut Vec<Row>| -> Result<(), Failure> {
        if leaf > 0 && rows.iter().all(|r| r.leaf != leaf) {
            rows.push(one(args, machine, graph, particles, leaf)?.row);
        }
        Ok(())
    };
    let best = |rows: &[Row]| rows.iter().min_by(|a, b| a.total_seconds.total_cmp(&b.total_seconds)).map(|r| r.leaf);
    // From the number of particles on, all leaf sizes are one.
    let most = particles.len().max(LEAVES[0]);
    for leaf in LEAVES.into_iter().filter(|l| *l < 2 * most) {
        look(leaf, &mut rows)?;
    }
    // Then half way to both neighbours.
    if let Some(found) = best(&rows) {
        for step in [std::f64::consts::FRAC_1_SQRT_2, std::f64::consts::SQRT_2] {
            look((found as f64 * step).round() as usize, &mut rows)?;
        }
    }
    let best_leaf = best(&rows).unwrap_or(args.leaf.unwrap_or(LEAF));
    rows.sort_by_key(|r| r.leaf);
    Ok(Report {
        board: machine.board.name,
        kernel: graph.name.clone(),
        n: particles.len(),
        order: options(args, false).order,
        theta: args.theta.unwrap_or(0.5),
        pipelines: machine.setup.pipelines,
        clock_mhz: machine.setup.clock_mhz,
        baud: machine.setup.baud,
        turnaround_ms: args.predict.line(machine.board).1,
        predicted: ["p2p"],
        measured: ["tree", "p2m", "m2m", "m2l", "l2l", "l2p", "m2p", "p2l"],
        joules: machine.joules_per_pair.map(|j| j * asked.pairs.p2p as f64),
        asked: asked.row,
        seconds: asked.seconds,
        pairs: asked.pairs,
        cycles: asked.cycles,
        utilisation: asked.utilisation,
        bytes_in: asked.seen.bytes_in,
        bytes_out: asked.seen.bytes_out,
        best_leaf,
        leaves: rows,
    })
}

/// The tables as text.
fn text(r: &Report) -> String {
    let line = if r.baud == 0 { "Ethernet at 1 Gbit/s".to_string() } else { format!("line of {} baud", r.baud) };
    let mut out = format!(
        "FMM of {} particles, order {}, theta {}, leaf {}: P2P by {} on {} predicted, all else measured on this CPU\n\
         {} pipelines at {} MHz, {line}, turnaround {} ms\n\n",
        r.n, r.order, r.theta, r.asked.leaf, r.kernel, r.board, r.pipelines, r.clock_mhz, r.turnaround_ms
    );
    let s = &r.seconds;
    let stages = [
        ("tree", s.tree),
        ("P2M", s.p2m),
        ("M2M", s.m2m),
        ("M2L", s.m2l),
        ("P2L", s.p2l),
        ("L2L", s.l2l),
        ("L2P", s.l2p),
        ("M2P", s.m2p),
        ("P2P", s.p2p),
        ("total", s.total),
    ];
    out += &format!("{:<6} {:>12}\n", "stage", "seconds");
    for (name, seconds) in stages {
        let how = match name {
            "P2P" => "predicted",
            "total" => "",
            _ => "measured",
        };
        out += format!("{name:<6} {seconds:>12.6} {how}").trim_end();
        out.push('\n');
    }
    out += &format!("\n{:.3e} pairs of P2P a second; ", r.asked.pairs_per_second);
    out += &r.joules.map_or("energy unknown: no power model of the device".into(), |j| format!("{j:.3} J for P2P"));
    out += &format!("\n\n{:>6} {:>12} {:>12} {:>12} {:>12}\n", "leaf", "P2P s", "CPU s", "total s", "pairs/s");
    for row in &r.leaves {
        let mark = if row.leaf == r.best_leaf { " best" } else { "" };
        out += &format!(
            "{:>6} {:>12.6} {:>12.6} {:>12.6} {:>12.3e}{mark}\n",
            row.leaf, row.p2p_seconds, row.cpu_seconds, row.total_seconds, row.pairs_per_second
        );
    }
    out
}
