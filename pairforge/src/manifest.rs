//! `manifest.json`: what `build` made, for other programs.

use hdl::circuit::target::Clock;
use hdl::engine::{Config, Layout};
use pg2::backend::build::Built;
use pg2::graph::PinClass;
use serde::{Deserialize, Serialize};

/// The file.
pub const NAME: &str = "manifest.json";

/// Contents of the folder, in the keys of docs/reference/json.md.
#[derive(Serialize, Deserialize)]
pub struct Manifest {
    pub kernel: String,
    pub pipelines: u32,
    /// Cycles from a pair's entry to its value.
    pub latency: u32,
    pub pins: Vec<PinEntry>,
    /// Outputs that are gathered together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selections: Vec<SelectionEntry>,
    /// Flip-flop bits of one lane, its accumulators included.
    pub register_bits: u64,
    pub operators: Vec<OperatorEntry>,
    /// Tables of functions; `error_ulp` is a proven bound.
    pub tables: Vec<TableEntry>,
    pub files: Vec<String>,
    /// The files of the engine's Verilog, the top module's last.
    #[serde(default)]
    pub verilog: Vec<String>,
    pub target: String,
    pub mhz: f64,
    pub stream_bits: u32,
    pub jmem_records: u32,
    /// Capacity of a run's segment list.
    pub segments: u32,
    pub groups: u32,
    pub i_banks: u32,
    /// Clocks from one pair to the next.
    #[serde(default = "each_clock")]
    pub ii: u32,
    /// Filters in front of each pipeline; 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub filters: u32,
    /// By which host and board agree on a kernel, in hexadecimal; see docs/link.md.
    pub hash: String,
    /// Name of the top module.
    pub top: String,
}

/// The manifest of a folder of a design of several kernels.
#[derive(Serialize, Deserialize)]
pub struct Several {
    /// In the order of their engines' numbers.
    pub kernels: Vec<Manifest>,
    pub files: Vec<String>,
    /// The files of the design's Verilog, the top module's last.
    #[serde(default)]
    pub verilog: Vec<String>,
    pub target: String,
    pub mhz: f64,
    pub stream_bits: u32,
    /// Name of the top module, which holds all engines.
    pub top: String,
}

/// Whether there are no filters, of which a file then says nothing.
fn is_none(filters: &u32) -> bool {
    *filters == 0
}

/// The interval of a file that was written before there was an interval.
fn each_clock() -> u32 {
    1
}

#[derive(Serialize, Deserialize)]
pub struct PinEntry {
    pub name: String,
    pub class: String,
    pub format: String,
    pub count: u32,
    /// Whether it is a parameter in memory, which stands behind all others in the record.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub table: bool,
    /// Of a parameter that need not be given: the values of its elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
pub struct SelectionEntry {
    pub reduce: String,
    /// Names, that of the key first.
    pub outputs: Vec<String>,
    /// The pairs that are kept.
    pub places: usize,
}

#[derive(Serialize, Deserialize)]
pub struct OperatorEntry {
    pub name: String,
    pub count: usize,
}

#[derive(Serialize, Deserialize)]
pub struct TableEntry {
    pub operator: String,
    pub formats: String,
    pub count: u32,
    pub pieces: u32,
    pub degree: u32,
    pub memory_bits: u64,
    pub error_ulp: f64,
    /// Results below it are off by up to a last place of it; null where all are within `error_ulp`.
    pub exact_from: Option<f64>,
}

impl Manifest {
    /// Of an engine around a kernel; `hash` is the kernel's.
    pub fn new(built: &Built, config: &Config, (clock, hash): (Clock, u64), top: &str, files: Vec<String>) -> Manifest {
        let class = |c| match c {
            PinClass::Ipin => "ipin",
            PinClass::Jpin => "jpin",
            PinClass::Param => "param",
            PinClass::Fout => "fout",
        };
        let pin = |p: &pg2::graph::Pin| PinEntry {
            name: p.name.clone(),
            class: class(p.class).to_string(),
            format: p.format.to_string(),
            count: p.elements(),
            table: p.table,
            default: p.default.as_ref().and_then(|_| (0..p.elements()).map(|k| p.default_number(k)).collect()),
        };
        Manifest {
            kernel: built.graph.name.clone(),
            pipelines: config.pipelines,
            latency: built.latency(),
            pins: built.kernel().own_pins().map(pin).collect(),
            selections: selections(built.kernel()),
            register_bits: pg2::report::lane::lane_of(built, config).register_bits,
            operators: operators(built),
            tables: tables(built),
            files,
            verilog: Vec::new(),
            target: clock.target.name.to_string(),
            mhz: clock.mhz,
            stream_bits: config.stream_bits,
            jmem_records: config.jmem_records,
            segments: config.segments,
            groups: config.groups,
            i_banks: config.i_banks,
            ii: config.ii,
            filters: config.filters,
            hash: format!("{hash:016x}"),
            top: top.to_string(),
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts") + "\n"
    }

    /// The engine, as far as what stands around it depends on it.
    pub fn config(&self) -> Config {
        Config {
            pipelines: self.pipelines,
            groups: self.groups,
            i_banks: self.i_banks,
            ii: self.ii,
            filters: self.filters,
            jmem_records: self.jmem_records,
            stream_bits: self.stream_bits,
            segments: self.segments,
            ..Config::usual(Layout { kernel: self.kernel.clone(), ..Layout::default() }, 1)
        }
    }
}

/// The selections of a kernel.
fn selections(graph: &pg2::graph::Graph) -> Vec<SelectionEntry> {
    let of = |s: pg2::report::selections::Row| SelectionEntry {
        reduce: s.reduce.to_string(),
        outputs: s.outputs,
        places: s.places,
    };
    pg2::report::selections::rows(graph).into_iter().map(of).collect()
}

/// The number of uses of each operator in one pipeline.
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
        operator: r.operator.to_string(),
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
