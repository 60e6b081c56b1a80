//! Small engines for tests: kernels whose pipeline is a sum of all pins, and what they compute, in Rust.

pub mod model;
pub mod random;

use crate::common::built;
use hdl::engine::protocol::Reply;
use hdl::engine::{Config, Layout};
use hdl::rtl::netlist::{Dir, Item, Module, Netlist, range};
use hdl::{Flags, Format, Reduce};
use libloading::Library;
use sim::cache::Cache;
use sim::verilator::{self, Effort, Source, Tools};

/// An output: its format and reduction.
pub type Output = (&'static str, Reduce);

/// A layout of elements with these formats.
pub fn layout(i: &[&str], j: &[&str], params: &[&str], outputs: &[Output]) -> Layout {
    let format = |text: &str| -> Format { text.parse().expect("a format") };
    let pins = |prefix: &str, formats: &[&str]| -> Vec<(String, Format)> {
        formats.iter().enumerate().map(|(k, f)| (format!("{prefix}_x_{k}"), format(f))).collect()
    };
    Layout {
        kernel: "toy".into(),
        i: pins("i", i),
        j: pins("j", j),
        params: pins("p", params),
        tables: Vec::new(),
        bins: Vec::new(),
        outputs: outputs.iter().enumerate().map(|(k, o)| (format!("o_x_{k}"), format(o.0), o.1)).collect(),
    }
}

/// An engine of that layout with small memories.
pub fn config(layout: Layout, pipelines: u32, stream_bits: u32, pipeline_latency: u32) -> Config {
    Config {
        layout,
        pipelines,
        groups: 1,
        i_banks: 2,
        jmem_records: 100,
        stream_bits,
        segments: 20,
        pipeline_latency,
        ii: 1,
        ident: Some(0xfedc_ba98_7654_3210),
        filters: 0,
    }
}

/// The pipeline of a toy kernel: `mix` is the sum of all pins, each rotated by its place.
pub fn pipeline(config: &Config) -> Netlist {
    let layout = &config.layout;
    let mut m = Module { name: "toy_pipeline".into(), latency: config.pipeline_latency, ..Module::default() };
    m.port(Dir::In, "clk", 1);
    let mut terms = vec!["64'd0".to_string()];
    for (port, format) in layout.i.iter().chain(&layout.j).chain(&layout.params) {
        m.port(Dir::In, port.clone(), format.width());
        let term = match format.width() {
            64 => port.clone(),
            w => format!("{{{}'d0, {port}}}", 64 - w),
        };
        terms.push(term);
    }
    let mut text = format!("    wire [63:0] sum = {};\n", terms.join(" + "));
    text += "    wire [63:0] mix_0 = sum ^ {sum[31:0], sum[63:32]} ^ {sum[12:0], sum[63:13]};\n";
    for k in 1..=config.pipeline_latency {
        text += &format!("    reg [63:0] mix_{k};\n    always @(posedge clk) mix_{k} <= mix_{};\n", k - 1);
    }
    let mix = format!("mix_{}", config.pipeline_latency);
    for (k, (port, format, _)) in layout.outputs.iter().enumerate() {
        m.port(Dir::Out, port.clone(), format.width());
        let w = format.width();
        text += &format!("    wire [63:0] turned_{k} = {{{mix}[{}:0], {mix}[63:{}]}};\n", k % 60, k % 60 + 1);
        let value = match *format {
            Format::Float { mant, .. } => {
                // The exponent's top bit is 0 and its lowest bit 1, so that every pattern is a proper number.
                let mant = mant as u32;
                let middle =
                    if format.exp() > 2 { format!("turned_{k}[{}:{}], ", w - 3, mant + 1) } else { String::new() };
                format!("{{turned_{k}[{}], 1'b0, {middle}1'b1, turned_{k}[{}:0]}}", w - 1, mant - 1)
            }
            _ => format!("turned_{k}[{}:0]", w - 1),
        };
        text += &format!("    wire {}value_{k} = {value};\n    assign {port} = value_{k};\n", range(w));
        text += &format!("    wire unused_{k} = &{{1'b0, turned_{k}}};\n");
    }
    m.port(Dir::Out, "flags", 5);
    text += &format!("    assign flags = {{1'b0, {mix}[3:0] & {mix}[7:4] & {mix}[11:8]}};");
    m.items.push(Item::Text(text));
    Netlist::new([m])
}

/// The toy pipeline's result for a pair: an output pattern for each element, and flags.
pub fn pair(layout: &Layout, i: &[u64], j: &[u64], params: &[u64]) -> (Vec<u64>, Flags) {
    let sum = i.iter().chain(j).chain(params).fold(0u64, |a, b| a.wrapping_add(*b));
    let mix = sum ^ sum.rotate_left(32) ^ sum.rotate_right(13);
    let value = |(k, (_, format, _)): (usize, &(String, Format, Reduce))| {
        let turned = mix.rotate_right((k % 60 + 1) as u32) & format.mask();
        match *format {
            Format::Float { width, mant } => turned & !(1 << (width - 2)) | 1 << mant,
            _ => turned,
        }
    };
    let flags = Flags((mix & mix >> 4 & mix >> 8 & 15) as u8);
    (layout.outputs.iter().enumerate().map(value).collect(), flags)
}

/// Brings replies into one order: those of different lane groups come in any, between answers to STATUS and END.
pub fn settle(replies: &mut [Reply]) {
    let tag = |reply: &Reply| match reply {
        Reply::Result { tag, .. } => Some(*tag),
        _ => None,
    };
    replies.chunk_by_mut(|a, b| tag(a).is_some() && tag(b).is_some()).for_each(|results| results.sort_by_key(tag));
}

/// A compiled engine that a test talks to.
pub struct Bench {
    library: Library,
    config: Config,
}

/// Takes a beat of the engine's replies: its words, how many they are, and TLAST.
type Take = extern "C" fn(*mut Beats, *const u32, u64, bool);

/// Beats: their words and TLAST.
type Beats = Vec<(Vec<u32>, bool)>;

/// The request of a run, as `bench.cpp` has it.
#[repr(C)]
struct Asked {
    beats: *const u32,
    count: u64,
    gap: u32,
    stall: u32,
    seed: u64,
    limit: u64,
    packets: u64,
    take: Take,
    taken: *mut Beats,
    words: u64,
    cycles: u64,
}

/// How a bench drives the streams.
#[derive(Clone, Copy)]
pub struct Drive {
    /// Percent of cycles in which no input is offered.
    pub gap: u32,
    /// Percent of cycles in which no output is taken.
    pub stall: u32,
    pub seed: u64,
}

impl Bench {
    /// Compiles the engine of `config`; `None` if Verilator is not installed.
    pub fn build(config: &Config, effort: Effort) -> Option<Bench> {
        let tools = built(Tools::find())?;
        let design = hdl::engine::design(config, &pipeline(config));
        let source = Source {
            prefix: "Vtoy_engine".into(),
            top: design.top,
            verilog: design.netlist.verilog().unwrap(),
            trace: false,
            clean: false,
            effort,
        };
        let cache = Cache::standard();
        let model = verilator::model(&tools, &cache, &source).unwrap_or_else(|e| panic!("{e}"));
        let library = verilator::library(&tools, &cache, &[model], include_str!("bench.cpp"), &["bench_run"]);
        Some(Bench { library: library.unwrap_or_else(|e| panic!("{e}")), config: config.clone() })
    }

    /// Sends `beats` (words and TLAST) and waits for `expected` packets; returns what came back, and the cycles.
    pub fn run(&self, beats: &[(Vec<u32>, bool)], expected: usize, drive: Drive) -> (Vec<Vec<u32>>, u64) {
        let width = self.config.beat_words() as usize;
        let mut words = Vec::new();
        for (beat, last) in beats {
            words.extend((0..width).map(|k| beat.get(k).copied().unwrap_or(0)));
            words.push(*last as u32);
        }
        let mut taken: Beats = Vec::new();
        let mut asked = Asked {
            beats: words.as_ptr(),
            count: beats.len() as u64,
            gap: drive.gap,
            stall: drive.stall,
            seed: drive.seed,
            // Far more than any of the tests needs, so that reaching it means that the engine hangs.
            limit: 20_000 + 100 * beats.len() as u64 + 2_000_000,
            packets: expected as u64,
            take,
            taken: &mut taken,
            words: width as u64,
            cycles: 0,
        };
        // SAFETY: the function has this type in `bench.cpp`, reads `count` beats of `words` words and TLAST, and calls `take`
        // with `taken` while it runs alone.
        let ended = unsafe {
            let run = self.library.get::<unsafe extern "C" fn(*mut Asked) -> u32>(b"bench_run");
            run.expect("the bench exports it")(&mut asked)
        };
        let why = ["", "a beat changed or went away before it was taken", "the engine hangs"];
        assert_eq!(ended, 0, "seed {}: {}", drive.seed, why[ended as usize]);
        (packets(taken), asked.cycles)
    }
}

extern "C" fn take(taken: *mut Beats, words: *const u32, count: u64, last: bool) {
    // SAFETY: see `Bench::run`; the bench gives as many words as it says.
    unsafe { (*taken).push((std::slice::from_raw_parts(words, count as usize).to_vec(), last)) }
}

/// Beats joined to packets.
fn packets(beats: Beats) -> Vec<Vec<u32>> {
    let (mut packets, mut packet) = (Vec::new(), Vec::new());
    for (words, last) in beats {
        packet.extend(words);
        if last {
            packets.push(std::mem::take(&mut packet));
        }
    }
    assert!(packet.is_empty(), "the last packet has no end");
    packets
}

/// The beats of a stream of packets.
pub fn beats(stream: &hdl::engine::protocol::Stream, config: &Config) -> Vec<(Vec<u32>, bool)> {
    let cut = |packet| hdl::engine::protocol::beats(packet, config.beat_words()).map(|(w, l)| (w.to_vec(), l));
    stream.packets().flat_map(cut).collect()
}
