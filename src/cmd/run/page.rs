//! The page of `run --report`: flags by line of the source, and how much of their formats the values take.

use super::super::fmm::page::COLOURS;
use terminal::chart::{Axis, Extent, Extents};
use terminal::report::{Block, Cell, Data, Figure, Key, Listing, ListingLine, Page, Quantity, Section, Table};
use terminal::source::Kernel;

/// The page of a run's statistics.
pub fn page(kernel: &Kernel, data: &Data) -> Page {
    let named = |name: &str, key: &str, quantity| (name.to_string(), data.cell(key, quantity));
    let mut first = vec![
        named("targets", "ni", Quantity::Count),
        named("sources", "nj", Quantity::Count),
        named("pairs", "pairs", Quantity::Count),
        named("time", "seconds", Quantity::Seconds),
    ];
    if data.number("cycles").is_some() {
        first.push(named("clocks", "cycles", Quantity::Count));
        first.push(named("utilisation", "utilisation", Quantity::Part));
    }
    let about = match data.len("raised") {
        0 => "No target raised a flag.".to_string(),
        _ => format!("Flags that targets raised: {}.", data.words("flags").shown),
    };
    let sections = vec![values(data), flags(kernel, data), counts(data)];
    Page { title: format!("{} on {}", kernel.name, data.text("backend")), about, first, sections }
}

/// Flags, and the source with those that can arise at its lines.
fn flags(kernel: &Kernel, data: &Data) -> Section {
    let mut blocks = Vec::new();
    let all = data.len("raised");
    let row = |k: usize| {
        let key = |name: &str| format!("raised/{k}/{name}");
        let outputs = data.words(&key("outputs"));
        vec![Cell::text(data.text(&key("flag"))), data.cell(&key("targets"), Quantity::Count), outputs]
    };
    if all > 0 {
        let heads = ["flag", "targets that raised it", "outputs that it can belong to"].map(String::from).into();
        let (caption, rows) = ("Flags".into(), (0..all).map(row).collect());
        blocks.push(Block::Table(Table { caption, heads, rows }));
    }
    let notes = |number: usize| {
        let is_here = |k: &usize| {
            let at = |n: usize, name: &str| format!("raised/{k}/lines/{n}/{name}");
            (0..data.len(&format!("raised/{k}/lines"))).any(|n| {
                data.number(&at(n, "line")) == Some(number as f64) && data.text(&at(n, "file")) == kernel.origin
            })
        };
        (0..all).filter(is_here).map(|k| Cell::text(data.text(&format!("raised/{k}/flag")))).collect()
    };
    let line = |(k, text): (usize, &str)| ListingLine { number: k + 1, text: text.to_string(), notes: notes(k + 1) };
    let caption = match all {
        0 => kernel.origin.clone(),
        _ => format!("{}, with the flags that can arise at its lines", kernel.origin),
    };
    blocks.push(Block::Listing(Listing { caption, lines: kernel.text.lines().enumerate().map(line).collect() }));
    Section::new("Flags and source", blocks)
}

/// The columns of the table of values, with their keys.
const COLUMNS: [(&str, &str, Quantity); 10] = [
    ("line", "line", Quantity::Count),
    ("from", "from", Quantity::Plain),
    ("to", "to", Quantity::Plain),
    ("least magnitude", "least", Quantity::Plain),
    ("octaves to overflow", "headroom", Quantity::Plain),
    ("high bits", "high_bits", Quantity::Count),
    ("of", "high_bits_there", Quantity::Count),
    ("low bits", "low_bits", Quantity::Count),
    ("of", "low_bits_there", Quantity::Count),
    ("format's greatest", "most", Quantity::Plain),
];

/// Ranges of values within those of their formats; nothing without a profile.
fn values(data: &Data) -> Section {
    let all = data.len("profile/values");
    if all == 0 {
        return Section::new("Values", Vec::new());
    }
    let text = |k: usize, name: &str| data.text(&format!("profile/values/{k}/{name}")).to_string();
    let number = |k: usize, name: &str| data.number(&format!("profile/values/{k}/{name}"));
    let row = |k: usize| {
        let cell =
            |(_, key, quantity): &(&str, &str, Quantity)| data.cell(&format!("profile/values/{k}/{key}"), *quantity);
        let names = [text(k, "name"), text(k, "format")].map(Cell::text);
        names.into_iter().chain(COLUMNS.iter().map(cell)).collect()
    };
    let heads = ["value", "format"].into_iter().chain(COLUMNS.map(|c| c.0)).map(String::from).collect();
    let table = Table { caption: "Values".into(), heads, rows: (0..all).map(row).collect() };
    let extent = |k: usize| {
        let log = |name: &str| number(k, name).filter(|x| *x > 0.0).map(f64::log2);
        let most = [number(k, "from"), number(k, "to")].into_iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
        let own = log("least").map(|least| (least, most.log2()));
        let colour = if number(k, "headroom").is_some_and(|h| h < NEAR) { COLOURS[1] } else { COLOURS[0] };
        let within = (log("smallest")?, log("most")?);
        Some(Extent { name: text(k, "name"), about: text(k, "format"), colour, own, within })
    };
    let caption = "Magnitudes of the values, within what their formats hold".to_string();
    let rows = (0..all).filter_map(extent).collect();
    let svg = Extents { title: caption.clone(), x: Axis::linear("magnitude, as a power of two"), rows }.within();
    let keys = vec![
        Key { name: "values".into(), colour: COLOURS[0] },
        Key { name: "values within an octave of overflow".into(), colour: COLOURS[1] },
    ];
    let figure = Figure { caption, svg, keys, data: None, is_wide: false };
    let seen = vec![
        ("pairs looked at".to_string(), data.cell("profile/pairs", Quantity::Count)),
        ("of".to_string(), data.cell("profile/of", Quantity::Count)),
    ];
    let note = "High bits are those before the point, of floats those of the exponents; low bits those behind it, of floats those of the \
                fraction. Sums over all sources are not among the values: a sum that leaves its format raises wrap."
        .to_string();
    Section::new("Values", vec![Block::Figure(figure), Block::Facts(seen), Block::Table(table)]).with_notes(vec![note])
}

/// Octaves to overflow below which a value is marked.
const NEAR: f64 = 1.0;

/// The other statistics.
fn counts(data: &Data) -> Section {
    let all = [
        ("filters in front of a pipeline", "filters/each", Quantity::Count),
        ("pairs that passed them", "filters/passed", Quantity::Count),
        ("pipelines busy", "filters/busy", Quantity::Part),
        ("occupied cells", "cells/occupied", Quantity::Count),
        ("images of sources", "cells/images", Quantity::Count),
        ("segments", "cells/segments", Quantity::Count),
    ];
    let there = all.iter().filter(|(_, key, _)| data.number(key).is_some());
    let facts: Vec<(String, Cell)> = there.map(|(name, key, q)| (name.to_string(), data.cell(key, *q))).collect();
    Section::new("Counts", if facts.is_empty() { Vec::new() } else { vec![Block::Facts(facts)] })
}
