//! The page of `synth --report`: area and clock as the tools have them, by operator and by stretch of the slowest path, beside the pipelines.

use super::super::build::page::{self, Drawn};
use super::super::fmm::page::listed;
use super::floor::{self, FloorPart};
use flow::report;
use flow::summary::Summary;
use pairforge::kernel::schedule::Schedule;
use serde::Serialize;
use terminal::report::{Block, Cell, Data, Page, Quantity, Section, Table};

/// `synth.json` with what the page shows, in the keys that docs/reference/json.md names.
#[derive(Serialize)]
pub struct Detailed<'a> {
    #[serde(flatten)]
    pub summary: &'a Summary,
    #[serde(flatten)]
    pub details: Option<Details>,
}

/// The contents of the page beside the summary.
#[derive(Serialize)]
pub struct Details {
    schedules: Vec<Schedule>,
    /// Parts of a lane, each synthesised apart.
    parts: Vec<Part>,
    /// Stretches of the slowest path.
    path: Vec<Stretch>,
    /// Nanoseconds of the slowest path, and of the clock that was asked for.
    path_ns: Option<f64>,
    asked_ns: f64,
    /// Clocks with what is left of their periods.
    slack: Vec<Slack>,
    /// Resources of the device.
    used: Vec<Used>,
    /// Parts of the design with their places.
    floor: Vec<FloorPart>,
    #[serde(skip)]
    drawing: Option<String>,
}

#[derive(Serialize)]
struct Part {
    what: String,
    line: usize,
    lut: u64,
    carries: u64,
    ff: u64,
    dsp: u64,
    bram: u64,
}

#[derive(Serialize)]
struct Stretch {
    what: String,
    cells: usize,
    logic_ns: f64,
    routing_ns: f64,
}

#[derive(Serialize)]
struct Slack {
    clock: String,
    fmax_mhz: f64,
    mhz: f64,
    ns: f64,
}

#[derive(Serialize)]
struct Used {
    what: String,
    used: u64,
    available: u64,
    part: f64,
}

impl Details {
    pub fn new(of: &report::Page, kernels: &[Drawn]) -> Details {
        let timing = of.outcome.timing.as_ref();
        let part = |part: report::AreaItem| {
            let area = &part.area;
            let (lut, carries, ff) = (area.luts, area.carries, area.flip_flops);
            Part { what: part.what, line: part.line, lut, carries, ff, dsp: area.multipliers, bram: area.memories }
        };
        let stretch =
            |s: &report::Stretch| Stretch { what: s.what(), cells: s.cells, logic_ns: s.logic, routing_ns: s.routing };
        let path: Vec<Stretch> =
            timing.map_or(Vec::new(), |t| report::stretches(t, of.kernels).iter().map(stretch).collect());
        let slack = |c: &flow::timing::ClockTiming| Slack {
            clock: c.name.clone(),
            fmax_mhz: c.fmax_mhz,
            mhz: c.mhz,
            ns: 1000.0 / c.mhz - 1000.0 / c.fmax_mhz,
        };
        let used = |(what, (used, available)): (&String, &(u64, u64))| Used {
            what: what.clone(),
            used: *used,
            available: *available,
            part: *used as f64 / (*available).max(1) as f64,
        };
        let floor = floor::parts(&of.outcome.cells, of.kernels);
        Details {
            schedules: kernels.iter().map(Drawn::schedule).collect(),
            parts: report::parts(of).into_iter().map(part).collect(),
            path_ns: (!path.is_empty()).then(|| path.iter().map(|s| s.logic_ns + s.routing_ns).sum()),
            path,
            asked_ns: 1000.0 / of.summary.mhz,
            slack: timing.map_or(Vec::new(), |t| t.clocks.iter().map(slack).collect()),
            used: timing.map_or(Vec::new(), |t| t.utilisation.iter().map(used).collect()),
            drawing: (!floor.is_empty()).then(|| floor::svg(&floor)),
            floor,
        }
    }
}

