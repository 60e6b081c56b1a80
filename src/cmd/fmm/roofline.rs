//! P2P of a run as GPUs and boards would take it at the least, beside what this run took: a table of the report.

use super::engine::EngineArgs;
use pg2::graph::Graph;
use pipelines::predict::roofline::{self, GPUS, Kernel, Lanes, Prediction, Work};
use terminal::failure::Failure;

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

/// The work of P2P in a run.
pub struct Ran<'a> {
    pub backend: &'a str,
    /// Particles that are sources and targets.
    pub n: usize,
    pub pairs: u64,
    pub seconds: f64,
}

/// The prediction for each machine, and last what was measured. None where the kernel has no text that can be counted.
pub fn rows(graph: &Graph, engine: &EngineArgs, ran: &Ran) -> Result<Vec<Row>, Failure> {
    let Ok(kernel) = Kernel::new(graph) else { return Ok(Vec::new()) };
    let n = ran.n as u64;
    let work = [Work { targets: n, sources: n, pairs: ran.pairs }];
    // The latency of a pipeline does not show in as many pairs as an FMM has.
    let lanes = Lanes { pipelines: engine.lanes.one()?.0, ii: engine.fold.one()?, latency: 0 };
    let boards = roofline::boards(&lanes);
    let mut rows: Vec<Row> = roofline::predictions(&kernel, &GPUS, &boards, &work).iter().map(row).collect();
    let none = || "-".to_string();
    rows.push(Row {
        machine: format!("this run, on {}", ran.backend),
        mode: "measured".into(),
        intensity: none(),
        link: none(),
        compute: none(),
        seconds: seconds(ran.seconds),
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
