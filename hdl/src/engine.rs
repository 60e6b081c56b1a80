//! The engine around the pipelines: what goes over its streams, and its Verilog.
//!
//! An engine holds N lanes (pipeline, accumulators, two banks of i registers), the j memory, a sequencer
//! and one AXI4-Stream in and out. A *run* is a list of segments of the j memory that is streamed to every
//! group of up to N targets. See [`protocol`] for the packets.

pub mod bytes;
mod design;
mod hand;
pub mod identity;
mod lane;
pub mod link;
pub mod protocol;
mod shape;
mod shell;
pub mod slices;
pub mod switch;

pub use design::{Design, design};
pub(crate) use shape::bits_for;
pub(crate) use shell::{plain_queue, plain_relay, text_module};
pub use slices::Slices;

pub use crate::rtl::bins::Bins;
use crate::rtl::loaded::port_bits;
use crate::{Format, Reduce};

/// The records of a kernel as the engine sees them: flattened elements in declaration order. Every element takes
/// ceil(W/32) words, low word first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Name of the kernel's pipeline module.
    pub kernel: String,
    /// (port name, format) of each i element, such as ("i_xi_0", int32).
    pub i: Vec<(String, Format)>,
    pub j: Vec<(String, Format)>,
    /// Parameters that are registers.
    pub params: Vec<(String, Format)>,
    /// Parameters that are tables in memory; in the record they stand behind the others.
    pub tables: Vec<Table>,
    /// (port name, format, reduction) of each output element.
    pub outputs: Vec<(String, Format, Reduce)>,
    /// Outputs among them that are sums in memory.
    pub bins: Vec<Bins>,
}

/// A parameter that is a table: each lane has it in memories, which the engine writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The port by which the pipeline's memories are written: see [`crate::rtl::loaded`].
    pub port: String,
    pub format: Format,
    /// Entries.
    pub count: u32,
}

impl Table {
    /// Words in the record.
    pub fn words(&self) -> u32 {
        self.count * self.format.words()
    }

    /// Bits of its port.
    pub fn port_bits(&self) -> u32 {
        port_bits(self.format.width(), self.count)
    }
}

impl Layout {
    /// Words of an i record; at least 1, so that every record has a place on the stream.
    pub fn i_words(&self) -> u32 {
        self.i.iter().map(|e| e.1.words()).sum::<u32>().max(1)
    }

    /// Words of a j record; at least 1.
    pub fn j_words(&self) -> u32 {
        self.j.iter().map(|e| e.1.words()).sum::<u32>().max(1)
    }

    /// Words of the parameters; may be 0.
    pub fn param_words(&self) -> u32 {
        self.register_words() + self.tables.iter().map(Table::words).sum::<u32>()
    }

    /// Words of the parameters that are registers.
    pub fn register_words(&self) -> u32 {
        self.params.iter().map(|e| e.1.words()).sum()
    }

    /// The formats of all elements of the parameters, in the order of the record.
    pub fn param_formats(&self) -> impl Iterator<Item = Format> {
        let tables = self.tables.iter().flat_map(|t| std::iter::repeat_n(t.format, t.count as usize));
        self.params.iter().map(|e| e.1).chain(tables)
    }

    /// Whether an output is a sum in memory, which has no port of its own.
    pub fn in_memory(&self, output: u32) -> bool {
        self.bins.iter().any(|b| (b.first..b.first + b.count).contains(&output))
    }

    /// The outputs of the pipeline: those of the record that have ports, and then place and value of sums in memory.
    pub fn pipeline_outputs(&self) -> Vec<(String, Format, Reduce)> {
        let own = (0..).zip(&self.outputs).filter(|(k, _)| !self.in_memory(*k)).map(|(_, o)| o.clone());
        let place = |b: &Bins| Format::int(1 + b.address_bits(), false).expect("a place of a few bits");
        let of = |b: &Bins| [(b.at.clone(), place(b), Reduce::Max), (b.value.clone(), b.format, Reduce::Max)];
        own.chain(self.bins.iter().flat_map(of)).collect()
    }

    /// Words of a result record; at least 1.
    pub fn result_words(&self) -> u32 {
        self.outputs.iter().map(|e| e.1.words()).sum::<u32>().max(1)
    }
}

/// The configuration an engine is built with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    pub layout: Layout,
    /// Lanes N, 1 to 255.
    pub pipelines: u32,
    /// Lane groups G: each has N / G lanes, a copy of the j memory and a j stream of its own.
    pub groups: u32,
    /// Banks of i registers in a lane: with two the next targets load while these compute; one is smaller, and waits.
    pub i_banks: u32,
    /// Capacity of the j memory in records.
    pub jmem_records: u32,
    /// Width of both streams: 32, 64 or 128 bits.
    pub stream_bits: u32,
    /// Capacity of the segment list of one run.
    pub segments: u32,
    /// Cycles from the pins of the pipeline module to its outputs.
    pub pipeline_latency: u32,
    /// Clocks from one pair to the next, K: the initiation interval of the pipeline.
    pub ii: u32,
    /// Hash of the kernel, for an engine that answers IDENT: one behind no link that says what it is.
    pub ident: Option<u64>,
    /// Filters F in front of each pipeline, each with a target of its own; 0 for none.
    pub filters: u32,
}

/// The most clocks from one pair to the next.
pub const MOST_II: u32 = 256;

/// The fewest filters in front of a pipeline, which one alone would not keep busier than it is without; and the most: it would be
/// busy with them if one pair in as many passed.
pub const FEWEST_FILTERS: u32 = 2;
pub const MOST_FILTERS: u32 = 16;
/// The most targets that a lane group takes at a time.
const MOST_TARGETS: u32 = 255;

