//! Where a design goes: the goal, its clock, and the engine that suits it.

use super::Args;
use crate::cmd::build::possible;
use crate::cmd::lanes::each;
use flow::{Goal, Tools};
use hdl::board::pll::Source;
use hdl::board::{Board, DEVICES, gigabit, top};
use hdl::circuit::target::{Clock, target};
use hdl::engine::{Config, usual};
use hdl::ethernet;
use hdl::rtl::netlist::{Module, Netlist};
use hdl::serial::{self, Identity};
use pairforge::kernel::fit::Share;
use pairforge::kernel::parts::part;
use pg2::backend::build::Built;
use std::net::Ipv4Addr;
use terminal::failure::Failure;

pub(super) fn goal(args: &Args) -> Result<Goal, Failure> {
    let unknown = |kind: &str, name: &str, known: Vec<&str>| {
        Failure::Usage(format!("there is no {kind} `{name}`; there are {}", known.join(", ")))
    };
    if let Some(name) = &args.board {
        return crate::cmd::board::find(name).map(Goal::Board);
    }
    if let Some(part) = args.device.as_deref().and_then(part) {
        let name = part.device.name;
        return Err(Failure::Usage(format!(
            "only its vendor's tools place and route for {name}; count its lanes by --area-only --target {name}, or predict it by `pairforge \
             fmm --predict {name}`"
        )));
    }
    if let Some(name) = &args.device {
        let known = || DEVICES.iter().map(|d| d.name).collect();
        return hdl::board::device(name).map(Goal::Device).ok_or_else(|| unknown("device", name, known()));
    }
    let name = args.target.as_deref().unwrap_or_default();
    let name = part(name).map_or(name, |part| part.device.target);
    let known = || flow::family::FAMILIES.iter().map(|f| f.target).collect();
    let family = flow::family::family(name);
    family.map(|f| Goal::Area(f.target)).ok_or_else(|| unknown("flow for target", name, known()))
}

/// The clock that operators are pipelined for, and how a board's clock is made.
pub(super) fn clock(args: &Args, goal: Goal) -> Result<(Clock, Way), Failure> {
    let target = target(goal.target()).expect("every family and device names a target");
    let usual = if let Goal::Board(board) = goal { board.usual_mhz } else { target.usual_mhz };
    let mhz = args.freq.unwrap_or(usual);
    // A device's own multipliers are the budget where none is stated.
    let blocks = args.blocks.dsp.or_else(|| goal.device().map(|d| d.multipliers / lanes(args)));
    let Goal::Board(board) = goal else {
        if args.ethernet.is_some() {
            return Err(Failure::Usage("--ethernet needs --board".into()));
        }
        return Ok((possible(Clock { target, mhz, blocks })?, Way::Serial(Source::Oscillator)));
    };
    if let Some(ip) = args.ethernet {
        if board.ethernet.is_none() {
            return Err(crate::cmd::no_ethernet(board));
        }
        if ip.is_unspecified() || ip.is_broadcast() || ip.is_multicast() || ip.is_loopback() || ip.octets()[3] == 255 {
            return Err(Failure::Usage(format!("{ip} is no address that a board can have")));
        }
        let clocks = gigabit::clocks(board, mhz).map_err(Failure::Input)?;
        return Ok((Clock { target, mhz: clocks.mhz, blocks }, Way::Ethernet(clocks, ip)));
    }
    let (source, mhz) = board.pll.source(board.oscillator_mhz, mhz).map_err(Failure::Input)?;
    Ok((possible(Clock { target, mhz, blocks })?, Way::Serial(source)))
}

/// The clock that pipelines are scheduled for, at a clock of the design.
pub(super) fn scheduled(args: &Args, clock: Clock) -> Result<Clock, Failure> {
    let mhz = args.schedule.unwrap_or(clock.mhz);
    if !(clock.mhz..=1000.0).contains(&mhz) {
        let least = clock.mhz;
        return Err(Failure::Usage(format!("--schedule takes the clock, {least} MHz, to 1000 MHz, not {mhz}")));
    }
    possible(Clock { mhz, ..clock })
}

