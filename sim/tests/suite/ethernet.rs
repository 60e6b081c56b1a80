//! The Verilog of the link over Ethernet against the host's end, at the pace of a gigabit: an engine that echoes gets each
//! beat once and in order, and so does the host, whatever the network does; and against the program that specifies it.

use crate::echo::{answer, echoed, identity};
use hdl::engine::protocol::Stream;
use hdl::ethernet::board::{BoardEnd, Peer};
use hdl::ethernet::datagram::{Datagram, DatagramType};
use hdl::ethernet::{Datagrams, netlist};
use hdl::rtl::netlist::Dir::{In, Out};
use hdl::rtl::netlist::{Item, Module, Netlist};
use hdl::serial::Identity;
use hdl::serial::chunks;
use hdl::serial::host::{Failure, HostEnd, Timeouts, Traffic};
use sim::board::fault::Fault;
use sim::board::fault::datagrams::Way;
use sim::board::words::{Clocked, WordsSim};
use sim::cache::Cache;
use sim::stimuli::Random;
use std::collections::VecDeque;
use std::time::Duration;

pub const CLOCK: u32 = 50_000_000;
pub const RINGS: (u8, u8) = (15, 15);
pub const US: Peer = Peer { address: 0xc0a8_0101, port: 40_000 };
const OTHER: Peer = Peer { address: 0xc0a8_0102, port: 40_001 };

/// A link in front of the module that has its engines: `netlist` is the link, and the top of `engines` has the ports of an engine.
pub fn simulated_around(mut netlist: Netlist, engines: Netlist) -> Option<WordsSim> {
    let mut top = top(&netlist);
    let link = netlist.module(&netlist.top).expect("the link's top").ports.clone();
    let own: Vec<_> = top.ports.iter().map(|p| p.name.clone()).collect();
    for port in link.iter().filter(|p| !own.contains(&p.name)) {
        top.net(port.name.as_str(), port.width);
    }
    let joined: Vec<_> = link.iter().map(|p| (p.name.clone(), top.signal(&p.name))).collect();
    top.instance(netlist.top.clone(), "link", joined);
    let ports = &engines.module(&engines.top).expect("the engines' top").ports;
    let outer = |name: &str| if name == "rst" { "engine_rst".to_string() } else { name.to_string() };
    let joined: Vec<_> = ports.iter().map(|p| (p.name.clone(), top.signal(&outer(&p.name)))).collect();
    top.instance(engines.top.clone(), "engines", joined);
    let busy = top.signal("m_tvalid");
    top.assign("busy", busy);
    let resting = top.signal("engine_rst");
    top.assign("resting", resting);
    engines.modules.into_iter().for_each(|m| netlist.add(m));
    netlist.top = top.name.clone();
    netlist.add(top);
    let text = netlist.verilog().expect("a sound netlist");
    crate::common::built(WordsSim::build(&text, &netlist.top, CLOCK as f64, &Cache::standard()))
}

/// A top with the ports of a link that are a board's.
fn top(link: &Netlist) -> Module {
    let mut top = Module { name: "echo_board".into(), ..Module::default() };
    let ports = &link.module(&link.top).expect("the link's top").ports;
    let outer = |name: &str| name.starts_with("rx_") || name.starts_with("tx_") || name == "clk" || name == "rst";
    for port in ports.iter().filter(|p| outer(&p.name)) {
        top.port(port.dir, port.name.as_str(), port.width);
    }
    top.port(Out, "busy", 1);
    top.port(Out, "resting", 1);
    top
}

