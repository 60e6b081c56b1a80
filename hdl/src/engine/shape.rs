//! The numbers that an engine's Verilog is made of, derived from its configuration.

use super::protocol::{IDENT_WORDS, Ident};
use super::{Config, Table, lane};
use crate::Format;
use crate::rtl::{Value, cat, net};

/// Bits that hold the numbers 0 to `n`; at least 1.
pub(crate) fn bits_for(n: u32) -> u32 {
    (32 - n.leading_zeros()).max(1)
}

/// Elements of a record in the hardware: they are stored side by side, without the padding that they have on
/// the stream.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    /// (first bit in the padded record, width); one dummy bit where the kernel has no such pin.
    places: Vec<(u32, u32)>,
    /// Words of the padded record.
    pub words: u32,
    /// Bits side by side.
    pub bits: u32,
}

impl Elements {
    fn new(formats: impl Iterator<Item = Format>, words: u32) -> Elements {
        let mut at = 0;
        let mut places = Vec::new();
        for format in formats {
            places.push((at, format.width()));
            at += 32 * format.words();
        }
        if places.is_empty() {
            places.push((0, 1));
        }
        let bits = places.iter().map(|p| p.1).sum();
        Elements { places, words, bits }
    }

    /// The elements of a padded record side by side, the first one lowest.
    pub fn pack(&self, record: &Value) -> Value {
        cat(self.places.iter().rev().map(|(at, width)| record.bits(*at, *width)))
    }

    /// The padded record of elements side by side.
    pub fn unpack(&self, word: &Value) -> Value {
        let mut parts = Vec::new();
        let (mut used, mut at) = (0, 0);
        for (place, width) in &self.places {
            parts.push(Value::zeros(place - at));
            parts.push(word.bits(used, *width));
            used += width;
            at = place + width;
        }
        parts.push(Value::zeros(32 * self.words - at));
        parts.reverse();
        cat(parts)
    }

    /// Marks the bits of the padded record that hold something.
    fn mark(&self, used: &mut [bool]) {
        for (at, width) in &self.places {
            used[*at as usize..(*at + *width) as usize].fill(true);
        }
    }
}

/// The bits of `record` that are not in use, side by side.
fn unused(record: &Value, used: &[bool]) -> Value {
    let mut parts = Vec::new();
    let mut at = 0;
    for group in used.chunk_by(|a, b| a == b) {
        if !group[0] {
            parts.push(record.bits(at, group.len() as u32));
        }
        at += group.len() as u32;
    }
    cat(parts)
}

/// The numbers of one engine.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub prefix: String,
    /// Lane groups.
    pub groups: u32,
    /// Lanes of one group, each with a target.
    pub lanes: u32,
    /// Lanes in front of one pipeline as its filters; 0 where each lane has a pipeline.
    pub filters: u32,
    pub n_bits: u32,
    pub stream_bits: u32,
    /// Clocks from one pair to the next.
    pub ii: u32,
    /// Whether registers stand between the blocks: see [`Config::spread`].
    pub spread: bool,
    pub beat_words: u32,
    /// log2 of `beat_words`.
    pub beat_bits: u32,
    /// Whether lanes have two banks of i registers.
    pub two_banks: bool,
    pub i: Elements,
    pub j: Elements,
    /// The parameters that are registers, and whether there are any.
    pub params: Elements,
    pub has_registers: bool,
    /// The parameters that are tables.
    pub tables: Vec<Table>,
    pub has_params: bool,
    pub result_words: u32,
    /// Words of the register that records gather in.
    pub record_words: u32,
    /// Its bits that nothing reads; there may be none.
    pub padding: Value,
    pub jmem_records: u32,
    pub addr_bits: u32,
    pub segments: u32,
    /// Entries of the segment list, a power of two.
    pub ring: u32,
    pub ring_bits: u32,
    /// Words of a result packet in front of its records.
    pub head_words: u32,
    /// Bits of the largest packet, in whole beats.
    pub packet_bits: u32,
    pub beats_bits: u32,
    /// Beats of a group's output queue, a power of two that holds two of the largest packets.
    pub queue_depth: u32,
    pub room_bits: u32,
    /// Where lanes give their results word by word: bits that say which, the bits among them that say of which of several filters, and
    /// the words of each of a lane's memories.
    pub at_bits: Option<u32>,
    pub member_bits: u32,
    pub words_of_adders: Vec<u32>,
    /// The answer to IDENT, of an engine that has one.
    pub ident: Option<[u32; IDENT_WORDS]>,
}

