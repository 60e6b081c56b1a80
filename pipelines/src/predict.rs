//! How long a board would take: the link and the engine's clocks without the engine's arithmetic.
//!
//! [`Predicted`] is a [`Board`], so the driver sends exactly what it would send to the board. Behind it both ends of the
//! serial link run as they are ([`HostEnd`], [`BoardEnd`]) on a line with a time of its own, a byte a step, and
//! [`Engines`] that count clocks take the beats; of filters they count which pairs pass. Results are zeros for the driver and random bits on the
//! line, where the number of escapes depends on them. A [`fleet`] of several such boards shares jobs.

mod bus;
mod engine;
mod engines;
pub mod fleet;
mod network;
mod passing;
pub mod roofline;

use crate::driver::{OpenLink, StreamBackend};
use crate::job::BackendError;
use bus::PredictedBus;
use engines::Engines;
use hdl::engine::Config;
use hdl::engine::link::{Board, Channel, Link, LinkError, Receive, Shared};
use hdl::engine::protocol::{END, RESULT, Stream};
use hdl::engine::switch::addressed;
use hdl::serial::board::BoardEnd;
use hdl::serial::chunks::Replies;
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use hdl::serial::medium::{Medium, SerialLine};
use hdl::serial::{Identity, kernel_hash};
use network::PredictedNetwork;
use passing::Filtered;
use pg2::graph::Graph;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The way from the host to a board.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Line {
    /// A serial line of a baud rate, with the frames of the link.
    Serial(u32),
    /// Ethernet with so many bytes a second in each direction, and the datagrams of the link.
    Ethernet(f64),
    /// Transfers by DMA of so many bytes a second in each direction, such as over PCIe: beats of the streams and nothing beside.
    Dma(f64),
}

impl Line {
    /// Ethernet at a gigabit.
    pub const GIGABIT: Line = Line::Ethernet(125e6);

    /// The baud rate of a serial line, 0 of others.
    pub fn baud(self) -> u32 {
        if let Line::Serial(baud) = self { baud } else { 0 }
    }
}

/// The line to the board, and the clock of all that is on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    pub clock_mhz: f64,
    pub line: Line,
    /// Seconds from the last byte on the line until the host has acted on it.
    pub turnaround: f64,
}

/// The use of the link, from the first byte of the session on.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkUse {
    pub seconds: f64,
    /// Bytes on the line to the board and from it.
    pub bytes_in: u64,
    pub bytes_out: u64,
}

/// A backend that computes nothing and keeps in `seen` how long a board with these engines would have taken; each has the hash of
/// its kernel.
pub fn backend(setup: Setup, engines: Vec<(Config, u64)>, seen: Arc<Mutex<LinkUse>>) -> StreamBackend {
    let board: Mutex<Option<Shared>> = Mutex::new(None);
    let open = move |graph: &Graph, _: u64| -> Result<Box<dyn Link>, BackendError> {
        let hash = kernel_hash(&graph.canonical());
        let Some(number) = engines.iter().position(|e| e.1 == hash) else {
            return Err(BackendError::Unsupported(format!("the predicted board has no engine for {}", graph.name)));
        };
        let mut board = board.lock().unwrap_or_else(PoisonError::into_inner);
        let board = match &*board {
            Some(board) => board.clone(),
            None => {
                let filtered = (engines[number].0.filters > 0).then(|| Arc::new(graph.clone()));
                let made = predicted(&setup, &engines, filtered, seen.clone());
                board.insert(made.map_err(BackendError::Unsupported)?).clone()
            }
        };
        Ok(Box::new(Channel::new(board, number)))
    };
    let open: OpenLink = Box::new(open);
    StreamBackend::new("predicted board", open, true)
}

