//! `pairforge build`: a kernel as a self-contained synthesisable design.

use super::lanes::LaneArgs;
use crate::failure::Failure;
use crate::{output, source};
use hdl::circuit::target::{Clock, TARGETS, target};
use hdl::engine::{Config, design};
use hdl::serial::kernel_hash;
use pg2::backend::build::Built;
use pg2::graph::PinClass;
use serde::Serialize;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A PG2 file, or the name of a shipped kernel
    file: String,
    /// Folder to write the design to; made if absent
    #[arg(short, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    lanes: LaneArgs,
    /// j memory in 32-bit words
    #[arg(long, value_name = "WORDS", default_value_t = 16_384)]
    jmem: u32,
    /// Width of the streams in bits
    #[arg(long, value_name = "BITS", default_value = "32", value_parser = ["32", "64", "128"])]
    stream: String,
    /// Also write a self-checking testbench with its vectors, for any Verilog simulator
    #[arg(long)]
    testbench: bool,
    #[command(flatten)]
    clock: ClockArgs,
}

/// What operators pipeline themselves for.
#[derive(clap::Args)]
pub struct ClockArgs {
    /// FPGA family (see `pairforge list targets`)
    #[arg(long, value_name = "T", default_value = TARGETS[0].name)]
    target: String,
    /// Clock frequency to reach
    #[arg(long, value_name = "MHZ", default_value_t = 150.0)]
    freq: f64,
    #[command(flatten)]
    blocks: BlockArgs,
}

/// What of a device a pipeline may use.
#[derive(clap::Args)]
pub struct BlockArgs {
    /// Multiplier blocks that a pipeline may use; further products are made of logic. All are in blocks unless given
    #[arg(long, value_name = "N")]
    pub dsp: Option<u32>,
}

impl ClockArgs {
    /// The clock, or what is wrong with it.
    pub fn clock(&self) -> Result<Clock, Failure> {
        let known = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let target = target(&self.target).ok_or_else(|| {
            Failure::Usage(format!("there is no target `{}`; the targets are {}", self.target, known()))
        })?;
        if !(1.0..=1000.0).contains(&self.freq) {
            return Err(Failure::Usage(format!("--freq takes 1 to 1000 MHz, not {}", self.freq)));
        }
        Ok(Clock { target, mhz: self.freq, blocks: self.blocks.dsp })
    }
}

/// What is in the folder, in the keys that README.md names.
#[derive(Serialize)]
struct Manifest {
    kernel: String,
    pipelines: u32,
    /// Cycles from a pair's entry to its value.
    latency: u32,
    pins: Vec<PinEntry>,
    /// Flip-flop bits of one pipeline.
    register_bits: u64,
    operators: Vec<OperatorEntry>,
    /// Tables of functions; `error_ulp` is a proven bound.
    tables: Vec<TableEntry>,
    files: Vec<String>,
    target: String,
    mhz: f64,
    stream_bits: u32,
    jmem_records: u32,
    /// Capacity of a run's segment list.
    segments: u32,
    groups: u32,
    i_banks: u32,
    /// By which host and board agree on a kernel, in hexadecimal; see docs/link.md.
    hash: String,
    /// Name of the top module.
    top: String,
}

#[derive(Serialize)]
struct PinEntry {
    name: String,
    class: &'static str,
    format: String,
    count: u32,
}

#[derive(Serialize)]
struct OperatorEntry {
    name: String,
    count: usize,
}

#[derive(Serialize)]
struct TableEntry {
    operator: &'static str,
    formats: String,
    count: u32,
    pieces: u32,
    degree: u32,
    memory_bits: u64,
    error_ulp: f64,
    /// Results below it are off by up to a last place of it; null where all are within `error_ulp`.
    exact_from: Option<f64>,
}

