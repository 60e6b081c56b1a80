//! The two ends of the link over a network with faults, in virtual time: work is delivered exactly once and in order, to
//! the host that opened the session, or the host says why not.

use crate::link_common::{identity, turned};
use hdl::engine::protocol::{Stream, pad};
use hdl::ethernet::Datagrams;
use hdl::ethernet::board::{BoardEnd, HOLD, Peer};
use hdl::ethernet::datagram::{Datagram, DatagramType};
use hdl::serial::Identity;
use hdl::serial::chunks;
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use std::collections::VecDeque;
use std::time::Duration;
use testkit::Random;

/// Rates a datagram.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    lose: f64,
    double: f64,
    /// It comes later than what is sent behind it.
    delay: f64,
    corrupt: f64,
    truncate: f64,
}

/// All faults at one rate.
fn all(rate: f64) -> Faults {
    Faults { lose: rate, double: rate, delay: rate, corrupt: rate, truncate: rate }
}

/// One direction of the network.
struct Way {
    faults: Faults,
    free: Duration,
    under_way: Vec<(Duration, Vec<u8>)>,
}

const LATENCY: Duration = Duration::from_micros(10);

impl Way {
    fn new(faults: Faults) -> Way {
        Way { faults, free: Duration::ZERO, under_way: Vec::new() }
    }

