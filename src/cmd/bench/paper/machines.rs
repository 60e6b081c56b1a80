//! The devices of the figures: a Colorlight i9, eight of them, and the paper's chips with pipelines of ours.

use super::draw::PAPER_GFLOPS;
use super::kept::{About, OPERATIONS, Published};
use hdl::board::board;
use hdl::circuit::target::{Clock, target};
use hdl::engine::{Config, usual_groups};
use pairforge::fmm::kernels::Kernels;
use pairforge::fmm::predict;
use pairforge::fmm::predict::fill::{self, Around, Work};
use pairforge::fmm::predict::machine::{Lanes, Link, Plan, Planned, hashed};
use pairforge::kernel::fit::{NETWORK, Share};
use pairforge::kernel::parts::{PARTS, Part, part};
use pg2::backend::build::build_folded;
use pg2::graph::Graph;
use pipelines::predict::fleet::{Boards, Fleet};
use pipelines::predict::{Line, Setup};
use terminal::failure::Failure;
use terminal::progress::Steps;
use terminal::source;

/// The board, and how many of them stand in a row.
const BOARD: &str = "colorlight-i9";
const ROW: u32 = 8;
/// Pipelines of a chip as the paper has them, and its chips for P2P in Figs. 6 and 7.
const PAPER_P2P: u32 = 72;
const PAPER_M2L: u32 = 8;
const PAPER_CHIPS: u32 = 4;
/// The clock that the area of these pipelines was counted at, and a link as PCI Express 1 with four lanes, for the paper names neither.
const PAPER_MHZ: f64 = 150.0;
const PAPER_LINK: f64 = 1e9;
/// Milliseconds until the host answers, behind DMA.
const DMA_MS: f64 = 0.01;

/// A device of the figures.
pub struct Machine {
    boards: Vec<Boards>,
    pub about: About,
}

impl Machine {
    /// Lanes of M2L on a board.
    pub fn m2l_lanes(&self) -> u32 {
        let engines = self.boards.iter().flat_map(|b| &b.engines);
        engines.filter(|e| e.0.layout.kernel == M2L).map(|e| e.0.lanes()).next().unwrap_or(0)
    }

    /// The model of it.
    pub fn fleet(&self) -> Fleet {
        Fleet::new(&self.boards)
    }
}

/// The names of the paper's kernels.
const P2P: &str = "p2p_paper";
const M2L: &str = "m2l_paper";

/// The paper's kernels.
pub fn kernels() -> Result<Kernels, Failure> {
    Ok(Kernels { p2p: source::load(P2P)?.1, m2l: Some(source::load(M2L)?.1) })
}

/// The names of the devices, by which figures find them.
pub const I9: &str = "Colorlight i9";
pub const ROW_OF_I9: &str = "eight i9";
pub const ROW_BEHIND_ONE: &str = "eight i9 behind one gigabit";
pub const PAPER: &str = "the paper's chip";
pub const PAPER_ALL: &str = "the paper's chips";

/// Devices with one stage at a time, all of them for P2P or all for M2L, as in Fig. 5.
pub fn by_stage(kernels: &Kernels) -> Result<Vec<Machine>, Failure> {
    let m2l = kernels.m2l.as_ref().expect("the paper has one");
    let [p2p, m2l] = [i9(&kernels.p2p)?, i9(m2l)?];
    let row = |name: &str, count: u32, rate: f64| {
        let boards = [&p2p, &m2l].map(|one| Boards {
            count,
            setup: Setup { line: Line::Ethernet(rate), ..one.setup },
            engines: one.engines.clone(),
        });
        Machine { about: about(name, &boards), boards: boards.into() }
    };
    let gigabit = 125e6;
    Ok(vec![
        row(I9, 1, gigabit),
        row(ROW_OF_I9, ROW, gigabit),
        row(ROW_BEHIND_ONE, ROW, gigabit / ROW as f64),
        paper_chips(PAPER, kernels, 1)?,
    ])
}

/// Devices that have both stages at the same time, as in Fig. 6: engines for both on each i9, for so many pairs.
pub fn together(kernels: &Kernels, work: Work) -> Result<Vec<Machine>, Failure> {
    let (mut steps, started) = (Steps::default(), std::time::Instant::now());
    let mut tries = |ii: u32| steps.at(&format!("estimating the area of M2L with --ii {ii}"), started.elapsed());
    let Planned { machine, .. } =
        plan(kernels, Lanes::Fill { work: &|| Ok(work), tries: &mut tries }, None)?.machine()?;
    let row = |name: &str, count: u32| {
        let boards: Vec<Boards> = machine.boards.iter().map(|b| Boards { count, ..b.clone() }).collect();
        Machine { about: about(name, &boards), boards }
    };
    Ok(vec![row(I9, 1), row(ROW_OF_I9, ROW), paper_chips(PAPER_ALL, kernels, PAPER_CHIPS)?])
}

/// A board on the network with these kernels.
fn plan<'a>(kernels: &'a Kernels, lanes: Lanes<'a, Failure>, freq: Option<f64>) -> Result<Plan<'a, Failure>, Failure> {
    Ok(Plan {
        board: board(BOARD).expect("it is shipped"),
        kernels,
        link: Link::GIGABIT,
        freq,
        jmem_words: None,
        stream_bits: 32,
        filters: 0,
        lanes,
        groups: &|pipelines, _| Ok(usual_groups(pipelines)),
    })
}