/// How a board is clocked and reached.
#[derive(Clone, Copy)]
pub(super) enum Way {
    Serial(Source),
    Ethernet(gigabit::Clocks, Ipv4Addr),
}

/// The network's core, where there is one: its outline for checks, and its text.
#[derive(Default)]
pub(super) struct Core {
    pub outside: Vec<Module>,
    pub text: String,
}

impl Core {
    /// The constraints of the pins that it needs.
    pub fn constraints(&self, goal: Goal) -> &'static str {
        match goal {
            Goal::Board(Board { ethernet: Some(ethernet), .. }) if !self.outside.is_empty() => ethernet.constraints,
            _ => "",
        }
    }
}

/// The core for a board on the network, made before anything that takes minutes.
pub(super) fn core(tools: &Tools, way: &Way, kernel: &str) -> Result<Core, Failure> {
    match way {
        Way::Serial(_) => Ok(Core::default()),
        Way::Ethernet(..) => {
            let text = flow::core::network_core(tools, kernel)?;
            Ok(Core { outside: vec![ethernet::core::outline(kernel)], text })
        }
    }
}

/// Lanes of all kernels.
fn lanes(args: &Args) -> u32 {
    match args.pipelines[..] {
        [one] => one * args.files.len() as u32,
        _ => args.pipelines.iter().sum(),
    }
}

/// The engine of kernel `place.0` of `place.1`; where only a lane is counted, one with a single bank of i registers.
pub(super) fn config(args: &Args, goal: Goal, built: &Built, place: (usize, usize)) -> Result<Config, Failure> {
    let layout = built.layout();
    let alone = matches!(goal, Goal::Area(_));
    let pipelines = each(&args.pipelines, place, "--pipelines")?;
    // A lane whose area is counted may be meant for a device too.
    let device = goal.device().or(args.fit.device());
    let words = args.jmem.as_ref().map(|words| each(words, place, "--jmem")).transpose()?;
    let filters = args.filters.count();
    let share = Share::of(device, place.1).with_words(words);
    let config = Config {
        jmem_records: share.records(&layout, built.library.clock.target),
        pipelines: if alone { 1 } else { pipelines },
        groups: if alone { 1 } else { args.groups.of(pipelines, place)? },
        // Filters have two banks, alone too.
        i_banks: if filters > 0 {
            usual::I_BANKS
        } else if alone {
            1
        } else {
            share.i_banks
        },
        stream_bits: args.stream.parse().unwrap_or(usual::STREAM_BITS),
        segments: share.segments,
        ii: built.ii(),
        filters,
        ..Config::usual(layout, built.schedule.depth)
    };
    config.verify().map_err(Failure::Input)?;
    Ok(config)
}

/// The board's design: clock, reset, link and lights around what holds the engines. These have their configurations and the hashes
/// of their kernels.
pub(super) fn on_board(
    board: &'static Board,
    engines: &[(&Config, u64)],
    all: &Netlist,
    (way, mhz): (Way, f64),
) -> Result<Netlist, Failure> {
    let identity = Identity::new(engines, (mhz * 1e6).round() as u32, board.baud);
    let (identity, clock) = match way {
        Way::Serial(source) => (identity, source),
        Way::Ethernet(clocks, _) => (identity.over_ethernet(), Source::Loop(clocks.setting)),
    };
    identity.verify().map_err(Failure::Input)?;
    let link = if identity.is_ethernet() { ethernet::netlist(&identity) } else { serial::netlist(&identity) };
    let parts = top::Parts {
        board,
        kernel: identity.prefix(),
        engine: &all.top,
        engines: engines.len() as u32,
        stream_bits: identity.stream_bits,
        link: &link,
        clock,
        mhz,
    };
    match way {
        Way::Serial(_) => Ok(top::top(&parts, all)),
        Way::Ethernet(clocks, ip) => gigabit::top(&parts, &clocks, ip, all).map_err(Failure::Input),
    }
}
