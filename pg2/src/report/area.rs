//! About what a lane takes of a device: lookup tables, registers, multipliers and memory, without any tool.
//!
//! Tables are counted from the operators' expressions, as if each stood alone. What tools simplify across them is not seen, but for
//! iCE40, where it is known from engines that were mapped ([`ICE40`]).

use crate::backend::build::Built;
use crate::graph::{NodeId, NodeKind};
use hdl::Reduce;
use hdl::circuit::target::{Clock, DelayKind, Target};
use hdl::engine::Config;
use hdl::op::circuit;

/// Guard bits of a sum.
const GUARD: u64 = 32;
/// Lookup tables for a bit of a place of a selection.
const PLACE: u64 = 3;

/// Calibration of a family: the percentage left of the tables and registers of a lane, and the tables and registers that the shell
/// takes beside those of its records: once for each engine, and for each group.
struct Experience {
    lane: (u64, u64),
    shell: (u64, u64),
    /// A group whose pairs come in each clock, one whose pairs come every several clocks, and one with sums in slices.
    group: [(u64, u64); 3],
}

const USUAL: Experience = Experience { lane: (100, 100), shell: (900, 900), group: [(225, 225); 3] };

/// For engines on a board, with the serial link, which takes 770 tables and 494 registers of the shell. From 16 engines of 9 shipped kernels with
/// a pair every 1 to 64 clocks, mapped by yosys: the cells of [`Area::cells`] come out within 8% of theirs.
const ICE40: Experience = Experience { lane: (80, 92), shell: (1470, 1134), group: [(400, 560), (300, 360), (90, 50)] };

impl Experience {
    fn of(target: &Target) -> &'static Experience {
        if target.name == "ice40" { &ICE40 } else { &USUAL }
    }
}

/// Words of the rings of a serial link, which are counted with the engine on iCE40.
const RING_WORDS: u64 = 512;

/// The resources of an adder of slices beside its terms, and of the word-by-word reader of results beside a beat, each in lookup
/// tables and in registers.
const SLICES: (u64, u64) = (110, 60);
const WORDS: (u64, u64) = (120, 60);

/// The resources of a queue's addresses and the turns of the switch, in lookup tables and in registers.
const SWITCH: (u64, u64) = (60, 60);

/// The resources taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Area {
    pub tables: u64,
    pub registers: u64,
    pub multipliers: u64,
    /// Block memories.
    pub memories: u64,
}

impl Area {
    /// Cells of iCE40: a flip-flop takes one for itself where it is not behind a table of its own, as half of them are, and so does what leads
    /// carries into chains and out of them.
    pub fn cells(&self) -> u64 {
        self.tables * 107 / 100 + self.registers / 2
    }
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
            area.memories += (module.rom_bits + module.ram_bits).div_ceil(clock.target.memory_bits as u64);
        }
    }
    let slices = graph.layout().slices(built.ii());
    if let Some(slices) = &slices {
        let (adders, width) = (slices.adders as u64, slices.width as u64);
        area.tables += adders * (width + SLICES.0);
        area.registers += adders * (width + SLICES.1);
        // Totals, results, and the terms that wait for their slices. Few words go into tables where these can be memories, which yosys does
        // with two deep.
        let delay = clock.target.delay;
        if delay.kind != DelayKind::Lut || slices.sums * slices.each > 2 * delay.depth {
            area.memories += 3 * adders;
        }
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
        area.tables += match output.reduce {
            // A comparator, and what chooses among the new tuple, the place's own and that of the place before.
            Reduce::Ranked(_) => PLACE * width,
            _ if adds => 2 * width + GUARD,
            _ => 0,
        };
    }
    for bins in &graph.layout().bins {
        let (count, bits) = (bins.count as u64, bins.sum_bits as u64);
        // What is touched and decoded, the choices among that, and the sum on its way; two copies of the memory.
        area.tables += 5 * count / 2 + 6 * bits;
        area.registers += 2 * count + 3 * bits;
        area.memories += 2 * clock.target.cut_blocks(2 << bins.address_bits(), bits);
    }
    if let Some(folded) = &built.folded {
        area.tables += folded.choices(graph);
        area.memories += folded.store_blocks();
        if let Some(bits) = folded.ring_bits() {
            // Each ring has the address that it reads, and what says for each slot how far back that is.
            let (rings, bits) = (folded.stores.iter().flatten().count() as u64, bits as u64);
            area.tables += rings * bits * (1 + (folded.ii as u64).div_ceil(16));
            area.registers += 2 * rings * bits;
        }
    }
    area.registers += graph.layout().i.iter().map(|e| e.1.width() as u64).sum::<u64>();
    let left = Experience::of(clock.target).lane;
    Area { tables: area.tables * left.0 / 100, registers: area.registers * left.1 / 100, ..area }
}

/// An engine: all lanes, and the shell with its memories.
pub fn engine(built: &Built, config: &Config) -> Area {
    let (one, lanes, groups) = (lane(built), config.pipelines as u64, config.groups as u64);
    let layout = &config.layout;
    let width = |elements: &[(String, hdl::Format)]| elements.iter().map(|e| e.1.width() as u64).sum::<u64>();
    // The packet of results, the record that words gather in, and sources on their way.
    // Sums in memory are read word by word too.
    let by_word = config.slices().is_some() || !built.graph.gathered.is_empty();
    let packet = match by_word {
        true => config.stream_bits as u64 + WORDS.0,
        false => 32 * (config.lanes() * layout.result_words() + config.result_head_words()) as u64,
    };
    let record = 32 * layout.i_words().max(layout.j_words()).max(layout.register_words()) as u64;
    let more_banks = (config.i_banks as u64).saturating_sub(1) * 2 * width(&layout.i);
    let (j, params) = (width(&layout.j), width(&layout.params));
    let target = built.library.clock.target;
    let Experience { shell, group, .. } = Experience::of(target);
    let group = match config.slices() {
        Some(_) => group[2],
        None => group[(config.ii > 1) as usize],
    };
    Area {
        tables: lanes * one.tables + shell.0 + groups * (packet + group.0) + record / 2,
        registers: lanes * (one.registers + more_banks)
            + shell.1
            + groups * (packet + 2 * j + group.1)
            + record
            + params,
        multipliers: lanes * one.multipliers,
        memories: lanes * one.memories + memories(target, config, j, by_word),
    }
}

/// Block memories of the shell: j memories of so many bits a record, segment lists, queues, and the link where it is counted.
fn memories(target: &Target, config: &Config, j: u64, by_word: bool) -> u64 {
    let (records, word) = (config.jmem_records as u64, config.stream_bits as u64 + 1);
    let records_blocks = target.cut_blocks(records, j);
    let address = (records as u32 + 1).next_power_of_two().ilog2() as u64;
    let lists = 2 * target.blocks(2 * config.segments as u64, 2 * address);
    let results = if by_word { 0 } else { 2 * target.blocks(4, word) };
    let link = if target.name == "ice40" { 2 * target.blocks(RING_WORDS, 32) + 1 } else { 0 };
    config.groups as u64 * (records_blocks + lists + results) + target.blocks(4, word) + link
}

/// The share of one engine of several in the switch before them, and the queue in front of it.
pub fn switch(target: &Target, config: &Config) -> Area {
    let bits = config.stream_bits as u64;
    Area {
        tables: bits + SWITCH.0,
        registers: bits + SWITCH.1,
        multipliers: 0,
        memories: target.blocks(hdl::engine::switch::QUEUE as u64, bits + 1),
    }
}
