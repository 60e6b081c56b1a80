//! The page of `explore --report`: error against each cost, and all points.

use super::super::fmm::page::COLOURS;
use terminal::chart::{Axis, Chart, Series, Style};
use terminal::report::{Block, Cell, Data, Figure, Key, Page, Quantity, Section, Table};

/// The costs with their keys.
const COSTS: [(&str, &str); 4] = [
    ("register bits", "register_bits"),
    ("multiplier bits", "multiplier_bits"),
    ("table bits", "table_bits"),
    ("memory bits", "memory_bits"),
];

/// The page of an exploration.
pub fn page(data: &Data) -> Page {
    let named = |name: &str, key: &str, quantity| (name.to_string(), data.cell(key, quantity));
    let count = data.len("points");
    let first = vec![
        named("targets", "ni", Quantity::Count),
        named("sources", "nj", Quantity::Count),
        named("clock", "mhz", Quantity::Of("MHz")),
    ];
    let varied = data.words("vary").shown;
    let charts: Vec<Block> = COSTS.iter().filter_map(|cost| chart(data, *cost)).map(Block::Figure).collect();
    let mut notes = vec![
        "Errors are relative L2 errors against the real meaning of the file's own kernel in f64, the largest of its outputs.".to_string(),
        "On the front is a point if none is as exact and costs less.".to_string(),
    ];
    if data.len("reference_flags") > 0 {
        let flags = data.words("reference_flags").shown;
        notes.push(format!(
            "The file's own kernel raises {flags} on these data, also in f64; errors are measured against that."
        ));
    }
    Page {
        title: format!("{}: error against cost", data.text("kernel")),
        about: format!("{varied} varied, for {}", data.text("target")),
        first,
        sections: vec![
            Section::new("Error against cost", charts).with_notes(notes),
            Section::new("Points", if count > 0 { vec![Block::Table(points(data))] } else { Vec::new() }),
            Section::new("Not possible", failed(data)),
        ],
    }
}

/// The formats of a point.
fn written(data: &Data, k: usize) -> String {
    let of = |n: usize| data.text(&format!("points/{k}/written/{n}")).to_string();
    (0..data.len(&format!("points/{k}/written"))).map(of).collect::<Vec<_>>().join(", ")
}

fn is(data: &Data, k: usize, key: &str) -> bool {
    data.at(&format!("points/{k}/{key}")).and_then(|value| value.as_bool()).unwrap_or(false)
}

/// Error against a cost; none where no point has any of it.
fn chart(data: &Data, (name, key): (&str, &str)) -> Option<Figure> {
    let count = data.len("points");
    let number = |k: usize, key: &str| data.number(&format!("points/{k}/{key}")).unwrap_or(0.0);
    if (0..count).all(|k| number(k, key) == 0.0) {
        return None;
    }
    let series = |name: &str, colour: usize, style: Style, wanted: &dyn Fn(usize) -> bool| {
        let of = (0..count).filter(|k| wanted(*k));
        let mut all: Vec<(f64, f64, String)> =
            of.map(|k| (number(k, key), number(k, "error"), written(data, k))).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let words = all.iter().map(|point| point.2.clone()).collect();
        Series::new(name, colour, style, all.iter().map(|p| (p.0, p.1)).collect()).with_words(words)
    };
    let all = [
        series("others", COLOURS[0], Style::Marks, &|k| !is(data, k, "front") && !is(data, k, "as_written")),
        series("on the front", COLOURS[1], Style::Marks, &|k| is(data, k, "front") && !is(data, k, "as_written")),
        series("as the file has it", COLOURS[2], Style::Marks, &|k| is(data, k, "as_written")),
    ];
    let series: Vec<Series> = all.into_iter().filter(|s| !s.points.is_empty()).collect();
    let keys = series.iter().map(|s| Key { name: s.name.clone(), colour: s.colour }).collect();
    let caption = format!("Error against {name}");
    let (x, y) = (Axis::log(name), Axis::log("relative L2 error"));
    let chart = Chart { title: caption.clone(), note: String::new(), x, y, series, rules: Vec::new() };
    Some(Figure { caption, svg: chart.within(), keys, data: None, is_wide: false })
}

fn points(data: &Data) -> Table {
    let outputs = data.len("points/0/errors");
    let row = |k: usize| {
        let cell = |key: &str, quantity| data.cell(&format!("points/{k}/{key}"), quantity);
        let of = |n: usize| Cell::text(data.text(&format!("points/{k}/written/{n}")));
        let mut row: Vec<Cell> = (0..data.len("vary")).map(of).collect();
        let marks = [(is(data, k, "front"), "front"), (is(data, k, "as_written"), "the file's")];
        row.push(Cell::text(marks.iter().filter(|m| m.0).map(|m| m.1).collect::<Vec<_>>().join(", ")));
        row.push(cell("error", Quantity::Error));
        row.extend(COSTS.map(|(_, key)| cell(key, Quantity::Count)));
        row.extend(["multipliers", "cycles"].map(|key| cell(key, Quantity::Count)));
        let errors = |n: usize| ["rel_l2", "rel_max"].map(|key| cell(&format!("errors/{n}/{key}"), Quantity::Error));
        row.extend((0..outputs).flat_map(errors));
        row.push(data.words(&format!("points/{k}/flags")));
        row
    };
    let vary = (0..data.len("vary")).map(|n| data.text(&format!("vary/{n}")).to_string());
    let named = ["", "error"].into_iter().chain(COSTS.map(|c| c.0)).chain(["multipliers", "clocks"]).map(String::from);
    let output = |n: usize| data.text(&format!("points/0/errors/{n}/output")).to_string();
    let errors = (0..outputs).flat_map(|n| [format!("{} L2", output(n)), format!("{} largest", output(n))]);
    Table {
        caption: "All points; a head sorts them".into(),
        heads: vary.chain(named).chain(errors).chain(["flags".to_string()]).collect(),
        rows: (0..data.len("points")).map(row).collect(),
    }
}

/// Points that could not be run.
fn failed(data: &Data) -> Vec<Block> {
    let vary = data.len("vary");
    let row = |k: usize| {
        let number = |n: usize| data.cell(&format!("failed/{k}/numbers/{n}"), Quantity::Count);
        let reason = Cell::text(data.text(&format!("failed/{k}/reason")));
        (0..vary).map(number).chain([reason]).collect()
    };
    let rows: Vec<Vec<Cell>> = (0..data.len("failed")).map(row).collect();
    let heads = (0..vary).map(|n| data.text(&format!("vary/{n}")).to_string()).chain(["reason".to_string()]).collect();
    match rows.is_empty() {
        true => Vec::new(),
        false => vec![Block::Table(Table { caption: "Points that could not be run".into(), heads, rows })],
    }
}
