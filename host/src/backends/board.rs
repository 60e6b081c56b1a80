//! The backend `board:PORT`: engines on FPGA boards, behind the serial link of [`hdl::serial`].
//!
//! A board runs the kernel that its bitstream was made of and says so when a session starts. Several ports may be
//! named; each kernel goes to a board that runs it.

use super::serial::Serial;
use super::{BackendOptions, Entry, Needs};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::engine::Config;
use hdl::engine::link::{Link, LinkError};
use hdl::engine::protocol::{END, Stream};
use hdl::serial::chunks::{self, Replies};
use hdl::serial::host::{Failure, HostEnd, Patience, Traffic};
use hdl::serial::{Identity, kernel_hash};
use pg2::graph::Graph;
use std::cell::RefCell;
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Baud rate where the port names none.
const BAUD: u32 = 3_000_000;

pub const ENTRY: Entry = Entry {
    name: "board",
    place: Some("PORT"),
    summary: "an FPGA board at a serial port: `board:PORT`, or `board:PORT,PORT` for boards with different kernels",
    needs: Needs::Device,
    exact: true,
    clocked: true,
    traced: false,
    native: false,
    open,
};

/// Opens the boards at `options.place`: ports separated by commas, each with an optional `@BAUD`.
fn open(options: &BackendOptions) -> Box<dyn Backend> {
    let ports: Vec<String> = options.place.split(',').map(|p| p.trim().to_string()).collect();
    // Boards that were opened for one kernel and run another wait here for it; what the others run is told where none fits.
    let idle: RefCell<(Vec<String>, Vec<BoardSession>, Vec<String>)> = RefCell::new((ports, Vec::new(), Vec::new()));
    let open = move |graph: &Graph, _: u64| -> Result<Box<dyn Link>, BackendError> {
        let (closed, open, taken) = &mut *idle.borrow_mut();
        for port in closed.drain(..) {
            open.push(BoardSession::connect(&port, Patience::default()).map_err(BackendError::Tool)?);
        }
        let hash = kernel_hash(&graph.canonical());
        let Some(at) = open.iter().position(|b| b.identity().hash == hash) else {
            return Err(BackendError::Tool(other_kernel(graph, hash, open, taken)));
        };
        taken.push(runs(&open[at]));
        Ok(Box::new(open.swap_remove(at).with_engine(graph)))
    };
    Box::new(StreamBackend::new(ENTRY.name, Box::new(open), ENTRY.clocked).on_device())
}

/// What a board says of itself.
fn runs(b: &BoardSession) -> String {
    format!("{} runs `{}` ({:016x})", b.port, b.identity().kernel, b.identity().hash)
}

fn other_kernel(graph: &Graph, hash: u64, open: &[BoardSession], taken: &[String]) -> String {
    let boards: Vec<String> = taken.iter().cloned().chain(open.iter().map(runs)).collect();
    let found = boards.join(", ");
    let name = &graph.name;
    format!(
        "no board runs the kernel `{name}` ({hash:016x}): {found}; make its bitstream with `pairforge synth {name} --board \
         BOARD -o DIR` and load it with `pairforge deploy DIR`"
    )
}

/// A port with `@BAUD` or without.
fn port_and_baud(text: &str) -> Result<(&str, u32), String> {
    let Some((port, baud)) = text.rsplit_once('@') else { return Ok((text, BAUD)) };
    match baud.parse() {
        Ok(baud) if baud > 0 => Ok((port, baud)),
        _ => Err(format!("`{baud}` is no baud rate; a board is named as board:PORT or board:PORT@BAUD")),
    }
}

