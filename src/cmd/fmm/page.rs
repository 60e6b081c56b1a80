//! The common parts of the tables of FMMs: the rows of stages as text, and the sections that pages of `--report` share.

use terminal::chart::{Axis, Bin, Chart, Columns, Series, Span, Spans, Style, Unit};
use terminal::report::{Block, Cell, Data, Figure, Key, Quantity, Section, Table};

/// A stage's row.
pub struct Row {
    pub stage: &'static str,
    pub what: &'static str,
    pub seconds: f64,
    pub pairs: Option<u64>,
    pub cycles: Option<u64>,
    pub utilisation: Option<f64>,
}

/// Seconds of a stage, to a microsecond where a GPU ran it.
pub fn seconds(x: f64, on_card: bool) -> String {
    if on_card { format!("{x:.6}") } else { format!("{x:.4}") }
}

/// A number, or a dash where there is none.
pub fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or("-".into(), show)
}

/// Rows as text, under their heads.
pub fn text(rows: Vec<Row>, on_card: bool) -> String {
    let width = rows.iter().map(|r| r.stage.len()).fold(6, usize::max);
    let mut out =
        format!("{:<width$} {:>10} {:>14} {:>14} {:>12}\n", "stage", "seconds", "pairs", "cycles", "utilisation");
    for r in rows {
        let (stage, seconds) = (r.stage, seconds(r.seconds, on_card));
        let [pairs, cycles] = [r.pairs, r.cycles].map(|count| or_dash(count, |c| c.to_string()));
        let utilisation = or_dash(r.utilisation, |u| format!("{u:.3}"));
        out += &format!("{stage:<width$} {seconds:>10} {pairs:>14} {cycles:>14} {utilisation:>12}\n");
    }
    out
}

/// The heads of rows of relative L2 errors: by truncation (where there is none, by rounding), the grid, the formats of P2P, those of
/// M2L, and of all.
pub const CAUSES: [&str; 5] = ["truncation", "grid", "P2P formats", "M2L formats", "all"];

/// The numbers that a reader of any FMM looks for first.
pub fn first(data: &Data) -> Vec<(String, Cell)> {
    let named = |name: &str, cell: Cell| (name.to_string(), cell);
    let mut first = vec![
        named("particles", data.cell("n", Quantity::Count)),
        named("time in all", data.cell("seconds/total", Quantity::Seconds)),
        named("order", data.cell("order", Quantity::Count)),
        named("levels of the tree", data.cell("levels", Quantity::Count)),
    ];
    if data.number("targets").is_some() {
        first.insert(1, named("targets", data.cell("targets", Quantity::Count)));
    }
    for (name, key) in
        [("error of the gradient", "error/gradient_rel_l2"), ("of the potential", "error/potential_rel_l2")]
    {
        if data.number(key).is_some() {
            first.push(named(name, data.cell(key, Quantity::Error)));
        }
    }
    if data.number("memory/peak").is_some() {
        first.push(named("memory, at most", data.cell("memory/peak", Quantity::Bytes)));
    }
    first
}

/// The time: what ran when and where, and the seconds of each stage.
pub fn time(data: &Data, rows: &[Row], notes: Vec<String>) -> Section {
    let mut blocks: Vec<Block> = timeline(data).into_iter().map(Block::Figure).collect();
    // Clocks are those of pipelines.
    let has_clocks = ["cycles/p2p", "cycles/m2l"].iter().any(|key| data.number(key).is_some());
    let columns = if has_clocks { &STAGES[..] } else { &STAGES[..CLOCKLESS] };
    let row = |row: &Row| {
        let key = row.stage.to_lowercase();
        let cell = |(_, group, quantity): &(&str, &str, Quantity)| data.cell(&format!("{group}/{key}"), *quantity);
        [row.stage, row.what].map(Cell::text).into_iter().chain(columns.iter().map(cell)).collect()
    };
    let mut rows: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    let total = [Cell::text("all"), Cell::text(""), data.cell("seconds/total", Quantity::Seconds)];
    rows.push(total.into_iter().chain((1..columns.len()).map(|_| Cell::text(""))).collect());
    let heads = ["stage", "of"].into_iter().chain(columns.iter().map(|c| c.0)).map(String::from).collect();
    blocks.push(Block::Table(Table { caption: "Stages".into(), heads, rows }));
    Section::new("Time", blocks).with_notes(notes)
}

