//! A testbench of a whole engine for any Verilog simulator, with vectors that carry the emulator's bits.

use crate::emulator::engine::EmulatedEngine;
use crate::stimuli::{Random, Style, records};
use askama::Template;
use hdl::engine::Config;
use hdl::engine::link::{Link, LinkError};
use hdl::engine::protocol::{RunHeader, Segment, Stream, beats};
use pg2::graph::{Graph, PinClass};
use std::fmt::Write as _;

/// Records of j memory that the vectors use at most: enough for a few segments, few enough for a slow simulator.
const SOURCES: u32 = 48;

/// The files of a testbench.
pub struct Testbench {
    /// Name and text of the Verilog.
    pub verilog: (String, String),
    /// Name and text of the beats that go in and of those that must come out, for `$readmemh`.
    pub input: (String, String),
    pub output: (String, String),
}

#[derive(Template)]
#[template(path = "testbench.v", escape = "none", syntax = "verilog")]
struct Bench<'a> {
    top: &'a str,
    bits: u32,
    input: &'a str,
    output: &'a str,
    beats_in: usize,
    beats_out: usize,
    patience: u32,
}

/// A testbench of the engine `top` that `config` describes around `graph`.
pub fn testbench(graph: &Graph, config: &Config, top: &str) -> Result<Testbench, LinkError> {
    let stream = stimulus(graph, config);
    let mut answers = Stream::default();
    EmulatedEngine::new(graph, config.clone(), 0).exchange(&stream, &mut |packet| {
        answers.packet(packet.iter().copied());
    })?;
    let (sent, wanted) = (hex(&stream, config), hex(&answers, config));
    let (input, output) = (format!("{top}_tb_in.hex"), format!("{top}_tb_out.hex"));
    let template = Bench {
        top,
        bits: config.stream_bits,
        input: &input,
        output: &output,
        beats_in: sent.lines().count(),
        beats_out: wanted.lines().count(),
        patience: 1000 + 8 * (config.pipeline_latency + SOURCES),
    };
    let text = template.render().expect("rendering into a string does not fail") + "\n";
    Ok(Testbench { verilog: (format!("{top}_tb.v"), text), input: (input, sent), output: (output, wanted) })
}

/// Every kind of packet and of run: full and partial groups, several segments, none, a list that goes on, records that
/// are replaced, wild patterns and ordinary ones.
fn stimulus(graph: &Graph, config: &Config) -> Stream {
    let mut random = Random::new(1);
    let mut stream = Stream::default();
    let n_j = SOURCES.min(config.jmem_records);
    let lanes = config.pipelines;
    for (round, style) in [Style::Ordinary, Style::Wild { anchor: random.bits() }].into_iter().enumerate() {
        if config.layout.param_words() > 0 {
            let values = table(graph, PinClass::Param, 1, Style::Ordinary, &mut random);
            stream.param(&config.layout.param_packing().pack_all(&values));
        }
        let sources = table(graph, PinClass::Jpin, n_j, style, &mut random);
        stream.load_j(0, n_j, &config.layout.j_packing().pack_all(&sources));
        let split = n_j / 3;
        let all = [Segment { first: split, count: n_j - split }, Segment { first: 0, count: split }];
        let one = [Segment { first: n_j - 1, count: 1 }];
        let mut run = |stream: &mut Stream, kind: RunHeader, segments: &[Segment]| {
            let targets = table(graph, PinClass::Ipin, kind.n_i, style, &mut random);
            stream.run(kind, segments);
            stream.i_groups(lanes, kind.n_i, &config.layout.i_packing().pack_all(&targets));
        };
        let tag = 16 * round as u32;
        run(&mut stream, RunHeader { tag, n_i: 2 * lanes + 1, ..RunHeader::default() }, &all);
        run(&mut stream, RunHeader { tag: tag + 1, n_i: lanes, ..RunHeader::default() }, &one);
        run(&mut stream, RunHeader { tag: tag + 2, n_i: 1, ..RunHeader::default() }, &[]);
        run(&mut stream, RunHeader { tag: tag + 3, n_i: lanes, hold: true, ..RunHeader::default() }, &all[..1]);
        run(&mut stream, RunHeader { tag: tag + 4, n_i: lanes, keep: true, ..RunHeader::default() }, &all[1..]);
    }
    stream.end();
    stream
}

/// `n` random records of a class, one behind the other.
fn table(graph: &Graph, class: PinClass, n: u32, style: Style, random: &mut Random) -> Vec<u64> {
    records(graph, class, n as usize, style, random).concat()
}

/// The beats of all packets as lines of hexadecimal digits, TLAST above the data.
fn hex(stream: &Stream, config: &Config) -> String {
    let mut text = String::new();
    for (words, last) in stream.packets().flat_map(|p| beats(p, config.beat_words())) {
        let _ = write!(text, "{}_", last as u32);
        for k in (0..config.beat_words() as usize).rev() {
            let _ = write!(text, "{:08x}", words.get(k).copied().unwrap_or(0));
        }
        text.push('\n');
    }
    text
}
