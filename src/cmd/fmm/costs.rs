//! `fmm --tune` measures what the stages cost on this machine and keeps it; later runs choose their leaf size by it.

use super::{Args, LEAF, failure};
use crate::failure::{Failure, safe};
use crate::output;
use crate::progress::Progress;
use fmm::expansion::basis::Basis;
use fmm::octree::stats::LeafBy;
use fmm::octree::tune::{self, cost};
use fmm::octree::{FmmOptions, Precision};
use hdl::engine::usual;
use pg2::graph::Graph;
use pipelines::octree::kernel;
use ranks::RankError;
use ranks::comm::{Comm, broadcast};
use serde::{Deserialize, Serialize};
use sim::cache::Cache;

/// The file in the cache, and the version of what it holds.
const FILE: &str = "costs.json";
const VERSION: u32 = 2;

/// What is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    machine: String,
    costs: cost::Costs,
}

/// Costs, and where they come from.
pub struct Known {
    pub costs: cost::Costs,
    pub by: LeafBy,
}

/// The costs of this machine where they were measured, else the built-in ones. A file that is not used is told of.
pub fn known() -> Known {
    Known::of(kept().and_then(|bytes| read(&bytes).ok()))
}

/// The same on ranks: what the machine of the first one has kept counts on all, so that they choose the same leaves.
pub fn known_on(comm: &dyn Comm) -> Result<Known, RankError> {
    let own = if comm.rank() == 0 { kept().unwrap_or_default() } else { Vec::new() };
    Ok(Known::of(read(&broadcast(comm, own)?).ok()))
}

impl Known {
    fn of(kept: Option<Kept>) -> Known {
        match kept {
            Some(Kept { costs, .. }) => Known { costs, by: LeafBy::MeasuredCosts },
            None => Known { costs: cost::Costs::default(), by: LeafBy::BuiltInCosts },
        }
    }
}

/// The file of what was measured on this machine, where it can be used.
fn kept() -> Option<Vec<u8>> {
    let bytes = Cache::standard().note(FILE)?;
    let own = |kept: Kept| match kept.machine == cost::machine() {
        true => Ok(()),
        false => Err(format!("they are those of another machine ({}, here {})", kept.machine, cost::machine())),
    };
    match read(&bytes).and_then(own) {
        Ok(()) => Some(bytes),
        Err(why) => {
            let text = format!("warning: the costs that `fmm --tune` measured are not used: {why}; measure them again");
            output::tell(&(safe(&text) + "\n"));
            None
        }
    }
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

/// Measures, keeps and shows the costs.
pub fn measure() -> Result<(), Failure> {
    let mut shown: Option<Progress> = None;
    let costs = kernel::measure(&mut |done, all| {
        shown.get_or_insert_with(|| Progress::new("measuring", all)).at(done);
    })
    .map_err(failure)?;
    drop(shown);
    let kept = Kept { version: VERSION, machine: cost::machine(), costs };
    let text = serde_json::to_string_pretty(&kept).expect("numbers and names") + "\n";
    let path = Cache::standard().keep_note(FILE, &text).map_err(|e| Failure::Tool(e.to_string()))?;
    output::print(&table(&kept))?;
    output::print(&format!("\nkept in {}\n", fmm::shown::path(&path)))
}

const BASES: [(&str, Basis); 3] =
    [("solid", Basis::Solid), ("cartesian", Basis::Cartesian), ("chebyshev", Basis::Chebyshev)];

/// What was measured and what follows, for a terminal.
fn table(kept: &Kept) -> String {
    let Kept { machine, costs, .. } = kept;
    let ns = |seconds: f64| format!("{:>10.4}", seconds * 1e9);
    let mut out = format!("{machine}, nanoseconds\n\n");
    out += &format!("{:<44}{:>10}{:>10}\n", "", "f32", "f64");
    out += &format!("{:<44}{}\n", "P2P, a pair", [costs.f32.pair, costs.f64.pair].map(ns).concat());
    let by_kernel = [costs.f32.kernel_pair, costs.f64.kernel_pair].map(ns).concat();
    out += &format!("{:<44}{by_kernel}\n", "P2P by a kernel's meaning (p2p_yukawa)");
    for (name, basis) in BASES {
        let both = [costs.f32.far(basis), costs.f64.far(basis)];
        type Pick = fn(&cost::Far) -> f64;
        let picks: [(&str, Pick); 5] = [
            ("M2L, a pair of cells", |f| f.cell),
            ("M2L, a pair of terms besides", |f| f.product),
            ("P2M and L2P, a particle and term", |f| f.particle),
            ("M2M and L2L, a cell and term", |f| f.shift),
            ("M2P or P2L, a particle, cell and term", |f| f.point),
        ];
        for (what, pick) in picks {
            out += &format!("{:<44}{}\n", format!("{name}: {what}"), both.map(|far| ns(pick(far))).concat());
        }
    }
    out += "\nleaf sizes that follow, where the particles are not uniform:\n\n";
    out += &format!("{:<44}{:>10}{:>10}{:>10}{:>10}\n", "order", 4, 6, 10, 14);
    for (name, basis) in BASES {
        for (bits, precision) in [("f32", Precision::F32), ("f64", Precision::F64)] {
            let leaf = |order: usize| match order <= basis.max_order() {
                true => costs.leaf(&cost::Choice { n: 0, basis, order, precision }).to_string(),
                false => "-".into(),
            };
            let sizes = [4, 6, 10, 14].map(leaf);
            let sizes: String = sizes.iter().map(|size| format!("{size:>10}")).collect();
            out += &format!("{:<44}{sizes}\n", format!("{name}, {bits}"));
        }
    }
    out
}

/// j memory of a board in words where nothing is said of it, and bytes a second of its line: 3 Mbaud.
const JMEM: u32 = 16_384;
const LINE: f64 = 3e5;

/// The leaf size that costs least for `n` particles, and the edge of the root cell where the CPU runs all stages; `board` is the
/// kernel and the clock in MHz of one that runs on a board. The emulator and the simulation take the leaf size of native code.
pub fn shape(
    costs: &cost::Costs,
    args: &Args,
    options: &FmmOptions,
    (board, on_cpu): (Option<(&Graph, f64)>, bool),
    n: usize,
) -> cost::Shape {
    let leaf = match board {
        // The leaf size says what is near.
        _ if options.near_only => LEAF,
        None => return tune::native_shape(costs, n, options, on_cpu),
        Some((p2p, mhz)) => {
            let layout = p2p.layout();
            let words = layout.i_words() + layout.j_words() + layout.result_words();
            let pipelines = args.engine.lanes.pipelines.first().copied().unwrap_or(usual::PIPELINES);
            let line = cost::Line {
                pairs: pipelines as f64 * mhz * 1e6,
                particle: 4.0 * words as f64 / LINE,
                sources: (args.engine.jmem.unwrap_or(JMEM) / layout.j_words()) as f64,
            };
            let FmmOptions { basis, order, precision, .. } = *options;
            costs.leaf_on(&line, &cost::Choice { n, basis, order, precision })
        }
    };
    cost::Shape { leaf, enlarge: 1.0 }
}
