//! The floor plan of a placed design: the tiles of the device by the part of the design that has most cells there.

use super::super::fmm::page::COLOURS;
use flow::floor::PlacedCell;
use flow::names::{self, Kernel};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use terminal::chart::escaped;
use terminal::report::{Cell, Data, Figure, Key, Quantity, Table};

/// A part of the design.
#[derive(Serialize)]
pub struct FloorPart {
    part: String,
    kind: &'static str,
    cells: usize,
    /// Those in which it has more cells than any other part.
    tiles: usize,
    #[serde(skip)]
    places: Vec<(u32, u32)>,
}

/// Kinds of parts, in the order of their colours.
const KINDS: [&str; 5] = ["operators", "delays", "flags and wires", "i registers, accumulators", "shell"];

/// Width of a tile in pixels.
const TILE: u32 = 6;

/// The parts of a design by their cells.
pub fn parts(cells: &[PlacedCell], kernels: &[Kernel]) -> Vec<FloorPart> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut tiles: BTreeMap<(u32, u32), BTreeMap<String, usize>> = BTreeMap::new();
    for cell in cells {
        let what = names::place(&cell.name, kernels).what;
        *tiles.entry((cell.x, cell.y)).or_default().entry(what.clone()).or_default() += 1;
        *counts.entry(what).or_default() += 1;
    }
    let mut places: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (tile, own) in &tiles {
        // Of several with as many cells the first by its name.
        let most = own.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        most.iter().for_each(|(what, _)| places.entry(what.as_str()).or_default().push(*tile));
    }
    let part = |(part, cells): (&String, &usize)| {
        let places = places.get(part.as_str()).cloned().unwrap_or_default();
        FloorPart { part: part.clone(), kind: kind(part), cells: *cells, tiles: places.len(), places }
    };
    counts.iter().map(part).collect()
}

/// The kind of a part, by the words that [`names::place`] has for it.
fn kind(part: &str) -> &'static str {
    match part {
        p if p.starts_with("delay of") => KINDS[1],
        p if p.starts_with("flags or wires") => KINDS[2],
        p if p.contains('`') => KINDS[0],
        p if p.contains("lane") => KINDS[3],
        _ => KINDS[4],
    }
}

/// The drawing, the device's first row at the bottom.
pub fn svg(parts: &[FloorPart]) -> String {
    let all = || parts.iter().flat_map(|part| &part.places);
    let (width, height) = all().fold((1, 1), |(w, h), (x, y)| (w.max(x + 1), h.max(y + 1)));
    let mut out = format!(
        "<svg viewBox=\"-2 -2 {} {}\" class=\"fits\" role=\"img\" aria-label=\"Floor plan\">\n\
         <rect x=\"-1\" y=\"-1\" width=\"{}\" height=\"{}\" class=\"frame\"/>\n",
        TILE * width + 4,
        TILE * height + 4,
        TILE * width + 2,
        TILE * height + 2
    );
    for part in parts.iter().filter(|part| !part.places.is_empty()) {
        let mut path = String::new();
        for (x, y) in &part.places {
            let _ = write!(path, "M{} {}h5v5h-5z", TILE * x, TILE * (height - 1 - y));
        }
        let colour = COLOURS[KINDS.iter().position(|k| *k == part.kind).unwrap_or(0)];
        let about = escaped(&format!("{}: {} cells, {} tiles", part.part, part.cells, part.tiles));
        let _ = writeln!(out, "<path d=\"{path}\" class=\"f{colour}\"><title>{about}</title></path>");
    }
    out + "</svg>\n"
}

/// The figure, with its numbers from the key `floor`.
pub fn figure(svg: &str, data: &Data) -> Figure {
    let row = |k: usize| {
        let at = |key: &str| format!("floor/{k}/{key}");
        let [part, kind] = ["part", "kind"].map(|key| Cell::text(data.text(&at(key))));
        vec![part, kind, data.cell(&at("cells"), Quantity::Count), data.cell(&at("tiles"), Quantity::Count)]
    };
    let heads = ["part", "kind", "cells", "tiles"].map(String::from).into();
    Figure {
        caption: "Tiles of the device, by the part that has most cells there".into(),
        svg: svg.to_string(),
        keys: KINDS.iter().zip(COLOURS).map(|(name, colour)| Key { name: name.to_string(), colour }).collect(),
        data: Some(Table { caption: "Parts".into(), heads, rows: (0..data.len("floor")).map(row).collect() }),
        is_wide: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_is_that_of_the_part_with_most_cells_in_it() {
        let cell = |name: &str, x, y| PlacedCell { name: name.into(), x, y };
        let cells = [
            cell("engine.lane_0.pipeline.wait_r2_d4.a", 1, 2),
            cell("engine.lane_0.pipeline.wait_r2_d4.b", 1, 2),
            cell("engine.lane_0.pipeline.wait_r2_d4.c", 3, 0),
            cell("engine.decode.a", 1, 2),
            cell("engine.decode.b", 0, 0),
        ];
        let found = parts(&cells, &[]);
        let of = |kind: &str| found.iter().find(|p| p.kind == kind).map(|p| (p.cells, p.tiles, p.places.clone()));
        assert_eq!(of("delays"), Some((3, 2, vec![(1, 2), (3, 0)])));
        assert_eq!(of("shell"), Some((2, 1, vec![(0, 0)])));
        let svg = svg(&found);
        // Row 2 is the topmost one, and column 3 the last.
        assert!(svg.contains("viewBox=\"-2 -2 28 22\"") && svg.contains("M6 0h5v5h-5z"), "{svg}");
    }
}
