//! The link's Verilog, bit by bit on its serial line, against the host's end: an engine that echoes at a random pace gets
//! each beat once and in order, and so does the host, whatever the line does.

use crate::echo;
use hdl::engine::protocol::Stream;
use hdl::rtl::netlist::Dir::{In, Out};
use hdl::rtl::netlist::{Item, Module};
use hdl::serial::host::{Failure, HostEnd, Timeouts};
use hdl::serial::{Identity, chunks, netlist};
use sim::board::fault::{Channel, Fault};
use sim::board::{BoardSim, Design, Line};
use sim::cache::Cache;
use sim::stimuli::Random;
use std::collections::VecDeque;
use std::time::Duration;

const BAUD: u32 = 3_000_000;

/// The answer to all packets since the session began.
fn answer(stream: &Stream, beat_words: u32) -> Vec<u8> {
    echo::answer(stream, beat_words).iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Link and engine as the top of a board. An engine that sees a rule of AXI4-Stream broken spoils what it says.
fn design(identity: &Identity) -> hdl::rtl::netlist::Netlist {
    let mut all = netlist(identity);
    let s = identity.stream_bits;
    let mut top = Module { name: "echo_board".into(), ..Module::default() };
    for (dir, name) in [(In, "clk_in"), (In, "uart_rx"), (Out, "uart_tx"), (Out, "led_busy")] {
        top.port(dir, name, 1);
    }
    top.items.push(Item::Text(format!(
        "    wire clk = clk_in;
    reg [4:0] power = 5'd0;
    wire rst = ~power[4];
    always @(posedge clk) if (rst) power <= power + 5'd1;
    wire engine_rst, lost, s_tvalid, s_tready, s_tlast, m_tvalid, m_tready;
    wire [{high}:0] s_tdata, m_tdata;
    echo_link link (.clk(clk), .rst(rst), .uart_rx(uart_rx), .uart_tx(uart_tx), .engine_rst(engine_rst), .lost(lost),
        .s_tdata(s_tdata), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
        .m_tdata(m_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(1'b1));
    reg [22:0] noise = 23'd1;
    reg [15:0] count;
    reg [{high}:0] beat, was;
    reg full, shown, waited, broken, was_last;
    assign s_tready = ~full & (noise[1:0] == 2'd0);
    assign m_tvalid = shown;
    assign m_tdata = beat ^ {{{s}{{broken}}}};
    assign led_busy = full;
    always @(posedge clk) begin
        noise <= {{noise[21:0], noise[22] ^ noise[17]}};
        if (s_tvalid & s_tready) begin
            beat <= s_tdata ^ {{{pad}s_tlast, 15'd0, count}};
            count <= count + 16'd1;
            full <= 1'b1;
        end
        if (full & (noise[4:2] == 3'd0)) shown <= 1'b1;
        if (m_tvalid & m_tready) begin
            full <= 1'b0;
            shown <= 1'b0;
        end
        waited <= s_tvalid & ~s_tready;
        was <= s_tdata;
        was_last <= s_tlast;
        if (waited & (~s_tvalid | (s_tdata != was) | (s_tlast != was_last))) broken <= 1'b1;
        if (engine_rst) begin
            count <= 16'd0;
            full <= 1'b0;
            shown <= 1'b0;
            waited <= 1'b0;
            broken <= 1'b0;
        end
    end",
        high = s - 1,
        pad = if s > 32 { format!("{}'d0, ", s - 32) } else { String::new() },
    )));
    all.top = top.name.clone();
    all.add(top);
    all
}

struct Bench {
    board: BoardSim,
    host: HostEnd,
    clock_hz: u32,
    down: Channel,
    up: Channel,
    line: VecDeque<u8>,
    came: Vec<u8>,
}

impl Bench {
    fn new(identity: &Identity, drift: f64, faults: &[Fault], seed: u64) -> Option<Bench> {
        let netlist = design(identity);
        let flip = faults.iter().map(|f| if let Fault::Flip(rate) = f { *rate } else { 0.0 }).fold(0.0, f64::max);
        let clocks_per_bit = identity.clock_hz as f64 / identity.baud as f64 * drift;
        let line = Line { clocks_per_bit, flip, seed };
        let design = Design { verilog: &netlist.verilog().unwrap(), top: &netlist.top, active_low: false };
        let mut board = crate::common::built(BoardSim::build(&design, &line, &Cache::standard()))?;
        // The power-on reset.
        board.run(100, &mut VecDeque::new(), &mut Vec::new());
        Some(Bench {
            board,
            host: HostEnd::new(seed as u32, Timeouts::default()),
            clock_hz: identity.clock_hz,
            down: Channel::new(faults, seed + 1),
            up: Channel::new(faults, seed + 2),
            line: VecDeque::new(),
            came: Vec::new(),
        })
    }

    fn now(&self) -> Duration {
        Duration::from_secs_f64(self.board.seen().clock as f64 / self.clock_hz as f64)
    }

    /// Some microseconds.
    fn step(&mut self) -> Result<(), Failure> {
        while self.line.len() < 600 {
            let Some(frame) = self.host.transmit(self.now())? else { break };
            for byte in frame {
                (0..self.down.copies()).for_each(|_| self.line.push_back(byte));
            }
        }
        let mut out = Vec::new();
        // Time in which nobody does anything passes faster.
        let quiet = self.host.wake().saturating_sub(self.now()) > Duration::from_millis(5);
        self.board.run(if quiet { 2000 } else { 500 }, &mut self.line, &mut out);
        let arrived: Vec<u8> = out.iter().flat_map(|b| std::iter::repeat_n(*b, self.up.copies())).collect();
        self.host.receive(self.now(), &arrived)?;
        self.came.extend(self.host.fetch());
        Ok(())
    }

    fn exchange(&mut self, stream: &Stream, beat_words: u32) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        chunks::pack(stream, beat_words, &mut bytes);
        self.host.send(&bytes);
        let wanted = answer(stream, beat_words).len();
        while self.host.unacknowledged() > 0 || self.came.len() < wanted {
            self.step()?;
        }
        Ok(())
    }
}

fn packets(random: &mut Random, total: usize) -> Stream {
    let mut stream = Stream::default();
    while stream.words.len() < total {
        let most = [400, 12, 12, 12][random.below(4) as usize];
        let length = 1 + random.below(most) as usize;
        let special = random.below(5) == 0;
        let words: Vec<u32> =
            (0..length).map(|_| if special { 0x7d7e_5e7d } else { random.below(1 << 32) as u32 }).collect();
        stream.packet(words);
    }
    stream
}

fn check(stream_bits: u32, clock_hz: u32, rings: (u8, u8), drift: f64, faults: &[Fault], total: usize) {
    let identity = echo::identity(1, stream_bits, clock_hz, BAUD, rings);
    let Some(mut bench) = Bench::new(&identity, drift, faults, 11) else { return };
    let stream = packets(&mut Random::new(clock_hz as u64), total);
    bench.exchange(&stream, stream_bits / 32).unwrap_or_else(|e| panic!("{faults:?}: {e:?}"));
    assert!(bench.came == answer(&stream, stream_bits / 32), "{faults:?}: wrong bytes came back");
    assert_eq!(bench.host.identity(), Some(&identity));
    let traffic = bench.host.traffic();
    println!("{stream_bits} bits, {faults:?}: {:?}, {traffic:?}, {:?}", bench.now(), bench.board.seen());
    if faults.is_empty() {
        assert_eq!((traffic.again, traffic.broken), (0, 0));
    } else {
        assert!(traffic.again > 0, "{faults:?} did nothing");
    }
}

#[test]
fn every_width_and_clock_works_without_faults() {
    check(32, 24_000_000, (11, 11), 1.0, &[], 3000);
    check(64, 18_000_000, (9, 10), 1.0, &[], 1500);
    check(128, 50_000_000, (12, 9), 1.0, &[], 1500);
}

#[test]
#[ignore = "a proof in depth"]
fn the_host_may_be_two_percent_fast_or_slow() {
    check(32, 48_000_000, (11, 11), 0.98, &[], 400);
    check(32, 48_000_000, (11, 11), 1.02, &[], 400);
    check(32, 20_000_000, (11, 11), 1.015, &[], 400);
}

#[test]
fn offsets_turn_over() {
    // More than 2^16 bytes in both directions.
    check(32, 18_000_000, (11, 11), 1.0, &[Fault::Drop(5e-5)], 20_000);
}

#[test]
fn nothing_is_lost_or_repeated_over_bad_lines() {
    bad_lines(150);
}

#[test]
#[ignore = "a proof in depth"]
fn nothing_is_lost_or_repeated_over_bad_lines_for_long() {
    bad_lines(5000);
}

/// So many words over lines of each fault, and twice as many over one that has all.
fn bad_lines(words: usize) {
    let alone = [Fault::Flip(2e-4), Fault::Drop(1e-3), Fault::Double(2e-3), Fault::Cut(4e-4)];
    for fault in testkit::some(alone, 2) {
        check(32, 24_000_000, (10, 11), 1.0, &[fault], words);
    }
    let all = [Fault::Flip(5e-5), Fault::Drop(5e-4), Fault::Double(5e-4), Fault::Cut(5e-5)];
    check(64, 24_000_000, (11, 9), 1.0, &all, 2 * words);
}

#[test]
fn a_new_session_takes_nothing_of_the_one_before() {
    let identity = echo::identity(1, 32, 24_000_000, BAUD, (11, 11));
    let Some(mut bench) = Bench::new(&identity, 1.0, &[], 5) else { return };
    let mut random = Random::new(3);
    for session in 0..12 {
        let mut old = Vec::new();
        chunks::pack(&packets(&mut random, 3000), 1, &mut old);
        bench.host.send(&old);
        for _ in 0..30 + random.below(300) {
            bench.step().expect("work is under way");
        }
        // The host's program ends in the middle of a frame, and another one begins.
        bench.host = HostEnd::new(1000 + session, Timeouts::default());
        bench.came.clear();
        let stream = packets(&mut random, 100);
        bench.exchange(&stream, 1).expect("a good line");
        assert!(bench.came == answer(&stream, 1), "session {session}");
    }
}
