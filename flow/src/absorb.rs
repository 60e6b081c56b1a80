//! Moves flip-flops of an ECP5 netlist into the registers that block memories and multipliers have of their own.
//!
//! Yosys leaves these registers unused. With them a memory's data comes .96 ns after the clock instead of 5.83, and a
//! product .74 ns instead of 3.9 ns behind its operands' flip-flops; and the flip-flops are saved. A register is moved
//! only where every bit of the port has one, on the block's clock, without enable, reset or initial value: what comes out
//! in each cycle stays the same.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A bit of a port of a cell.
type Pin = (String, String);

/// The cells absorbed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Absorbed {
    pub memories: u64,
    pub products: u64,
    pub operands: u64,
    pub flip_flops: u64,
}

/// The way from a multiplier's input registers to its output, at speed grade 6. Nextpnr times no path between the block's own
/// registers: this is the most that one takes.
pub(crate) const INNER_NS: f64 = 3.86;

struct Netlist<'a> {
    cells: &'a mut Map<String, Value>,
    /// The cell that drives each net, and the pins that read it; ports of the design read under an empty name.
    driver: HashMap<u64, String>,
    readers: HashMap<u64, Vec<Pin>>,
}

/// Moves registers in the module `top` of yosys's JSON.
pub(crate) fn absorb(netlist: &mut Value, top: &str) -> Absorbed {
    let mut done = Absorbed::default();
    let Some(module) = netlist.get_mut("modules").and_then(|m| m.get_mut(top)) else { return done };
    let mut readers: HashMap<u64, Vec<Pin>> = HashMap::new();
    for port in module.get("ports").and_then(Value::as_object).into_iter().flat_map(|p| p.values()) {
        for net in port["bits"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            readers.entry(net).or_default().push(Pin::default());
        }
    }
    let Some(cells) = module.get_mut("cells").and_then(Value::as_object_mut) else { return done };
    let mut driver = HashMap::new();
    for (name, cell) in cells.iter() {
        for (port, bits) in cell["connections"].as_object().into_iter().flatten() {
            for net in bits.as_array().into_iter().flatten().filter_map(Value::as_u64) {
                if cell["port_directions"][port] == "output" {
                    driver.insert(net, name.clone());
                } else {
                    readers.entry(net).or_default().push((name.clone(), port.clone()));
                }
            }
        }
    }
    let of_kind = |kind: &str| cells.iter().filter(|c| c.1["type"] == kind).map(|c| c.0.clone()).collect::<Vec<_>>();
    let (memories, multipliers) = (of_kind("DP16KD"), of_kind("MULT18X18D"));
    let mut n = Netlist { cells, driver, readers };
    for name in memories {
        for side in ["A", "B"] {
            let clock = n.net(&name, &format!("CLK{side}"));
            if let Some(moved) = n.outputs(&name, &format!("DO{side}"), 18, clock) {
                n.cells[&name]["parameters"][format!("REGMODE_{side}")] = json!("OUTREG");
                done.memories += 1;
                done.flip_flops += moved;
            }
        }
    }
    for name in multipliers {
        let Some(clock) = n.clock_behind(&name, "P", 36) else { continue };
        let Some(moved) = n.outputs(&name, "P", 36, Some(clock)) else { continue };
        done.products += 1;
        done.flip_flops += moved;
        let cell = &mut n.cells[&name];
        for (port, bit) in [("CLK0", json!(clock)), ("CE0", json!("1")), ("RST0", json!("0"))] {
            cell["connections"][port] = json!([bit]);
            cell["port_directions"][port] = json!("input");
        }
        cell["parameters"]["RESETMODE"] = json!("SYNC");
        n.use_register(&name, "OUTPUT");
        if let Some(moved) = n.operands(&name, clock) {
            n.use_register(&name, "INPUTA");
            n.use_register(&name, "INPUTB");
            done.operands += 1;
            done.flip_flops += moved;
        }
    }
    done
}