    fn put(&mut self, now: Duration, datagram: &[u8], random: &mut Random) {
        let f = self.faults;
        // 125 MB/s, with preamble, gap, headers and check.
        self.free = self.free.max(now) + Duration::from_nanos(8) * (datagram.len() as u32 + 66);
        for _ in 0..1 + random.chance(f.double) as u32 {
            let mut bytes = datagram.to_vec();
            if random.chance(f.lose) {
                continue;
            }
            if random.chance(f.corrupt) {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            if random.chance(f.truncate) {
                bytes.truncate(random.below(bytes.len()));
            }
            let late = if random.chance(f.delay) { Duration::from_micros(random.below(3000) as u64) } else { LATENCY };
            self.under_way.push((self.free + late, bytes));
        }
    }

    fn arrived(&mut self, now: Duration) -> Vec<Vec<u8>> {
        self.under_way.sort_by_key(|d| d.0);
        let due = self.under_way.partition_point(|d| d.0 <= now);
        self.under_way.drain(..due).map(|d| d.1).collect()
    }

    fn next(&self) -> Option<Duration> {
        self.under_way.iter().map(|d| d.0).min()
    }
}

const US: Peer = Peer { address: 0x0a00_0001, port: 4000 };
const OTHER: Peer = Peer { address: 0x0a00_0002, port: 4000 };

struct Bench {
    now: Duration,
    random: Random,
    host: HostEnd<Datagrams>,
    board: BoardEnd,
    down: Way,
    up: Way,
    /// The words the engine took, where packets ended, and the answers that it still has to send.
    words: Vec<u32>,
    lasts: Vec<bool>,
    answers: VecDeque<Vec<u32>>,
    pace: usize,
    dead: bool,
    came: Vec<u32>,
}

impl Bench {
    fn new(seed: u64, identity: Identity, faults: Faults) -> Bench {
        let mut random = Random::new(seed);
        let nonce = random.bits() as u32 | 1;
        Bench {
            now: Duration::ZERO,
            host: HostEnd::new(nonce, Timeouts::default()),
            board: BoardEnd::new(identity),
            down: Way::new(faults),
            up: Way::new(faults),
            words: Vec::new(),
            lasts: Vec::new(),
            answers: VecDeque::new(),
            pace: 1 + random.below(300),
            dead: false,
            came: Vec::new(),
            random,
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        let now = self.now;
        for datagram in self.up.arrived(now) {
            self.host.receive(now, &datagram)?;
        }
        self.came.extend(self.host.fetch());
        while let Some(datagram) = self.host.transmit(now)? {
            self.down.put(now, &datagram, &mut self.random);
        }
        for datagram in self.down.arrived(now) {
            if !self.dead && self.board.receive(now, US, &datagram) {
                (self.words, self.lasts, self.answers) = Default::default();
                self.came.clear();
            }
        }
        let mut worked = false;
        if !self.dead {
            worked = self.work();
            while self.up.free <= now + LATENCY
                && let Some((to, datagram)) = self.board.transmit(self.answers.is_empty())
            {
                // What is for another host does not come here.
                if to == US {
                    self.up.put(now, &datagram, &mut self.random);
                }
            }
        }
        let next =
            [self.up.next(), self.down.next(), Some(self.host.wake())].into_iter().flatten().min().unwrap_or(now);
        let tick = Duration::from_micros(3);
        self.now = if worked || self.up.free > now { now + tick } else { next.max(now + tick) };
        Ok(())
    }

    fn work(&mut self) -> bool {
        let mut worked = false;
        for _ in 0..self.random.below(self.pace + 1) {
            // The engine stops taking when nobody takes what it gives.
            if self.answers.len() > 8 && !self.board.ready() {
                break;
            }
            let Some((words, last)) = self.board.take_beat() else { break };
            let first = self.words.len();
            self.answers.push_back(words.iter().enumerate().map(|(k, w)| turned(first + k, *w)).collect());
            self.words.extend(words);
            self.lasts.push(last);
            worked = true;
        }
        while self.board.ready()
            && let Some(words) = self.answers.pop_front()
        {
            self.board.give_beat(&words);
            worked = true;
        }
        worked
    }

    /// Sends all of `stream` and waits until all of it came back.
    fn exchange(&mut self, stream: &Stream, beat_words: u32) -> Result<(), Failure> {
        let mut packed = Vec::new();
        chunks::pack(stream, beat_words, &mut packed);
        self.host.send(&packed);
        let wanted = beats(stream, beat_words).0.len();
        let limit = self.now + Duration::from_secs(600);
        while self.host.unacknowledged() > 0 || self.came.len() < wanted {
            self.step()?;
            assert!(self.now < limit, "the host gives up before that");
        }
        Ok(())
    }

    fn check(&self, stream: &Stream, beat_words: u32) {
        let (words, lasts) = beats(stream, beat_words);
        assert!(self.words == words && self.lasts == lasts);
        let back: Vec<u32> = words.iter().enumerate().map(|(k, w)| turned(k, *w)).collect();
        assert!(self.came == back);
    }
}

/// The words of packets as beats, and where packets end.
fn beats(stream: &Stream, beat_words: u32) -> (Vec<u32>, Vec<bool>) {
    let (mut words, mut lasts) = (Vec::new(), Vec::new());
    for packet in stream.packets() {
        let start = words.len();
        words.extend_from_slice(packet);
        pad(&mut words, start, beat_words);
        let count = (words.len() - start) / beat_words as usize;
        lasts.extend((1..=count).map(|k| k == count));
    }
    (words, lasts)
}

fn packets(random: &mut Random, most: usize, total: usize) -> Stream {
    let mut stream = Stream::default();
    while stream.words.len() < total {
        let words: Vec<u32> = (0..1 + random.below(most)).map(|_| random.bits() as u32).collect();
        stream.packet(words);
    }
    stream
}

fn ethernet(stream_bits: u32, ring_bits: u8) -> Identity {
    let identity = identity(stream_bits, 11, 11).over_ethernet();
    let identity = Identity { down_bits: ring_bits, up_bits: ring_bits, ..identity };
    identity.verify().expect("a link that can be built");
    identity
}

#[test]
fn work_is_delivered_once_and_in_order_over_any_network() {
    let (mut faulty, mut tried) = (0, 0);
    for seed in testkit::some(0..600, 200) {
        tried += 1;
        let mut random = Random::new(seed);
        let stream_bits = [32, 64, 128][random.below(3)];
        let mut rate = |most: f64| if random.below(2) == 0 { 0.0 } else { most * random.below(1000) as f64 / 1000.0 };
        let faults =
            Faults { lose: rate(0.2), double: rate(0.2), delay: rate(0.2), corrupt: rate(0.2), truncate: rate(0.1) };
        let ring = [12, 13, 15, 16][random.below(4)];
        let most = [3, 100, 5000][random.below(3)];
        let stream = packets(&mut random, most, 20_000);
        let mut bench = Bench::new(seed, ethernet(stream_bits, ring), faults);
        bench
            .exchange(&stream, stream_bits / 32)
            .unwrap_or_else(|e| panic!("seed {seed}: {e:?} {faults:?} {:?}", bench.host.traffic()));
        bench.check(&stream, stream_bits / 32);
        faulty += (bench.host.traffic().again > 0) as u32;
    }
    println!("{faulty} of {tried} networks lost something");
    assert!(2 * faulty > tried);
}

#[test]
fn a_gigabit_is_used_in_both_directions_and_with_faults() {
    for (rate, least) in [(0.0, 110e6), (0.002, 100e6)] {
        let mut bench = Bench::new(1, ethernet(32, 15), all(rate));
        bench.pace = 1 << 20;
        let stream = packets(&mut Random::new(5), 3000, 4_000_000);
        bench.exchange(&stream, 1).expect("a good network");
        bench.check(&stream, 1);
        let found = stream.words.len() as f64 * 4.0 / bench.now.as_secs_f64();
        println!("five faults of {rate} each: {:.1} MB/s each way, {:?}", found / 1e6, bench.host.traffic());
        assert!(found > least, "{found}");
        assert!(rate > 0.0 || bench.host.traffic().again == 0);
    }
}

#[test]
fn a_network_that_is_gone_is_given_up_in_time() {
    for seed in 0..50 {
        let mut bench = Bench::new(seed, ethernet(32, 15), all(0.01));
        let stream = packets(&mut Random::new(seed), 50, 200_000);
        let mut packed = Vec::new();
        chunks::pack(&stream, 1, &mut packed);
        bench.host.send(&packed);
        for _ in 0..50 * seed {
            bench.step().expect("the network is good enough");
        }
        bench.dead = true;
        let at = bench.now;
        let failure = loop {
            if let Err(failure) = bench.step() {
                break failure;
            }
        };
        assert!(matches!(failure, Failure::Silent | Failure::NoAnswer { .. }), "{failure:?}");
        assert!(bench.now < at + Duration::from_secs(8));
    }
}

#[test]
fn a_session_is_bound_to_its_host() {
    let mut bench = Bench::new(3, ethernet(32, 15), all(0.01));
    let stream = packets(&mut Random::new(3), 50, 50_000);
    let mut packed = Vec::new();
    chunks::pack(&stream, 1, &mut packed);
    while bench.host.identity().is_none() {
        bench.step().expect("a good network");
    }
    // Another host that knows all numbers of the session gets no word into the engine, and cannot open or end one.
    let session = bench.board.transmit(true);
    assert!(session.is_none(), "all was said");
    let mut other = bench.board.clone();
    let data = |kind, session| Datagram { payload: vec![7; 40], ..Datagram::bare(kind, session) }.encode();
    let mut random = Random::new(3);
    let ours = random.bits() as u32 | 1;
    for kind in [DatagramType::Data, DatagramType::Rewind, DatagramType::End] {
        assert!(!other.receive(bench.now, OTHER, &data(kind, ours)));
        let (to, answer) = other.transmit(true).expect("an answer");
        let answer = Datagram::decode(&answer).unwrap();
        assert_eq!((to, answer.kind, answer.payload), (OTHER, DatagramType::End, vec![US.address]));
    }
    assert!(other.take_beat().is_none() && !other.in_reset());
    assert!(!other.receive(bench.now, OTHER, &data(DatagramType::Start, 77)));
    assert_eq!(other.transmit(true).map(|d| Datagram::decode(&d.1).unwrap().kind), Some(DatagramType::End));
    // A damaged datagram of another host is not answered, one of ours is.
    let damaged = &data(DatagramType::Data, ours)[..30];
    other.receive(bench.now, OTHER, damaged);
    assert!(other.transmit(true).is_none());
    other.receive(bench.now, US, damaged);
    assert!(other.transmit(true).is_some());
    // A host that is silent for long loses the board to one that asks, and is notified.
    assert!(other.receive(bench.now + HOLD, OTHER, &data(DatagramType::Start, 77)));
    bench.board = other;
    bench.now += HOLD;
    bench.host.send(&packed);
    let failure = loop {
        if let Err(failure) = bench.step() {
            break failure;
        }
    };
    assert_eq!(failure, Failure::Reset);
}

#[test]
fn a_board_in_use_is_told_from_a_dead_one() {
    let mut bench = Bench::new(4, ethernet(32, 15), Faults::default());
    bench.board.receive(Duration::ZERO, OTHER, &Datagram::bare(DatagramType::Start, 9).encode());
    let failure = loop {
        // The other host is at work all the time.
        bench.board.receive(bench.now, OTHER, &Datagram::bare(DatagramType::Notice, 9).encode());
        if let Err(failure) = bench.step() {
            break failure;
        }
    };
    assert_eq!(failure, Failure::Busy(OTHER.address));
    // Its session ends, and ours begins at once; what comes late of the old one does not end ours.
    let mut bench = Bench::new(5, ethernet(32, 15), Faults::default());
    for kind in [DatagramType::Start, DatagramType::End, DatagramType::Start] {
        bench.board.receive(Duration::ZERO, OTHER, &Datagram::bare(kind, 9).encode());
    }
    assert!(bench.board.in_reset());
    let stream = packets(&mut Random::new(5), 50, 5000);
    bench.exchange(&stream, 1).expect("the board is free");
    bench.board.receive(bench.now, OTHER, &Datagram::bare(DatagramType::End, 9).encode());
    assert!(!bench.board.in_reset());
    let end = bench.host.close().expect("an open session");
    bench.board.receive(bench.now, US, &end);
    assert!(bench.board.in_reset());
}

#[test]
fn anyone_may_ask_who_is_there() {
    let mut board = BoardEnd::new(ethernet(64, 15));
    assert!(!board.receive(Duration::ZERO, OTHER, &Datagram::bare(DatagramType::Who, 123).encode()));
    let (to, answer) = board.transmit(true).expect("an answer");
    let answer = Datagram::decode(&answer).unwrap();
    assert_eq!((to, answer.kind, answer.session), (OTHER, DatagramType::Who, 123));
    let bytes: Vec<u8> = answer.payload.iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(Identity::decode(&bytes), Ok((123, ethernet(64, 15))));
    assert!(board.transmit(true).is_none() && board.in_reset());
}

#[test]
fn a_board_that_begins_anew_is_noticed() {
    let mut bench = Bench::new(6, ethernet(32, 15), Faults::default());
    let stream = packets(&mut Random::new(6), 50, 200_000);
    let mut packed = Vec::new();
    chunks::pack(&stream, 1, &mut packed);
    bench.host.send(&packed);
    (0..60).for_each(|_| bench.step().expect("work is under way"));
    assert!(bench.host.unacknowledged() > 0);
    bench.board = BoardEnd::new(ethernet(32, 15));
    let failure = loop {
        if let Err(failure) = bench.step() {
            break failure;
        }
    };
    assert_eq!(failure, Failure::Reset);
}
