//! Timing and utilisation, from nextpnr's report.

use crate::FlowError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// How fast a placed design is, and what it takes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Timing {
    /// The slowest clock for what is asked of it: its name, MHz reached, MHz asked.
    pub clock: String,
    pub fmax_mhz: f64,
    pub asked_mhz: f64,
    /// The slowest path between two registers of that clock.
    pub path: Vec<Hop>,
    /// Used and available, by the tool's names.
    pub utilisation: BTreeMap<String, (u64, u64)>,
}

/// One piece of a path.
#[derive(Clone, PartialEq, Debug)]
pub struct Hop {
    pub kind: Kind,
    pub ns: f64,
    /// The cell that it leads to, in hierarchical names.
    pub cell: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
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
        "clk-to-q" => Kind::ClockToOutput,
        "routing" => Kind::Routing,
        "setup" => Kind::Setup,
        _ => Kind::Logic,
    };
    let hop = |p: &Piece| Hop { kind: kind(&p.kind), ns: p.delay, cell: p.to.cell.clone() };
    Ok(Timing {
        clock: clock.clone(),
        fmax_mhz: reached.achieved,
        asked_mhz: reached.constraint,
        path: path.map(|p| p.path.iter().map(hop).collect()).unwrap_or_default(),
        utilisation: report.utilization.into_iter().map(|(name, u)| (name, (u.used, u.available))).collect(),
    })
}
