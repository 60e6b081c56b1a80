//! P2P of a run as GPUs and boards would take it at the least, beside what this run took: a section of the report.

use super::engine::EngineArgs;
use pg2::graph::Graph;
use pipelines::predict::roofline::{self, GPUS, Kernel, Lanes, Prediction, Work};
use terminal::failure::Failure;
use terminal::report::{Block, Cell, Data, Quantity, Section, Table};

/// The work of P2P in a run.
pub struct Ran {
    /// Particles that are sources and targets.
    pub n: usize,
    pub pairs: u64,
}

/// The prediction for each machine. None where the kernel has no text that can be counted.
pub fn predictions(graph: &Graph, engine: &EngineArgs, ran: &Ran) -> Result<Vec<Prediction>, Failure> {
    let Ok(kernel) = Kernel::new(graph) else { return Ok(Vec::new()) };
    let n = ran.n as u64;
    let work = [Work { targets: n, sources: n, pairs: ran.pairs }];
    // The latency of a pipeline does not show in as many pairs as an FMM has.
    let lanes = Lanes { pipelines: engine.lanes.one()?.0, ii: engine.fold.one()?, latency: 0 };
    Ok(roofline::predictions(&kernel, &GPUS, &roofline::boards(&lanes), &work))
}

/// The section of a page, from the key `machines`.
pub fn section(data: &Data) -> Section {
    let row = |k: usize| {
        let at = |name: &str| format!("machines/{k}/{name}");
        vec![
            Cell::text(data.text(&at("machine"))),
            Cell::text(data.text(&at("mode"))),
            data.cell(&at("intensity"), Quantity::Plain),
            data.cell(&at("link_seconds"), Quantity::Seconds),
            data.cell(&at("compute_seconds"), Quantity::Seconds),
            data.cell(&at("seconds"), Quantity::Seconds),
            Cell::text(data.text(&at("limit"))),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = (0..data.len("machines")).map(row).collect();
    if rows.is_empty() {
        return Section::new(HEADING, Vec::new());
    }
    let (none, p2p) = (|| Cell::text("–"), data.cell("seconds/p2p", Quantity::Seconds));
    let here = format!("this run, on {}", data.text("backend"));
    rows.push(vec![Cell::text(here), Cell::text("measured"), none(), none(), none(), p2p, none()]);
    let heads = ["machine", "mode", "operations a byte", "link", "compute", "all", "limit"].map(String::from).into();
    let caption = "P2P: seconds predicted of GPUs and boards, at the least".into();
    Section::new(HEADING, vec![Block::Table(Table { caption, heads, rows })])
}

const HEADING: &str = "Other machines";