impl Netlist<'_> {
    /// The net at a port of one bit.
    fn net(&self, cell: &str, port: &str) -> Option<u64> {
        self.cells[cell]["connections"][port][0].as_u64()
    }

    fn read(&self, net: u64) -> &[Pin] {
        self.readers.get(&net).map_or(&[], Vec::as_slice)
    }

    /// Clock and data of a flip-flop that is nothing but a delay.
    fn delay(&self, name: &str) -> Option<(u64, u64)> {
        let cell = self.cells.get(name)?;
        let is = |key: &str, value: &str| cell["parameters"][key].as_str().is_some_and(|v| v.trim() == value);
        let free = |port: &str| matches!(cell["connections"][port][0].as_str(), None | Some("0"));
        let unreset = free("LSR") && self.net(name, "LSR").is_none();
        let plain = cell["type"] == "TRELLIS_FF" && is("CEMUX", "1") && is("CLKMUX", "CLK") && is("REGSET", "RESET");
        (plain && unreset).then_some(())?;
        Some((self.net(name, "CLK")?, self.net(name, "DI")?))
    }

    /// The clock of the flip-flops behind an output port.
    fn clock_behind(&self, name: &str, port: &str, width: u32) -> Option<u64> {
        let nets = (0..width).filter_map(|k| self.net(name, &format!("{port}{k}")));
        nets.filter_map(|net| self.read(net).first()).find_map(|pin| self.delay(&pin.0)).map(|d| d.0)
    }

    /// Takes in the flip-flops behind an output port, if each bit that is read has one of its own; how many.
    fn outputs(&mut self, name: &str, port: &str, width: u32, clock: Option<u64>) -> Option<u64> {
        let mut moves = Vec::new();
        for k in 0..width {
            let port = format!("{port}{k}");
            let Some(net) = self.net(name, &port) else { continue };
            match self.read(net) {
                [] => {}
                [(flip_flop, pin)] if pin == "DI" && self.delay(flip_flop).map(|d| d.0) == clock => {
                    moves.push((port, flip_flop.clone()));
                }
                _ => return None,
            }
        }
        for (port, flip_flop) in &moves {
            let q = self.net(flip_flop, "Q")?;
            self.cells[name]["connections"][port] = json!([q]);
            self.driver.insert(q, name.to_string());
            self.cells.remove(flip_flop);
        }
        (!moves.is_empty()).then_some(moves.len() as u64)
    }

    /// Takes in the flip-flops in front of both operands; those that others read as well stay for them. How many went.
    fn operands(&mut self, name: &str, clock: u64) -> Option<u64> {
        let mut moves = Vec::new();
        for (side, k) in ["A", "B"].iter().flat_map(|side| (0..18).map(move |k| (side, k))) {
            let port = format!("{side}{k}");
            let Some(net) = self.net(name, &port) else { continue };
            let flip_flop = self.driver.get(&net)?.clone();
            let (its_clock, data) = self.delay(&flip_flop)?;
            (its_clock == clock).then_some(())?;
            moves.push((port, net, flip_flop, data));
        }
        let mut gone = 0;
        for (port, net, flip_flop, data) in moves {
            self.cells[name]["connections"][&port] = json!([data]);
            self.readers.entry(data).or_default().push((name.to_string(), port.clone()));
            let left = self.readers.entry(net).or_default();
            left.retain(|pin| *pin != (name.to_string(), port.clone()));
            if left.is_empty() && self.cells.remove(&flip_flop).is_some() {
                self.readers.entry(data).or_default().retain(|pin| pin.0 != flip_flop);
                gone += 1;
            }
        }
        Some(gone)
    }

    fn use_register(&mut self, name: &str, register: &str) {
        let parameters = &mut self.cells[name]["parameters"];
        for (what, value) in [("CLK", "CLK0"), ("CE", "CE0"), ("RST", "RST0")] {
            parameters[format!("REG_{register}_{what}")] = json!(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flip_flop(data: u64, q: u64, enable: &str) -> Value {
        json!({
            "type": "TRELLIS_FF",
            "parameters": { "CEMUX": enable, "CLKMUX": "CLK", "REGSET": "RESET" },
            "port_directions": { "CLK": "input", "DI": "input", "LSR": "input", "Q": "output" },
            "connections": { "CLK": [2], "DI": [data], "LSR": ["0"], "Q": [q] },
        })
    }

    /// One bit times one bit between flip-flops, and a memory's bit with one behind it.
    fn netlist(enable: &str) -> Value {
        let block = |kind: &str, connections: Value| {
            let outputs = |p: &String| p.starts_with('P') || p.starts_with("DO");
            let direction = |p: &String| json!(if outputs(p) { "output" } else { "input" });
            let ports = connections.as_object().expect("ports").keys();
            let directions: Map<String, Value> = ports.map(|p| (p.clone(), direction(p))).collect();
            json!({ "type": kind, "parameters": {}, "port_directions": directions, "connections": connections })
        };
        json!({ "modules": { "top": {
            "ports": { "q": { "direction": "output", "bits": [16, 21, 11] } },
            "cells": {
                "a": flip_flop(10, 11, "1"),
                "b": flip_flop(12, 13, "1"),
                "m": block("MULT18X18D", json!({ "A0": [11], "A1": ["1"], "B0": [13], "P0": [15], "P1": [17] })),
                "p": flip_flop(15, 16, enable),
                "r": block("DP16KD", json!({ "CLKB": [2], "ADB0": [11], "DOB0": [20], "DOB1": [22] })),
                "d": flip_flop(20, 21, enable),
            },
        } } })
    }

    #[test]
    fn registers_beside_blocks_move_into_them() {
        let mut n = netlist("1 ");
        let done = absorb(&mut n, "top");
        // The flip-flop `a` stays for its other readers.
        assert_eq!(done, Absorbed { memories: 1, products: 1, operands: 1, flip_flops: 3 });
        let cells = &n["modules"]["top"]["cells"];
        assert_eq!(cells.as_object().expect("cells").keys().collect::<Vec<_>>(), ["a", "m", "r"]);
        assert_eq!(cells["m"]["connections"]["A0"], json!([10]));
        assert_eq!(cells["m"]["connections"]["B0"], json!([12]));
        assert_eq!(cells["m"]["connections"]["P0"], json!([16]));
        assert_eq!(cells["r"]["connections"]["DOB0"], json!([21]));
        assert_eq!(cells["r"]["parameters"]["REGMODE_B"], "OUTREG");
        for register in ["INPUTA", "INPUTB", "OUTPUT"] {
            assert_eq!(cells["m"]["parameters"][format!("REG_{register}_CLK")], "CLK0");
        }
    }

    #[test]
    fn a_register_with_an_enable_stays() {
        let mut n = netlist("CE");
        let before = n.clone();
        assert_eq!(absorb(&mut n, "top"), Absorbed::default());
        assert_eq!(n, before);
    }
}
