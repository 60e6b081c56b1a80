//! A board on the network, behind a UDP socket, with what goes wrong on the way: the program of the link's end
//! ([`hdl::ethernet::board`]) around an engine, or a simulated design ([`Clocked`]).

use super::fault::Fault;
use super::fault::datagrams::Way;
use super::words::Clocked;
use crate::SimError;
use hdl::engine::Config;
use hdl::engine::link::Link;
use hdl::engine::protocol::{self as wire, Stream};
use hdl::engine::switch::{Switch, To};
use hdl::ethernet::board::{BoardEnd, Peer};
use hdl::serial::Identity;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// An engine as the link's end sees it.
pub trait Beats {
    /// Takes a beat.
    fn push(&mut self, words: Vec<u32>, last: bool) -> Result<(), SimError>;

    /// The next beat of an answer, if one is there.
    fn pop(&mut self) -> Option<Vec<u32>>;

    /// Whether an answer waits.
    fn offers(&self) -> bool;
}

/// Makes an engine as it is after a reset.
pub type NewEngine = Box<dyn FnMut() -> Result<Box<dyn Beats>, SimError>>;

/// An engine that takes whole packets, as one of beats.
pub struct Packets<L: Link> {
    link: L,
    /// Words of the packet that comes in, and the beats that go out.
    packet: Vec<u32>,
    answers: VecDeque<Vec<u32>>,
}

impl<L: Link> Packets<L> {
    pub fn new(link: L) -> Packets<L> {
        Packets { link, packet: Vec::new(), answers: VecDeque::new() }
    }
}

impl<L: Link> Beats for Packets<L> {
    fn push(&mut self, words: Vec<u32>, last: bool) -> Result<(), SimError> {
        self.packet.extend(words);
        if !last {
            return Ok(());
        }
        let words = std::mem::take(&mut self.packet);
        let length = wire::packet_words(&words, self.link.config()).min(words.len());
        let mut stream = Stream::default();
        stream.packet(words[..length].iter().copied());
        let beat_words = self.link.config().beat_words();
        let answers = &mut self.answers;
        let mut receive = |packet: &[u32]| {
            let mut words = packet.to_vec();
            wire::pad(&mut words, 0, beat_words);
            answers.extend(words.chunks(beat_words as usize).map(<[u32]>::to_vec));
        };
        self.link.exchange(&stream, &mut receive).map_err(|e| SimError::Misbehaved(e.0))
    }

    fn pop(&mut self) -> Option<Vec<u32>> {
        self.answers.pop_front()
    }

    fn offers(&self) -> bool {
        !self.answers.is_empty()
    }
}

/// Several engines behind the switch, as one engine.
pub struct Several {
    switch: Switch,
    engines: Vec<Box<dyn Beats>>,
}

impl Several {
    /// Engines with their configurations, in the order of their numbers.
    pub fn new(engines: Vec<(Config, Box<dyn Beats>)>) -> Several {
        let (configs, engines): (Vec<Config>, Vec<Box<dyn Beats>>) = engines.into_iter().unzip();
        Several { switch: Switch::new(configs), engines }
    }
}

impl Beats for Several {
    fn push(&mut self, words: Vec<u32>, last: bool) -> Result<(), SimError> {
        match self.switch.pass(&words, last) {
            To::Engine(k) => self.engines[k].push(words, last),
            To::Dropped => Ok(()),
        }
    }

    fn pop(&mut self) -> Option<Vec<u32>> {
        self.switch.take(|k| self.engines[k].pop())
    }

    fn offers(&self) -> bool {
        self.switch.offers(|k| self.engines[k].offers())
    }
}

/// The device behind the socket.
pub trait Device {
    /// Takes a datagram.
    fn give(&mut self, from: Peer, datagram: &[u8]) -> Result<(), SimError>;

    /// Works for a while, and appends what it has to say. `false`: it has nothing to do until the next datagram.
    fn work(&mut self, out: &mut Vec<(Peer, Vec<u8>)>) -> Result<bool, SimError>;

    /// Whether no host has a session.
    fn is_free(&self) -> bool;
}

/// The program of the link's end and an engine.
pub struct Program {
    start: Instant,
    end: BoardEnd,
    new_engine: NewEngine,
    engine: Box<dyn Beats>,
}

impl Program {
    pub fn new(identity: Identity, mut new_engine: NewEngine) -> Result<Program, SimError> {
        Ok(Program { start: Instant::now(), end: BoardEnd::new(identity), engine: new_engine()?, new_engine })
    }
}

impl Device for Program {
    fn give(&mut self, from: Peer, datagram: &[u8]) -> Result<(), SimError> {
        if self.end.receive(self.start.elapsed(), from, datagram) {
            self.engine = (self.new_engine)()?;
        }
        Ok(())
    }

    /// Beats between link and engine, and what the link has to say, until neither moves.
    fn work(&mut self, out: &mut Vec<(Peer, Vec<u8>)>) -> Result<bool, SimError> {
        loop {
            let mut moved = false;
            while let Some((words, last)) = self.end.take_beat() {
                self.engine.push(words, last)?;
                moved = true;
            }
            while self.end.ready()
                && let Some(words) = self.engine.pop()
            {
                self.end.give_beat(&words);
                moved = true;
            }
            let quiet = !self.engine.offers() || !self.end.ready();
            while let Some(datagram) = self.end.transmit(quiet) {
                out.push(datagram);
                moved = true;
            }
            if !moved {
                return Ok(false);
            }
        }
    }

