//! A testbench of a whole engine, or of several behind a switch, for any Verilog simulator, with vectors that carry the
//! emulator's bits.

use crate::emulator::engine::EmulatedEngine;
use crate::stimuli::{Random, Style, records};
use askama::Template;
use hdl::engine::Config;
use hdl::engine::link::{Link, LinkError};
use hdl::engine::protocol::{RESULT, RunHeader, STATUS_REPLY, Segment, Stream, beats};
use hdl::engine::switch::addressed;
use pg2::graph::{Graph, PinClass};
use pg2::middle::coarse::completed;
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

/// An engine of the design: its kernel, and what it is built with.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    pub graph: &'a Graph,
    pub config: &'a Config,
}

/// How a simulator finds the design: its top module, and the argument that names its Verilog.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub top: &'a str,
    pub files: &'a str,
}

#[derive(Template)]
#[template(path = "testbench.v", escape = "none", syntax = "verilog")]
struct Bench<'a> {
    top: &'a str,
    files: &'a str,
    bits: u32,
    words: u32,
    input: &'a str,
    output: &'a str,
    beats_in: usize,
    beats_out: usize,
    results: usize,
    /// Beats of the longest packet that comes out.
    most: usize,
    /// For each lane group of an engine, and behind them for its answers, where the beats begin; then where the last ones end.
    starts: Vec<usize>,
    /// The first of these lists of each engine; then their number.
    bases: Vec<usize>,
    engines: usize,
    result: String,
    timeout: u32,
}

/// A testbench of an engine, or of several behind a switch.
pub fn testbench(engines: &[Engine], place: Place) -> Result<Testbench, LinkError> {
    let config = engines[0].config;
    let (mut streams, mut lists, mut bases, mut results) = (Vec::new(), Vec::new(), vec![0], 0);
    for (number, engine) in engines.iter().enumerate() {
        let (stream, asked) = stimulus(engine.graph, engine.config);
        for list in answers(engine.graph, engine.config, &stream, asked)? {
            lists.push((number as u32, list));
        }
        bases.push(lists.len());
        streams.push(stream);
        results += asked;
    }
    let sent = in_turn(&streams, config.beat_words());
    let sent: String = sent.packets().map(|p| hex(p, config, None::<fn(usize) -> bool>)).collect();
    let mut wanted = String::new();
    let mut starts = vec![0];
    let mut most = 1;
    for (number, list) in &lists {
        for packet in list.packets() {
            // Behind a switch a beat with the opcode and the engine's number comes in front.
            let mut whole = vec![0; if engines.len() > 1 { config.beat_words() as usize } else { 0 }];
            let head = whole.len();
            whole.first_mut().into_iter().for_each(|word| *word = packet[0] & 0xff00_0000 | number);
            whole.extend(packet);
            let compared = care(packet);
            wanted += &hex(&whole, config, Some(|word: usize| word < head || compared(word - head)));
            most = most.max(whole.len().div_ceil(config.beat_words() as usize));
        }
        starts.push(wanted.lines().count());
    }
    let (input, output) = (format!("{}_tb_in.hex", place.top), format!("{}_tb_out.hex", place.top));
    let template = Bench {
        top: place.top,
        files: place.files,
        bits: config.stream_bits,
        words: config.beat_words(),
        input: &input,
        output: &output,
        beats_in: sent.lines().count(),
        beats_out: wanted.lines().count(),
        results,
        most,
        starts,
        bases,
        engines: engines.len(),
        result: format!("{RESULT:02x}"),
        timeout: engines.iter().map(|e| 1000 + 8 * (e.config.pipeline_latency + SOURCES * e.config.ii)).sum(),
    };
    let text = template.render().expect("rendering into a string does not fail") + "\n";
    Ok(Testbench { verilog: (format!("{}_tb.v", place.top), text), input: (input, sent), output: (output, wanted) })
}

/// The packets of one engine as they are; those of several in turn, each with the beat in front that names its engine.
pub(crate) fn in_turn(streams: &[Stream], beat_words: u32) -> Stream {
    if let [one] = streams {
        return one.clone();
    }
    let (mut all, mut to) = (Stream::default(), Vec::new());
    let mut left: Vec<_> = streams.iter().map(Stream::packets).collect();
    loop {
        let before = to.len();
        for (number, packets) in left.iter_mut().enumerate() {
            if let Some(packet) = packets.next() {
                all.packet(packet.iter().copied());
                to.push(number as u8);
            }
        }
        if to.len() == before {
            return addressed(&all, &to, beat_words);
        }
    }
}