/// The fewest lanes that have registers on the way to them.
const SPREAD: u32 = 4;

/// The number of lane groups that suits an engine of `pipelines` lanes: one up to 8 lanes; above, groups of at most 8,
/// since lanes that have no target idle, and leaves have few targets. A number that has no divisor from 4 to 8 makes one
/// group.
pub fn usual_groups(pipelines: u32) -> u32 {
    let lanes = (4..=8).rev().find(|lanes| pipelines > 8 && pipelines.is_multiple_of(*lanes));
    lanes.map_or(1, |lanes| pipelines / lanes)
}

/// The ports of an engine of that name, without anything inside: what a design needs to know around its text.
pub fn outline(name: &str, stream_bits: u32) -> crate::rtl::netlist::Module {
    let mut outline = crate::rtl::netlist::Module { name: name.to_string(), ..Default::default() };
    shell::stream_ports(&mut outline, stream_bits);
    outline
}

/// A pipeline whose every output has its plain port; compiled pipelines leave parts of a sum to the accumulators.
pub fn plain_pipeline(layout: &Layout, pipeline: &crate::rtl::netlist::Netlist) -> crate::rtl::netlist::Netlist {
    lane::plain(layout, pipeline)
}

/// A lane of the engine of `config` as a netlist: i registers, pipeline and accumulators.
pub fn lane(config: &Config, pipeline: &crate::rtl::netlist::Netlist) -> crate::rtl::netlist::Netlist {
    let modules = lane::modules(config, pipeline);
    let top = modules.last().map_or(String::new(), |m| m.name.clone());
    let mut netlist = crate::rtl::netlist::Netlist { top, modules: pipeline.modules.clone() };
    modules.into_iter().for_each(|m| netlist.add(m));
    netlist
}

/// Defaults of an engine's configuration. Widths and memories in 32-bit words fit small boards.
pub mod usual {
    pub const PIPELINES: u32 = 8;
    /// Words of j memory.
    pub const JMEM_WORDS: u32 = 16_384;
    /// Banks of i registers: the next targets load while these compute.
    pub const I_BANKS: u32 = 2;
    /// Bits of the streams.
    pub const STREAM_BITS: u32 = 32;
    /// Capacity of a run's segment list.
    pub const SEGMENTS: u32 = 512;
}

impl Config {
    /// The usual engine around a pipeline: see [`usual`].
    pub fn usual(layout: Layout, pipeline_latency: u32) -> Config {
        Config {
            jmem_records: usual::JMEM_WORDS / layout.j_words(),
            layout,
            pipelines: usual::PIPELINES,
            groups: usual_groups(usual::PIPELINES),
            i_banks: usual::I_BANKS,
            stream_bits: usual::STREAM_BITS,
            segments: usual::SEGMENTS,
            pipeline_latency,
            ii: 1,
            ident: None,
            filters: 0,
        }
    }

    /// Whether such an engine can be built; the error says what cannot.
    pub fn verify(&self) -> Result<(), String> {
        let within = |name: &str, value: u32, range: std::ops::RangeInclusive<u32>| {
            let (low, high) = (range.start(), range.end());
            let error = || format!("an engine has {low} to {high} {name}, not {value}");
            range.contains(&value).then_some(()).ok_or_else(error)
        };
        within("pipelines", self.pipelines, 1..=255)?;
        within("lane groups", self.groups, 1..=255)?;
        if !self.pipelines.is_multiple_of(self.groups) {
            return Err(format!("{} pipelines do not make {} equal lane groups", self.pipelines, self.groups));
        }
        within("banks of i registers", self.i_banks, 1..=2)?;
        within("records of j memory", self.jmem_records, 1..=1 << 28)?;
        within("segments in a list", self.segments, 1..=1 << 20)?;
        within("clocks from pair to pair", self.ii, 1..=MOST_II)?;
        within("cycles of pipeline", self.pipeline_latency, 1..=1 << 22)?;
        if self.filters > 0 {
            within("filters in front of a pipeline", self.filters, FEWEST_FILTERS..=MOST_FILTERS)?;
        }
        within("targets in a lane group", self.lanes(), 1..=MOST_TARGETS)?;
        if self.filters > 0 && self.i_banks == 1 {
            return Err("filters need two banks of i registers".into());
        }
        if self.filters > 0 && self.ii > 1 {
            let clocks = self.ii;
            return Err(format!(
                "filters take a source a clock, and the pipeline a pair every {clocks} clocks: leave one of them out"
            ));
        }
        match self.stream_bits {
            32 | 64 | 128 => Ok(()),
            bits => Err(format!("a stream is 32, 64 or 128 bits wide, not {bits}")),
        }
    }

    /// Lanes of one group: the targets that an I packet holds at most. With filters, each of these is a lane.
    pub fn lanes(&self) -> u32 {
        self.pipelines / self.groups * self.filters.max(1)
    }

    /// Lanes of all groups.
    pub fn all_lanes(&self) -> u32 {
        self.groups * self.lanes()
    }

    /// How sums are added up in slices, if they are; their results are read word by word.
    pub fn slices(&self) -> Option<Slices> {
        self.layout.slices(self.ii)
    }

    /// Whether registers stand between the blocks that lanes and groups are far apart from: between the decoder and each
    /// group, the sequencer and each lane, the lanes and the collector, and behind the queues of results. A few lanes stand
    /// close together, and are smaller without.
    pub fn spread(&self) -> bool {
        self.pipelines >= SPREAD || self.groups > 1
    }

    /// 32-bit words in one beat of the stream.
    pub fn beat_words(&self) -> u32 {
        self.stream_bits / 32
    }
}
