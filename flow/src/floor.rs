//! The floor plan: the tiles of the device in which the cells of a design are, from the netlist that nextpnr writes with their places.

use crate::FlowError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A cell and its tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlacedCell {
    /// Hierarchical.
    pub name: String,
    pub x: u32,
    pub y: u32,
}

#[derive(Deserialize)]
struct Netlist {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    cells: BTreeMap<String, Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    attributes: BTreeMap<String, serde_json::Value>,
}

/// Reads a netlist that nextpnr has written: all cells that have a place.
pub(crate) fn read(path: &Path) -> Result<Vec<PlacedCell>, FlowError> {
    let text = std::fs::read(path).map_err(FlowError::io(path))?;
    let netlist: Netlist = serde_json::from_slice(&text).map_err(FlowError::report(path))?;
    let cells = netlist.modules.into_values().flat_map(|module| module.cells);
    let placed = |(name, cell): (String, Cell)| {
        let (x, y) = tile(cell.attributes.get("NEXTPNR_BEL")?.as_str()?)?;
        Some(PlacedCell { name, x, y })
    };
    Ok(cells.filter_map(placed).collect())
}

/// The tile in the name of a place: `X12/Y34/SLICEA`, or `X12Y34/LUT0`.
fn tile(place: &str) -> Option<(u32, u32)> {
    let rest = place.strip_prefix('X')?;
    let (x, rest) = rest.split_once('Y')?;
    let y = rest.split('/').next()?;
    Some((x.trim_end_matches('/').parse().ok()?, y.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_tiles_of_their_places() {
        let text = r#"{ "creator": "nextpnr", "modules": { "top": { "ports": {}, "cells": {
            "engine.lane_0.a": { "type": "TRELLIS_COMB", "attributes": { "NEXTPNR_BEL": "X12/Y34/SLICEA.LUT0" } },
            "b": { "attributes": { "NEXTPNR_BEL": "X3Y40/LUT0", "src": "x.v:1" } },
            "unplaced": { "attributes": { "keep": "1" } },
            "odd": { "attributes": { "NEXTPNR_BEL": "PLL" } } } } } }"#;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("placed.json");
        std::fs::write(&path, text).expect("it is writable");
        let cell = |name: &str, x, y| PlacedCell { name: name.into(), x, y };
        assert_eq!(read(&path).unwrap(), [cell("b", 3, 40), cell("engine.lane_0.a", 12, 34)]);
        std::fs::write(&path, "{").expect("it is writable");
        assert!(matches!(read(&path), Err(FlowError::Report { .. })));
    }
}
