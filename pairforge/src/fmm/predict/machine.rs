//! The board with its engines: as a bitstream has them, or as `build` would make them.

use super::Engine;
use super::fill::{self, Around, Filled, Work};
use crate::Error;
use crate::fmm::kernels::Kernels;
use crate::kernel::fit::Share;
use fmm::octree::FmmError;
use hdl::board::{Board, gigabit};
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use hdl::serial::kernel_hash;
use pg2::backend::build::build_folded;
use pg2::backend::filtered::build_filtered;
use pg2::graph::Graph;
use pipelines::job::Backend;
use pipelines::predict::fleet::{Boards, Fleet};
use pipelines::predict::{Line, Setup};

/// The link to a board.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    pub line: Line,
    /// Milliseconds until the host answers a byte.
    pub turnaround_ms: f64,
}

/// The device as it is or would be: a board, or one that engines share, each behind its part of the link.
pub struct Machine {
    pub name: &'static str,
    pub clock_mhz: f64,
    pub link: Link,
    /// Those with P2P first.
    pub boards: Vec<Boards>,
    pub joules_per_pair: Option<f64>,
    /// At most, of a card as its vendor states them.
    pub watts: Option<f64>,
    /// The command that makes its bitstream, where nobody said what is on it.
    pub synth: Option<String>,
}

impl Machine {
    /// A board with engines for P2P, and for M2L if that is on it; each has the hash of its kernel.
    pub fn new(name: &'static str, (clock_mhz, link): (f64, Link), engines: Vec<(Config, u64)>) -> Machine {
        let boards = vec![Boards { count: 1, setup: link.setup(clock_mhz), engines }];
        Machine { name, clock_mhz, link, boards, joules_per_pair: None, watts: None, synth: None }
    }

    /// The model of it, ready for some kernels.
    pub fn fleet(&self, kernels: &Kernels) -> Result<Fleet, FmmError> {
        let mut fleet = Fleet::new(&self.boards);
        kernels.graphs().try_for_each(|graph| fleet.prepare(graph, 0))?;
        Ok(fleet)
    }

    /// The engines, that of P2P first.
    pub(super) fn engines(&self) -> Vec<Engine> {
        self.boards.iter().flat_map(|b| b.engines.iter().map(|(config, _)| Engine::of(config, b.count))).collect()
    }
}

impl Link {
    /// Ethernet, and a host that answers soon.
    pub const GIGABIT: Link = Link { line: Line::GIGABIT, turnaround_ms: 0.05 };

    /// A serial line through USB.
    pub const fn serial(baud: u32) -> Link {
        Link { line: Line::Serial(baud), turnaround_ms: 2.0 }
    }

    /// The link as a table names it.
    pub fn words(&self) -> String {
        match self.line {
            Line::Serial(baud) => format!("line of {baud} baud"),
            Line::Ethernet(rate) => format!("Ethernet at {} Gbit/s", rate / 125e6),
            Line::Dma(rate) => format!("DMA at {:.2} GB/s", rate / 1e9),
        }
    }

    /// The link at a clock.
    pub fn setup(&self, clock_mhz: f64) -> Setup {
        Setup { clock_mhz, line: self.line, turnaround: self.turnaround_ms / 1e3 }
    }
}

impl Engine {
    fn of(config: &Config, count: u32) -> Engine {
        let Config { pipelines, groups, ii, filters, .. } = *config;
        Engine { kernel: config.layout.kernel.clone(), pipelines, groups, ii, filters, count }
    }
}

/// An engine with the hash of its kernel.
pub fn hashed(graph: &Graph, config: Config) -> (Config, u64) {
    (config, kernel_hash(&graph.canonical()))
}