/// The page of a synthesis.
pub fn page(data: &Data, detailed: &Detailed, kernels: &[Drawn], place: &str) -> Page {
    let names: Vec<&str> = kernels.iter().map(|kernel| &kernel.built.graph.name[..]).collect();
    let named = |name: &str, key: &str, quantity| (name.to_string(), data.cell(key, quantity));
    let first = [
        named("lookup tables", "lut", Quantity::Count),
        named("flip-flops", "ff", Quantity::Count),
        named("multipliers", "dsp", Quantity::Count),
        named("block memories", "bram", Quantity::Count),
        named("highest clock", "fmax_mhz", Quantity::Of("MHz")),
        named("clock asked for", "mhz", Quantity::Of("MHz")),
        named("pairs a second", "pairs_per_second", Quantity::Plain),
    ];
    let of = |(k, drawn): (usize, &Drawn)| page::sections(drawn, data, (k, kernels.len()));
    let drawing = detailed.details.as_ref().and_then(|details| details.drawing.as_ref());
    let plan = drawing.map_or(Vec::new(), |svg| vec![Block::Figure(floor::figure(svg, data))]);
    let mut sections = vec![area(data), clock(data), Section::new("Floor plan", plan)];
    sections.extend(kernels.iter().enumerate().flat_map(of));
    let met = data.at("timing_met").and_then(|met| met.as_bool());
    Page {
        title: format!("{} on {place}", names.join(" and ")),
        about: match met {
            Some(true) => "Every clock is met.".into(),
            Some(false) => "A clock is missed, or a path is not timed.".into(),
            None => "Synthesised, not placed.".into(),
        },
        first: first.into_iter().filter(|(_, cell)| cell.has_key()).collect(),
        sections,
    }
}

/// Area by part of a lane, and what is used of the device.
fn area(data: &Data) -> Section {
    let row = |k: usize| {
        let count = |key: &str| data.cell(&format!("parts/{k}/{key}"), Quantity::Count);
        let what = Cell::text(data.text(&format!("parts/{k}/what")));
        [what].into_iter().chain(["line", "lut", "carries", "ff", "dsp", "bram"].map(count)).collect()
    };
    let heads = ["part", "line", "lookup tables", "carry bits", "flip-flops", "multipliers", "memories"];
    let parts = Table {
        caption: "Parts of a lane, each synthesised apart".into(),
        heads: heads.map(String::from).into(),
        rows: (0..data.len("parts")).map(row).collect(),
    };
    let mut blocks = vec![Block::Table(parts)];
    if data.len("used") > 0 {
        let mut table = listed(
            data,
            "used",
            "Of the device",
            &[("used", Quantity::Count), ("available", Quantity::Count), ("part", Quantity::Part)],
        );
        table.heads.insert(0, "resource".into());
        let named = |(k, row): (usize, &mut Vec<Cell>)| row.insert(0, Cell::text(data.text(&format!("used/{k}/what"))));
        table.rows.iter_mut().enumerate().for_each(named);
        blocks.push(Block::Table(table));
    }
    Section::new("Area", blocks)
}

/// The slack of each clock, and the slowest path.
fn clock(data: &Data) -> Section {
    if data.len("slack") == 0 {
        return Section::new("Clock", Vec::new());
    }
    let row = |k: usize| {
        let at = |key: &str| format!("slack/{k}/{key}");
        let mhz = |key: &str| data.cell(&at(key), Quantity::Of("MHz"));
        vec![Cell::text(data.text(&at("clock"))), mhz("mhz"), mhz("fmax_mhz"), data.cell(&at("ns"), Quantity::Of("ns"))]
    };
    let heads = ["clock", "asked for", "reached", "slack"].map(String::from).into();
    let rows = (0..data.len("slack")).map(row).collect();
    let clocks = Table { caption: "Clocks".into(), heads, rows };
    let row = |k: usize| {
        let at = |key: &str| format!("path/{k}/{key}");
        let ns = |key: &str| data.cell(&at(key), Quantity::Of("ns"));
        let what = Cell::text(data.text(&at("what")));
        vec![what, data.cell(&at("cells"), Quantity::Count), ns("logic_ns"), ns("routing_ns")]
    };
    let heads = ["place", "cells", "in cells", "in wires"].map(String::from).into();
    let rows = (0..data.len("path")).map(row).collect();
    let path = Table { caption: "The slowest path, from register to register".into(), heads, rows };
    let named = |name: &str, key: &str| (name.to_string(), data.cell(key, Quantity::Of("ns")));
    let facts = vec![named("the slowest path", "path_ns"), named("the clock asked for", "asked_ns")];
    Section::new("Clock", vec![Block::Table(path), Block::Table(clocks), Block::Facts(facts)])
}
