//! A board behind a pseudo-terminal: its pins clock by clock, and bytes between them and a host that has the port open.

use super::fault::{Channel, Fault};
use super::pty::{Look, Pty};
use super::{BoardSim, Design, Line, Seen};
use crate::SimError;
use crate::cache::Cache;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The line between board and host, and what goes wrong on it.
#[derive(Clone, Copy)]
pub struct Wire<'a> {
    /// The board's clock.
    pub clock_hz: f64,
    /// Of the board's end; a host may set another.
    pub baud: u32,
    pub faults: &'a [Fault],
    pub seed: u64,
}

/// A board, its port, and what is between them.
pub struct SerialBoard {
    sim: BoardSim,
    pty: Pty,
    clock_hz: f64,
    /// The baud rates of the board, and of the host's end of the line.
    board_baud: u32,
    host_baud: u32,
    /// Clocks in one byte of the line.
    byte: u64,
    down: Channel,
    up: Channel,
    stall: Option<u64>,
    pull: Option<u64>,
    /// On their way to the board's pins, and to the host.
    input: VecDeque<u8>,
    output: VecDeque<u8>,
}

/// Bytes that wait for the line at most: those of a host that writes faster than the line carries wait in the port.
const WAITING: usize = 4096;
/// A board that has been quiet for so many bytes' time does nothing more by itself: its end of the link has no timer.
const QUIET_BYTES: u64 = 64;
/// Time between two looks of a resting bench at whether it is to end.
const NAP: Duration = Duration::from_millis(20);

impl SerialBoard {
    /// Builds the board, and opens its port.
    pub fn new(design: &Design, wire: &Wire, cache: &Cache) -> Result<SerialBoard, SimError> {
        let Wire { clock_hz, baud, faults, seed } = *wire;
        let clocks_per_bit = clock_hz / baud as f64;
        let find = |of: fn(&Fault) -> Option<u64>| faults.iter().find_map(of);
        let flip = faults.iter().find_map(|f| if let Fault::Flip(rate) = f { Some(*rate) } else { None });
        let line = Line { clocks_per_bit, flip: flip.unwrap_or(0.0), seed };
        let unopened = |e: io::Error| SimError::Misbehaved(format!("no pseudo-terminal can be opened: {e}"));
        Ok(SerialBoard {
            sim: BoardSim::build(design, &line, cache)?,
            clock_hz,
            board_baud: baud,
            host_baud: baud,
            pty: Pty::open(baud).map_err(unopened)?,
            byte: (10.0 * clocks_per_bit).ceil() as u64,
            down: Channel::new(faults, seed ^ 0xd0),
            up: Channel::new(faults, seed ^ 0x0b),
            stall: find(|f| if let Fault::Stall(n) = f { Some(*n) } else { None }),
            pull: find(|f| if let Fault::Pull(n) = f { Some(*n) } else { None }),
            input: VecDeque::new(),
            output: VecDeque::new(),
        })
    }

    /// Lets the board run until there is a reason to end, which it says: the host of a board that serves `once` has left, or `ending` is
    /// set. `note` is given what a user should know.
    pub fn serve(&mut self, once: bool, ending: &AtomicBool, note: &dyn Fn(String)) -> Result<&'static str, SimError> {
        let lost = |e: io::Error| SimError::Misbehaved(format!("the pseudo-terminal failed: {e}"));
        let mut met = false;
        let mut arrived = Vec::new();
        while !ending.load(Ordering::Relaxed) {
            let host = self.listen(note).map_err(lost)?;
            met |= host;
            if once && met && !host {
                return Ok("the host has left");
            }
            if self.reached(self.pull) {
                return Ok("the cable is pulled");
            }
            if self.reached(self.stall) {
                self.input.clear();
                self.pty.wait(NAP);
                continue;
            }
            let seen = self.sim.seen();
            let rests = |since: u64| seen.clock - since > QUIET_BYTES * self.byte && seen.bytes_in > 0;
            // Nobody will ask a board without a host, whatever it still computes.
            let done = self.input.is_empty() && self.output.is_empty();
            if done && (rests(seen.worked) || (!host && rests(seen.line_used)) || (!met && seen.clock > 1 << 16)) {
                self.pty.wait(NAP);
                continue;
            }
            self.sim.run(self.byte, &mut self.input, &mut arrived);
            for byte in arrived.drain(..) {
                self.output.extend(std::iter::repeat_n(byte, self.up.copies()));
            }
            self.speak().map_err(lost)?;
        }
        Ok("ended on request")
    }

    /// Takes what the host has written; says whether there is a host.
    fn listen(&mut self, note: &dyn Fn(String)) -> io::Result<bool> {
        let mut room = [0; WAITING];
        let free = WAITING.saturating_sub(self.input.len());
        match self.pty.read(&mut room[..free.max(1)])? {
            Look::Nobody => return Ok(false),
            Look::Silence => {}
            Look::Bytes(n) => {
                self.rate(note)?;
                for byte in &room[..n] {
                    self.input.extend(std::iter::repeat_n(*byte, self.down.copies()));
                }
            }
        }
        Ok(true)
    }

    /// Gives the host's end of the line the rate that the host has set, and says if it is not the board's.
    fn rate(&mut self, note: &dyn Fn(String)) -> io::Result<()> {
        let baud = self.pty.baud()?;
        // A host that hangs up has no rate.
        if baud == self.host_baud || baud == 0 {
            return Ok(());
        }
        self.host_baud = baud;
        self.sim.set_rate(self.clock_hz / baud as f64);
        if baud != self.board_baud {
            let (path, board) = (&self.pty.path, self.board_baud);
            note(format!("the host has set {path} to {baud} baud; the board's end runs at {board}"));
        }
        Ok(())
    }

    fn speak(&mut self) -> io::Result<()> {
        while !self.output.is_empty() {
            let taken = self.pty.write(self.output.make_contiguous())?;
            self.output.drain(..taken);
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Whether so many bytes have been on the line, both ways.
    fn reached(&self, after: Option<u64>) -> bool {
        let seen = self.sim.seen();
        after.is_some_and(|bytes| seen.bytes_in + seen.bytes_out >= bytes)
    }

    /// The port that a host opens.
    pub fn path(&self) -> &str {
        &self.pty.path
    }

    pub fn seen(&self) -> Seen {
        self.sim.seen()
    }

    /// Number of faults so far.
    pub fn injected(&self) -> u64 {
        self.sim.seen().flips + self.down.injected() + self.up.injected()
    }
}
