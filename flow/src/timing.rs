//! Timing and utilisation, from nextpnr's report and the paths that it leaves out.

pub(crate) mod blocks;
pub(crate) mod sdf;
#[cfg(test)]
mod tests;

use crate::FlowError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How fast a placed design is, and what it takes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timing {
    /// The slowest clock for what is asked of it: its name, MHz reached, MHz asked.
    pub clock: String,
    pub fmax_mhz: f64,
    pub asked_mhz: f64,
    /// All clocks, that one among them.
    pub clocks: Vec<ClockTiming>,
    /// The slowest path between two registers of that clock.
    pub path: Vec<Hop>,
    /// The highest clock by the tool alone, where paths that it leaves out were counted beside its own.
    pub tool_mhz: Option<f64>,
    /// Kinds of cells with paths that nobody timed, and how many there are.
    pub untimed: BTreeMap<String, usize>,
    /// Used and available, by the tool's names.
    pub utilisation: BTreeMap<String, (u64, u64)>,
}

/// How fast a clock may be.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ClockTiming {
    /// The net, as the tool names it.
    pub name: String,
    pub fmax_mhz: f64,
    /// The frequency required of it.
    pub mhz: f64,
}

impl Timing {
    /// Whether every clock is as fast as asked, and every path is timed.
    pub fn met(&self) -> bool {
        self.fmax_mhz >= self.asked_mhz && self.untimed.is_empty()
    }

    /// Adds paths that the tool left out. They count for every clock: boards with several are of families without such paths.
    pub(crate) fn add(&mut self, found: blocks::Found) {
        self.tool_mhz = Some(self.fmax_mhz);
        self.untimed = found.untimed;
        if found.ns > 0.0 && 1000.0 / found.ns < self.fmax_mhz {
            self.path = found.path;
        }
        if found.ns > 0.0 {
            self.limit(1000.0 / found.ns);
        }
    }

    /// Lowers all clocks to one that nothing exceeds.
    pub(crate) fn limit(&mut self, mhz: f64) {
        self.fmax_mhz = self.fmax_mhz.min(mhz);
        self.clocks.iter_mut().for_each(|clock| clock.fmax_mhz = clock.fmax_mhz.min(mhz));
    }

    /// How fast the slowest clock is for what is asked of it.
    pub fn ratio(&self) -> f64 {
        self.fmax_mhz / self.asked_mhz.max(1e-9)
    }

    /// The highest clock of the engine, which is the net `clk` of a top; with a single clock it has any name.
    pub fn engine_mhz(&self) -> f64 {
        let engine = self.clocks.iter().find(|c| c.name.rsplit(['$', '.']).next() == Some("clk"));
        engine.map_or(self.fmax_mhz, |clock| clock.fmax_mhz)
    }
}

/// One piece of a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Hop {
    pub kind: DelayType,
    pub ns: f64,
    /// The cell that it leads to, in hierarchical names.
    pub cell: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayType {
    ClockToOutput,
    Logic,
    Routing,
    Setup,
}

#[derive(Deserialize)]
struct Report {
    fmax: BTreeMap<String, Achieved>,
    #[serde(default)]
    critical_paths: Vec<Path_>,
    #[serde(default)]
    utilization: BTreeMap<String, Used>,
}

#[derive(Deserialize)]
struct Achieved {
    achieved: f64,
    constraint: f64,
}

#[derive(Deserialize)]
struct Used {
    available: u64,
    used: u64,
}

#[derive(Deserialize)]
struct Path_ {
    from: String,
    to: String,
    path: Vec<Piece>,
}

#[derive(Deserialize)]
struct Piece {
    delay: f64,
    #[serde(rename = "type")]
    kind: String,
    to: End,
}

#[derive(Deserialize)]
struct End {
    cell: String,
}

/// Reads what nextpnr's `--report` wrote.
pub(crate) fn read(path: &Path) -> Result<Timing, FlowError> {
    let text = std::fs::read(path).map_err(FlowError::io(path))?;
    let report: Report = serde_json::from_slice(&text).map_err(FlowError::report(path))?;
    let ratio = |a: &Achieved| a.achieved / a.constraint.max(1e-9);
    let slowest = report.fmax.iter().min_by(|x, y| ratio(x.1).total_cmp(&ratio(y.1)));
    let (clock, reached) = slowest
        .ok_or_else(|| FlowError::Report { path: path.to_path_buf(), reason: "there is no clock in it".into() })?;
    let own = |end: &str| end.split_once(' ').is_some_and(|(_, name)| name == clock);
    let path = report.critical_paths.iter().find(|p| own(&p.from) && own(&p.to));
    let kind = |name: &str| match name {
        "clk-to-q" => DelayType::ClockToOutput,
        "routing" => DelayType::Routing,
        "setup" => DelayType::Setup,
        _ => DelayType::Logic,
    };
    let hop = |p: &Piece| Hop { kind: kind(&p.kind), ns: p.delay, cell: p.to.cell.clone() };
    Ok(Timing {
        clock: clock.clone(),
        fmax_mhz: reached.achieved,
        asked_mhz: reached.constraint,
        clocks: report.fmax.iter().map(|(name, a)| clock_timing(name, a)).collect(),
        path: path.map(|p| p.path.iter().map(hop).collect()).unwrap_or_default(),
        tool_mhz: None,
        untimed: BTreeMap::new(),
        utilisation: report.utilization.into_iter().map(|(name, u)| (name, (u.used, u.available))).collect(),
    })
}

fn clock_timing(name: &str, reached: &Achieved) -> ClockTiming {
    ClockTiming { name: name.to_string(), fmax_mhz: reached.achieved, mhz: reached.constraint }
}