/// Compiles and writes; nothing is written unless all of it can be.
pub fn run(args: Args) -> Result<(), Failure> {
    let clock = args.clock.clock()?;
    let kernel = source::read(&args.file)?;
    let graph = source::compile(&kernel)?;
    let built = pg2::backend::build::build(&graph, clock, &kernel.sources, Vec::new());
    let layout = built.graph.layout();
    let config = Config {
        jmem_records: args.jmem / layout.j_words(),
        layout,
        pipelines: args.lanes.pipelines,
        groups: args.lanes.groups()?,
        i_banks: 2,
        stream_bits: args.stream.parse().unwrap_or(32),
        segments: 512,
        pipeline_latency: built.schedule.depth,
    };
    config.verify().map_err(Failure::Input)?;
    let engine = design(&config, &built.netlist);
    let text = header(&kernel.origin, clock) + &engine.netlist.verilog()?;
    let verilog = format!("{}.v", engine.top);
    let mut extra = Vec::new();
    if args.testbench {
        let made = sim::testbench::testbench(&built.graph, &config, &engine.top);
        let t = made.map_err(|e| Failure::Input(format!("the testbench's vectors cannot be made: {}", e.0)))?;
        extra = vec![t.verilog, t.input, t.output];
    }
    let files = std::iter::once(&verilog).chain(extra.iter().map(|f| &f.0)).cloned().collect();
    let hash = kernel_hash(&graph.canonical());
    let manifest = manifest(&built, &config, (clock, hash), &engine.top, files);
    let _folder = output::Folder::at(&args.output)?;
    let mut batch = output::Batch::default();
    batch.add_text(&args.output.join(&verilog), &text)?;
    for (name, text) in &extra {
        batch.add_text(&args.output.join(name), text)?;
    }
    batch.add_json(&args.output.join("manifest.json"), &manifest)?;
    batch.finish()
}

/// The head of the Verilog file: where it comes from, and the one rule of lint that does not apply to it.
fn header(origin: &str, clock: Clock) -> String {
    // The file's name comes from outside and must not end the comment.
    let origin: String = origin.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "// Made by pairforge {version} from {origin} for {} at {} MHz. Verilog-2005.\n\
         // The design is one file of many modules:\n/* verilator lint_off DECLFILENAME */\n\n",
        clock.target.name, clock.mhz
    )
}

fn manifest(built: &Built, config: &Config, (clock, hash): (Clock, u64), top: &str, files: Vec<String>) -> Manifest {
    let class = |c| match c {
        PinClass::Ipin => "ipin",
        PinClass::Jpin => "jpin",
        PinClass::Param => "param",
        PinClass::Fout => "fout",
    };
    let pin = |p: &pg2::graph::Pin| PinEntry {
        name: p.name.clone(),
        class: class(p.class),
        format: p.format.to_string(),
        count: p.elements(),
    };
    Manifest {
        kernel: built.graph.name.clone(),
        pipelines: config.pipelines,
        latency: built.schedule.depth,
        pins: built.graph.pins.iter().map(pin).collect(),
        register_bits: built.schedule.register_bits(),
        operators: operators(built),
        tables: tables(built),
        files,
        target: clock.target.name.to_string(),
        mhz: clock.mhz,
        stream_bits: config.stream_bits,
        jmem_records: config.jmem_records,
        segments: config.segments,
        groups: config.groups,
        i_banks: config.i_banks,
        hash: format!("{hash:016x}"),
        top: top.to_string(),
    }
}

/// How often each operator is used in one pipeline.
fn operators(built: &Built) -> Vec<OperatorEntry> {
    let mut counts = std::collections::BTreeMap::new();
    for node in &built.graph.nodes {
        if let pg2::graph::NodeKind::Op { op, .. } = &node.kind {
            *counts.entry(op.name()).or_insert(0) += 1;
        }
    }
    counts.into_iter().map(|(name, count)| OperatorEntry { name: name.to_string(), count }).collect()
}

/// The tables of one pipeline's functions.
fn tables(built: &Built) -> Vec<TableEntry> {
    let entry = |r: pg2::report::explain::TableRow| TableEntry {
        operator: r.operator,
        formats: r.formats,
        count: r.count,
        pieces: r.table.pieces,
        degree: r.table.degree,
        memory_bits: r.table.bits,
        error_ulp: r.table.error,
        exact_from: r.table.floor,
    };
    pg2::report::explain::tables(&built.graph).into_iter().map(entry).collect()
}