/// The columns of the table of stages with their keys, and how many there are without pipelines.
const STAGES: [(&str, &str, Quantity); 4] = [
    ("time", "seconds", Quantity::Seconds),
    ("pairs", "pairs", Quantity::Count),
    ("clocks", "cycles", Quantity::Count),
    ("utilisation", "utilisation", Quantity::Part),
];
const CLOCKLESS: usize = 2;

/// The stages in time, from the key `timeline`.
fn timeline(data: &Data) -> Option<Figure> {
    let count = data.len("timeline");
    let text = |k: usize, name: &str| data.text(&format!("timeline/{k}/{name}")).to_string();
    let mut places: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for k in 0..count {
        let place = text(k, "on");
        let colour = places.iter().position(|p| *p == place).unwrap_or_else(|| {
            places.push(place.clone());
            places.len() - 1
        });
        let end = |name: &str| data.number(&format!("timeline/{k}/{name}")).unwrap_or(0.0);
        let (name, about) = (text(k, "stage"), format!("{} on {place}", text(k, "stage")));
        rows.push(Span { name, about, colour: COLOURS[colour % COLOURS.len()], start: end("start"), end: end("end") });
    }
    rows.sort_by(|a, b| a.start.total_cmp(&b.start));
    let cells = |k: usize| {
        let end = |name: &str| data.cell(&format!("timeline/{k}/{name}"), Quantity::Seconds);
        vec![Cell::text(text(k, "stage")), Cell::text(text(k, "on")), end("start"), end("end")]
    };
    let table = Table {
        caption: "Stages in time".into(),
        heads: ["stage", "on", "start", "end"].map(String::from).into(),
        rows: (0..count).map(cells).collect(),
    };
    let caption = "What ran when, since the tree was begun".to_string();
    let chart = Spans { title: caption.clone(), x: Axis::linear("time").of(Unit::Seconds), rows };
    let keys = places.into_iter().enumerate().map(|(k, name)| Key { name, colour: COLOURS[k % COLOURS.len()] });
    (count > 0).then(|| Figure {
        caption,
        svg: chart.within(),
        keys: keys.collect(),
        data: Some(table),
        is_wide: false,
    })
}

/// Colours of series on pages, in their order.
pub const COLOURS: [usize; 6] = [0, 4, 2, 3, 5, 6];

/// Interactions by level, from the key `by_level`.
pub fn levels(data: &Data) -> Option<Figure> {
    let count = data.len("by_level");
    let series = KINDS.iter().zip(COLOURS).filter_map(|((name, key), colour)| {
        let of = |k: usize| data.number(&format!("by_level/{k}/{key}")).unwrap_or(0.0);
        let points: Vec<(f64, f64)> = (0..count).map(|k| (k as f64, of(k))).filter(|p| p.1 > 0.0).collect();
        (!points.is_empty()).then(|| Series::new(*name, colour, Style::Line, points))
    });
    let series: Vec<Series> = series.collect();
    let row = |k: usize| {
        let of = |key: &str| data.cell(&format!("by_level/{k}/{key}"), Quantity::Count);
        let all = ["cells", "leaves", "particles", "m2l", "p2p", "m2p", "p2l"].map(of);
        std::iter::once(Cell { is_number: true, ..Cell::text(k.to_string()) }).chain(all).collect()
    };
    let heads =
        ["level", "cells", "leaves", "particles in leaves", "M2L", "P2P", "M2P", "P2L"].map(String::from).into();
    let table = Table { caption: "Tree and interactions by level".into(), heads, rows: (0..count).map(row).collect() };
    let caption = "Interactions by the level of the target's cell".to_string();
    let keys = series.iter().map(|s| Key { name: s.name.clone(), colour: s.colour }).collect();
    let (x, y) = (Axis::linear("level"), Axis::log("interactions"));
    let chart = Chart { title: caption.clone(), note: String::new(), x, y, series, rules: Vec::new() };
    (count > 0).then(|| Figure { caption, svg: chart.within(), keys, data: Some(table), is_wide: false })
}

