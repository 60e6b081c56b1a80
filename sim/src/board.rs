//! The simulation of a whole board: its top as one model, driven at its pins.
//!
//! The host's end of the serial line is modelled bit by bit in C++ (`templates/board.cpp`), with the line's own baud
//! rate, which need not be the board's. Faults on the way are injected by [`fault`].

pub mod fault;
pub mod frames;
pub mod gmii;
pub mod network;
#[cfg(unix)]
mod pty;
#[cfg(unix)]
pub mod serial;
mod wire;
pub mod words;

use crate::SimError;
use crate::cache::Cache;
use crate::verilator::{self, Source};
use askama::Template;
use libloading::Library;
use std::collections::VecDeque;
use std::ffi::c_void;

const PREFIX: &str = "Vboard";

#[derive(Template)]
#[template(path = "board.cpp", escape = "none")]
struct Driver {
    prefix: &'static str,
    /// Level of `led_busy` when lit.
    lit: u32,
}

impl verilator::ClockLoop for Driver {
    const EXPORTS: &'static [&'static str] = &["board_new", "board_run", "board_seen", "board_rate", "board_delete"];
}

/// A design to simulate.
#[derive(Clone, Debug)]
pub struct Design<'a> {
    /// Its text, the clock included (see [`hdl::board::top::simulated_clock`]).
    pub verilog: &'a str,
    pub top: &'a str,
    /// Whether `led_busy` is lit by a low level.
    pub active_low: bool,
}

/// The serial line, from the host's side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// Clocks of the board in one bit of the host.
    pub clocks_per_bit: f64,
    /// Probability that a bit on the line arrives wrong, start and stop bits included.
    pub flip: f64,
    pub seed: u64,
}

/// The fields of `struct Exchange` in `templates/board.cpp`.
#[repr(C)]
struct Exchange {
    input: *const u8,
    in_bytes: u64,
    in_taken: u64,
    out: *mut u8,
    out_room: u64,
    out_taken: u64,
    clocks: u64,
}

/// The observations of a board so far: the fields of `struct Seen` in `templates/board.cpp`. Clocks are counted from power-on.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    pub clock: u64,
    /// The beginning of the first byte and the end of the last one, in either direction.
    pub first: u64,
    pub last: u64,
    /// Clocks between these in which both lines rested and the board had nothing to do.
    pub idle: u64,
    /// The last clock in which a line was in use.
    pub line_used: u64,
    /// The last clock in which a line was in use or the board at work.
    pub worked: u64,
    /// Bytes on the line to the board and from it.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Bits that arrived wrong.
    pub flips: u64,
}

/// A simulated board.
pub struct BoardSim {
    board: *mut c_void,
    run: unsafe extern "C" fn(*mut c_void, *mut Exchange),
    seen: unsafe extern "C" fn(*mut c_void, *mut Seen),
    rate: unsafe extern "C" fn(*mut c_void, u64),
    delete: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions above loaded.
    _library: Library,
}

impl Drop for BoardSim {
    fn drop(&mut self) {
        // SAFETY: `board` came from `board_new` of the same library and is not used again.
        unsafe { (self.delete)(self.board) }
    }
}

/// The time of a bit in 2^-32 of a clock.
fn bit_time(clocks_per_bit: f64) -> u64 {
    (clocks_per_bit.max(1.0) * 4294967296.0) as u64
}

impl BoardSim {
    /// Builds the design, or finds it in the cache, and switches it on.
    pub fn build(design: &Design, line: &Line, cache: &Cache) -> Result<BoardSim, SimError> {
        let source = Source::of_design(PREFIX, (design.top, design.verilog));
        let driver = Driver { prefix: PREFIX, lit: !design.active_low as u32 };
        let library = verilator::load(&source, &driver, cache)?;
        let bit_time = bit_time(line.clocks_per_bit);
        let flip = (line.flip.clamp(0.0, 0.999) * 4294967296.0) as u32;
        // SAFETY: the types are those of `templates/board.cpp`, and the library is kept in the result.
        unsafe {
            let new: unsafe extern "C" fn(u64, u32, u64) -> *mut c_void = verilator::symbol(&library, "board_new");
            Ok(BoardSim {
                board: new(bit_time, flip, line.seed),
                run: verilator::symbol(&library, "board_run"),
                seen: verilator::symbol(&library, "board_seen"),
                rate: verilator::symbol(&library, "board_rate"),
                delete: verilator::symbol(&library, "board_delete"),
                _library: library,
            })
        }
    }

    /// Lets the host's end send and look at so many clocks of the board for each bit from now on.
    pub fn set_rate(&mut self, clocks_per_bit: f64) {
        // SAFETY: `board` is a live board of this library.
        unsafe { (self.rate)(self.board, bit_time(clocks_per_bit)) }
    }

    /// The observations so far.
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        // SAFETY: `board` is a live board of this library, which fills in a `Seen`.
        unsafe { (self.seen)(self.board, &mut seen) };
        seen
    }

    /// Lets `clocks` clocks pass, or fewer if very much comes back. Bytes leave `input` as they go on the line.
    pub fn run(&mut self, clocks: u64, input: &mut VecDeque<u8>, output: &mut Vec<u8>) {
        let mut room = [0u8; 4096];
        let sent = input.make_contiguous();
        let mut exchange = Exchange {
            input: sent.as_ptr(),
            in_bytes: sent.len() as u64,
            in_taken: 0,
            out: room.as_mut_ptr(),
            out_room: room.len() as u64,
            out_taken: 0,
            clocks,
        };
        // SAFETY: the pointers and lengths are those of live buffers.
        unsafe { (self.run)(self.board, &mut exchange) };
        input.drain(..exchange.in_taken as usize);
        output.extend_from_slice(&room[..exchange.out_taken as usize]);
    }
}
