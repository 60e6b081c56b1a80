//! About what a lane takes of a device, and an engine: lookup tables, registers, multipliers and memory, without any tool.
//!
//! A lane is mapped as a tool would map it ([`super::mapping`]). The shell is hand-written text: of it only its memories are counted one by
//! one, and its tables and registers come from engines that were mapped.

use crate::backend::build::Built;
use crate::report::mapping;
use hdl::circuit::target::Target;
use hdl::engine::Config;

/// Tables and registers that the shell of a family takes beside those of its records: once for each engine, and for each group.
struct Experience {
    shell: (u64, u64),
    /// A group whose pairs come in each clock, one whose pairs come every several clocks, and one with sums in slices.
    group: [(u64, u64); 3],
    /// Of a bit of the packet of results, in percent.
    packet: (u64, u64),
    /// Registers of a group whose lanes stand apart.
    apart: u64,
}

/// From engines of `p2p_paper` with 1 to 32 lanes, mapped by yosys for ECP5: tables within 4% of theirs.
const USUAL: Experience = Experience { shell: (850, 800), group: [(802, 699); 3], packet: (133, 230), apart: 540 };

/// For engines on a board, with the serial link, which takes 770 tables and 494 registers of the shell. From 16 engines of 9 shipped kernels with
/// a pair every 1 to 64 clocks, mapped by yosys: the cells of [`Area::cells`] come out within 8% of theirs.
const ICE40: Experience =
    Experience { shell: (1470, 1134), group: [(400, 560), (150, 260), (40, 0)], packet: (100, 100), apart: 0 };

impl Experience {
    fn of(target: &Target) -> &'static Experience {
        if target.name == "ice40" { &ICE40 } else { &USUAL }
    }
}

/// Words of the input queue, and groups whose results are under way.
const UNDER_WAY: u64 = 16;

/// Words of the rings of a serial link, which are counted with the engine on iCE40.
const RING_WORDS: u64 = 512;

/// The resources of the word-by-word reader of results beside a beat, in lookup tables and in registers.
const WORDS: u64 = 120;

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
    /// Adds another one.
    pub fn add(&mut self, other: Area) {
        self.tables += other.tables;
        self.registers += other.registers;
        self.multipliers += other.multipliers;
        self.memories += other.memories;
    }

    /// Cells of iCE40: a flip-flop takes one for itself where it is not behind a table of its own, as half of them are, and so does what leads
    /// carries into chains and out of them.
    pub fn cells(&self) -> u64 {
        self.tables * 107 / 100 + self.registers / 2
    }
}

/// A lane: pipeline, sums, and one bank of i registers.
pub fn lane(built: &Built) -> Area {
    let usual = Config::usual(built.layout(), built.schedule.depth);
    lane_of(built, &Config { pipelines: 1, groups: 1, i_banks: 1, ii: built.ii(), ..usual })
}

/// A lane of an engine.
fn lane_of(built: &Built, config: &Config) -> Area {
    mapping::map(&hdl::engine::lane(config, &built.netlist), built.library.clock.target)
}

/// An engine: all lanes, and the shell with its memories.
pub fn engine(built: &Built, config: &Config) -> Area {
    let (one, lanes, groups) = (lane_of(built, config), config.pipelines as u64, config.groups as u64);
    let layout = &config.layout;
    let width = |elements: &[(String, hdl::Format)]| elements.iter().map(|e| e.1.width() as u64).sum::<u64>();
    // The packet of results, the record that words gather in, and sources on their way.
    // Sums in memory are read word by word too.
    let by_word = config.slices().is_some() || !built.kernel().gathered.is_empty() || config.filters > 0;
    let packet = match by_word {
        true => config.stream_bits as u64 + WORDS,
        false => 32 * (config.lanes() * layout.result_words() + config.result_head_words()) as u64,
    };
    let record = 32 * layout.i_words().max(layout.j_words()).max(layout.register_words()) as u64;
    let (j, params) = (width(&layout.j), width(&layout.params));
    let target = built.library.clock.target;
    let known = Experience::of(target);
    let group = match config.slices() {
        Some(_) => known.group[2],
        None => known.group[(config.ii > 1) as usize],
    };
    let apart = if config.spread() { known.apart } else { 0 };
    Area {
        tables: lanes * one.tables + known.shell.0 + groups * (packet * known.packet.0 / 100 + group.0) + record / 2,
        registers: lanes * one.registers
            + known.shell.1
            + groups * (packet * known.packet.1 / 100 + 2 * j + group.1 + apart)
            + record
            + params,
        multipliers: lanes * one.multipliers,
        memories: lanes * one.memories + memories(target, config, j, by_word),
    }
}

/// Block memories of the shell: j memories of so many bits a record, segment lists, queues, and the link where it is counted.
fn memories(target: &Target, config: &Config, j: u64, by_word: bool) -> u64 {
    let (records, word) = (config.jmem_records, config.stream_bits as u64 + 1);
    // What is short goes into tables where these can be memories.
    let queue = |words: u64, bits: u64| mapping::memory(target, words, bits).memories;
    // An entry of a list is two addresses and a flag.
    let entry = 2 * (records.max(2) - 1).ilog2() as u64 + 3;
    let ring = (2 * config.segments as u64).next_power_of_two();
    let lists = target.cut_blocks(ring, entry) + target.cut_blocks(ring, entry + 1);
    let beats = (config.result_head_words() + config.lanes() * config.layout.result_words()) as u64
        / config.beat_words() as u64;
    let results = if by_word { 0 } else { queue((2 * beats).next_power_of_two(), word) + queue(UNDER_WAY, word) };
    let link = if target.name == "ice40" { 2 * target.blocks(RING_WORDS, 32) + 1 } else { 0 };
    let group = target.cut_blocks(records as u64, j) + lists + results;
    config.groups as u64 * group + queue(UNDER_WAY, word) + link
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