/// Kinds of interactions and their keys.
const KINDS: [(&str, &str); 4] = [("M2L, cells", "m2l"), ("P2P, particles", "p2p"), ("M2P", "m2p"), ("P2L", "p2l")];

/// The spread of errors over targets, from the key `error_by_target`.
pub fn errors(data: &Data) -> Vec<Block> {
    let of = data.text("error_by_target/of").to_string();
    let histogram = "error_by_target/histogram";
    let number = |list: &str, k: usize, name: &str| data.number(&format!("{list}/{k}/{name}")).unwrap_or(0.0);
    let bin = |k: usize| Bin {
        from: number(histogram, k, "from"),
        to: number(histogram, k, "to"),
        height: number(histogram, k, "targets"),
    };
    let bins: Vec<Bin> = (0..data.len(histogram)).map(bin).collect();
    let mut blocks = Vec::new();
    if !bins.is_empty() {
        let caption = format!("Targets by the relative error of the {of}");
        let x = Axis::log(format!("relative error of the {of}"));
        let chart = Columns { title: caption.clone(), x, y: Axis::linear("targets"), colour: COLOURS[0], bins };
        let columns = [("from", Quantity::Error), ("to", Quantity::Error), ("targets", Quantity::Count)];
        let table = listed(data, histogram, &caption, &columns);
        blocks.push(Block::Figure(Figure {
            caption,
            svg: chart.within(),
            keys: Vec::new(),
            data: Some(table),
            is_wide: false,
        }));
    }
    let near = "error_by_target/by_distance";
    if data.len(near) > 0 {
        let middle = |k: usize| (number(near, k, "from") * number(near, k, "to")).sqrt();
        let points = |name: &str| (0..data.len(near)).map(|k| (middle(k), number(near, k, name))).collect();
        let series = vec![
            Series::new("largest", COLOURS[1], Style::Line, points("largest")),
            Series::new("median", COLOURS[0], Style::Line, points("median")),
        ];
        let keys = series.iter().map(|s| Key { name: s.name.clone(), colour: s.colour }).collect();
        let caption = format!("Relative error of the {of} by the distance to the nearest source");
        let (x, y) = (Axis::log("distance to the nearest source"), Axis::log("relative error"));
        let chart = Chart { title: caption.clone(), note: String::new(), x, y, series, rules: Vec::new() };
        let columns = [
            ("from", Quantity::Plain),
            ("to", Quantity::Plain),
            ("targets", Quantity::Count),
            ("median", Quantity::Error),
            ("largest", Quantity::Error),
        ];
        let table = listed(data, near, &caption, &columns);
        blocks.push(Block::Figure(Figure { caption, svg: chart.within(), keys, data: Some(table), is_wide: false }));
    }
    blocks
}

/// The objects of a list as a table, a column a key.
pub fn listed(data: &Data, list: &str, caption: &str, columns: &[(&str, Quantity)]) -> Table {
    let row = |k: usize| columns.iter().map(|(name, q)| data.cell(&format!("{list}/{k}/{name}"), *q)).collect();
    Table {
        caption: caption.into(),
        heads: columns.iter().map(|(name, _)| name.to_string()).collect(),
        rows: (0..data.len(list)).map(row).collect(),
    }
}

/// Facts by their keys; those that are not there are left out.
pub fn facts(data: &Data, named: &[(&str, &str, Quantity)]) -> Block {
    let there = named.iter().filter(|(_, key, _)| data.number(key).is_some());
    Block::Facts(there.map(|(name, key, quantity)| (name.to_string(), data.cell(key, *quantity))).collect())
}