/// A number that earlier sessions are unlikely to have had.
fn nonce() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = (now.as_nanos() as u64 ^ (std::process::id() as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32
}

/// A board with an open session.
pub struct BoardSession {
    port: String,
    serial: Serial,
    host: HostEnd,
    start: Instant,
}

impl BoardSession {
    /// Opens a session with the board at a port, given as PORT or PORT@BAUD. The error names the port and what to do.
    pub fn connect(text: &str, patience: Patience) -> Result<BoardSession, String> {
        let (port, baud) = port_and_baud(text)?;
        let serial = Serial::open(port, baud)?;
        let host = HostEnd::new(nonce(), patience);
        let mut board = BoardSession { port: port.to_string(), serial, host, start: Instant::now() };
        while board.host.identity().is_none() {
            board.turn(baud)?;
        }
        Ok(board)
    }

    /// What the board said of itself.
    pub fn identity(&self) -> &Identity {
        self.host.identity().expect("the session of a connected board is open")
    }

    /// The engine behind it, for a kernel that it runs.
    pub fn with_engine(self, graph: &Graph) -> BoardLink {
        let config = self.identity().engine(graph.layout());
        BoardLink { config, board: self, replies: Replies::default(), sent_ends: 0 }
    }

    /// Sends what is due, and takes what comes until there is something to do again.
    fn turn(&mut self, baud: u32) -> Result<(), String> {
        let gone = |port: &str, e: io::Error| format!("{port} is gone ({e}); connect the board again and start anew");
        while let Some(line) = self.host.transmit(self.start.elapsed()).map_err(|e| self.reason(e, baud))? {
            self.serial.write(&line).map_err(|e| gone(&self.port, e))?;
        }
        let mut buffer = [0; 4096];
        let wait = self.host.wake().saturating_sub(self.start.elapsed());
        // A tick at least, so that a time that is just over does not make the loop spin.
        let wait = wait.clamp(Duration::from_micros(200), Duration::from_millis(100));
        let n = self.serial.read(&mut buffer, wait).map_err(|e| gone(&self.port, e))?;
        self.host.receive(self.start.elapsed(), &buffer[..n]).map_err(|e| self.reason(e, baud))
    }

    fn reason(&self, failure: Failure, baud: u32) -> String {
        let port = &self.port;
        match failure {
            Failure::NoAnswer { bytes: 0, .. } => format!(
                "no board answers at {port} at {baud} baud; load its bitstream with `pairforge deploy DIR`, check port and \
                 cable, and give the board's baud rate as board:{port}@BAUD if it is another"
            ),
            Failure::NoAnswer { frames: 0, .. } => format!(
                "what comes from {port} at {baud} baud makes no sense; give the board's baud rate as board:{port}@BAUD, or \
                 load its bitstream with `pairforge deploy DIR`"
            ),
            Failure::NoAnswer { .. } => {
                format!("the board at {port} does not start a session; reset it, and check the cable to it")
            }
            Failure::Silent => {
                format!("the board at {port} no longer answers; check cable and power, reset it, and start anew")
            }
            Failure::Stalled => format!(
                "the board at {port} answers, but its engine makes no progress; reset it and start anew, and if it happens \
                 again, lower the clock that its bitstream was made for"
            ),
            Failure::Reset => format!(
                "the board at {port} began anew in the middle of the work, by its reset, its power or another program; \
                 start anew"
            ),
            Failure::Identity(text) => format!("{port}: {text}"),
        }
    }
}

/// The engine of a board.
pub struct BoardLink {
    config: Config,
    board: BoardSession,
    replies: Replies,
    /// END packets sent since the session started.
    sent_ends: u64,
}

impl BoardLink {
    /// What went over the line so far.
    pub fn traffic(&self) -> Traffic {
        self.board.host.traffic()
    }

    fn transfer(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), String> {
        let mut bytes = Vec::new();
        chunks::pack(input, self.config.beat_words(), &mut bytes);
        // An END that goes on into a second beat is too long, and is not answered.
        let is_end =
            |p: &&[u32]| p.first().is_some_and(|w| w >> 24 == END) && p.len() <= self.config.beat_words() as usize;
        self.sent_ends += input.packets().filter(is_end).count() as u64;
        let ends_with_end = input.packets().last().is_some_and(|p| is_end(&p));
        self.board.host.send(&bytes);
        self.board.host.resume(self.board.start.elapsed());
        let baud = self.board.identity().baud;
        while self.board.host.unacknowledged() > 0 || (ends_with_end && self.replies.ends < self.sent_ends) {
            self.board.turn(baud)?;
            let came = self.board.host.fetch();
            let wrong = |e: String| format!("the board at {}: {e}", self.board.port);
            self.replies.take(&came, &self.config, receive).map_err(wrong)?;
        }
        Ok(())
    }
}

impl Link for BoardLink {
    fn config(&self) -> &Config {
        &self.config
    }

    fn exchange(&mut self, input: &Stream, receive: &mut dyn FnMut(&[u32])) -> Result<(), LinkError> {
        self.transfer(input, receive).map_err(LinkError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_with_or_without_a_baud_rate() {
        assert_eq!(port_and_baud("/dev/ttyUSB0"), Ok(("/dev/ttyUSB0", BAUD)));
        assert_eq!(port_and_baud("/dev/tty@home@115200"), Ok(("/dev/tty@home", 115_200)));
        assert!(port_and_baud("/dev/ttyUSB0@fast").is_err_and(|e| e.contains("no baud rate")));
        assert!(port_and_baud("/dev/ttyUSB0@0").is_err());
    }

    #[test]
    fn wrong_ports_are_refused_with_a_remedy() {
        let refused = |port: &str| BoardSession::connect(port, Patience::default()).err().expect("no board");
        assert!(refused("/dev/no-such-port").contains("there is no port /dev/no-such-port; connect"));
        assert!(refused("/dev/null").contains("/dev/null is not a serial port"));
    }
}