/// The model of a board.
fn predicted(
    setup: &Setup,
    engines: &[(Config, u64)],
    filtered: Filtered,
    seen: Arc<Mutex<LinkUse>>,
) -> Result<Shared, String> {
    engines.iter().try_for_each(|(config, _)| config.verify())?;
    let borrowed: Vec<(&Config, u64)> = engines.iter().map(|(config, hash)| (config, *hash)).collect();
    let identity = Identity::new(&borrowed, (setup.clock_mhz * 1e6).round() as u32, setup.line.baud());
    let configs = engines.iter().map(|e| e.0.clone()).collect();
    Ok(match setup.line {
        Line::Serial(_) => Arc::new(Mutex::new(Predicted::new(configs, filtered, identity, setup, seen)?)),
        Line::Ethernet(rate) => Arc::new(Mutex::new(PredictedNetwork::new(
            configs,
            filtered,
            identity.over_ethernet(),
            (setup, rate),
            seen,
        )?)),
        Line::Dma(rate) => Arc::new(Mutex::new(PredictedBus::new(configs, &filtered, (setup, rate), seen))),
    })
}

/// A board that is predicted.
pub struct Predicted {
    configs: Vec<Config>,
    host: HostEnd,
    board: BoardEnd,
    engines: Engines,
    filtered: Filtered,
    /// Clocks of the engine in a byte on the line, and its seconds.
    byte_clocks: f64,
    byte_seconds: f64,
    /// Bytes' times that the host takes to act.
    turnaround: u64,
    /// Bytes' times since the first one.
    step: u64,
    /// Bytes on their way: down the line, up the line, and in the host's converter with their time of arrival.
    down: VecDeque<u8>,
    up: VecDeque<u8>,
    arriving: VecDeque<(u64, u8)>,
    replies: Replies,
    sent_ends: u64,
    so_far: LinkUse,
    seen: Arc<Mutex<LinkUse>>,
}

