//! The simulation of a board from GMII on: the network's core, the link and the engine, each in its own clock, and the frames on a
//! gigabit of wire.

use super::frames::{self, MOST, Sent, Station};
use super::wire::Waiting;
use super::words::{Clocked, Seen};
use crate::SimError;
use crate::cache::Cache;
use crate::verilator::{self, Source};
use askama::Template;
use hdl::ethernet::board::Peer;
use hdl::ethernet::{PORT, core};
use libloading::Library;
use std::collections::VecDeque;
use std::ffi::c_void;

const PREFIX: &str = "Vgmii";

#[derive(Template)]
#[template(path = "gmii.cpp", escape = "none")]
struct Driver {
    prefix: &'static str,
}

impl verilator::ClockLoop for Driver {
    const EXPORTS: &'static [&'static str] =
        &["board_new", "board_give", "board_run", "board_take", "board_seen", "board_waiting", "board_delete"];
}

/// The fields of `struct Seen` in `templates/gmii.cpp`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Watched {
    clock: u64,
    first: u64,
    last: u64,
    idle: u64,
    heard: u64,
    busy: u32,
    resting: u32,
}

/// A simulated design.
struct Design {
    board: *mut c_void,
    give: unsafe extern "C" fn(*mut c_void, *const u8, u64),
    run: unsafe extern "C" fn(*mut c_void, u64),
    take: unsafe extern "C" fn(*mut c_void, *mut u8, u64, *mut u32) -> u64,
    seen: unsafe extern "C" fn(*mut c_void, *mut Watched),
    waiting: unsafe extern "C" fn(*mut c_void) -> u64,
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

/// The board on the simulated network. Hosts have any address but this one.
const BOARD: Station = Station { mac: [2, b'P', b'F', 0, 0, 50], ip: 0x0a00_0032 };
/// The least rest between two frames, in bytes.
const GAP: u32 = 12;
/// Far more clocks than the link and the core need to act on what they have, the reset of the engine included.
const SETTLE: u64 = 8192;
/// Picoseconds in a second.
const PS: f64 = 1e12;

/// A board on a gigabit of wire, which it shares with nobody.
pub struct GmiiSim {
    design: Design,
    output: VecDeque<(Peer, Vec<u8>)>,
    waiting: Waiting,
}

impl GmiiSim {
    /// Builds the design with that top (see `hdl::board::gigabit`), the core's text included, or finds it in the cache,
    /// and resets it. `clock_hz` is the engine's clock.
    pub fn build(verilog: &str, top: &str, clock_hz: f64, cache: &Cache) -> Result<GmiiSim, SimError> {
        let source = Source::of_design(PREFIX, (top, verilog));
        let library = verilator::load(&source, &Driver { prefix: PREFIX }, cache)?;
        let mac = BOARD.mac.iter().fold(0, |mac, byte| mac << 8 | *byte as u64);
        let (user, sys) = ((PS / clock_hz).round() as u64, (PS / (core::MHZ * 1e6)).round() as u64);
        // SAFETY: the types are those of `templates/gmii.cpp`, and the library is kept in the result.
        let design = unsafe {
            let new: unsafe extern "C" fn(u64, u64, u64, u32) -> *mut c_void = verilator::symbol(&library, "board_new");
            Design {
                board: new(user, sys, mac, BOARD.ip),
                give: verilator::symbol(&library, "board_give"),
                run: verilator::symbol(&library, "board_run"),
                take: verilator::symbol(&library, "board_take"),
                seen: verilator::symbol(&library, "board_seen"),
                waiting: verilator::symbol(&library, "board_waiting"),
                delete: verilator::symbol(&library, "board_delete"),
                _library: library,
            }
        };
        Ok(GmiiSim { design, output: VecDeque::new(), waiting: Waiting::default() })
    }

    fn put(&mut self, frame: &[u8]) {
        // SAFETY: `board` is a live board of this library, which copies the bytes.
        unsafe { (self.design.give)(self.design.board, frame.as_ptr(), frame.len() as u64) };
    }

    /// Frames that have not passed yet.
    fn left(&self) -> usize {
        // SAFETY: `board` is a live board of this library.
        unsafe { (self.design.waiting)(self.design.board) as usize }
    }

    fn watched(&self) -> Watched {
        let mut watched = Watched::default();
        // SAFETY: `board` is a live board of this library, and `watched` is what it fills.
        unsafe { (self.design.seen)(self.design.board, &mut watched) };
        watched
    }

    /// The next frame that the board has sent, and the rest before it.
    fn take(&mut self) -> Option<(Vec<u8>, u32)> {
        let (mut frame, mut gap) = (vec![0; MOST + 1], 0);
        // SAFETY: `board` is a live board of this library, and `frame` has the capacity that is passed.
        let length = unsafe { (self.design.take)(self.design.board, frame.as_mut_ptr(), frame.len() as u64, &mut gap) };
        frame.truncate(length as usize);
        (length > 0).then_some((frame, gap))
    }

    /// Runs for so many clocks of the engine. The board's ARP requests are answered at once.
    pub fn run(&mut self, clocks: u64) -> Result<(), SimError> {
        // SAFETY: `board` is a live board of this library.
        unsafe { (self.design.run)(self.design.board, clocks) };
        while let Some((frame, gap)) = self.take() {
            let wrong = |what: String| SimError::Misbehaved(format!("the simulated board sends {what}"));
            if gap < GAP {
                return Err(wrong(format!("a frame {gap} bytes behind another one")));
            }
            match frames::read(&frame, (BOARD, PORT)).map_err(wrong)? {
                Sent::Datagram(to, payload) => self.output.push_back((to, payload)),
                Sent::Question(ip) => {
                    let frame = frames::arp(Station::host(ip), BOARD, false);
                    if self.waiting.takes(self.left(), Peer { address: ip, port: 0 }, frame.len()) {
                        self.put(&frame);
                    }
                }
                Sent::Answer => {}
            }
        }
        Ok(())
    }
}

impl Clocked for GmiiSim {
    fn now(&self) -> u64 {
        self.watched().clock
    }

    fn seen(&self) -> Seen {
        let Watched { clock, first, last, idle, busy, resting, .. } = self.watched();
        Seen { clock, first, last, idle, is_busy: busy != 0, is_free: resting != 0 }
    }

    fn give(&mut self, from: Peer, bytes: &[u8]) {
        let frame = frames::datagram(from, (BOARD, PORT), bytes);
        if self.waiting.takes(self.left(), from, frame.len()) {
            self.put(&frame);
        }
    }

    fn clock(&mut self) -> Result<Option<(Peer, Vec<u8>)>, SimError> {
        self.run(1)?;
        Ok(self.output.pop_front())
    }

    fn rests(&self, hold: u64) -> bool {
        let watched = self.watched();
        let quiet = |since: u64, clocks: u64| watched.clock.saturating_sub(since) > clocks;
        let held = watched.resting == 0 && !quiet(watched.heard, hold + SETTLE);
        self.left() == 0 && watched.busy == 0 && quiet(watched.heard.max(watched.last), SETTLE) && !held
    }
}
