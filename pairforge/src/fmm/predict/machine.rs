//! The board with its engines: as a bitstream has them, or as `build` would make them.

use super::fill::{self, Around, Filled, Work};
use super::{Engine, Seen};
use crate::Error;
use crate::fmm::kernels::Kernels;
use crate::kernel::fit::Share;
use fmm::octree::FmmError;
use hdl::board::{Board, gigabit};
use hdl::circuit::target::{Clock, target};
use hdl::engine::Config;
use hdl::serial::kernel_hash;
use pg2::backend::build::build_folded;
use pg2::graph::Graph;
use pipelines::driver::StreamBackend;
use pipelines::job::Backend;
use pipelines::predict::{self, Setup};

/// The link to a board.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Of the serial line; 0 for a link over Ethernet.
    pub baud: u32,
    /// Milliseconds until the host answers a byte.
    pub turnaround_ms: f64,
}

/// The board as it is or would be.
pub struct Machine {
    pub board: &'static Board,
    pub clock_mhz: f64,
    pub link: Link,
    /// For P2P, and for M2L if that is on the board; each with the hash of its kernel.
    pub engines: Vec<(Config, u64)>,
    pub joules_per_pair: Option<f64>,
    /// The command that makes its bitstream, where nobody said what is on it.
    pub synth: Option<String>,
}

impl Machine {
    /// The model of the board, ready for some kernels.
    pub fn backend(&self, kernels: &Kernels) -> Result<(StreamBackend, Seen), FmmError> {
        let seen = Seen::default();
        let Link { baud, turnaround_ms } = self.link;
        let setup = Setup { clock_mhz: self.clock_mhz, baud, turnaround: turnaround_ms / 1e3 };
        let mut backend = predict::backend(setup, self.engines.clone(), seen.clone());
        kernels.graphs().try_for_each(|graph| backend.prepare(graph, 0))?;
        Ok((backend, seen))
    }
}

impl Engine {
    pub(super) fn of(config: &Config) -> Engine {
        let (pipelines, groups, ii) = (config.pipelines, config.groups, config.ii);
        Engine { kernel: config.layout.kernel.clone(), pipelines, groups, ii }
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
            let mhz = match link.baud {
                0 => gigabit::clocks(board, wanted).map(|clocks| clocks.mhz),
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
            let built = build_folded(graph, (clock, ii), "", Vec::new());
            let groups = (self.groups)(pipelines, k)?;
            Ok(hashed(graph, Config { groups, ..fill::config(&built, pipelines, &around) }))
        };
        let engines = all.iter().enumerate().map(engine).collect::<Result<_, E>>()?;
        let machine = Machine { board, clock_mhz, link, engines, joules_per_pair: None, synth: None };
        Ok(Planned { machine, filled, scheduled_mhz })
    }
}