impl Predicted {
    /// A board with engines, whose session is not open yet. The error says what cannot be built.
    fn new(
        configs: Vec<Config>,
        filtered: Filtered,
        identity: Identity,
        setup: &Setup,
        seen: Arc<Mutex<LinkUse>>,
    ) -> Result<Predicted, String> {
        identity.verify()?;
        let byte_seconds = 10.0 / setup.line.baud() as f64;
        Ok(Predicted {
            // A group of targets may compute for long in the time that is predicted.
            host: HostEnd::new(1, Timeouts { stall: Duration::from_secs(1 << 30), ..Timeouts::default() }),
            board: BoardEnd::new(identity),
            engines: Engines::new(&configs, &filtered),
            filtered,
            configs,
            byte_clocks: byte_seconds * setup.clock_mhz * 1e6,
            byte_seconds,
            turnaround: (setup.turnaround.max(0.0) / byte_seconds).round() as u64,
            step: 0,
            down: VecDeque::new(),
            up: VecDeque::new(),
            arriving: VecDeque::new(),
            replies: Replies::default(),
            sent_ends: 0,
            so_far: LinkUse::default(),
            seen,
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.step as f64 * self.byte_seconds)
    }

    /// A byte's time on the line, or more where nothing would happen in it.
    fn turn(&mut self) -> Result<(), Failure> {
        let now = self.now();
        let arrived: Vec<u8> = std::iter::from_fn(|| {
            let due = self.arriving.front().is_some_and(|(at, _)| *at <= self.step);
            if due { self.arriving.pop_front().map(|(_, byte)| byte) } else { None }
        })
        .collect();
        if !arrived.is_empty() {
            self.host.receive(now, &arrived)?;
        }
        while let Some(line) = self.host.transmit(now)? {
            self.down.extend(line);
        }
        let came = self.down.pop_front();
        if let Some(byte) = came {
            self.so_far.bytes_in += 1;
            if self.board.receive(byte) {
                self.engines = Engines::new(&self.configs, &self.filtered);
            }
        }
        self.step += 1;
        self.engine_until((self.step as f64 * self.byte_clocks) as u64);
        if self.up.is_empty()
            && let Some(line) = self.board.transmit(!self.engines.offers())
        {
            self.up.extend(line);
        }
        let gone = self.up.pop_front();
        if let Some(byte) = gone {
            self.so_far.bytes_out += 1;
            self.arriving.push_back((self.step + 1 + self.turnaround, byte));
        }
        if came.is_some() || gone.is_some() {
            self.so_far.seconds = self.step as f64 * self.byte_seconds;
        } else if self.down.is_empty() && arrived.is_empty() {
            // (What has arrived may give the caller something to send.)
            self.rest();
        }
        Ok(())
    }

    /// Beats between the board's end of the link and the engine, up to a clock.
    fn engine_until(&mut self, clock: u64) {
        loop {
            self.engines.advance(clock);
            let mut moved = false;
            while self.engines.takes()
                && let Some((words, last)) = self.board.take_beat()
            {
                self.engines.push(clock, words, last);
                moved = true;
            }
            while self.engines.offers()
                && self.board.ready()
                && let Some(words) = self.engines.pop(clock)
            {
                self.board.give_beat(&words);
                moved = true;
            }
            if !moved {
                return;
            }
        }
    }

    /// Skips the time in which both lines rest and neither the engine nor the host has anything to do.
    fn rest(&mut self) {
        let wake = (self.host.wake().as_secs_f64() / self.byte_seconds) as u64;
        let engine = self.engines.next().map_or(u64::MAX, |clock| (clock as f64 / self.byte_clocks) as u64);
        let arrival = self.arriving.front().map_or(u64::MAX, |(at, _)| *at);
        self.step = self.step.max(wake.min(engine).min(arrival));
    }

    fn transfer(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), String> {
        let failed = |e: Failure| format!("the model of the board's link failed: {e:?}");
        while self.host.identity().is_none() {
            self.turn().map_err(failed)?;
        }
        let bytes = packed::<SerialLine>(input, to, &self.configs);
        let (ends, ends_with_end) = ends(input);
        self.sent_ends += ends;
        self.host.send(&bytes);
        self.host.resume(self.now());
        while self.host.unacknowledged() > 0 || (ends_with_end && self.replies.ends < self.sent_ends) {
            self.turn().map_err(failed)?;
            let came = self.host.fetch();
            if came.is_empty() {
                continue;
            }
            take_blank(&mut self.replies, &came, &self.configs, receive)?;
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = self.so_far;
        Ok(())
    }
}

/// How many END packets there are in a stream, and whether the last packet is one.
fn ends(input: &Stream) -> (u64, bool) {
    let is_end = |p: &[u32]| p.first().is_some_and(|w| w >> 24 == END);
    (input.packets().filter(|p| is_end(p)).count() as u64, input.packets().last().is_some_and(is_end))
}

/// Packets as units for a board with these engines.
fn packed<M: Medium>(input: &Stream, to: &[u8], configs: &[Config]) -> Vec<M::Unit> {
    let beat_words = configs[0].beat_words();
    match configs.len() {
        1 => M::pack(input, beat_words),
        _ => M::pack(&addressed(input, to, beat_words), beat_words),
    }
}

/// Gives on the packets that have come whole, with results of zeros: a prediction computes none.
fn take_blank(replies: &mut Replies, came: &[u8], configs: &[Config], receive: &mut Receive) -> Result<(), String> {
    let mut blank = Vec::new();
    replies.take(came, configs, &mut |number, packet| {
        blank.clear();
        blank.extend_from_slice(packet);
        if packet[0] >> 24 == RESULT {
            blank[configs[number].result_head_words() as usize..].fill(0);
        }
        receive(number, &blank);
    })
}

impl Board for Predicted {
    fn configs(&self) -> &[Config] {
        &self.configs
    }

    fn exchange(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), LinkError> {
        self.transfer(input, to, receive).map_err(LinkError)
    }
}
