//! The same over Ethernet: both ends of the link as they are, on a wire of so many bytes a second, and the engine's clocks.

use super::engines::Engines;
use super::passing::Filtered;
use super::{LinkUse, Setup, ends, packed, take_blank};
use hdl::engine::Config;
use hdl::engine::link::{Board, LinkError, Receive};
use hdl::engine::protocol::Stream;
use hdl::ethernet::Datagrams;
use hdl::ethernet::board::{BoardEnd, Peer};
use hdl::serial::Identity;
use hdl::serial::chunks::{Replies, Unit};
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Clocks of a step.
const STEP: u64 = 16;
/// Bytes on the wire beside a datagram: preamble, headers of Ethernet, IP and UDP, check and gap.
const AROUND: usize = 66;
const HOST: Peer = Peer { address: 1, port: 1 };

/// A board on the network that is predicted.
pub struct PredictedNetwork {
    configs: Vec<Config>,
    host: HostEnd<Datagrams>,
    board: BoardEnd,
    engines: Engines,
    filtered: Filtered,
    clock_hz: f64,
    /// Bytes a second in each direction.
    rate: f64,
    /// Clocks that the host takes to act.
    turnaround: u64,
    /// Clocks so far, and those whose beats have passed in either direction.
    now: u64,
    passed: [u64; 2],
    /// When the wire is free in either direction.
    down_free: f64,
    up_free: f64,
    /// Datagrams on their way, with their time of arrival.
    to_board: VecDeque<(u64, Vec<u8>)>,
    to_host: VecDeque<(u64, Vec<u8>)>,
    replies: Replies,
    sent_ends: u64,
    so_far: LinkUse,
    seen: Arc<Mutex<LinkUse>>,
}

fn due(queue: &mut VecDeque<(u64, Vec<u8>)>, now: u64) -> Option<Vec<u8>> {
    queue.front().filter(|(at, _)| *at <= now)?;
    queue.pop_front().map(|(_, datagram)| datagram)
}

impl PredictedNetwork {
    /// A board with engines, whose session is not open yet. The error says what cannot be built.
    pub fn new(
        configs: Vec<Config>,
        filtered: Filtered,
        identity: Identity,
        (setup, rate): (&Setup, f64),
        seen: Arc<Mutex<LinkUse>>,
    ) -> Result<PredictedNetwork, String> {
        identity.verify()?;
        let clock_hz = setup.clock_mhz * 1e6;
        Ok(PredictedNetwork {
            // A group of targets may compute for long in the time that is predicted.
            host: HostEnd::new(1, Timeouts { stall: Duration::from_secs(1 << 30), ..Timeouts::default() }),
            board: BoardEnd::new(identity),
            engines: Engines::new(&configs, &filtered),
            filtered,
            configs,
            clock_hz,
            rate,
            turnaround: (setup.turnaround.max(0.0) * clock_hz).round() as u64,
            now: 0,
            passed: [0; 2],
            down_free: 0.0,
            up_free: 0.0,
            to_board: VecDeque::new(),
            to_host: VecDeque::new(),
            replies: Replies::default(),
            sent_ends: 0,
            so_far: LinkUse::default(),
            seen,
        })
    }

    fn time(&self) -> Duration {
        Duration::from_secs_f64(self.now as f64 / self.clock_hz)
    }

    /// When a datagram that is sent now is through, on a wire that is free from `free` on.
    fn through(&self, free: f64, datagram: &[u8]) -> f64 {
        free.max(self.now as f64) + (datagram.len() + AROUND) as f64 * self.clock_hz / self.rate
    }

    /// Some clocks, or more where nothing would happen in them.
    fn turn(&mut self) -> Result<(), Failure> {
        let time = self.time();
        let mut moved = false;
        while let Some(datagram) = due(&mut self.to_host, self.now) {
            self.host.receive(time, &datagram)?;
            moved = true;
        }
        while let Some(datagram) = self.host.transmit(time)? {
            self.down_free = self.through(self.down_free, &datagram);
            self.so_far.bytes_in += datagram.len() as u64;
            self.to_board.push_back((self.down_free.ceil() as u64, datagram));
            moved = true;
        }
        while let Some(datagram) = due(&mut self.to_board, self.now) {
            if self.board.receive(time, HOST, &datagram) {
                self.engines = Engines::new(&self.configs, &self.filtered);
            }
            moved = true;
        }
        moved |= self.beats();
        if self.up_free <= self.now as f64
            && let Some((_, datagram)) = self.board.transmit(!self.engines.offers())
        {
            self.up_free = self.through(self.up_free, &datagram);
            self.so_far.bytes_out += datagram.len() as u64;
            self.to_host.push_back((self.up_free.ceil() as u64 + self.turnaround, datagram));
            moved = true;
        }
        self.now = if moved { self.now + STEP } else { self.next() };
        let last = self.down_free.max(self.up_free);
        self.so_far.seconds = last / self.clock_hz;
        Ok(())
    }

    /// Beats between the board's end of the link and the engine: the link has a word a clock in each direction.
    fn beats(&mut self) -> bool {
        let now = self.now;
        self.engines.advance(now);
        let beat = self.configs[0].beat_words() as u64;
        // What was not used in the steps before is lost.
        self.passed = self.passed.map(|passed| passed.max(now.saturating_sub(STEP)));
        let mut moved = false;
        loop {
            let mut one = false;
            if self.passed[0] < now
                && self.engines.takes()
                && let Some((words, last)) = self.board.take_beat()
            {
                self.engines.push(now, words, last);
                self.passed[0] += beat;
                one = true;
            }
            if self.passed[1] < now
                && self.engines.offers()
                && self.board.ready()
                && let Some(words) = self.engines.pop(now)
            {
                self.board.give_beat(&words);
                self.passed[1] += beat;
                one = true;
            }
            if !one {
                return moved;
            }
            moved = true;
        }
    }

    /// The time of what happens next, where nothing happens now.
    fn next(&self) -> u64 {
        let wake = (self.host.wake().as_secs_f64() * self.clock_hz).ceil() as u64;
        let wire = if self.up_free > self.now as f64 { self.up_free.ceil() as u64 } else { u64::MAX };
        let arrivals = [&self.to_board, &self.to_host].into_iter().filter_map(|q| q.front()).map(|(at, _)| *at);
        let next = arrivals.chain(self.engines.next()).chain([wake, wire]).min().unwrap_or(0);
        next.max(self.now + STEP)
    }

    fn transfer(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), String> {
        let failed = |e: Failure| format!("the model of the board's link failed: {e:?}");
        let packed = packed::<Datagrams>(input, to, &self.configs);
        let (ends, ends_with_end) = ends(input);
        self.sent_ends += ends;
        self.host.send(&packed);
        self.host.resume(self.time());
        while self.host.unacknowledged() > 0 || (ends_with_end && self.replies.ends < self.sent_ends) {
            self.turn().map_err(failed)?;
            let came = self.host.fetch();
            if came.is_empty() {
                continue;
            }
            take_blank(&mut self.replies, &Unit::bytes(&came), &self.configs, receive)?;
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = self.so_far;
        Ok(())
    }
}

impl Board for PredictedNetwork {
    fn configs(&self) -> &[Config] {
        &self.configs
    }

    fn exchange(&mut self, input: &Stream, to: &[u8], receive: &mut Receive) -> Result<(), LinkError> {
        self.transfer(input, to, receive).map_err(LinkError)
    }
}
