//! A session with a board, whatever it is reached by: the link's host end between a port and the packets of an engine.

use hdl::engine::link::{Board, LinkError, Receive};
use hdl::engine::protocol::{END, Stream};
use hdl::engine::switch::addressed;
use hdl::engine::{Config, Layout};
use hdl::serial::chunks::{Replies, Unit};
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use hdl::serial::medium::Medium;
use hdl::serial::{EngineIdentity, Identity};
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where a board is reached.
pub trait Port: Send {
    type Medium: Medium;

    /// Its name, for people.
    fn name(&self) -> &str;

    /// Reads what is there, waiting up to `timeout` for it: bytes, or one datagram. 0 bytes: nothing came. An error: the port
    /// is gone.
    fn read(&mut self, buffer: &mut [u8], timeout: Duration) -> io::Result<usize>;

    /// Writes one frame. An error: the port is gone.
    fn write(&mut self, frame: &[u8]) -> io::Result<()>;

    /// The cause of a failure, and what to do about it.
    fn reason(&self, failure: Failure) -> String;
}

/// A board with an open session.
pub struct BoardSession<P: Port> {
    port: P,
    host: HostEnd<P::Medium>,
    start: Instant,
    /// The engines; the layout of one is known when its kernel is.
    configs: Vec<Config>,
    replies: Replies,
    /// END packets sent since the session started.
    sent_ends: u64,
}

/// A session, whatever its port.
pub trait Session: Board {
    /// The engines that the board reported, in the order of their numbers.
    fn engines(&self) -> &[EngineIdentity];

    /// Name of the port.
    fn port(&self) -> &str;

    /// Says what the records of an engine's kernel are.
    fn set_layout(&mut self, number: usize, layout: Layout);
}

/// A number that earlier sessions are unlikely to have had, and not 0.
pub fn nonce() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mixed = (now.as_nanos() as u64 ^ (std::process::id() as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as u32).max(1)
}

impl<P: Port> BoardSession<P> {
    /// Opens a session with the board behind a port. The error names the port and what to do.
    pub fn open(port: P, timeouts: Timeouts) -> Result<BoardSession<P>, String> {
        let host = HostEnd::new(nonce(), timeouts);
        let (configs, replies) = (Vec::new(), Replies::default());
        let mut board = BoardSession { port, host, start: Instant::now(), configs, replies, sent_ends: 0 };
        while board.host.identity().is_none() {
            board.turn()?;
        }
        let identity = board.identity();
        board.configs = (0..identity.engines.len()).map(|k| identity.engine(k, Layout::default())).collect();
        Ok(board)
    }

    /// Sends what is due, and takes what comes until there is something to do again.
    fn turn(&mut self) -> Result<(), String> {
        while let Some(frame) = self.host.transmit(self.start.elapsed()).map_err(|e| self.port.reason(e))? {
            self.port.write(&frame).map_err(|e| self.gone(e))?;
        }
        let mut buffer = [0; 4096];
        let wait = self.host.wake().saturating_sub(self.start.elapsed());
        // A tick at least, so that a time that is just over does not make the loop spin.
        let mut wait = wait.clamp(Duration::from_micros(200), Duration::from_millis(100));
        // What came meanwhile is taken at once, but not more than a window, so that it is acknowledged.
        for _ in 0..AT_ONCE {
            let n = self.port.read(&mut buffer, wait).map_err(|e| self.gone(e))?;
            if n == 0 {
                break;
            }
            self.host.receive(self.start.elapsed(), &buffer[..n]).map_err(|e| self.port.reason(e))?;
            wait = Duration::ZERO;
        }
        Ok(())
    }

    fn identity(&self) -> &Identity {
        self.host.identity().expect("the session of a connected board is open")
    }

    fn gone(&self, e: io::Error) -> String {
        format!("{} is gone ({e}); connect the board again and start anew", self.port.name())
    }
}

/// Messages that report the end of a session, which nobody answers.
const FAREWELLS: u32 = 3;
/// Reads of a port in one turn.
const AT_ONCE: usize = 16;

impl<P: Port> Drop for BoardSession<P> {
    fn drop(&mut self) {
        if let Some(frame) = self.host.close() {
            // A board that hears none of them finds out by itself.
            (0..FAREWELLS).for_each(|_| drop(self.port.write(&frame)));
        }
    }
}

impl<P: Port> Session for BoardSession<P> {
    fn engines(&self) -> &[EngineIdentity] {
        &self.identity().engines
    }

    fn port(&self) -> &str {
        self.port.name()
    }

    fn set_layout(&mut self, number: usize, layout: Layout) {
        self.configs[number].layout = layout;
    }
}

impl<P: Port> BoardSession<P> {
    fn transfer(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), String> {
        let beat_words = self.configs[0].beat_words();
        // An END that goes on into a second beat is too long, and is not answered.
        let is_end = |p: &&[u32]| p.first().is_some_and(|w| w >> 24 == END) && p.len() <= beat_words as usize;
        self.sent_ends += input.packets().filter(is_end).count() as u64;
        let ends_with_end = input.packets().last().is_some_and(|p| is_end(&p));
        self.host.send(&match self.configs.len() {
            1 => P::Medium::pack(input, beat_words),
            _ => P::Medium::pack(&addressed(input, to, beat_words), beat_words),
        });
        self.host.resume(self.start.elapsed());
        while self.host.unacknowledged() > 0 || (ends_with_end && self.replies.ends < self.sent_ends) {
            self.turn()?;
            let came = Unit::bytes(&self.host.fetch());
            let wrong = |e: String| format!("the board at {}: {e}", self.port.name());
            self.replies.take(&came, &self.configs, receive).map_err(wrong)?;
        }
        Ok(())
    }
}

impl<P: Port> Board for BoardSession<P> {
    fn configs(&self) -> &[Config] {
        &self.configs
    }

    fn exchange(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), LinkError> {
        self.transfer(input, to, receive).map_err(LinkError)
    }
}
