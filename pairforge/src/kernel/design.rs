//! A kernel as Verilog: an engine of pipelines with its manifest.

use super::fit::Share;
use crate::manifest::Manifest;
use hdl::circuit::target::{Clock, TARGETS, target};
use hdl::engine::{Config, MOST_II, design, usual, usual_groups};
use hdl::export::Text;
use hdl::rtl::netlist::{Netlist, Unsound};
use hdl::serial::kernel_hash;
use pg2::backend::build::{Built, build_folded};
use pg2::graph::Graph;
use pg2::syntax::sources::Sources;

/// The engine that is built around a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    /// Pipelines that take the same stream of sources.
    pub pipelines: u32,
    /// Groups that the pipelines are fed in; 0 for what suits their number.
    pub groups: u32,
    /// Capacity of the j memory in 32-bit words.
    pub jmem_words: u32,
    /// Width of the streams in bits: 32, 64 or 128.
    pub stream_bits: u32,
    /// Clocks from one pair to the next on a pipeline.
    pub interval: u32,
    /// FPGA family, such as `generic` or `ecp5`.
    pub target: String,
    /// Clock frequency in MHz that the pipeline is cut for.
    pub mhz: f64,
    /// Multiplier blocks that a pipeline may use; further products are made of logic.
    pub multipliers: Option<u32>,
}

impl Default for Engine {
    fn default() -> Engine {
        let clock = Clock::default_clock();
        Engine {
            pipelines: usual::PIPELINES,
            groups: 0,
            jmem_words: usual::JMEM_WORDS,
            stream_bits: usual::STREAM_BITS,
            interval: 1,
            target: clock.target.name.to_string(),
            mhz: clock.mhz,
            multipliers: None,
        }
    }
}

/// Why an engine cannot be built; the text says what is possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(pub String);

impl Engine {
    fn clock(&self) -> Result<Clock, BuildError> {
        let known = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let Some(target) = target(&self.target) else {
            return Err(BuildError(format!("there is no target `{}`; the targets are {}", self.target, known())));
        };
        if !(1.0..=1000.0).contains(&self.mhz) {
            return Err(BuildError(format!("a clock has 1 to 1000 MHz, not {:?}", self.mhz)));
        }
        if !(1..=MOST_II).contains(&self.interval) {
            return Err(BuildError(format!("a pair takes 1 to {MOST_II} clocks, not {}", self.interval)));
        }
        let clock = Clock { target, mhz: self.mhz, blocks: self.multipliers };
        clock.verify().map_err(BuildError)?;
        Ok(clock)
    }

    fn config(&self, built: &Built) -> Result<Config, BuildError> {
        let layout = built.layout();
        let config = Config {
            jmem_records: self.jmem_words / layout.j_words(),
            pipelines: self.pipelines,
            groups: if self.groups == 0 { usual_groups(self.pipelines) } else { self.groups },
            stream_bits: self.stream_bits,
            ii: built.ii(),
            ..Config::usual(layout, built.schedule.depth)
        };
        config.verify().map_err(BuildError)?;
        Ok(config)
    }
}

/// An engine as text, with its manifest.
pub struct Design {
    /// Verilog-2005: all modules, the top module's last.
    pub verilog: String,
    pub manifest: Manifest,
    /// The pipeline in every form that the compiler gave it.
    pub built: Built,
}

impl Design {
    /// The name of the top module.
    pub fn top(&self) -> &str {
        &self.manifest.top
    }

    /// Clock cycles from a pair's entry to its value.
    pub fn latency(&self) -> u32 {
        self.manifest.latency
    }

    /// The files of a folder for other tools: the Verilog and its manifest.
    pub fn files(&self) -> Vec<Text> {
        let verilog = self.manifest.verilog.first().cloned().unwrap_or_default();
        vec![
            Text { name: verilog, text: self.verilog.clone() },
            Text { name: crate::manifest::NAME.into(), text: self.manifest.text() },
        ]
    }
}

pub(super) fn build(graph: &Graph, sources: &Sources, engine: &Engine) -> Result<Design, BuildError> {
    let clock = engine.clock()?;
    let built = build_folded(graph, (clock, engine.interval), sources, Vec::new());
    let hash = kernel_hash(&graph.canonical());
    let config = Config { ident: Some(hash), ..engine.config(&built)? };
    let whole = design(&config, &built.netlist);
    let verilog = whole.netlist.verilog().map_err(|e| BuildError(e.to_string()))?;
    let file = format!("{}.v", whole.netlist.top);
    let manifest = Manifest::new(&built, &config, (clock, hash), &whole.top, vec![file.clone()]);
    Ok(Design { verilog, manifest: Manifest { verilog: vec![file], ..manifest }, built })
}

/// The engine that the command `build` puts around a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Around {
    pub pipelines: u32,
    pub groups: u32,
    pub stream_bits: u32,
    /// Filters in front of each pipeline; 0 for none.
    pub filters: u32,
    /// Words of j memory; without a number the usual ones, and as many more as the block memories for these hold.
    pub jmem_words: Option<u32>,
    /// Engines that share a design.
    pub engines: usize,
}

impl Around {
    /// The engine around a pipeline, or why there is none.
    pub fn config(&self, built: &Built) -> Result<Config, String> {
        let layout = built.layout();
        let share = Share::of(None, self.engines).with_words(self.jmem_words);
        let config = Config {
            jmem_records: share.records(&layout, built.library.clock.target),
            pipelines: self.pipelines,
            groups: self.groups,
            stream_bits: self.stream_bits,
            ii: built.ii(),
            filters: self.filters,
            ..Config::usual(layout, built.schedule.depth)
        };
        config.verify()?;
        Ok(config)
    }
}

/// The first line of each Verilog file of a kernel's file.
pub fn made(origin: &str, clock: Clock) -> String {
    format!("// {} Verilog-2005.\n", origin_of(origin, clock))
}

/// A sentence that says where a file comes from.
pub fn origin_of(origin: &str, clock: Clock) -> String {
    // The file's name comes from outside and must not end the comment.
    let origin: String = origin.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    let version = env!("CARGO_PKG_VERSION");
    format!("Made by pairforge {version} from {origin} for {} at {} MHz.", clock.target.name, clock.mhz)
}

/// A design's Verilog as one file; `made` is its first line.
pub fn one_file(netlist: &Netlist, made: &str) -> Result<Text, Unsound> {
    let lint = "// The design is one file of many modules:\n/* verilator lint_off DECLFILENAME */\n";
    let text = netlist.verilog_behind(format!("{made}{lint}\n"), &[])?;
    Ok(Text { name: format!("{}.v", netlist.top), text })
}
