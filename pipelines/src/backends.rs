//! Backends that a kernel can run on, without those on GPUs: an entry each.

use crate::job::{Backend, BackendError};
use hdl::circuit::target::Clock;
use hdl::engine::{Config, usual_groups};
use pg2::graph::Graph;
use std::path::PathBuf;

#[cfg(not(target_family = "wasm"))]
pub mod board;
pub mod cpu;
#[cfg(feature = "simulate")]
pub mod cycle;
pub mod emulator;
#[cfg(not(target_family = "wasm"))]
pub mod network;
#[cfg(not(target_family = "wasm"))]
pub mod serial;
#[cfg(not(target_family = "wasm"))]
mod session;
#[cfg(not(target_family = "wasm"))]
mod stream;

/// How to open a backend.
#[derive(Clone, Debug)]
pub struct BackendOptions {
    /// Lanes of the engine.
    pub pipelines: u32,
    /// Lane groups of the engine; 0 for what suits the number of lanes.
    pub groups: u32,
    /// Capacity of the j memory in 32-bit words.
    pub jmem_words: u32,
    /// Width of the streams in bits: 32, 64 or 128.
    pub stream_bits: u32,
    /// Clocks from one pair to the next, where a pipeline is built.
    pub ii: u32,
    /// Filters in front of each pipeline, of a kernel with `where`; 0 for none.
    pub filters: u32,
    /// Threads of the simulation; 0 for one a core.
    pub threads: usize,
    /// The number of this one among several processes or threads that each open a backend: these go through the GPUs in turn.
    pub turn: usize,
    /// Where to write a waveform.
    pub trace: Option<PathBuf>,
    /// Clock that the pipeline is built for.
    pub clock: Clock,
    /// The part of the backend's name behind the colon, such as a port.
    pub place: String,
}

impl Default for BackendOptions {
    fn default() -> BackendOptions {
        BackendOptions {
            pipelines: 8,
            groups: 0,
            jmem_words: 256 * 1024,
            stream_bits: 32,
            ii: 1,
            filters: 0,
            threads: 0,
            turn: 0,
            trace: None,
            clock: Clock::default_clock(),
            place: String::new(),
        }
    }
}

/// A kind of backend: what commands, documents and the tests of all backends know of it.
pub struct Entry {
    pub name: &'static str,
    /// The part that the name needs behind a colon, such as `PORT`.
    pub place: Option<&'static str>,
    /// A summary of the backend in one line of Markdown.
    pub summary: &'static str,
    pub needs: Needs,
    /// Whether results are the bits and flags that the language defines; otherwise they have real-arithmetic semantics (RULES N10).
    pub exact: bool,
    /// Whether it counts clock cycles.
    pub clocked: bool,
    /// Whether it writes waveforms.
    pub traced: bool,
    /// Whether its engines have the lanes and filters that options ask for.
    pub shaped: bool,
    /// Whether `fmm` has native code for it, so that it needs no kernels.
    pub native: bool,
    /// Opens it. Engines are built for a kernel when the kernel is first run.
    pub open: fn(&BackendOptions) -> Box<dyn Backend>,
}

/// The requirements of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Needs {
    Nothing,
    /// A program that simulates Verilog.
    Simulator,
    /// A device at the place that the name gives.
    Device,
    /// A GPU that CUDA runs on.
    Gpu,
}

impl Needs {
    /// In words, for the documentation.
    pub fn text(self) -> &'static str {
        match self {
            Needs::Nothing => "nothing",
            Needs::Simulator => "Verilator 5 and a C++ compiler",
            Needs::Device => "the board, with its bitstream",
            Needs::Gpu => "an NVIDIA GPU, its driver and NVRTC",
        }
    }
}

impl Entry {
    /// The name as the command line takes it, such as `board:PORT`.
    pub fn usage(&self) -> String {
        self.place.map_or(self.name.to_string(), |place| format!("{}:{place}", self.name))
    }
}

/// The number of lane groups that was asked for, or what suits the number of lanes.
fn groups(pipelines: u32, asked: u32) -> u32 {
    if asked == 0 { usual_groups(pipelines) } else { asked }
}

/// The engine that a kernel and options describe. `pipeline_latency` matters only where there is a clock.
pub fn config(graph: &Graph, options: &BackendOptions, pipeline_latency: u32) -> Result<Config, BackendError> {
    let layout = graph.layout();
    let jmem_records = options.jmem_words / layout.j_words();
    if jmem_records == 0 {
        let text = format!("a j memory of {} words holds no record of {} words", options.jmem_words, layout.j_words());
        return Err(BackendError::Unsupported(text));
    }
    let config = Config {
        pipelines: options.pipelines,
        groups: groups(options.pipelines, options.groups),
        jmem_records,
        stream_bits: options.stream_bits,
        filters: options.filters,
        ..Config::usual(layout, pipeline_latency)
    };
    config.verify().map_err(BackendError::Unsupported)?;
    Ok(config)
}
