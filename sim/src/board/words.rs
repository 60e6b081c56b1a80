//! The simulation of a design that takes and gives the words of datagrams ([`hdl::ethernet::netlist`] and what is behind
//! it), clock by clock, at the pace of a network.

use super::wire::Waiting;
use crate::SimError;
use crate::cache::Cache;
use crate::verilator::{self, Source};
use askama::Template;
use hdl::ethernet::board::Peer;
use libloading::Library;
use std::collections::VecDeque;
use std::ffi::c_void;

const PREFIX: &str = "Vdatagrams";

#[derive(Template)]
#[template(path = "datagrams.cpp", escape = "none")]
struct Driver {
    prefix: &'static str,
}

impl verilator::ClockLoop for Driver {
    const EXPORTS: &'static [&'static str] = &["board_new", "board_clock", "board_delete"];
}

/// The fields of `struct Pins` in `templates/datagrams.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Pins {
    rst: u32,
    rx_valid: u32,
    rx_last: u32,
    rx_data: u32,
    rx_address: u32,
    rx_port: u32,
    tx_ready: u32,
    tx_valid: u32,
    tx_last: u32,
    tx_data: u32,
    tx_address: u32,
    tx_port: u32,
    tx_bytes: u32,
    busy: u32,
    resting: u32,
}

/// A simulated design.
struct Design {
    board: *mut c_void,
    clock: unsafe extern "C" fn(*mut c_void, *mut Pins),
    delete: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions above loaded.
    _library: Library,
}

impl Drop for Design {
    fn drop(&mut self) {
        // SAFETY: `board` came from `board_new` of the same library and is not used again.
        unsafe { (self.delete)(self.board) }
    }
}

/// Bytes on the wire beside a datagram: preamble, headers of Ethernet, IP and UDP, check and gap.
const AROUND: f64 = 66.0;
/// Bytes a second in each direction.
const WIRE: f64 = 125e6;
/// Far more clocks than the link needs to act on what it has, the reset of the engine included.
const SETTLE: u64 = 4096;
/// Clocks of reset.
const RESET: u64 = 16;

/// One direction of the wire: the clock at which its next word may pass.
#[derive(Clone, Copy, Default)]
struct Pace {
    free: f64,
}

impl Pace {
    fn is_free(&self, now: u64) -> bool {
        self.free <= now as f64
    }

    fn pass(&mut self, now: u64, clocks: f64) {
        // A wire that rested does not catch up.
        self.free = self.free.max(now as f64 - 1.0) + clocks;
    }
}

/// A design on a gigabit of wire. Datagrams to it begin to arrive in the order in which they are given.
pub struct WordsSim {
    design: Design,
    now: u64,
    /// Clocks of a word on the wire, and of what is around a datagram.
    word: f64,
    around: f64,
    down: Pace,
    up: Pace,
    input: VecDeque<(Peer, Vec<u32>)>,
    waiting: Waiting,
    /// Words of the first one that have gone in.
    at: usize,
    output: Vec<u32>,
    seen: Seen,
    /// The last clock in which a word went in.
    heard: u64,
    /// Idle clocks so far, of which those behind the last word do not count yet.
    idle: u64,
}

/// The observations so far. Clocks are counted from power-on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    pub clock: u64,
    /// The first word in either direction, and the clock behind the last one.
    pub first: u64,
    pub last: u64,
    /// Clocks between these in which both directions rested and the engine had nothing to do.
    pub idle: u64,
    /// Whether the engine is at work, and whether no host has a session.
    pub is_busy: bool,
    pub is_free: bool,
}

/// A simulated board on the network, clock by clock of its engine.
pub trait Clocked {
    /// Clocks so far.
    fn now(&self) -> u64;

    /// The observations so far.
    fn seen(&self) -> Seen;

    /// A datagram that comes next.
    fn give(&mut self, from: Peer, bytes: &[u8]);

    /// One clock; gives a datagram that has ended.
    fn clock(&mut self) -> Result<Option<(Peer, Vec<u8>)>, SimError>;

    /// Whether nothing happens any more until a datagram comes, given the clocks after which a silent host loses its hold.
    fn rests(&self, hold: u64) -> bool;
}

/// Why a design is no link's end.
fn misbehaved(what: String) -> SimError {
    SimError::Misbehaved(format!("the simulated link {what}"))
}

