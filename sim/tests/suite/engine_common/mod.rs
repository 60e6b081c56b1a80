//! Small engines for tests: kernels whose pipeline is a sum of all pins, and what they compute, in Rust.

pub mod model;
pub mod random;

use hdl::engine::protocol::Reply;
use hdl::engine::{Config, Layout};
use hdl::rtl::netlist::{Dir, Item, Module, Netlist, range};
use hdl::{Flags, Format, Reduce};

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
        outputs: outputs.iter().enumerate().map(|(k, o)| (format!("o_x_{k}"), format(o.0), o.1)).collect(),
    }
}

/// An engine of that layout with small memories.
pub fn config(layout: Layout, pipelines: u32, stream_bits: u32, pipeline_latency: u32) -> Config {
    Config { layout, pipelines, groups: 1, i_banks: 2, jmem_records: 100, stream_bits, segments: 20, pipeline_latency }
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
    Netlist { top: m.name.clone(), modules: vec![m] }
}

/// What the toy pipeline computes for a pair: an output pattern for each element, and flags.
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

/// Says that a test was skipped because a tool is absent, which is a failure when `REQUIRE_TOOLS=1`.
pub fn skip(why: &str) {
    assert!(std::env::var("REQUIRE_TOOLS").as_deref() != Ok("1"), "{why}");
    println!("skipped: {why}");
}

/// Runs a tool; `None` if it is not installed.
pub fn tool(name: &str, arguments: &[&str]) -> Option<std::process::Output> {
    match std::process::Command::new(name).args(arguments).output() {
        Ok(output) => Some(output),
        Err(_) => {
            skip(&format!("{name} not found"));
            None
        }
    }
}

/// A compiled engine that a test talks to.
pub struct Bench {
    folder: tempfile::TempDir,
    config: Config,
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
    pub fn build(config: &Config) -> Option<Bench> {
        let design = hdl::engine::design(config, &pipeline(config));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("a path in UTF-8").to_string();
        std::fs::write(path("engine.v"), design.netlist.verilog().unwrap()).expect("the text is written");
        std::fs::write(path("bench.cpp"), include_str!("bench.cpp")).expect("the text is written");
        let words = format!("-O1 -DBEAT_WORDS={}", config.beat_words());
        let (obj, verilog, main) = (path("obj"), path("engine.v"), path("bench.cpp"));
        // Verilator's own run-time and set-up code take most of the build, and little of a run.
        let clang = std::process::Command::new("clang++").arg("--version").output().is_ok_and(|o| o.status.success());
        let make = format!("OPT_GLOBAL=-O0 OPT_SLOW=-O0{}", if clang { " CXX=clang++" } else { "" });
        let arguments = [
            "--cc",
            "--exe",
            "--build",
            "-O3",
            "-CFLAGS",
            &words,
            "-MAKEFLAGS",
            &make,
            "--top-module",
            &design.top,
            "--Mdir",
            &obj,
            "-o",
            "bench",
            &verilog,
            &main,
        ];
        let out = tool("verilator", &arguments)?;
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Some(Bench { folder, config: config.clone() })
    }

    /// Sends `beats` (words and TLAST) and waits for `expected` packets; returns what came back, and the cycles.
    pub fn run(&self, beats: &[(Vec<u32>, bool)], expected: usize, drive: Drive) -> (Vec<Vec<u32>>, u64) {
        use std::fmt::Write as _;
        use std::io::Write as _;
        let mut text = String::new();
        for (words, last) in beats {
            for k in 0..self.config.beat_words() as usize {
                let _ = write!(text, "{:x} ", words.get(k).copied().unwrap_or(0));
            }
            let _ = writeln!(text, "{}", *last as u32);
        }
        // Far more than any of the tests needs, so that reaching it means that the engine hangs.
        let limit = 20_000 + 100 * beats.len() as u64 + 2_000_000;
        let arguments =
            [drive.gap as u64, drive.stall as u64, drive.seed, limit, expected as u64].map(|n| n.to_string());
        let mut child = std::process::Command::new(self.folder.path().join("obj/bench"))
            .args(arguments)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("the bench starts");
        let mut stdin = child.stdin.take().expect("the input is piped");
        stdin.write_all(text.as_bytes()).expect("the bench reads all before it writes");
        drop(stdin);
        let out = child.wait_with_output().expect("the bench ends");
        let text = String::from_utf8(out.stdout).expect("the bench writes ASCII");
        assert_eq!(out.status.code(), Some(0), "seed {}: {}", drive.seed, text.lines().last().unwrap_or(""));
        parse_output(&text)
    }
}

fn parse_output(text: &str) -> (Vec<Vec<u32>>, u64) {
    let (mut packets, mut packet, mut cycles) = (Vec::new(), Vec::new(), 0);
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("cycles ") {
            cycles = count.parse().expect("a number of cycles");
            continue;
        }
        let mut words: Vec<u32> = line.split(' ').map(|w| u32::from_str_radix(w, 16).expect("a word")).collect();
        let last = words.pop() == Some(1);
        packet.append(&mut words);
        if last {
            packets.push(std::mem::take(&mut packet));
        }
    }
    assert!(packet.is_empty(), "the last packet has no end");
    (packets, cycles)
}

/// The beats of a stream of packets.
pub fn beats(stream: &hdl::engine::protocol::Stream, config: &Config) -> Vec<(Vec<u32>, bool)> {
    let cut = |packet| hdl::engine::protocol::beats(packet, config.beat_words()).map(|(w, l)| (w.to_vec(), l));
    stream.packets().flat_map(cut).collect()
}

/// Lints a netlist as one file with all warnings on.
pub fn lint(netlist: &Netlist) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("all.v");
    std::fs::write(&file, netlist.verilog().unwrap()).expect("the text is written");
    let file = file.to_str().expect("a path in UTF-8");
    // DECLFILENAME alone is off: one file holds all modules.
    let lint = ["--lint-only", "-Wall", "-Wno-DECLFILENAME", "--top-module", &netlist.top, file];
    if let Some(out) = tool("verilator", &lint) {
        assert!(out.status.success() && out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}
