//! The backends that a kernel can run on: one entry each.

use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError};
use hdl::circuit::target::Clock;
use hdl::engine::link::Link;
use hdl::engine::{Config, usual_groups};
use pg2::graph::Graph;
use pg2::report::shown::shown;
use std::path::PathBuf;

pub mod board;
mod cpu;
mod serial;

/// How to open a backend.
#[derive(Clone, Debug)]
pub struct Options {
    /// Lanes of the engine.
    pub pipelines: u32,
    /// Lane groups of the engine; 0 for what suits the number of lanes.
    pub groups: u32,
    /// Capacity of the j memory in 32-bit words.
    pub jmem_words: u32,
    /// Width of the streams in bits: 32, 64 or 128.
    pub stream_bits: u32,
    /// Threads of the simulation; 0 for one a core.
    pub threads: usize,
    /// Where to write a waveform.
    pub trace: Option<PathBuf>,
    /// Clock that the pipeline is built for.
    pub clock: Clock,
    /// What stands behind the colon of the backend's name, such as a port.
    pub place: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pipelines: 8,
            groups: 0,
            jmem_words: 256 * 1024,
            stream_bits: 32,
            threads: 0,
            trace: None,
            clock: Clock::default_clock(),
            place: String::new(),
        }
    }
}

/// A kind of backend.
pub struct Entry {
    pub name: &'static str,
    /// What the name needs behind a colon, such as `PORT`.
    pub place: Option<&'static str>,
    pub summary: &'static str,
    /// Opens it. Engines are built for a kernel when the kernel is first run.
    pub open: fn(&Options) -> Box<dyn Backend>,
}

/// Every backend; the first is the default.
pub static BACKENDS: &[Entry] = &[
    Entry {
        name: "emulator",
        place: None,
        summary: "bit-exact emulation of the pipelines; needs nothing installed",
        open: emulator,
    },
    Entry { name: "cycle", place: None, summary: "cycle simulation of the Verilog through Verilator", open: cycle },
    Entry {
        name: "cpu",
        place: None,
        summary: "what a kernel means with its floats in f64; ints and fixeds exact",
        open: cpu::open,
    },
    Entry {
        name: "board",
        place: Some("PORT"),
        summary: "an FPGA board at a serial port, such as board:/dev/ttyUSB0; the board decides on pipelines and memory",
        open: board::open,
    },
];

impl Entry {
    /// The name as the command line takes it, such as `board:PORT`.
    pub fn usage(&self) -> String {
        self.place.map_or(self.name.to_string(), |place| format!("{}:{place}", self.name))
    }
}

/// The backend of a name on the command line, and what stands behind its colon.
pub fn find(text: &str) -> Result<(&'static Entry, &str), BackendError> {
    let (name, place) = text.split_once(':').map_or((text, None), |(name, place)| (name, Some(place)));
    let wrong = |what: String| Err(BackendError::Unsupported(what));
    let Some(entry) = BACKENDS.iter().find(|b| b.name == name) else {
        let names: Vec<String> = BACKENDS.iter().map(Entry::usage).collect();
        return wrong(format!("there is no backend `{}`; the backends are {}", shown(name), names.join(", ")));
    };
    match (entry.place, place) {
        (Some(_), Some(place)) if !place.is_empty() => Ok((entry, place)),
        (None, None) => Ok((entry, "")),
        (Some(_), _) => wrong(format!("the backend `{name}` needs to know where: {}", entry.usage())),
        (None, Some(_)) => wrong(format!("the backend `{name}` takes nothing behind its name")),
    }
}

/// The number of lane groups that was asked for, or what suits the number of lanes.
fn groups(pipelines: u32, asked: u32) -> u32 {
    if asked == 0 { usual_groups(pipelines) } else { asked }
}

/// The engine that a kernel and options describe. `pipeline_latency` matters only where there is a clock.
fn config(graph: &Graph, options: &Options, pipeline_latency: u32) -> Result<Config, BackendError> {
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
        ..Config::usual(layout, pipeline_latency)
    };
    config.verify().map_err(BackendError::Unsupported)?;
    Ok(config)
}

fn emulator(options: &Options) -> Box<dyn Backend> {
    let options = options.clone();
    let open = move |graph: &Graph| -> Result<Box<dyn Link>, BackendError> {
        let graph = pg2::middle::simplify::simplify(graph);
        Ok(Box::new(sim::emulator::engine::EmulatedEngine::new(&graph, config(&graph, &options, 1)?, options.threads)))
    };
    Box::new(StreamBackend::new("emulator", Box::new(open), false))
}

fn cycle(options: &Options) -> Box<dyn Backend> {
    let options = options.clone();
    let open = move |graph: &Graph| -> Result<Box<dyn Link>, BackendError> {
        let built = pg2::backend::build::build(graph, options.clock, "", Vec::new());
        let config = config(&built.graph, &options, built.schedule.depth)?;
        let how = sim::cycle::Options {
            threads: options.threads,
            trace: options.trace.clone(),
            ..sim::cycle::Options::default()
        };
        let engine = sim::cycle::CycleEngine::build(&config, &built.netlist, &how);
        Ok(Box::new(engine.map_err(|e| BackendError::Tool(e.to_string()))?))
    };
    Box::new(StreamBackend::new("cycle", Box::new(open), true))
}