/// The answers that the engine must give to `stream`: for each lane group its results in their order, since the results of different
/// groups come as they are finished, and then the other answers. There must be as many results as were asked for, and no
/// packet may break the protocol.
fn answers(graph: &Graph, config: &Config, stream: &Stream, results: usize) -> Result<Vec<Stream>, LinkError> {
    let mut lists = vec![Stream::default(); config.groups as usize + 1];
    let (mut found, mut error) = (0, false);
    EmulatedEngine::new(graph, config.clone(), 0).exchange(stream, &mut |packet| {
        let is_result = packet[0] >> 24 == RESULT;
        found += is_result as usize;
        error |= packet[0] >> 24 == STATUS_REPLY && packet[0] & 1 == 1;
        let list = if is_result { packet[1] & 0xff } else { config.groups };
        lists[list as usize].packet(packet.iter().copied());
    })?;
    match error || found != results {
        true => Err(LinkError(format!("they ask for {results} results and the engine gives {found}"))),
        false => Ok(lists),
    }
}

/// The words of a packet from the engine that a testbench compares: all but the cycles that STATUS says.
fn care(packet: &[u32]) -> impl Fn(usize) -> bool {
    let status = packet[0] >> 24 == STATUS_REPLY;
    move |word| !(status && (word == 1 || word == 2))
}

/// Every kind of packet and of run in every lane group: full and partial groups of targets, several segments, none, a list that
/// goes on, records that are replaced, wild patterns and ordinary ones. The low byte of a tag is the lane group. Also how many
/// results that asks for.
fn stimulus(graph: &Graph, config: &Config) -> (Stream, usize) {
    let mut random = Random::new(1);
    let mut stream = Stream::default();
    let mut results = 0;
    let n_j = SOURCES.min(config.jmem_records);
    let lanes = config.lanes();
    let run = RunHeader::default();
    for (round, style) in [Style::Ordinary, Style::Wild { anchor: random.bits() }].into_iter().enumerate() {
        if config.layout.param_words() > 0 {
            let values = table(graph, PinClass::Param, 1, Style::Ordinary, &mut random);
            // Of an engine with filters, what a host makes of the parameters.
            let values = if config.filters > 0 { completed(graph, &values) } else { values };
            stream.param(&config.layout.param_packing().pack_all(1, &values));
        }
        let sources = table(graph, PinClass::Jpin, n_j, style, &mut random);
        stream.load_j(0, n_j, &config.layout.j_packing().pack_all(n_j as usize, &sources));
        let split = n_j / 3;
        let all = [Segment { first: split, count: n_j - split }, Segment { first: 0, count: split }];
        let one = [Segment { first: n_j - 1, count: 1 }];
        let runs = [
            (RunHeader { n_i: 2 * lanes + 1, ..run }, &all[..]),
            (RunHeader { n_i: lanes, ..run }, &one),
            (RunHeader { n_i: 1, ..run }, &[]),
            (RunHeader { n_i: 0, ..run }, &all),
            (RunHeader { n_i: lanes, hold: true, ..run }, &all[..1]),
            (RunHeader { n_i: lanes, keep: true, ..run }, &all[1..]),
        ];
        for (step, (kind, segments)) in runs.into_iter().enumerate() {
            for group in 0..config.groups {
                let tag = ((16 * round + step) as u32) << 8 | group;
                let targets = table(graph, PinClass::Ipin, kind.n_i, style, &mut random);
                stream.run(RunHeader { tag, group: group as u8, ..kind }, segments);
                stream.i_groups(lanes, kind.n_i, &config.layout.i_packing().pack_all(kind.n_i as usize, &targets));
                results += if kind.hold { 0 } else { kind.n_i.div_ceil(lanes) as usize };
            }
        }
    }
    stream.status(true);
    stream.end();
    (stream, results)
}

/// `n` random records of a class, one behind the other.
fn table(graph: &Graph, class: PinClass, n: u32, style: Style, random: &mut Random) -> Vec<u64> {
    records(graph, class, n as usize, style, random).concat()
}

/// The beats of a packet as lines of hexadecimal digits, with TLAST above the data, and between the two, where `care` is given, a
/// bit for each word that is compared.
fn hex<F: Fn(usize) -> bool>(packet: &[u32], config: &Config, care: Option<F>) -> String {
    let mut text = String::new();
    let in_beat = config.beat_words() as usize;
    for (beat, (words, last)) in beats(packet, config.beat_words()).enumerate() {
        let _ = write!(text, "{}", last as u32);
        if let Some(care) = &care {
            let compared = (0..in_beat).filter(|k| care(beat * in_beat + k)).map(|k| 1 << k).sum::<u32>();
            let _ = write!(text, "{compared:x}");
        }
        text.push('_');
        for k in (0..in_beat).rev() {
            let _ = write!(text, "{:08x}", words.get(k).copied().unwrap_or(0));
        }
        text.push('\n');
    }
    text
}