/// The words of a record that lanes with sums in memory give one by one.
fn words_one_by_one(config: &Config) -> Option<u32> {
    (!config.layout.bins.is_empty() || config.filters > 0).then(|| config.layout.result_words())
}

/// The register that records gather in, of so many words.
fn record(words: u32) -> Value {
    net("record", 32 * words)
}

impl Shape {
    /// The register that records gather in.
    pub fn record(&self) -> Value {
        record(self.record_words)
    }

    /// Bits of a result as a lane gives it.
    pub fn result_bits(&self) -> u32 {
        if self.at_bits.is_some() { 32 } else { 32 * self.result_words }
    }

    /// Pipelines of one group.
    pub fn units(&self) -> u32 {
        self.lanes / self.filters.max(1)
    }

    /// Lanes of all groups.
    pub fn all_lanes(&self) -> u32 {
        self.groups * self.lanes
    }

    /// Whether the memory of sources itself holds what the lane reads: of small engines, whose pairs stand for several clocks.
    pub fn near(&self) -> bool {
        self.ii > 1 && !self.two_banks && !self.spread
    }

    /// Clocks from a pair in the sequencer to its lane's port.
    pub fn to_lanes(&self) -> u32 {
        if self.near() { 1 } else { 3 + self.spread as u32 }
    }

    pub fn new(config: &Config) -> Shape {
        let layout = &config.layout;
        let beat_words = config.beat_words();
        let beat_bits = beat_words.ilog2();
        let i = Elements::new(layout.i.iter().map(|e| e.1), layout.i_words());
        let j = Elements::new(layout.j.iter().map(|e| e.1), layout.j_words());
        let params = Elements::new(layout.params.iter().map(|e| e.1), layout.register_words());
        let has_registers = params.words > 0;
        // Three words hold what RUN says before its segments, and a step fills a beat.
        let record_words = i.words.max(j.words).max(params.words).max(3).max(beat_words);
        let mut used = vec![false; 32 * record_words as usize];
        used[..96].fill(true);
        i.mark(&mut used);
        j.mark(&mut used);
        if has_registers {
            params.mark(&mut used);
        }
        let head_words = config.result_head_words();
        let result_words = layout.result_words();
        let packet_words = (head_words + config.lanes() * result_words).next_multiple_of(beat_words);
        let beats = packet_words / beat_words;
        let queue_depth = (2 * beats).next_power_of_two().max(4);
        let addr_bits = bits_for(config.jmem_records.max(2) - 1);
        let member_bits = if config.filters > 1 { bits_for(config.filters - 1) } else { 0 };
        let ring = (2 * config.segments).next_power_of_two().max(4);
        Shape {
            prefix: layout.kernel.clone(),
            groups: config.groups,
            lanes: config.lanes(),
            filters: config.filters,
            n_bits: bits_for(config.lanes()),
            stream_bits: config.stream_bits,
            ii: config.ii,
            spread: config.spread(),
            beat_words,
            beat_bits,
            two_banks: config.i_banks == 2,
            i,
            j,
            params,
            has_registers,
            tables: layout.tables.clone(),
            has_params: layout.param_words() > 0,
            result_words,
            record_words,
            padding: unused(&record(record_words), &used),
            jmem_records: config.jmem_records,
            addr_bits,
            segments: config.segments,
            ring,
            ring_bits: ring.ilog2(),
            head_words,
            packet_bits: 32 * packet_words,
            beats_bits: bits_for(beats),
            queue_depth,
            room_bits: bits_for(queue_depth),
            at_bits: words_one_by_one(config)
                .map(|words| member_bits + bits_for(words - 1))
                .or_else(|| lane::at_bits(config)),
            member_bits,
            words_of_adders: words_one_by_one(config)
                .map_or_else(|| lane::words_of_adders(config), |words| vec![words]),
            ident: config.ident.map(|hash| Ident::new(config, hash).packet()),
        }
    }
}
