//! A serial line with faults in virtual time, between the host's end of the link and the model of the board's.

use hdl::serial::board::BoardEnd;
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use hdl::serial::{EngineIdentity, Identity, kernel_hash};
use std::collections::VecDeque;
use std::time::Duration;
use testkit::Random;

/// Rates a byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub flip: f64,
    pub drop: f64,
    pub double: f64,
    /// The byte and up to 255 more are lost.
    pub cut: f64,
    /// A byte of noise comes in between.
    pub noise: f64,
}

/// One direction of a line: bytes in order, each at its time.
pub struct Wire {
    pub faults: Faults,
    byte: Duration,
    latency: Duration,
    /// The converter hands bytes on in bursts: at multiples of this.
    burst: Duration,
    free: Duration,
    lost: u64,
    under_way: VecDeque<(Duration, u8)>,
}

impl Wire {
    pub fn new(faults: Faults, byte: Duration, latency: Duration, burst: Duration) -> Wire {
        let (free, under_way) = (Duration::ZERO, VecDeque::new());
        Wire { faults, byte, latency, burst, free, lost: 0, under_way }
    }

    pub fn put(&mut self, now: Duration, bytes: &[u8], random: &mut Random) {
        for byte in bytes {
            self.free = self.free.max(now) + self.byte;
            let mut arrival = self.free + self.latency;
            if !self.burst.is_zero() {
                let turns = arrival.as_nanos() / self.burst.as_nanos() + 1;
                arrival = Duration::from_nanos((turns * self.burst.as_nanos()) as u64);
            }
            let f = self.faults;
            if random.chance(f.cut) {
                self.lost = random.below(256) + 1;
            }
            if self.lost > 0 {
                self.lost -= 1;
                continue;
            }
            if random.chance(f.drop) {
                continue;
            }
            let flipped = if random.chance(f.flip) { byte ^ 1 << random.below(8) } else { *byte };
            self.under_way.push_back((arrival, flipped));
            if random.chance(f.double) {
                self.under_way.push_back((arrival, flipped));
            }
            if random.chance(f.noise) {
                self.under_way.push_back((arrival, random.bits() as u8));
            }
        }
    }

    /// Bytes that have not gone on the line yet.
    pub fn waiting(&self, now: Duration) -> u128 {
        self.free.saturating_sub(now).as_nanos() / self.byte.as_nanos().max(1)
    }

    pub fn arrived(&mut self, now: Duration) -> Option<u8> {
        self.under_way.front().filter(|b| b.0 <= now)?;
        self.under_way.pop_front().map(|b| b.1)
    }

    pub fn next_arrival(&self) -> Option<Duration> {
        self.under_way.front().map(|b| b.0)
    }
}

pub fn identity(stream_bits: u32, down_bits: u8, up_bits: u8) -> Identity {
    Identity {
        engines: vec![EngineIdentity {
            kernel: "k".into(),
            hash: kernel_hash("k"),
            pipelines: 2,
            groups: 1,
            i_banks: 2,
            ii: 1,
            jmem_records: 128,
            segments: 16,
            filters: 0,
        }],
        stream_bits,
        clock_hz: 48_000_000,
        baud: 3_000_000,
        down_bits,
        up_bits,
    }
}

/// An engine that gives back the words it takes, each turned by its place, at a random speed.
#[derive(Default)]
pub struct Echo {
    pub words: Vec<u32>,
    pub lasts: Vec<bool>,
    answers: VecDeque<Vec<u32>>,
}

pub fn turned(place: usize, word: u32) -> u32 {
    word.rotate_left(place as u32 % 31) ^ place as u32
}

/// Everything between two ends, and the clock.
pub struct Bench {
    pub now: Duration,
    pub random: Random,
    pub host: HostEnd,
    pub board: BoardEnd,
    pub engine: Echo,
    pub down: Wire,
    pub up: Wire,
    /// Beats that the engine takes and gives at one look.
    pub take: u64,
    pub give: u64,
    /// When the board dies; when the cable breaks; when the board is reset.
    pub dead: Option<Duration>,
    pub came: Vec<u8>,
}

/// Virtual time between two looks at everything while something happens.
const LOOK: Duration = Duration::from_micros(40);

impl Bench {
    pub fn new(seed: u64, identity: Identity, faults: (Faults, Faults), timeouts: Timeouts) -> Bench {
        let mut random = Random::new(seed);
        let (byte, usb) = (Duration::from_nanos(3333), Duration::from_millis(1));
        Bench {
            now: Duration::ZERO,
            host: HostEnd::new(random.bits() as u32, timeouts),
            board: BoardEnd::new(identity),
            engine: Echo::default(),
            down: Wire::new(faults.0, byte, Duration::from_micros(200), Duration::ZERO),
            up: Wire::new(faults.1, byte, Duration::ZERO, usb),
            take: 1 + random.below(8),
            give: 1 + random.below(8),
            dead: None,
            came: Vec::new(),
            random,
        }
    }

    /// One look at everything; then the clock goes on to when something happens.
    pub fn step(&mut self) -> Result<(), Failure> {
        let now = self.now;
        let mut bytes = Vec::new();
        while let Some(byte) = self.up.arrived(now) {
            bytes.push(byte);
        }
        self.host.receive(now, &bytes)?;
        self.came.extend(self.host.fetch());
        while self.down.waiting(now) < 4096 {
            let Some(line) = self.host.transmit(now)? else { break };
            self.down.put(now, &line, &mut self.random);
        }
        let dead = self.dead.is_some_and(|at| now >= at);
        while let Some(byte) = self.down.arrived(now) {
            if !dead && self.board.receive(byte) {
                self.engine = Echo::default();
                self.came.clear();
            }
        }
        let mut worked = false;
        if !dead {
            worked = self.work();
            if self.up.waiting(now) == 0
                && let Some(line) = self.board.transmit(self.engine.answers.is_empty())
            {
                self.up.put(now, &line, &mut self.random);
            }
        }
        let next = [self.up.next_arrival(), self.down.next_arrival(), Some(self.host.wake())];
        let next = next.into_iter().flatten().min().unwrap_or(now);
        self.now = if worked { now + LOOK } else { next.max(now + LOOK) };
        Ok(())
    }

    fn work(&mut self) -> bool {
        let mut worked = false;
        for _ in 0..self.random.below(self.take + 1) {
            // The engine stops taking when nobody takes what it gives.
            if self.engine.answers.len() > 8 {
                break;
            }
            let Some((words, last)) = self.board.take_beat() else { break };
            let first = self.engine.words.len();
            let answer = words.iter().enumerate().map(|(k, w)| turned(first + k, *w)).collect();
            self.engine.answers.push_back(answer);
            self.engine.words.extend(words);
            self.engine.lasts.push(last);
            worked = true;
        }
        for _ in 0..self.random.below(self.give + 1) {
            if !self.board.ready() {
                break;
            }
            let Some(words) = self.engine.answers.pop_front() else { break };
            self.board.give_beat(&words);
            worked = true;
        }
        worked || !self.engine.answers.is_empty()
    }
}