/// An i9 full of one kernel's lanes, at the clock of a full device.
fn i9(graph: &Graph) -> Result<Boards, Failure> {
    let board = board(BOARD).expect("it is shipped");
    let target = target(board.device.target).expect("every device names a target");
    let clock = Clock { target, mhz: board.usual_mhz, blocks: None };
    let around = Around { share: Share::of(Some(board.device), 1), stream_bits: 32 };
    let built = build_folded(graph, (clock, 1), "", Vec::new());
    let most = fill::most(&built, board.device, NETWORK, &around)
        .ok_or_else(|| Failure::Tool(format!("{} does not fit {}", graph.name, board.device.name)))?;
    let alone = Kernels { p2p: graph.clone(), m2l: None };
    let lanes = Lanes::Given(vec![(most.lanes, 1)]);
    let Planned { mut machine, .. } = plan(&alone, lanes, Some(board.full_mhz))?.machine()?;
    Ok(machine.boards.swap_remove(0))
}

/// Chips of the paper for P2P, and one for M2L, which share the link of their board.
fn paper_chips(name: &str, kernels: &Kernels, p2p: u32) -> Result<Machine, Failure> {
    let clock = Clock { target: target("max10").expect("it is shipped"), mhz: PAPER_MHZ, blocks: None };
    let around = Around { share: Share::of(None, 1), stream_bits: 128 };
    let m2l = kernels.m2l.as_ref().expect("the paper has one");
    // A chip alone has one stage at a time, and the whole link for it.
    let sharing = if p2p > 1 { p2p + 1 } else { 1 };
    let line = Line::Dma(PAPER_LINK / sharing as f64);
    let setup = Setup { clock_mhz: PAPER_MHZ, line, turnaround: DMA_MS / 1e3 };
    let boards = [(&kernels.p2p, p2p, PAPER_P2P), (m2l, 1, PAPER_M2L)].map(|(graph, count, pipelines)| {
        let built = build_folded(graph, (clock, 1), "", Vec::new());
        Boards { count, setup, engines: vec![hashed(graph, fill::config(&built, pipelines, &around))] }
    });
    Ok(Machine { about: about(name, &boards), boards: boards.into() })
}

/// Devices that one might buy, full of both kernels for so many pairs, with their watts.
pub fn parts(kernels: &Kernels, work: Work, tries: &mut dyn FnMut(&str)) -> Result<Vec<Bought>, Failure> {
    let one = |part: &'static Part| {
        tries(part.device.name);
        let found = predict::part::machine(part, kernels, work, &mut |_| {})?;
        let about = About { link: part.link.words(), ..about(part.device.name, &found.boards) };
        let machine = Machine { boards: found.boards, about };
        Ok(Bought { machine, summary: part.device.summary, watts: found.watts })
    };
    PARTS.iter().map(one).collect()
}

pub struct Bought {
    pub machine: Machine,
    pub summary: &'static str,
    pub watts: Option<f64>,
}

/// Published pairs a second, and those by the rules: the paper's four chips, and a Stratix 10 GX 2800 full of forces (Menzel et al.,
/// doi:10.1145/3491235), which uses each force for both particles.
pub fn published() -> Result<Vec<Published>, Failure> {
    let part = part("stratix10-gx2800").expect("it is in the list");
    let target = target(part.device.target).expect("every part names a target");
    let graph = source::load("gravity")?.1;
    let built = build_folded(&graph, (Clock { target, mhz: target.usual_mhz, blocks: None }, 1), "", Vec::new());
    let around = Around { share: Share::of(Some(&part.device), 1), stream_bits: part.link.stream_bits() };
    let forces = fill::most(&built, &part.device, part.link.shell(), &around).map_or(0, |most| most.all());
    let paper = (PAPER_CHIPS * PAPER_P2P) as f64 * PAPER_MHZ * 1e6;
    let row = |what: &str, published: f64, by_rule: f64| Published { what: what.into(), published, by_rule };
    Ok(vec![
        row("the paper's four chips, by 11 operations a pair", PAPER_GFLOPS * 1e9 / OPERATIONS, paper),
        row("Menzel et al., Stratix 10, each force used twice", 138.8e9, 2.0 * forces as f64 * part.mhz * 1e6),
    ])
}

/// The lanes, the clock and the link of boards.
fn about(name: &str, boards: &[Boards]) -> About {
    let lanes = |config: &Config| match config.ii {
        1 => format!("{} of {}", config.pipelines, config.layout.kernel),
        ii => format!("{} of {} with a pair every {ii} clocks", config.pipelines, config.layout.kernel),
    };
    let engines = |b: &Boards| b.engines.iter().map(|e| lanes(&e.0)).collect::<Vec<_>>().join(" and ");
    let one = |b: &Boards| match b.count {
        1 => engines(b),
        count => format!("{count} times {}", engines(b)),
    };
    let setup = boards[0].setup;
    let link = match setup.line {
        Line::Serial(baud) => format!("serial, {baud} baud"),
        Line::Ethernet(rate) => format!("Ethernet, {} MB/s each", rate / 1e6),
        Line::Dma(rate) => format!("DMA, {} MB/s each", rate / 1e6),
    };
    About {
        name: name.into(),
        lanes: boards.iter().map(one).collect::<Vec<_>>().join("; "),
        p2p_lanes: boards
            .iter()
            .map(|b| {
                b.count * b.engines.iter().filter(|e| e.0.layout.kernel == P2P).map(|e| e.0.pipelines).sum::<u32>()
            })
            .sum(),
        mhz: setup.clock_mhz,
        link,
    }
}