/// Link and engine. The engine takes a beat a clock as long as its answer is taken, or, if it is `slow`, at a random pace.
pub fn design(identity: &Identity, slow: bool) -> Netlist {
    let mut all = netlist(identity);
    let s = identity.stream_bits;
    let mut top = top(&all);
    let link = all.module(&all.top).expect("the link's top").ports.clone();
    assert!(link.iter().any(|p| p.dir == In && p.name == "rx_valid") && link.iter().any(|p| p.dir == Out));
    let joined: Vec<String> = link.iter().map(|p| format!(".{0}({0})", p.name)).collect();
    top.items.push(Item::Text(format!(
        "    wire engine_rst, lost, s_tvalid, s_tready, s_tlast, m_tvalid, m_tready;
    wire [{high}:0] s_tdata, m_tdata;
    reg [15:0] count;
    reg [{high}:0] beat, was;
    reg full, waited, broken, was_last;
    wire m_tlast = 1'b1;
    assign busy = full;
    assign resting = engine_rst;
    echo_link link ({joined});
    reg [22:0] noise = 23'd1;
    wire pause = {slow} & noise[0];
    assign s_tready = (~full | m_tready) & ~pause;
    assign m_tvalid = full;
    assign m_tdata = beat ^ {{{s}{{broken}}}};
    always @(posedge clk) begin
        noise <= {{noise[21:0], noise[22] ^ noise[17]}};
        if (s_tvalid & s_tready) begin
            beat <= s_tdata ^ {{{pad}s_tlast, 15'd0, count}};
            count <= count + 16'd1;
            full <= 1'b1;
        end else if (m_tready) full <= 1'b0;
        waited <= s_tvalid & ~s_tready;
        was <= s_tdata;
        was_last <= s_tlast;
        if (waited & (~s_tvalid | (s_tdata != was) | (s_tlast != was_last))) broken <= 1'b1;
        if (engine_rst) begin
            count <= 16'd0;
            full <= 1'b0;
            waited <= 1'b0;
            broken <= 1'b0;
        end
    end",
        high = s - 1,
        joined = joined.join(", "),
        slow = if slow { "1'b1" } else { "1'b0" },
        pad = if s > 32 { format!("{}'d0, ", s - 32) } else { String::new() },
    )));
    all.top = top.name.clone();
    all.add(top);
    all.verify().expect("a sound netlist");
    all
}

fn simulated(identity: &Identity, slow: bool) -> Option<WordsSim> {
    let netlist = design(identity, slow);
    let text = netlist.verilog().unwrap();
    crate::common::built(WordsSim::build(&text, &netlist.top, CLOCK as f64, &Cache::standard()))
}

/// Clocks from a socket's end of the network to the other one, and of a host that looks at what came.
const LATENCY: u64 = 500;

pub struct Bench {
    board: Box<dyn Clocked>,
    host: HostEnd<Datagrams>,
    down: Way,
    up: Way,
    /// Datagrams on their way to the host.
    arriving: VecDeque<(u64, Vec<u8>)>,
    leaving: VecDeque<(u64, Vec<u8>)>,
    pub came: Vec<u32>,
    dead: bool,
}

impl Bench {
    pub fn new(board: impl Clocked + 'static, faults: &[Fault], seed: u64) -> Bench {
        Bench {
            board: Box::new(board),
            host: HostEnd::new(seed as u32 + 1, Timeouts::default()),
            down: Way::new(faults, seed),
            up: Way::new(faults, seed + 1),
            arriving: VecDeque::new(),
            leaving: VecDeque::new(),
            came: Vec::new(),
            dead: false,
        }
    }

    /// Clocks of the board so far.
    pub fn now(&self) -> u64 {
        self.board.now()
    }

    /// A clock of the board; the host looks each microsecond.
    fn clock(&mut self) -> Result<(), Failure> {
        let now = self.board.now();
        if let Some((to, datagram)) = self.board.clock().expect("a link that keeps its rules") {
            assert_eq!(to, US);
            self.arriving.extend(self.up.pass(datagram).into_iter().map(|d| (now + LATENCY, d)));
        }
        if now.is_multiple_of(CLOCK as u64 / 1_000_000) {
            self.look(now)?;
        }
        Ok(())
    }

    fn look(&mut self, now: u64) -> Result<(), Failure> {
        let time = Duration::from_nanos(now * 1_000_000_000 / CLOCK as u64);
        while let Some(datagram) = due(&mut self.arriving, now) {
            if !self.dead {
                self.host.receive(time, &datagram)?;
            }
        }
        self.came.extend(self.host.fetch());
        while let Some(datagram) = self.host.transmit(time)? {
            self.leaving.extend(self.down.pass(datagram).into_iter().map(|d| (now + LATENCY, d)));
        }
        while let Some(datagram) = due(&mut self.leaving, now) {
            self.board.give(US, &datagram);
        }
        Ok(())
    }

    pub fn exchange(&mut self, stream: &Stream, beat_words: u32) -> Result<(), Failure> {
        self.exchange_words(stream, beat_words, answer(stream, beat_words).len())
    }

    /// Sends packets until all are there and so many words have come back.
    pub fn exchange_words(&mut self, stream: &Stream, beat_words: u32, wanted: usize) -> Result<(), Failure> {
        let mut packed = Vec::new();
        chunks::pack(stream, beat_words, &mut packed);
        self.host.send(&packed);
        while self.host.unacknowledged() > 0 || self.came.len() < wanted {
            self.clock()?;
        }
        Ok(())
    }
}

/// The next datagram whose time has come.
fn due(queue: &mut VecDeque<(u64, Vec<u8>)>, now: u64) -> Option<Vec<u8>> {
    queue.front().filter(|d| d.0 <= now)?;
    queue.pop_front().map(|d| d.1)
}

pub fn packets(random: &mut Random, most: u64, total: usize) -> Stream {
    let mut stream = Stream::default();
    while stream.words.len() < total {
        let words: Vec<u32> = (0..1 + random.below(most)).map(|_| random.bits() as u32).collect();
        stream.packet(words);
    }
    stream
}

pub fn all(rate: f64) -> Vec<Fault> {
    [Fault::Flip, Fault::Drop, Fault::Double, Fault::Cut, Fault::Swap].map(|fault| fault(rate)).to_vec()
}

/// Rates of faults, and engines: whether they are slow, and their streams.
const RATES: [f64; 4] = [0.0, 0.01, 0.05, 0.1];
const ENGINES: [(bool, u32); 3] = [(true, 32), (false, 64), (true, 128)];

/// So many words for some of the engines at each rate: more than a ring has, so that places in it turn over.
fn work_is_delivered(words: usize, engines: impl Fn(usize) -> &'static [(bool, u32)]) {
    for (k, rate) in testkit::some(RATES.into_iter().enumerate(), 2) {
        for &(slow, stream_bits) in engines(k) {
            let Some(board) = simulated(&identity(1, stream_bits, CLOCK, 0, RINGS), slow) else { return };
            let mut bench = Bench::new(board, &all(rate), k as u64);
            let stream = packets(&mut Random::new(k as u64), [5, 300, 3000][k % 3], words);
            let beat_words = stream_bits / 32;
            bench.exchange(&stream, beat_words).unwrap_or_else(|e| panic!("{rate}, {stream_bits} bits: {e:?}"));
            assert!(bench.came == answer(&stream, beat_words), "{rate}, {stream_bits} bits");
            assert_eq!(bench.host.traffic().again > 0, rate > 0.0);
        }
    }
}

#[test]
fn work_is_delivered_once_and_in_order_over_any_network() {
    work_is_delivered(12_000, |k| &ENGINES[k % ENGINES.len()..][..1]);
}

#[test]
#[ignore = "a proof in depth"]
fn work_for_every_engine_is_delivered_once_and_in_order_over_any_network() {
    work_is_delivered(60_000, |_| &ENGINES);
}

#[test]
fn a_gigabit_is_used_in_both_directions_and_with_faults() {
    a_gigabit_is_used(1_000_000);
}

#[test]
#[ignore = "a proof in depth"]
fn a_gigabit_is_used_in_both_directions_for_long() {
    a_gigabit_is_used(6_000_000);
}

fn a_gigabit_is_used(words: usize) {
    for (rate, least) in [(0.0, 110e6), (0.002, 100e6)] {
        let Some(board) = simulated(&identity(1, 32, CLOCK, 0, RINGS), false) else { return };
        let mut bench = Bench::new(board, &all(rate), 7);
        let stream = packets(&mut Random::new(7), 3000, words);
        bench.exchange(&stream, 1).expect("a good network");
        assert!(bench.came == answer(&stream, 1));
        let seconds = bench.now() as f64 / CLOCK as f64;
        let found = stream.words.len() as f64 * 4.0 / seconds;
        let traffic: Traffic = bench.host.traffic();
        println!("five faults of {rate} each: {:.1} MB/s each way, {traffic:?}", found / 1e6);
        assert!(found > least, "{found}");
    }
}

#[test]
fn a_pulled_cable_is_noticed() {
    let Some(board) = simulated(&identity(1, 32, CLOCK, 0, RINGS), false) else { return };
    let mut bench = Bench::new(board, &[], 1);
    // Five seconds of a board are minutes of its simulation.
    bench.host = HostEnd::new(5, Timeouts { silence: Duration::from_millis(10), ..Timeouts::default() });
    let stream = packets(&mut Random::new(1), 50, 200_000);
    let mut packed = Vec::new();
    chunks::pack(&stream, 1, &mut packed);
    bench.host.send(&packed);
    for _ in 0..100_000 {
        bench.clock().expect("work is under way");
    }
    bench.dead = true;
    let failure = (0..10_000_000).find_map(|_| bench.clock().err());
    assert_eq!(failure, Some(Failure::Silent));
}

/// A datagram as it counts, whoever it is for. When `taken` is reported is a matter of time.
fn heard(of: &(Peer, Vec<u8>)) -> (Peer, DatagramType, [u32; 3], Vec<u32>) {
    let d = Datagram::decode(&of.1).expect("the board sends whole datagrams");
    (of.0, d.kind, [d.session, d.seq, d.ack], d.payload)
}

#[test]
fn the_verilog_answers_as_the_program_does() {
    the_verilog_answers(1500);
}

#[test]
#[ignore = "a proof in depth"]
fn the_verilog_answers_many_datagrams_as_the_program_does() {
    the_verilog_answers(12_000);
}

fn the_verilog_answers(cases: usize) {
    // A slow clock on paper, so that hosts can be silent for long in few clocks.
    let identity = identity(1, 32, 10_000, 0, RINGS);
    let silence = 25_000;
    let Some(mut board) = simulated(&identity, false) else { return };
    let mut program = BoardEnd::new(identity);
    let mut random = Random::new(11);
    let (mut beats, mut count) = (VecDeque::new(), 0);
    let (mut session, mut seq, mut ack, mut time) = (1, 0u32, 0u32, 0u64);
    let mut kinds = [0; 6];
    for case in 0..cases {
        let kind = [
            DatagramType::Data,
            DatagramType::Notice,
            DatagramType::Rewind,
            DatagramType::Start,
            DatagramType::End,
            DatagramType::Who,
        ];
        // Mostly what a host of the session would say, now and then anything.
        let kind = if random.below(8) > 0 { kind[random.below(3) as usize] } else { kind[random.below(6) as usize] };
        let from = if random.below(10) > 0 { US } else { OTHER };
        let other_session = random.below(12) == 0;
        let tag = if other_session || kind == DatagramType::Start { random.below(4) as u32 } else { session };
        let off = |r: &mut Random| if r.below(6) == 0 { (r.below(600) as u32).wrapping_sub(300) } else { 0 };
        let payload: Vec<u32> = (0..random.below(90)).map(|_| random.bits() as u32 & 0x8000_001f).collect();
        let payload = if [DatagramType::Start, DatagramType::Who].contains(&kind) { Vec::new() } else { payload };
        let (seq_off, ack_off) = (off(&mut random), off(&mut random));
        let datagram = Datagram {
            kind,
            session: tag,
            seq: seq.wrapping_add(seq_off),
            ack: ack.wrapping_add(ack_off),
            taken: 0,
            payload,
        };
        let mut bytes = datagram.encode();
        match random.below(20) {
            0 => bytes.truncate(4 * (1 + random.below(bytes.len() as u64 / 4) as usize)),
            1 => bytes[random.below(24) as usize] ^= 4,
            _ => {}
        }
        let wait = if random.below(60) == 0 { silence + 2000 } else { 0 };
        for _ in 0..wait {
            assert_eq!(board.clock().unwrap().map(|d| heard(&d)), None, "case {case}");
        }
        time += wait;

        let now = Duration::from_micros(time * 100);
        let mut wanted = Vec::new();
        if program.receive(now, from, &bytes) {
            (beats, count) = (VecDeque::new(), 0);
            session = tag;
        }
        loop {
            let mut moved = false;
            while let Some((words, last)) = program.take_beat() {
                beats.push_back(echoed(&words, last, count));
                count += 1;
                moved = true;
            }
            while program.ready()
                && let Some(words) = beats.pop_front()
            {
                program.give_beat(&words);
                moved = true;
            }
            while let Some(datagram) = program.transmit(beats.is_empty()) {
                wanted.push(heard(&datagram));
                moved = true;
            }
            if !moved {
                break;
            }
        }
        board.give(from, &bytes);
        let mut found = Vec::new();
        for _ in 0..4000 {
            found.extend(board.clock().unwrap().map(|d| heard(&d)));
        }
        time += 4000;
        compare(case, &wanted, &found);
        for (_, kind, [_, at, expected], payload) in &found {
            kinds[*kind as usize] += 1;
            if [DatagramType::Data, DatagramType::Notice].contains(kind) {
                seq = *expected;
                // The host acknowledges some of it.
                ack = if random.below(3) > 0 { at.wrapping_add(payload.len() as u32) } else { *at };
            } else if *kind == DatagramType::Start {
                (seq, ack) = (0, 0);
            }
        }
    }
    println!("{kinds:?} datagrams by kind");
    assert!(kinds.iter().enumerate().all(|(k, n)| *n > 10 || k == DatagramType::Rewind as usize), "{kinds:?}");
}

/// The words of the stream in both, and what is said around them: how the words are cut into datagrams and how often the
/// same is said again is a matter of time.
fn compare(
    case: usize,
    wanted: &[(Peer, DatagramType, [u32; 3], Vec<u32>)],
    found: &[(Peer, DatagramType, [u32; 3], Vec<u32>)],
) {
    let aside = |all: &[(Peer, DatagramType, [u32; 3], Vec<u32>)]| -> Vec<_> {
        all.iter().filter(|d| ![DatagramType::Data, DatagramType::Notice].contains(&d.1)).cloned().collect()
    };
    assert_eq!(aside(wanted), aside(found), "case {case}");
    let said = |all: &[(Peer, DatagramType, [u32; 3], Vec<u32>)]| {
        let of: Vec<_> = all.iter().filter(|d| [DatagramType::Data, DatagramType::Notice].contains(&d.1)).collect();
        let lost = of.iter().any(|d| d.1 == DatagramType::Notice);
        let end = of.last().map(|d| (d.0, d.2[0], d.2[1].wrapping_add(d.3.len() as u32), d.2[2]));
        let first = of.first().map(|d| d.2[1]);
        let words: Vec<u32> = of.iter().flat_map(|d| d.3.clone()).collect();
        (lost, first, end, words)
    };
    assert_eq!(said(wanted), said(found), "case {case}");
}

/// The wire carries 125 bytes in a microsecond, and what a flood sends beyond that is lost, not kept for minutes.
#[test]
fn a_flood_does_not_make_a_board_deaf() {
    let identity = identity(1, 32, 10_000, 0, RINGS);
    let Some(mut board) = simulated(&identity, false) else { return };
    let junk = vec![0x55; 200];
    (0..40_000).for_each(|_| board.give(OTHER, &junk));
    board.give(US, &Datagram::bare(DatagramType::Who, 7).encode());
    let mut answer = None;
    // Twice the time of what waits at most.
    for _ in 0..2 * 53_000 {
        if let Some((to, bytes)) = board.clock().expect("a sound link") {
            assert_eq!(to, US);
            answer = Datagram::decode(&bytes);
            break;
        }
    }
    let answer = answer.expect("the board hears others in spite of the flood");
    assert_eq!((answer.kind, answer.session), (DatagramType::Who, 7));
}