/// A board that is not made yet, with its link, clock and lanes.
pub struct Plan<'a, E> {
    pub board: &'static Board,
    pub kernels: &'a Kernels,
    pub link: Link,
    /// The clock that the board's PLL is to come close to, if not the usual one.
    pub freq: Option<f64>,
    pub jmem_words: Option<u32>,
    pub stream_bits: u32,
    /// Filters in front of each pipeline of P2P, of whose kernel alone the board then is; 0 for none.
    pub filters: u32,
    pub lanes: Lanes<'a, E>,
    /// The groups of the engine of kernel `k`, which has so many pipelines.
    pub groups: &'a dyn Fn(u32, usize) -> Result<u32, E>,
}

/// The lanes of the engines.
pub enum Lanes<'a, E> {
    /// Pipelines and interval of each.
    Given(Vec<(u32, u32)>),
    /// As many as fill the device with P2P and M2L, for so many pairs. `tries` is given the intervals that are tried.
    Fill { work: &'a dyn Fn() -> Result<Work, E>, tries: &'a mut dyn FnMut(u32) },
}

/// A board with engines as `build` makes them.
pub struct Planned {
    pub machine: Machine,
    /// The lanes that fill it, where they were to be found, and the clock that pipelines are scheduled for.
    pub filled: Option<Filled>,
    pub scheduled_mhz: f64,
}

impl<E: From<Error>> Plan<'_, E> {
    /// The board with these engines.
    pub fn machine(self) -> Result<Planned, E> {
        let Plan { board, kernels, link, freq, .. } = self;
        let target = target(board.device.target).expect("every board's device names a target");
        let next = |wanted: f64| {
            let mhz = match link.line {
                Line::Ethernet(_) => gigabit::clocks(board, wanted).map(|clocks| clocks.mhz),
                _ => board.pll.source(board.oscillator_mhz, wanted).map(|(_, mhz)| mhz),
            };
            mhz.map_err(Error::Options)
        };
        let is_full = matches!(self.lanes, Lanes::Fill { .. });
        let usual = if is_full { board.full_mhz } else { board.usual_mhz };
        let clock_mhz = next(freq.unwrap_or(usual))?;
        // Of a full device, pipelines are scheduled for a faster clock than it runs at.
        let scheduled_mhz = next(freq.unwrap_or(board.usual_mhz))?;
        let clock = Clock { target, mhz: scheduled_mhz, blocks: None };
        let all: Vec<&Graph> = kernels.graphs().collect();
        let share = Share::of(Some(board.device), all.len()).with_words(self.jmem_words);
        let around = Around { share, stream_bits: self.stream_bits };
        let (lanes, filled) = match self.lanes {
            Lanes::Given(lanes) => (lanes, None),
            Lanes::Fill { work, tries } => {
                let found = fill::fill(board, clock, kernels, &around, work()?, tries);
                let (device, remedy) = (board.device.name, "leave M2L to the CPU by --m2l native");
                let why = || Error::Input(format!("P2P and M2L do not fit {device} together; {remedy}"));
                let filled = found.ok_or_else(why)?;
                (vec![(filled.p2p, 1), (1, filled.m2l_ii)], Some(filled))
            }
        };
        // As `synth` shares them out.
        let blocks = board.device.multipliers / lanes.iter().map(|(pipelines, _)| pipelines).sum::<u32>();
        let clock = Clock { blocks: Some(blocks), ..clock };
        let engine = |(k, graph): (usize, &&Graph)| {
            let (pipelines, ii) = lanes[k];
            let built = match self.filters {
                0 => build_folded(graph, (clock, ii), "", Vec::new()),
                _ => build_filtered(graph, clock, "", Vec::new()).map_err(Error::Input)?,
            };
            let groups = (self.groups)(pipelines, k)?;
            let config = Config { groups, filters: self.filters, ..fill::config(&built, pipelines, &around) };
            config.verify().map_err(Error::Input)?;
            Ok(hashed(graph, config))
        };
        let engines = all.iter().enumerate().map(engine).collect::<Result<_, E>>()?;
        let machine = Machine::new(board.name, (clock_mhz, link), engines);
        Ok(Planned { machine, filled, scheduled_mhz })
    }
}
