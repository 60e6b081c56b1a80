//! A kernel as the files that the command `build` writes, with the drawing of its pipeline and what it costs.

use crate::kernel::Kernel;
use hdl::circuit::target::{Clock, TARGETS, target};
use hdl::engine::{MOST_II, design as engine, usual, usual_groups};
use hdl::serial::kernel_hash;
use pairforge::kernel::design::{Around, made, one_file};
use pairforge::kernel::fit::Wanted;
use pairforge::kernel::schedule::Schedule;
use pairforge::manifest::{self, Manifest};
use pg2::report::explain::svg;
use serde::{Deserialize, Serialize};

/// The target and clock that pipelines are made for.
#[derive(Deserialize)]
#[serde(default)]
pub struct For {
    target: String,
    mhz: Option<f64>,
    /// Multiplier blocks that a pipeline may use.
    dsp: Option<u32>,
}

impl Default for For {
    fn default() -> For {
        For { target: Clock::default_clock().target.name.into(), mhz: None, dsp: None }
    }
}

impl For {
    pub fn clock(&self) -> Result<Clock, String> {
        let known = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let target = target(&self.target).ok_or_else(|| {
            format!("there is no target `{}`; the targets are {}", fmm::shown::shown(&self.target), known())
        })?;
        let mhz = self.mhz.unwrap_or(target.usual_mhz);
        if !(1.0..=1000.0).contains(&mhz) {
            return Err(format!("a clock has 1 to 1000 MHz, not {mhz:?}"));
        }
        let clock = Clock { target, mhz, blocks: self.dsp };
        clock.verify()?;
        Ok(clock)
    }
}

/// The options of the command, by their names there.
#[derive(Deserialize)]
#[serde(default)]
pub struct Options {
    pipelines: u32,
    groups: Option<u32>,
    jmem: Option<u32>,
    stream: u32,
    ii: u32,
    #[serde(flatten)]
    of: For,
}

impl Default for Options {
    fn default() -> Options {
        let (groups, jmem) = (None, None);
        Options { pipelines: usual::PIPELINES, groups, jmem, stream: usual::STREAM_BITS, ii: 1, of: For::default() }
    }
}

#[derive(Deserialize)]
pub struct Asked {
    kernel: Kernel,
    #[serde(default)]
    options: Options,
}

/// Most operators and pins that are drawn: a drawing of more is too large to be read.
const MOST: usize = 400;

#[derive(Serialize)]
pub struct Answer {
    files: Vec<File>,
    /// None of a pipeline that is too large to be drawn.
    drawing: Option<String>,
    schedule: Schedule,
    /// Of one lane, its accumulators included, and of its tables.
    register_bits: u64,
    table_bits: u64,
}

#[derive(Serialize)]
struct File {
    name: String,
    text: String,
}

pub fn design(asked: Asked) -> Result<Answer, String> {
    let options = asked.options;
    let clock = options.of.clock()?;
    if !(1..=MOST_II).contains(&options.ii) {
        return Err(format!("a pair takes 1 to {MOST_II} clocks, not {}", options.ii));
    }
    let kernel = asked.kernel.compiled()?;
    let hash = kernel_hash(&kernel.graph.canonical());
    let wanted = Wanted { graph: &kernel.graph, sources: &kernel.sources, clock, pipelines: options.pipelines };
    let built = wanted.built(clock, options.ii);
    let around = Around {
        pipelines: options.pipelines,
        groups: options.groups.unwrap_or_else(|| usual_groups(options.pipelines)),
        stream_bits: options.stream,
        filters: 0,
        jmem_words: options.jmem,
        engines: 1,
    };
    let config = hdl::engine::Config { ident: Some(hash), ..around.config(&built)? };
    let engine = engine(&config, &built.netlist);
    let verilog = one_file(&engine.netlist, &made(&kernel.origin, clock)).map_err(|e| e.to_string())?;
    let names = vec![verilog.name.clone()];
    let manifest = Manifest::new(&built, &config, (clock, hash), &engine.top, names.clone());
    let manifest = Manifest { kernel: kernel.graph.name.clone(), verilog: names, ..manifest };
    let schedule = Schedule::of(&built, &kernel.sources);
    let drawn = schedule.len() <= MOST;
    Ok(Answer {
        register_bits: manifest.register_bits,
        table_bits: manifest.tables.iter().map(|t| t.memory_bits * t.count as u64).sum(),
        files: vec![
            File { name: verilog.name, text: verilog.text },
            File { name: manifest::NAME.into(), text: manifest.text() },
        ],
        drawing: drawn.then(|| svg(&built, &kernel.sources)),
        schedule,
    })
}
