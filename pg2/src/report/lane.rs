//! Register bits of a lane as it is built: what its Verilog declares, the accumulators of the outputs included.

use crate::backend::build::Built;
use hdl::engine::{Config, FEWEST_FILTERS};
use hdl::hash::FastSet;
use hdl::rtl::netlist::{Item, Module};
use hdl::rtl::registers::{Declared, declared};

/// The bits of a lane. Registers of its pipeline's operators, results and flags are accounted for by the schedule; the others are here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneBits {
    /// All flip-flops of the lane.
    pub register_bits: u64,
    /// Accumulators: running totals with their guard bits, and what is kept of the last group.
    pub sum_bits: u64,
    /// Pins of the targets, in all banks.
    pub target_bits: u64,
    /// Memories in which sums are added up, and signals beside the pairs wait.
    pub memory_bits: u64,
}

/// Names of the lane's registers beside a pair, which are no part of an accumulator.
const BESIDE: [&str; 7] = ["beside_", "held", "last_1", "last_2", "last_3", "raised", "late_raised"];

/// A lane of the engine that `build` writes unless it is told otherwise.
pub fn lane(built: &Built) -> LaneBits {
    let filters = if built.filter.is_some() { FEWEST_FILTERS } else { 0 };
    lane_of(built, &Config { ii: built.ii(), filters, ..Config::usual(built.layout(), built.schedule.depth) })
}

/// A lane of a given engine.
pub fn lane_of(built: &Built, config: &Config) -> LaneBits {
    let netlist = hdl::engine::lane(config, &built.netlist);
    let Declared { registers, memories } = declared(&netlist, &netlist.top);
    let inside = declared(&netlist, &built.netlist.top);
    let Some(module) = netlist.module(&netlist.top) else { return LaneBits::default() };
    let targets: FastSet<&str> = config.layout.i.iter().map(|e| e.0.as_str()).collect();
    let is_target = |name: &str| {
        ["now_", "bank0_", "bank1_"].iter().any(|p| name.strip_prefix(p).is_some_and(|port| targets.contains(port)))
    };
    let is_beside = |name: &str| BESIDE.iter().any(|b| if b.ends_with('_') { name.starts_with(b) } else { name == *b });
    LaneBits {
        register_bits: registers,
        sum_bits: own(module, &|name| !is_target(name) && !is_beside(name)),
        target_bits: own(module, &is_target),
        memory_bits: memories - inside.memories,
    }
}

/// Register bits of a module itself whose names are of a kind.
fn own(module: &Module, kind: &dyn Fn(&str) -> bool) -> u64 {
    let bits = |item: &Item| match item {
        Item::Reg { name, next } if kind(name) => next.width() as u64,
        Item::Hold { name, width } if kind(name) => *width as u64,
        _ => 0,
    };
    module.items.iter().map(bits).sum()
}
