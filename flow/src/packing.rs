//! Packing of flip-flops: those behind a table of their own, and those that need an element or a place beside another's table.
//!
//! An element holds a table, or a step of a carry chain, and a flip-flop. A flip-flop whose data comes from that table takes
//! nothing more. Another one (behind a port, a flip-flop, a memory or a multiplier, or a second one behind one table) is
//! *register-only*: it takes an element, or the flip-flop of an element whose table leaves it a way in.

use crate::family::Family;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The properties of a netlist that the packing of its flip-flops depends on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Packing {
    /// Flip-flops without a table of their own.
    pub register_only: u64,
    /// Elements that could hold one of these beside their table.
    pub room: u64,
}

/// The names of a flip-flop's data pin.
const DATA: [&str; 4] = ["DI", "D", "d", "DATAIN"];
/// Outputs that stay in a carry chain.
const CARRIES: [&str; 3] = ["cout", "COUT", "CO"];

/// The packing of the module `top` of yosys's JSON, which has all of the design in it.
pub(crate) fn packing(family: &Family, netlist: &Value, top: &str) -> Packing {
    let cells: Vec<Cell> = netlist["modules"][top]["cells"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|c| Cell::of(family, c.1))
        .collect();
    // What drives each net: the index of its cell.
    let mut driver: HashMap<u64, usize> = HashMap::new();
    for (k, cell) in cells.iter().enumerate() {
        driver.extend(cell.nets("output").map(|(_, net)| (net, k)));
    }
    let mut own: HashSet<u64> = HashSet::new();
    let mut behind = vec![0; cells.len()];
    let (mut register_only, mut behind_choices) = (0, 0);
    for cell in cells.iter().filter(|c| c.counts.flip_flops > 0) {
        let net = DATA.iter().find_map(|pin| cell.connections[*pin][0].as_u64());
        let table = net.and_then(|net| Some((net, *driver.get(&net)?))).filter(|(_, k)| cells[*k].is_logic());
        match table.filter(|(net, _)| own.insert(*net)) {
            None => register_only += 1,
            Some((_, k)) if cells[k].counts.luts > 0 => behind[k] += 1,
            // A choice between tables: one of them gives its element.
            Some(_) => behind_choices += 1,
        }
    }
    let free = |(cell, taken): (&Cell, &u64)| match cell.leaves_way_in(family.way_in) {
        true => cell.counts.luts.saturating_sub(*taken),
        false => 0,
    };
    let room: u64 = cells.iter().zip(&behind).map(free).sum();
    Packing { register_only, room: room.saturating_sub(behind_choices) }
}

/// A cell that the family knows.
struct Cell<'a> {
    kind: &'a str,
    counts: crate::family::Counts,
    directions: &'a Value,
    connections: &'a Value,
}

impl<'a> Cell<'a> {
    fn of(family: &Family, cell: &'a Value) -> Option<Cell<'a>> {
        let kind = cell["type"].as_str()?;
        let known = family.cells.iter().find(|c| c.is(kind))?;
        Some(Cell {
            kind,
            counts: known.counts,
            directions: &cell["port_directions"],
            connections: &cell["connections"],
        })
    }

    /// The pins of a direction and their nets.
    fn nets(&self, direction: &'static str) -> impl Iterator<Item = (&'a str, u64)> {
        let directions = self.directions;
        let pins = self.connections.as_object().into_iter().flatten().filter(move |c| directions[c.0] == direction);
        pins.flat_map(|(pin, bits)| {
            bits.as_array().into_iter().flatten().filter_map(|b| Some((pin.as_str(), b.as_u64()?)))
        })
    }

    /// Whether what comes out of it comes from tables: its own, or those that a multiplexer or a chain stands behind.
    fn is_logic(&self) -> bool {
        self.counts.luts > 0 || self.kind.contains("MUX") || self.kind.contains("CARRY")
    }

    /// Whether a flip-flop beside its tables can take data of its own. An element that only lets a carry in holds none.
    fn leaves_way_in(&self, most_inputs: u64) -> bool {
        let value_leaves = self.nets("output").any(|(pin, _)| !CARRIES.contains(&pin));
        let inputs = self.nets("input").count() as u64;
        self.counts.luts > 0 && value_leaves && inputs <= most_inputs * self.counts.luts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cell(kind: &str, connections: Value) -> Value {
        let ports = connections.as_object().expect("ports").keys();
        let output = |p: &str| ["q", "Y", "sum", "cout", "Q", "O", "Z"].contains(&p);
        let directions: serde_json::Map<String, Value> =
            ports.map(|p| (p.clone(), json!(if output(p) { "output" } else { "input" }))).collect();
        json!({ "type": kind, "port_directions": directions, "connections": connections })
    }

    #[test]
    fn flip_flops_without_a_table_of_their_own_are_counted_with_the_room_for_them() {
        let family = |name| crate::family::family(name).expect("a family");
        let cells = json!({
            // A table with its flip-flop, and a second flip-flop behind it.
            "own": cell("$lut", json!({ "A": [2, 3], "Y": [10] })),
            "first": cell("dffeas", json!({ "d": [10], "q": [20] })),
            "second": cell("dffeas", json!({ "d": [10], "q": [21] })),
            // Two in a row, and one behind a port.
            "third": cell("dffeas", json!({ "d": [20], "q": [22] })),
            "fourth": cell("dffeas", json!({ "d": [4], "q": [23] })),
            // A table that leaves a way in, one that does not, a step of a chain, and one that lets a carry in.
            "small": cell("$lut", json!({ "A": [2, 3, 4], "Y": [11] })),
            "full": cell("$lut", json!({ "A": [2, 3, 4, 5], "Y": [12] })),
            "step": cell("pf_carry", json!({ "a": [2], "b": [3], "cin": [4], "sum": [13], "cout": [14] })),
            // A memory is no table.
            "memory": cell("$mem_v2", json!({ "Y": [16] })),
            "word": cell("dffeas", json!({ "d": [16], "q": [24] })),
            "into": cell("pf_carry", json!({ "a": [2], "b": ["0"], "cin": ["0"], "sum": [], "cout": [15] })),
        });
        let netlist = json!({ "modules": { "top": { "cells": cells } } });
        assert_eq!(packing(family("max10"), &netlist, "top"), Packing { register_only: 4, room: 2 });
        let cells = json!({
            "own": cell("SB_LUT4", json!({ "I0": [2], "O": [10] })),
            "first": cell("SB_DFFE", json!({ "D": [10], "Q": [20] })),
            "second": cell("SB_DFF", json!({ "D": [20], "Q": [21] })),
            "free": cell("SB_LUT4", json!({ "I0": [2], "O": [11] })),
        });
        let netlist = json!({ "modules": { "top": { "cells": cells } } });
        assert_eq!(packing(family("ice40"), &netlist, "top"), Packing { register_only: 1, room: 0 });
    }
}