impl WordsSim {
    /// Builds the design with that top, or finds it in the cache, and resets it.
    pub fn build(verilog: &str, top: &str, clock_hz: f64, cache: &Cache) -> Result<WordsSim, SimError> {
        let source = Source::of_design(PREFIX, (top, verilog));
        let library = verilator::load(&source, &Driver { prefix: PREFIX }, cache)?;
        // SAFETY: the types are those of `templates/datagrams.cpp`, and the library is kept in the result.
        let design = unsafe {
            let new: unsafe extern "C" fn() -> *mut c_void = verilator::symbol(&library, "board_new");
            Design {
                board: new(),
                clock: verilator::symbol(&library, "board_clock"),
                delete: verilator::symbol(&library, "board_delete"),
                _library: library,
            }
        };
        let byte = clock_hz / WIRE;
        let mut sim = WordsSim {
            design,
            now: 0,
            word: 4.0 * byte,
            around: AROUND * byte,
            down: Pace::default(),
            up: Pace::default(),
            input: VecDeque::new(),
            waiting: Waiting::default(),
            at: 0,
            output: Vec::new(),
            seen: Seen::default(),
            heard: 0,
            idle: 0,
        };
        for _ in 0..RESET {
            sim.pins(Pins { rst: 1, ..Pins::default() });
        }
        Ok(sim)
    }

    fn pins(&mut self, mut pins: Pins) -> Pins {
        // SAFETY: `board` is a live board of this library, and `pins` is what it takes.
        unsafe { (self.design.clock)(self.design.board, &mut pins) };
        self.now += 1;
        pins
    }

    fn watch(&mut self, now: u64, pins: &Pins) {
        (self.seen.is_busy, self.seen.is_free) = (pins.busy != 0, pins.resting != 0);
        self.heard = if pins.rx_valid != 0 { now } else { self.heard };
        if pins.rx_valid != 0 || (pins.tx_valid != 0 && pins.tx_ready != 0) {
            if self.seen.last == 0 {
                (self.seen.first, self.idle) = (now, 0);
            }
            (self.seen.last, self.seen.idle) = (now + 1, self.idle);
        } else if pins.busy == 0 && pins.tx_valid == 0 && self.input.is_empty() {
            self.idle += 1;
        }
    }
}

impl Clocked for WordsSim {
    fn now(&self) -> u64 {
        self.now
    }

    fn seen(&self) -> Seen {
        Seen { clock: self.now, ..self.seen }
    }

    /// Bytes that fill no word are lost, as any datagram is that was cut; and so are those that find no space before the wire.
    fn give(&mut self, from: Peer, bytes: &[u8]) {
        let words: Vec<u32> = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let length = bytes.len() + AROUND as usize;
        if !words.is_empty() && self.waiting.takes(self.input.len(), from, length) {
            self.input.push_back((from, words));
        }
    }

    fn rests(&self, hold: u64) -> bool {
        let quiet = |since: u64, clocks: u64| self.now.saturating_sub(since) > clocks;
        let held = !self.seen.is_free && !quiet(self.heard, hold + SETTLE);
        self.input.is_empty() && !self.seen.is_busy && quiet(self.heard.max(self.seen.last), SETTLE) && !held
    }

    fn clock(&mut self) -> Result<Option<(Peer, Vec<u8>)>, SimError> {
        let mut pins = Pins { tx_ready: self.up.is_free(self.now) as u32, ..Pins::default() };
        if let Some((from, words)) = self.input.front().filter(|_| self.down.is_free(self.now)) {
            let is_last = self.at + 1 == words.len();
            (pins.rx_valid, pins.rx_last, pins.rx_data) = (1, is_last as u32, words[self.at]);
            (pins.rx_address, pins.rx_port) = (from.address, from.port as u32);
            self.down.pass(self.now, self.word + if is_last { self.around } else { 0.0 });
            self.at += 1;
            if is_last {
                self.input.pop_front();
                self.at = 0;
            }
        }
        let now = self.now;
        let out = self.pins(pins);
        self.watch(now, &out);
        if out.tx_valid == 0 || out.tx_ready == 0 {
            return Ok(None);
        }
        let is_last = out.tx_last != 0;
        self.up.pass(now, self.word + if is_last { self.around } else { 0.0 });
        self.output.push(out.tx_data);
        if self.output.len() * 4 > out.tx_bytes as usize {
            return Err(misbehaved(format!("says {} bytes and sends more", out.tx_bytes)));
        }
        if !is_last {
            return Ok(None);
        }
        let words = std::mem::take(&mut self.output);
        if words.len() * 4 != out.tx_bytes as usize {
            return Err(misbehaved(format!("says {} bytes and sends {}", out.tx_bytes, 4 * words.len())));
        }
        let peer = Peer { address: out.tx_address, port: out.tx_port as u16 };
        Ok(Some((peer, words.iter().flat_map(|w| w.to_le_bytes()).collect())))
    }
}
