//! The wire format between host and engine, in 32-bit words. Every host path uses this code.
//!
//! A packet is a header and a body; on an AXI4-Stream each packet starts on a beat and ends with TLAST, and the
//! last beat is filled up with zeros. Word 0 is `opcode << 24 | argument`.
//!
//! | to the engine | words |
//! |---|---|
//! | LOAD_J | `op`, first record address, number of records n, n records |
//! | PARAM | `op`, the parameters |
//! | RUN | `op` with [`RUN_KEEP`] and [`RUN_HOLD`], tag, number of targets n_i, `lane group << 24` with number of segments s, s times (first record, count) |
//! | I | `op` with n <= N, n records; ceil(n_i / N) of them follow each RUN |
//! | STATUS | `op` with 1 to clear the counters after reading |
//! | END | `op`; answered when everything before it is done |
//!
//! | from the engine | words |
//! |---|---|
//! | RESULT | `op` with n, tag, ceil(n / 4) words of flags (one byte a lane, lane 0 lowest), n records |
//! | STATUS | `op` with bit 0 protocol error; cycles, busy, pairs, each low word first |
//! | END | `op` |

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

/// A piece of the j memory: records `first .. first + count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub first: u32,
    pub count: u32,
}

/// Words on their way to the engine, with packet boundaries.
#[derive(Clone, Default, Debug)]
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
    /// Cycles in which a pair entered the pipelines.
    pub busy: u64,
    /// Occupied lanes times sources.
    pub pairs: u64,
    /// A bad opcode, address or length was seen.
    pub protocol_error: bool,
}
