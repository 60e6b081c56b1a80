//! About what a lane takes of a device: lookup tables, registers, multipliers and memory, without any tool.
//!
//! Tables are counted from the operators' expressions, as if each stood alone; what tools simplify across them is not seen.

use crate::backend::build::Built;
use crate::graph::{NodeId, NodeKind};
use hdl::Reduce;
use hdl::circuit::target::Clock;
use hdl::engine::Config;
use hdl::op::circuit;

/// Guard bits of a sum.
const GUARD: u64 = 32;
/// What the shell of an engine takes in lookup tables and in registers, beside what goes with its records.
const SHELL: (u64, u64) = (900, 900);

/// What an adder of slices takes beside its terms, and what reads results word by word beside a beat, each in lookup tables and in
/// registers.
const SLICES: (u64, u64) = (110, 60);
const WORDS: (u64, u64) = (120, 60);

/// What a queue's addresses and the turns of the switch take in lookup tables and in registers.
const SWITCH: (u64, u64) = (60, 60);

/// What is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    pub tables: u64,
    pub registers: u64,
    pub multipliers: u64,
    /// Bits of block memory: tables of functions.
    pub memory_bits: u64,
}

/// A lane: pipeline, sums, and one bank of i registers.
pub fn lane(built: &Built) -> Area {
    let graph = &built.graph;
    let clock = built.library.clock;
    let mut area = Area { registers: built.schedule.register_bits() + built.flag_bits, ..Area::default() };
    for (k, node) in graph.nodes.iter().enumerate() {
        let (NodeKind::Op { op, inst, .. }, Some(module)) = (&node.kind, built.library.module(NodeId(k as u32))) else {
            continue;
        };
        if built.folded.as_ref().is_none_or(|f| f.leads(k)) {
            let own = Clock { blocks: (module.multipliers == 0).then_some(0), ..clock };
            area.tables += circuit(*op, inst, own).tables();
            area.multipliers += module.multipliers as u64;
            area.memory_bits += module.rom_bits;
        }
    }
    let slices = graph.layout().slices(built.ii());
    if let Some(slices) = &slices {
        let (adders, width) = (slices.adders as u64, slices.width as u64);
        area.tables += adders * (width + SLICES.0);
        area.registers += adders * (width + SLICES.1);
    }
    for (k, output) in graph.outputs.iter().enumerate().filter(|_| slices.is_none()) {
        let width = graph.node(output.value).format.width() as u64;
        let shared = built.folded.as_ref().map(|f| (f.unit[graph.nodes.len() + k], f.leads(graph.nodes.len() + k)));
        // The running total and what is kept of it, with what takes a pair or leaves it.
        let (total, adds) = match (output.reduce, shared) {
            (Reduce::Sum, Some((Some(_), leads))) => (2 * width + GUARD, leads),
            (Reduce::Sum, _) => (2 * (width + GUARD), true),
            _ => (width, true),
        };
        area.registers += total;
        area.tables += if adds { 2 * width + GUARD } else { 0 };
    }
    area.tables += built.folded.as_ref().map_or(0, |f| f.choices(graph));
    area.registers += graph.layout().i.iter().map(|e| e.1.width() as u64).sum::<u64>();
    area
}

/// An engine: all lanes, and the shell with its memories.
pub fn engine(built: &Built, config: &Config) -> Area {
    let (one, lanes, groups) = (lane(built), config.pipelines as u64, config.groups as u64);
    let layout = &config.layout;
    let width = |elements: &[(String, hdl::Format)]| elements.iter().map(|e| e.1.width() as u64).sum::<u64>();
    // The packet of results, the record that words gather in, and sources on their way.
    let packet = match config.slices() {
        Some(_) => config.stream_bits as u64 + WORDS.0,
        None => 32 * (config.lanes() * layout.result_words() + config.result_head_words()) as u64,
    };
    let record = 32 * layout.i_words().max(layout.j_words()).max(layout.param_words()) as u64;
    let more_banks = (config.i_banks as u64).saturating_sub(1) * 2 * width(&layout.i);
    let (j, params) = (width(&layout.j), width(&layout.params));
    let list = 2 * 2 * config.segments as u64 * 64;
    Area {
        tables: lanes * one.tables + SHELL.0 + groups * (packet + SHELL.0 / 4) + record / 2,
        registers: lanes * (one.registers + more_banks)
            + SHELL.1
            + groups * (packet + 2 * j + SHELL.1 / 4)
            + record
            + params,
        multipliers: lanes * one.multipliers,
        memory_bits: lanes * one.memory_bits + groups * (config.jmem_records as u64 * j + list),
    }
}

/// The share of one engine of several in the switch before them, and the queue in front of it.
pub fn switch(config: &Config) -> Area {
    let bits = config.stream_bits as u64;
    Area {
        tables: bits + SWITCH.0,
        registers: bits + SWITCH.1,
        multipliers: 0,
        memory_bits: hdl::engine::switch::QUEUE as u64 * (bits + 1),
    }
}
