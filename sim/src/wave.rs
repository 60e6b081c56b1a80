//! The two streams of an engine, or of several behind a switch, clock by clock from the reset to the first result of each, and
//! their figure.

mod figure;

use crate::SimError;
use crate::bench::ModuleBench;
use crate::stimuli::{Random, Style, records};
use crate::testbench::{Engine, in_turn};
use hdl::engine::Config;
use hdl::engine::protocol::{RunHeader, Segment, Stream, beats};
use hdl::rtl::cat;
use hdl::rtl::netlist::{Dir, Module, Netlist};
use pg2::graph::{Graph, PinClass};

/// A stream in one clock, before its edge.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Beat {
    pub words: Vec<u32>,
    pub valid: bool,
    pub ready: bool,
    pub last: bool,
}

/// The ports of an engine in one clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    pub rst: bool,
    /// To the engine.
    pub s: Beat,
    /// From the engine.
    pub m: Beat,
}

/// Clocks for which the reset is held: the least that an engine asks for.
const RESET: usize = 2;
/// Sources in the first packet.
const SOURCES: u32 = 2;
/// A reset or a result that takes longer does not come.
const TIMEOUT: usize = 1 << 16;

/// The figure of a design that starts, as SVG; its top is an engine, or a switch before several.
pub fn svg(engines: &[Engine], design: &Netlist) -> Result<String, SimError> {
    Ok(figure::draw(&design.top, engines, &clocks(engines, design)?))
}

/// Simulates a design from its reset to the end of the first result of each engine, one target and two sources; one clock follows.
pub fn clocks(engines: &[Engine], design: &Netlist) -> Result<Vec<Clock>, SimError> {
    let config = engines[0].config;
    let words = config.beat_words();
    let jobs: Vec<Stream> = engines.iter().map(|e| first_job(e.graph, e.config)).collect();
    let stream = in_turn(&jobs, words);
    let mut results = 0;
    let mut input = stream.packets().flat_map(|p| beats(p, words)).map(|(beat, last)| (beat.to_vec(), last)).peekable();
    let mut bench = ModuleBench::build(&by_words(design, config))?;
    // What the outputs are before the reset has reached them is not defined, and not shown.
    (0..RESET).for_each(|_| drop(step(&mut bench, words, true, None)));
    let mut clocks = Vec::new();
    while clocks.len() < TIMEOUT {
        let rst = clocks.len() < RESET;
        let clock = step(&mut bench, words, rst, input.peek().filter(|_| !rst));
        if clock.s.valid && clock.s.ready {
            input.next();
        }
        results += (clock.m.valid && clock.m.last) as usize;
        clocks.push(clock);
        if results == engines.len() {
            clocks.push(step(&mut bench, words, false, input.peek()));
            return Ok(clocks);
        }
    }
    Err(SimError::Misbehaved(format!("{} gives no result within {TIMEOUT} clocks", design.top)))
}

/// One clock of the host: what it offers, and that it takes every result.
fn step(bench: &mut ModuleBench, words: u32, rst: bool, offered: Option<&(Vec<u32>, bool)>) -> Clock {
    let mut data: Vec<u32> = offered.map(|o| o.0.clone()).unwrap_or_default();
    data.resize(words as usize, 0);
    let (valid, last) = (offered.is_some(), offered.is_some_and(|o| o.1));
    let mut row: Vec<u64> = vec![rst as u64, valid as u64, last as u64, 1];
    row.extend(data.iter().map(|w| *w as u64));
    let out = bench.run(&[row]).swap_remove(0);
    let result = out[3..].iter().map(|w| *w as u32).collect();
    Clock {
        rst,
        s: Beat { words: data, valid, ready: out[0] == 1, last },
        m: Beat { words: result, valid: out[1] == 1, ready: true, last: out[2] == 1 },
    }
}

/// The packets of the least job: parameters if there are any, sources, and a target.
fn first_job(graph: &Graph, config: &Config) -> Stream {
    let mut random = Random::new(1);
    let mut values = |class, n: u32| records(graph, class, n as usize, Style::Ordinary, &mut random).concat();
    let mut stream = Stream::default();
    if config.layout.param_words() > 0 {
        stream.param(&config.layout.param_packing().pack_all(1, &values(PinClass::Param, 1)));
    }
    let n = SOURCES.min(config.jmem_records);
    stream.load_j(0, n, &config.layout.j_packing().pack_all(n as usize, &values(PinClass::Jpin, n)));
    stream.run(RunHeader { n_i: 1, ..RunHeader::default() }, &[Segment { first: 0, count: n }]);
    stream.i(1, &config.layout.i_packing().pack_all(1, &values(PinClass::Ipin, 1)));
    stream
}

/// The design inside a module whose ports are no wider than a word.
fn by_words(design: &Netlist, config: &Config) -> Netlist {
    let mut top = Module { name: format!("{}_by_words", design.top), ..Module::default() };
    for name in ["clk", "rst", "s_tvalid", "s_tlast", "m_tready"] {
        top.port(Dir::In, name, 1);
    }
    for name in ["s_tready", "m_tvalid", "m_tlast"] {
        top.port(Dir::Out, name, 1);
    }
    let words = config.beat_words();
    let mut data: Vec<_> = (0..words).map(|k| top.input(format!("s_word_{k}"), 32)).collect();
    data.reverse();
    (0..words).for_each(|k| drop(top.port(Dir::Out, format!("m_word_{k}"), 32)));
    let result = top.net("result", config.stream_bits);
    for k in 0..words {
        top.assign(format!("m_word_{k}"), result.bits(32 * k, 32));
    }
    let engine = design.module(&design.top).expect("a design has its top");
    let joined = |name: &str| match name {
        "s_tdata" => cat(data.clone()),
        "m_tdata" => result.clone(),
        name => top.signal(name),
    };
    let connections: Vec<_> = engine.ports.iter().map(|p| (p.name.clone(), joined(&p.name))).collect();
    top.instance(&design.top, "engine", connections);
    let mut netlist = design.clone();
    netlist.top = top.name.clone();
    netlist.add(top);
    netlist
}
