//! Costs of the stages on this machine, by which leaf sizes are chosen: measured ones that are kept in the cache, or built-in ones.

use super::Options;
use crate::backends::{BackendOptions, Needs};
use fmm::octree::stats::LeafBy;
use fmm::octree::tune::{self, cost};
use fmm::octree::{FmmError, FmmOptions};
use pg2::graph::Graph;
use pipelines::octree::kernel;
use serde::{Deserialize, Serialize};
use sim::SimError;
use sim::cache::Cache;
use std::path::PathBuf;

pub use super::known::{Known, LEAF};
use super::route::Route;

/// The file in the cache, and the version of what it holds.
const FILE: &str = "costs.json";
const VERSION: u32 = 2;

/// The content of the cache's file.
#[derive(Serialize, Deserialize)]
pub struct Kept {
    version: u32,
    pub machine: String,
    pub costs: cost::Costs,
}

/// The costs of this machine where they were measured, else the built-in ones.
pub fn known() -> Known {
    match kept() {
        Ok(bytes) => Known::of(bytes.as_deref()),
        Err(why) => Known { warning: Some(why), ..Known::of(None) },
    }
}

impl Known {
    /// From the bytes of a file that was measured, if there is one.
    pub fn of(bytes: Option<&[u8]>) -> Known {
        match bytes.and_then(|bytes| read(bytes).ok()) {
            Some(Kept { costs, .. }) => Known { costs, by: LeafBy::MeasuredCosts, warning: None },
            None => Known::built_in(),
        }
    }
}

/// The file of what was measured on this machine, where it can be used; else why not.
pub fn kept() -> Result<Option<Vec<u8>>, String> {
    let Some(bytes) = Cache::standard().note(FILE) else { return Ok(None) };
    let own = |kept: Kept| match kept.machine == cost::machine() {
        true => Ok(()),
        false => Err(format!("they are those of another machine ({}, here {})", kept.machine, cost::machine())),
    };
    read(&bytes).and_then(own).map(|()| Some(bytes))
}

fn read(bytes: &[u8]) -> Result<Kept, String> {
    let value: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|e| format!("their file {FILE} is damaged ({e})"))?;
    let version = value.get("version").and_then(|v| v.as_u64());
    if version != Some(VERSION as u64) {
        return Err("another version of pairforge measured them".into());
    }
    let kept: Kept = serde_json::from_value(value).map_err(|e| format!("their file {FILE} is damaged ({e})"))?;
    if !kept.costs.are_sound() {
        return Err(format!("their file {FILE} is damaged (a number is out of its range)"));
    }
    Ok(kept)
}

/// Measures the costs on this machine; `step` is called with the number of steps done and of all.
pub fn measure(step: &mut dyn FnMut(usize, usize)) -> Result<Kept, FmmError> {
    Ok(Kept { version: VERSION, machine: cost::machine(), costs: kernel::measure(step)? })
}

impl Kept {
    /// Keeps them for later runs: the file.
    pub fn keep(&self) -> Result<PathBuf, SimError> {
        let text = serde_json::to_string_pretty(self).expect("numbers and names") + "\n";
        Cache::standard().keep_note(FILE, &text)
    }
}

/// j memory of a board in words where nothing is said of it, and bytes a second of its line: 3 Mbaud.
const JMEM: u32 = 16_384;
const LINE: f64 = 3e5;

/// The leaf size that costs least for `n` particles, and the edge of the root cell where the CPU runs all stages. The emulator and the
/// simulation take the leaf size of native code.
pub fn shape(costs: &cost::Costs, route: &Route, p2p: Option<&Graph>, engine: &EngineSize, n: usize) -> cost::Shape {
    let options = &route.options;
    let board = p2p.filter(|_| route.entry.needs == Needs::Device);
    let leaf = match board {
        // The leaf size says what is near.
        _ if options.near_only => LEAF,
        None => return tune::native_shape(costs, n, options, route.is_on_cpu()),
        Some(p2p) => {
            let layout = p2p.layout();
            let words = layout.i_words() + layout.j_words() + layout.result_words();
            let line = cost::Line {
                pairs: engine.pipelines as f64 * engine.mhz * 1e6,
                particle: 4.0 * words as f64 / LINE,
                sources: (engine.jmem_words.unwrap_or(JMEM) / layout.j_words()) as f64,
            };
            let FmmOptions { basis, order, precision, .. } = *options;
            costs.leaf_on(&line, &cost::Choice { n, basis, order, precision })
        }
    };
    cost::Shape { leaf, enlarge: 1.0 }
}

/// The properties of an engine on which the cost of a leaf depends.
pub struct EngineSize {
    pub pipelines: u32,
    pub mhz: f64,
    /// If it was asked for.
    pub jmem_words: Option<u32>,
}

impl EngineSize {
    pub(super) fn of(asked: &Options) -> EngineSize {
        let BackendOptions { pipelines, jmem_words, clock, .. } = &asked.engine;
        let usual = BackendOptions::default().jmem_words;
        EngineSize {
            pipelines: *pipelines,
            mhz: clock.mhz,
            jmem_words: Some(*jmem_words).filter(|words| *words != usual),
        }
    }
}
