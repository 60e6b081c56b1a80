//! The record of a synthesis for other programs: `synth.json`.

use crate::timing::ClockTiming;
use serde::{Deserialize, Serialize};

/// The file. Numbers that were not asked for or not found out are null. Keys that an older file lacks are read as nothing,
/// or 0.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    pub kernel: String,
    pub board: Option<String>,
    pub device: Option<String>,
    pub target: String,
    pub pipelines: u32,
    /// Lookup tables, arithmetic ones and those used as memory included; of the whole design, or of one lane where only
    /// the area of a family was asked for. So are the numbers below.
    pub lut: u64,
    pub ff: u64,
    /// Multiplier blocks.
    pub dsp: u64,
    /// Block memories.
    pub bram: u64,
    /// Bits of carry chain among the lookup tables.
    pub carries: u64,
    /// The larger of lookup tables and flip-flops.
    pub logic_elements: u64,
    /// Flip-flops behind no table of their own; and the logic elements with as many of these as possible put beside other
    /// tables, and with each of them in an element of its own.
    pub register_only: u64,
    pub logic_elements_packed: u64,
    pub logic_elements_most: u64,
    /// The highest clock of the engine.
    pub fmax_mhz: Option<f64>,
    /// All clocks of a board with several.
    pub clocks: Vec<ClockTiming>,
    /// Whether every clock is as fast as asked, and every path is timed.
    pub timing_met: Option<bool>,
    /// The highest clock by place and route alone, in families where paths that it leaves out are counted as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_fmax_mhz: Option<f64>,
    /// Kinds of cells with paths that nobody timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untimed: Vec<String>,
    /// The seed of the placing, and how many were tried.
    pub seed: Option<u32>,
    pub seeds: Option<u32>,
    /// The clock that the design runs at: that of the board, else `fmax_mhz`.
    pub clock_mhz: Option<f64>,
    /// Pairs per second at that clock with no pipeline idle.
    pub pairs_per_second: Option<f64>,
    /// Joules a pair, where there is a model of the family's power.
    pub joules_per_pair: Option<f64>,
    /// Pipelines that the device holds by its number of cells, the lane groups that they make, and what would be used up
    /// first. Whether so many can be routed is not known.
    pub fitting_pipelines: Option<u64>,
    pub fitting_groups: Option<u64>,
    pub fitting_bound: Option<String>,
    /// The address on the network, of a board with a link over Ethernet.
    pub ethernet: Option<String>,
    /// The bitstream's file in the same folder.
    pub bitstream: Option<String>,
    /// The clock that operators were pipelined for.
    pub mhz: f64,
    /// The clock that pipelines are scheduled for, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_mhz: Option<f64>,
    /// The engine's configuration.
    pub stream_bits: u32,
    pub jmem_records: u32,
    /// Lane groups, banks of i registers in a lane, and the capacity of a run's segment list.
    pub groups: u32,
    pub i_banks: u32,
    pub segments: u32,
    /// Cycles from a pair's entry to its value.
    pub latency: u32,
    /// Clocks from one pair to the next; 0 in files from before there was more than 1.
    pub ii: u32,
    /// Filters in front of each pipeline; left out where there are none.
    #[serde(skip_serializing_if = "is_none")]
    pub filters: u32,
    /// All kernels with their engines, in the order of the engines' numbers. The keys above are those of the first. Empty in
    /// files from before there were several.
    pub kernels: Vec<Engine>,
    /// Versions of the tools, as they name themselves.
    pub tools: Vec<String>,
}

/// The engine of a kernel.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Engine {
    pub kernel: String,
    pub pipelines: u32,
    pub groups: u32,
    pub i_banks: u32,
    pub segments: u32,
    pub jmem_records: u32,
    pub latency: u32,
    pub ii: u32,
    #[serde(skip_serializing_if = "is_none")]
    pub filters: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Summary {
    /// The engines, also of an older file.
    pub fn engines(&self) -> Vec<Engine> {
        if !self.kernels.is_empty() {
            return self.kernels.clone();
        }
        let Summary { pipelines, groups, i_banks, segments, jmem_records, latency, ii, filters, .. } = *self;
        let kernel = self.kernel.clone();
        vec![Engine { kernel, pipelines, groups, i_banks, segments, jmem_records, latency, ii: ii.max(1), filters }]
    }

    /// Reads the text of a `synth.json`.
    pub fn parse(text: &str) -> Result<Summary, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}