    fn is_free(&self) -> bool {
        self.end.in_reset()
    }
}

/// A simulated design, whose silent hosts lose their hold after some clocks.
pub struct Simulated {
    pub design: Box<dyn Clocked>,
    pub hold: u64,
}

/// Clocks of a design between two looks at the socket.
const CLOCKS: u64 = 100;

impl Device for Simulated {
    fn give(&mut self, from: Peer, datagram: &[u8]) -> Result<(), SimError> {
        self.design.give(from, datagram);
        Ok(())
    }

    fn work(&mut self, out: &mut Vec<(Peer, Vec<u8>)>) -> Result<bool, SimError> {
        for _ in 0..CLOCKS {
            out.extend(self.design.clock()?);
        }
        Ok(!self.design.rests(self.hold))
    }

    fn is_free(&self) -> bool {
        self.design.seen().is_free
    }
}

/// The traffic of a board so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Bytes of datagrams to the board and from it, as they were sent.
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// How often something went wrong.
    pub injected: u64,
}

/// A running board.
pub struct NetworkBoard<D: Device> {
    socket: UdpSocket,
    device: D,
    /// The device has something to do.
    works: bool,
    down: Way,
    up: Way,
    stall: Option<u64>,
    pull: Option<u64>,
    traffic: Traffic,
}

/// The outcome of a turn of the board.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// A host has the session.
    Served,
    /// No host has it.
    Free,
    /// The cable was pulled.
    Pulled,
}

/// Longest wait for a datagram.
const NAP: Duration = Duration::from_millis(20);
/// Datagrams that are taken in one turn.
const AT_ONCE: usize = 64;

impl<D: Device> NetworkBoard<D> {
    /// A board at a port of this machine alone; 0 for any port.
    pub fn new(port: u16, device: D, (faults, seed): (&[Fault], u64)) -> Result<NetworkBoard<D>, SimError> {
        let failed = |e: io::Error| SimError::Unsupported(format!("UDP port {port} cannot be listened at: {e}"));
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        socket.set_read_timeout(Some(NAP)).map_err(failed)?;
        let count = |of: fn(&Fault) -> Option<u64>| faults.iter().find_map(of);
        Ok(NetworkBoard {
            socket,
            device,
            works: true,
            down: Way::new(faults, seed ^ 0xd0),
            up: Way::new(faults, seed ^ 0x0b),
            stall: count(|f| if let Fault::Stall(n) = f { Some(*n) } else { None }),
            pull: count(|f| if let Fault::Pull(n) = f { Some(*n) } else { None }),
            traffic: Traffic::default(),
        })
    }

    pub fn device(&self) -> &D {
        &self.device
    }

    /// Where it can be reached.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub fn traffic(&self) -> Traffic {
        Traffic { injected: self.down.injected() + self.up.injected(), ..self.traffic }
    }

    /// Waits for datagrams as long as there is nothing else to do, and lets the device work.
    pub fn turn(&mut self) -> Result<Turn, SimError> {
        let passed = self.traffic.bytes_in + self.traffic.bytes_out;
        if self.pull.is_some_and(|at| passed >= at) {
            return Ok(Turn::Pulled);
        }
        let is_dead = self.stall.is_some_and(|at| passed >= at);
        let mut buffer = [0; 2048];
        for k in 0..AT_ONCE {
            // Only the first one is waited for.
            self.socket.set_nonblocking(k > 0 || self.works).map_err(lost)?;
            let (n, from) = match self.socket.recv_from(&mut buffer) {
                Ok((n, SocketAddr::V4(from))) => (n, from),
                Ok(_) => continue,
                // An answer to a host that has left comes back as a refusal.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => continue,
                Err(e) if is_nothing(&e) => break,
                Err(e) => return Err(lost(e)),
            };
            self.traffic.bytes_in += n as u64;
            if is_dead {
                continue;
            }
            let from = Peer { address: from.ip().to_bits(), port: from.port() };
            for datagram in self.down.pass(buffer[..n].to_vec()) {
                self.device.give(from, &datagram)?;
            }
            self.works = true;
        }
        if self.works && !is_dead {
            let mut out = Vec::new();
            self.works = self.device.work(&mut out)?;
            for (to, datagram) in out {
                self.send(to, datagram)?;
            }
        }
        Ok(if self.device.is_free() { Turn::Free } else { Turn::Served })
    }

    fn send(&mut self, to: Peer, datagram: Vec<u8>) -> Result<(), SimError> {
        self.traffic.bytes_out += datagram.len() as u64;
        let to = SocketAddrV4::new(Ipv4Addr::from_bits(to.address), to.port);
        for datagram in self.up.pass(datagram) {
            match self.socket.send_to(&datagram, to) {
                Ok(_) => {}
                // Datagrams that the system has no space for are lost, as on a network.
                Err(e) if is_nothing(&e) || e.kind() == ErrorKind::ConnectionRefused => {}
                Err(e) => return Err(lost(e)),
            }
        }
        Ok(())
    }
}

fn is_nothing(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn lost(e: io::Error) -> SimError {
    SimError::Misbehaved(format!("the board's socket failed: {e}"))
}
