//! The wire format between host and engine, in 32-bit words. Every host path uses this code.
//!
//! A packet is a header and a body; on an AXI4-Stream each packet starts on a beat and ends with TLAST, and the
//! last beat is filled up with zeros. Word 0 is `opcode << 24 | argument`. L is the number of lanes in a
//! lane group.
//!
//! | to the engine | words |
//! |---|---|
//! | LOAD_J | `op`, first record address, number of records n, n records |
//! | PARAM | `op`, the parameters |
//! | RUN | `op` with [`RUN_KEEP`] and [`RUN_HOLD`], tag, number of targets n_i, `lane group << 24` with number of segments s, s times (first record, count) |
//! | I | `op` with n, n records; ceil(n_i / L) of them follow each RUN, each with L targets but the last with the rest |
//! | STATUS | `op` with 1 to clear the counters after reading |
//! | END | `op`; answered when everything before it is done |
//! | IDENT | `op`; of engines that know what they are ([`Config::ident`](super::Config::ident)) |
//!
//! | from the engine | words |
//! |---|---|
//! | RESULT | `op` with n, tag, ceil(L / 4) words of flags (one byte a lane, lane 0 lowest), n records |
//! | STATUS | `op` with bit 0 protocol error; cycles, busy, pairs, each low word first |
//! | END | `op` |
//! | IDENT | `op` with the words of a beat and a version, [`Ident`] |
//!
//! **Order.** Commands act in stream order. A group computes when its I packet arrives: with the j memory and
//! the parameters that the packets before it left. Results of one lane group come in stream order, those of different
//! groups in any. STATUS, END and IDENT are answered after every result before them has left.
//!
//! **Errors.** A packet with an unknown opcode, a length that its TLAST contradicts, an address outside the j memory, too
//! many segments, a lane group that there is not, [`RUN_KEEP`] or [`RUN_HOLD`] with n_i > L, or an I packet that no run
//! waits for or whose n is not the one due, sets the protocol-error bit and does nothing else (records of a LOAD_J
//! that stand before the fault are stored). RUN and END end a run that still waits for I packets, and
//! that is an error too. Packets after the fault's TLAST work as always.

mod reply;
mod wire;

pub use super::identity::Ident;
pub use reply::Reply;
pub use wire::{Packing, beats, packet_words, pad, reply_words};

/// Load records into the j memory.
pub const LOAD_J: u32 = 0x01;
/// Set the parameters; waits until no pair is in flight.
pub const PARAM: u32 = 0x02;
/// Describe a run.
pub const RUN: u32 = 0x03;
/// One group of targets of the run described last.
pub const I: u32 = 0x04;
/// Ask for the counters.
pub const STATUS: u32 = 0x05;
/// Ask for an answer when all is done.
pub const END: u32 = 0x06;

/// Ask what engine it is.
pub const IDENT: u32 = 0x07;

/// Argument of RUN: accumulate onto what the lanes hold (`first` is suppressed).
pub const RUN_KEEP: u32 = 1;
/// Argument of RUN: return no result, the list goes on in the next RUN (`last` is suppressed).
pub const RUN_HOLD: u32 = 2;

/// Results of one group.
pub const RESULT: u32 = 0x81;
/// Counters.
pub const STATUS_REPLY: u32 = 0x82;
/// Everything before END is done.
pub const END_REPLY: u32 = 0x83;
/// The engine's identity.
pub const IDENT_REPLY: u32 = 0x84;

/// Words of the answer to IDENT.
pub const IDENT_WORDS: usize = 17;

/// A piece of the j memory: records `first .. first + count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub first: u32,
    pub count: u32,
}

/// The fields of a RUN packet besides its segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunHeader {
    /// Comes back with each of the run's results.
    pub tag: u32,
    /// Number of targets; I packets for them follow.
    pub n_i: u32,
    /// The lane group that computes the run.
    pub group: u8,
    /// See [`RUN_KEEP`].
    pub keep: bool,
    /// See [`RUN_HOLD`].
    pub hold: bool,
}

/// Words on their way to the engine, with packet boundaries.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stream {
    /// The words of all packets, one behind the other, without beat padding.
    pub words: Vec<u32>,
    /// For each packet the index one behind its last word.
    pub ends: Vec<usize>,
}

/// The engine's counters (RULES E5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Cycles from the first I word to the last result word.
    pub cycles: u64,
    /// Cycles in which a pair entered the pipelines, summed over lane groups.
    pub busy: u64,
    /// Occupied lanes times sources.
    pub pairs: u64,
    /// A bad opcode, address or length was seen.
    pub protocol_error: bool,
}

impl Stream {
    /// Appends a packet of these words.
    pub fn packet(&mut self, words: impl IntoIterator<Item = u32>) {
        self.words.extend(words);
        self.ends.push(self.words.len());
    }

    fn with_body(&mut self, head: &[u32], body: &[u32]) {
        self.words.extend_from_slice(head);
        self.words.extend_from_slice(body);
        self.ends.push(self.words.len());
    }

    /// LOAD_J of `n` packed records to record address `first` onward.
    pub fn load_j(&mut self, first: u32, n: u32, records: &[u32]) {
        self.with_body(&[LOAD_J << 24, first, n], records);
    }

    /// PARAM with the packed parameters.
    pub fn param(&mut self, words: &[u32]) {
        self.with_body(&[PARAM << 24], words);
    }

    /// RUN over `segments`.
    pub fn run(&mut self, run: RunHeader, segments: &[Segment]) {
        let flags = if run.keep { RUN_KEEP } else { 0 } | if run.hold { RUN_HOLD } else { 0 };
        let group = (run.group as u32) << 24 | segments.len() as u32;
        self.words.extend([RUN << 24 | flags, run.tag, run.n_i, group]);
        self.words.extend(segments.iter().flat_map(|s| [s.first, s.count]));
        self.ends.push(self.words.len());
    }

    /// I with one group of `n` packed records.
    pub fn i(&mut self, n: u32, records: &[u32]) {
        self.with_body(&[I << 24 | n], records);
    }

    /// The I packets of all of a run's `n` targets for an engine of `lanes` lanes.
    pub fn i_groups(&mut self, lanes: u32, n: u32, records: &[u32]) {
        let record = records.len() / n.max(1) as usize;
        for first in (0..n).step_by(lanes.max(1) as usize) {
            let count = lanes.min(n - first);
            let at = first as usize * record;
            self.i(count, &records[at..at + count as usize * record]);
        }
    }

    /// STATUS; `clear` sets the counters to 0 after reading.
    pub fn status(&mut self, clear: bool) {
        self.packet([STATUS << 24 | clear as u32]);
    }

    /// END.
    pub fn end(&mut self) {
        self.packet([END << 24]);
    }

    /// IDENT.
    pub fn ident(&mut self) {
        self.packet([IDENT << 24]);
    }

    /// The packets, each without beat padding.
    pub fn packets(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.words[start..*end])
    }

    /// Forgets all packets and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests;
