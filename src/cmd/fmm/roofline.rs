//! P2P of a run as cards and boards would take it at the least, beside what this run took: a table of the report.

use super::Args;
use crate::failure::Failure;
use crate::source;
use host::fmm::stats::Stats;
use host::predict::roofline::{self, CARDS, Kernel, Lanes, Prediction, Work};

/// A row as shown.
pub struct Row {
    pub machine: String,
    pub mode: String,
    pub intensity: String,
    pub link: String,
    pub compute: String,
    pub seconds: String,
    pub limit: String,
}

/// The prediction for each machine, and last what was measured. None where the targets are not the particles, or the kernel
/// has no text that can be counted.
pub fn rows(args: &Args, stats: &Stats) -> Result<Vec<Row>, Failure> {
    let graph = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    let Ok(kernel) = Kernel::new(&graph) else { return Ok(Vec::new()) };
    if args.targets.is_some() {
        return Ok(Vec::new());
    }
    let n = stats.n as u64;
    let work = [Work { targets: n, sources: n, pairs: stats.pairs.p2p }];
    // The latency of a pipeline does not show in as many pairs as an FMM has.
    let lanes = Lanes { pipelines: args.lanes.one()?.0, ii: args.fold.one()?, latency: 0 };
    let boards = roofline::boards(&lanes);
    let mut rows: Vec<Row> = roofline::predictions(&kernel, &CARDS, &boards, &work).iter().map(row).collect();
    let none = || "-".to_string();
    rows.push(Row {
        machine: format!("this run, on {}", stats.backend),
        mode: "measured".into(),
        intensity: none(),
        link: none(),
        compute: none(),
        seconds: seconds(stats.seconds.p2p),
        limit: none(),
    });
    Ok(rows)
}

fn seconds(s: f64) -> String {
    format!("{s:.2e}")
}

fn row(p: &Prediction) -> Row {
    Row {
        machine: p.machine.clone(),
        mode: p.mode.into(),
        intensity: format!("{:.1}", p.intensity),
        link: seconds(p.link_seconds),
        compute: seconds(p.compute_seconds),
        seconds: seconds(p.seconds),
        limit: p.limit.into(),
    }
}
