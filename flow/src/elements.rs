//! Further functions of the logic elements of MAX 10 and Cyclone IV, applied to a netlist that yosys and ABC have mapped to tables,
//! carries and flip-flops, neither of which knows of them.
//!
//! - A flip-flop chooses between its own table's or carry's value and another signal by its synchronous load. A table that
//!   does nothing but choose so is dropped where a whole block of elements shares the choice.
//! - An element of a carry chain has two inputs beside the carry. Tables in front of it go into it as long as there are no
//!   more.
//! - A multiplier block has registers at its operands and at its product. Flip-flops there go into the block.
//!
//! The outputs in each cycle stay the same.

mod table;

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use table::{Bit, Table, binary, bit, text};

/// Flip-flops that share a synchronous load: it is a signal of a whole block of elements.
pub(crate) const BLOCK: usize = 16;

/// The signals that a synchronous load would take in: flip-flop, table, own value, loaded value.
type Load = (String, String, Bit, Bit);

/// The netlist of one module.
struct Netlist<'a> {
    cells: &'a mut Map<String, Value>,
    driver: HashMap<u64, String>,
    /// How many pins and ports read each net.
    readers: HashMap<u64, usize>,
}

/// Makes use of the elements in all modules of yosys's JSON.
pub(crate) fn fold(netlist: &mut Value) {
    for module in netlist["modules"].as_object_mut().into_iter().flat_map(|m| m.values_mut()) {
        let ports: Vec<u64> = module["ports"]
            .as_object()
            .into_iter()
            .flat_map(|p| p.values())
            .flat_map(|p| p["bits"].as_array().into_iter().flatten().filter_map(Value::as_u64))
            .collect();
        let Some(cells) = module.get_mut("cells").and_then(Value::as_object_mut) else { continue };
        let mut n = Netlist::new(cells, &ports);
        n.carries();
        n.loads();
        n.multipliers();
    }
}

impl<'a> Netlist<'a> {
    fn new(cells: &'a mut Map<String, Value>, ports: &[u64]) -> Netlist<'a> {
        let (mut driver, mut readers) = (HashMap::new(), HashMap::new());
        ports.iter().for_each(|net| *readers.entry(*net).or_insert(0) += 1);
        for (name, cell) in cells.iter() {
            for (port, bits) in cell["connections"].as_object().into_iter().flatten() {
                let drives = cell["port_directions"][port] == "output";
                for net in bits.as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    if drives {
                        driver.insert(net, name.clone());
                    } else {
                        *readers.entry(net).or_insert(0) += 1;
                    }
                }
            }
        }
        Netlist { cells, driver, readers }
    }

    fn of_kind(&self, kind: &str) -> Vec<String> {
        self.cells.iter().filter(|c| c.1["type"] == kind).map(|c| c.0.clone()).collect()
    }

    fn pin(&self, cell: &str, port: &str) -> Bit {
        bit(&self.cells[cell]["connections"][port][0])
    }

    fn connect(&mut self, cell: &str, port: &str, to: Bit) {
        if let Bit::Net(net) = self.pin(cell, port) {
            *self.readers.entry(net).or_insert(1) -= 1;
        }
        if let Bit::Net(net) = to {
            *self.readers.entry(net).or_insert(0) += 1;
        }
        self.cells[cell]["connections"][port] = json!([text(to)]);
    }

    /// Removes a cell that nothing reads any more.
    fn remove(&mut self, name: &str) {
        let Some(cell) = self.cells.remove(name) else { return };
        for (port, bits) in cell["connections"].as_object().into_iter().flatten() {
            if cell["port_directions"][port] == "input" {
                for net in bits.as_array().into_iter().flatten().filter_map(Value::as_u64) {
                    *self.readers.entry(net).or_insert(1) -= 1;
                }
            }
        }
    }

    /// The table that drives a net, and its cell.
    fn table(&self, net: Bit) -> Option<(String, Table)> {
        let Bit::Net(net) = net else { return None };
        let name = self.driver.get(&net)?;
        let cell = self.cells.get(name).filter(|c| c["type"] == "$lut")?;
        let inputs: Vec<Bit> = cell["connections"]["A"].as_array()?.iter().map(bit).collect();
        Some((name.clone(), Table::of(&inputs, binary(&cell["parameters"]["LUT"]))))
    }

    fn read_once(&self, net: Bit) -> bool {
        matches!(net, Bit::Net(net) if self.readers.get(&net) == Some(&1))
    }

    /// Tables in front of the elements of carry chains.
    fn carries(&mut self) {
        for name in self.of_kind("pf_carry") {
            let operands = ["a", "b"].map(|port| self.pin(&name, port));
            let tables = operands.map(|net| self.table(net).filter(|_| self.read_once(net)));
            // Both tables, or the one, or the other.
            for take in [[true, true], [true, false], [false, true]] {
                if (0..2).any(|k| take[k] && tables[k].is_none()) {
                    continue;
                }
                let taken = [0, 1].map(|k| tables[k].as_ref().filter(|_| take[k]));
                let own = [0, 1].map(|k| match taken[k] {
                    Some((_, table)) => table.clone(),
                    None => Table::of(&operands[k..=k], 2),
                });
                let mut nets: Vec<Bit> = own.iter().flat_map(|t| t.inputs.clone()).collect();
                nets.sort_unstable();
                nets.dedup();
                if nets.len() > 2 {
                    continue;
                }
                nets.resize(2, Bit::Zero);
                self.fold_into_carry(&name, &own, &nets);
                for (table, _) in taken.into_iter().flatten() {
                    self.remove(table);
                }
                break;
            }
        }
    }

    /// Makes `nets` the operands of an element whose operands were these tables.
    fn fold_into_carry(&mut self, name: &str, own: &[Table; 2], nets: &[Bit]) {
        let value = |t: &Table, k: usize| {
            let set = |b: &Bit| nets.iter().position(|n| n == b).is_some_and(|p| k >> p & 1 == 1);
            let at: u32 = t.inputs.iter().enumerate().map(|(p, b)| (set(b) as u32) << p).sum();
            t.values >> at & 1
        };
        for parameter in ["SUM", "CARRY"] {
            let old = binary(&self.cells[name]["parameters"][parameter]);
            let at = |k: usize| value(&own[0], k) | value(&own[1], k) << 1 | (k as u32 & 4);
            let new: u32 = (0..8).map(|k| (old >> at(k) & 1) << k).sum();
            self.cells[name]["parameters"][parameter] = json!(format!("{new:08b}"));
        }
        self.connect(name, "a", nets[0]);
        self.connect(name, "b", nets[1]);
    }

    /// Tables that choose what a flip-flop takes.
    fn loads(&mut self) {
        // Elements whose own flip-flop is in use.
        let flip_flops = self.of_kind("dffeas");
        let mut packed: HashSet<Bit> = flip_flops.iter().map(|f| self.pin(f, "d")).collect();
        loop {
            // By the choice: its net, and the value that loads.
            let mut choices: BTreeMap<(Bit, bool), Vec<Load>> = BTreeMap::new();
            for name in flip_flops.iter().filter(|f| self.pin(f, "sload") == Bit::Zero) {
                let data = self.pin(name, "d");
                let Some((cell, table)) = self.table(data).filter(|_| self.read_once(data)) else { continue };
                for (k, input) in table.inputs.iter().enumerate() {
                    for loads in [false, true] {
                        let value = |v: bool| table.cofactor(k, if v { Bit::One } else { Bit::Zero }).plain();
                        let (Some(own), Some(loaded)) = (value(!loads), value(loads)) else { continue };
                        if self.free(own) && !packed.contains(&own) {
                            choices.entry((*input, loads)).or_default().push((name.clone(), cell.clone(), own, loaded));
                        }
                    }
                }
            }
            let most = choices.into_iter().map(|(choice, mut taken)| {
                // One flip-flop an element.
                let mut seen = HashSet::new();
                taken.retain(|t| seen.insert(t.2));
                (choice, taken)
            });
            let Some(((net, loads), taken)) = most.max_by_key(|(_, taken)| taken.len()) else { return };
            if taken.len() < BLOCK {
                return;
            }
            let load = if loads { net } else { self.inverted(net) };
            for (flip_flop, table, own, loaded) in taken {
                packed.insert(own);
                self.connect(&flip_flop, "d", own);
                self.connect(&flip_flop, "asdata", loaded);
                self.connect(&flip_flop, "sload", load);
                self.remove(&table);
            }
        }
    }

    /// Whether a bit is made by the table or carry of an element.
    fn free(&self, bit: Bit) -> bool {
        let Bit::Net(net) = bit else { return false };
        let Some(cell) = self.driver.get(&net).and_then(|d| self.cells.get(d)) else { return false };
        cell["type"] == "$lut" || cell["type"] == "pf_carry"
    }

    /// The inverse of a net, by a table of its own.
    fn inverted(&mut self, net: Bit) -> Bit {
        let new = self.driver.keys().chain(self.readers.keys()).max().map_or(2, |n| n + 1);
        let name = format!("$load_not${new}");
        self.cells.insert(
            name.clone(),
            json!({
                "hide_name": 1, "type": "$lut", "attributes": {},
                "parameters": { "LUT": "01", "WIDTH": "00000000000000000000000000000001" },
                "port_directions": { "A": "input", "Y": "output" },
                "connections": { "A": [text(net)], "Y": [new] },
            }),
        );
        self.driver.insert(new, name);
        if let Bit::Net(net) = net {
            *self.readers.entry(net).or_insert(0) += 1;
        }
        Bit::Net(new)
    }

    /// Whether a flip-flop is nothing but a delay.
    fn delay(&self, name: &str) -> bool {
        let one = |port: &str| self.pin(name, port) == Bit::One;
        let none = |port: &str| self.pin(name, port) == Bit::Zero;
        let plain = self.cells.get(name).is_some_and(|c| c["type"] == "dffeas");
        plain && ["ena", "clrn", "prn"].iter().all(|p| one(p)) && ["sclr", "sload", "aload"].iter().all(|p| none(p))
    }

    /// Flip-flops beside multiplier blocks, where every bit of a port has one. The block's registers are parameters of the
    /// cell: what it computes is the function of [`crate::yosys`]'s cell with those registers in front of and behind it.
    fn multipliers(&mut self) {
        let data: HashMap<u64, String> = self
            .of_kind("dffeas")
            .into_iter()
            .filter_map(|f| match self.pin(&f, "d") {
                Bit::Net(net) => Some((net, f)),
                _ => None,
            })
            .collect();
        for name in self.of_kind("pf_mul18") {
            let bits = |n: &Netlist, port: &str| -> Vec<Bit> {
                n.cells[&name]["connections"][port].as_array().into_iter().flatten().map(bit).collect()
            };
            let product = bits(self, "Y");
            let behind = |n: &Netlist, b: &Bit| match b {
                Bit::Net(net) if n.readers.get(net).is_some_and(|r| *r > 0) => {
                    Some(data.get(net).filter(|f| n.read_once(*b) && n.delay(f)).cloned())
                }
                _ => None,
            };
            let read: Vec<Option<String>> = product.iter().filter_map(|b| behind(self, b)).collect();
            if !read.is_empty() && read.iter().all(Option::is_some) {
                let clock = self.pin(read[0].as_ref().expect("it is given"), "clk");
                self.register(&name, "Y", clock);
                for (k, b) in product.iter().enumerate() {
                    let Some(Some(flip_flop)) = behind(self, b) else { continue };
                    let q = self.pin(&flip_flop, "q");
                    self.remove(&flip_flop);
                    self.cells[&name]["connections"]["Y"][k] = text(q);
                    if let Bit::Net(q) = q {
                        self.driver.insert(q, name.clone());
                    }
                }
            }
            for side in ["A", "B"] {
                let operand = bits(self, side);
                let front: Option<Vec<(usize, String)>> = (0..)
                    .zip(&operand)
                    .filter_map(|(k, b)| match b {
                        Bit::Net(net) => Some(self.driver.get(net).filter(|f| self.delay(f)).map(|f| (k, f.clone()))),
                        _ => None,
                    })
                    .collect();
                let Some(front) = front.filter(|f| !f.is_empty()) else { continue };
                let clock = self.pin(&front[0].1, "clk");
                self.register(&name, side, clock);
                for (k, flip_flop) in front {
                    let (from, to) = (operand[k], self.pin(&flip_flop, "d"));
                    self.cells[&name]["connections"][side][k] = text(to);
                    for (b, by) in [(from, -1), (to, 1)] {
                        if let Bit::Net(net) = b {
                            let count = self.readers.entry(net).or_insert(0);
                            *count = count.saturating_add_signed(by);
                        }
                    }
                    // Other readers keep theirs.
                    if matches!(from, Bit::Net(net) if self.readers[&net] == 0) {
                        self.remove(&flip_flop);
                    }
                }
            }
        }
    }

    /// Notes that a port of a multiplier block goes through its register.
    fn register(&mut self, name: &str, port: &str, clock: Bit) {
        let cell = &mut self.cells[name];
        cell["parameters"][format!("{port}_REGISTERED")] = json!("1");
        cell["connections"]["CLK"] = json!([text(clock)]);
        cell["port_directions"]["CLK"] = json!("input");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: &str, parameters: Value, connections: Value) -> Value {
        let ports = connections.as_object().expect("ports").keys();
        let output = |p: &str| ["q", "Y", "sum", "cout"].contains(&p);
        let directions: Map<String, Value> =
            ports.map(|p| (p.clone(), json!(if output(p) { "output" } else { "input" }))).collect();
        json!({ "type": kind, "parameters": parameters, "port_directions": directions, "connections": connections })
    }

    fn table(inputs: &[u64], values: &str, out: u64) -> Value {
        cell("$lut", json!({ "LUT": values }), json!({ "A": inputs, "Y": [out] }))
    }

    fn flip_flop(d: u64, q: u64, enable: &str) -> Value {
        let connections = json!({
            "clk": [2], "d": [d], "q": [q], "ena": [enable], "clrn": ["1"], "prn": ["1"],
            "asdata": ["0"], "aload": ["0"], "sclr": ["0"], "sload": ["0"],
        });
        cell("dffeas", json!({}), connections)
    }

    fn folded(cells: Map<String, Value>, outputs: &[u64]) -> Map<String, Value> {
        let mut netlist = json!({ "modules": { "top": {
            "ports": { "o": { "direction": "output", "bits": outputs } }, "cells": cells,
        } } });
        fold(&mut netlist);
        netlist["modules"]["top"]["cells"].as_object().expect("cells").clone()
    }

    fn count(cells: &Map<String, Value>, kind: &str) -> usize {
        cells.values().filter(|c| c["type"] == kind).count()
    }

    /// `bits` flip-flops that take all ones where net 3 is set, and else what a table makes of nets 4 and 5.
    fn bounded(bits: u64) -> Map<String, Value> {
        let mut cells = Map::new();
        for k in 0..bits {
            cells.insert(format!("own{k}"), table(&[4, 5], "0110", 100 + k));
            cells.insert(format!("bound{k}"), table(&[3, 100 + k], "1110", 200 + k));
            cells.insert(format!("ff{k}"), flip_flop(200 + k, 300 + k, "1"));
        }
        cells
    }

    #[test]
    fn a_block_of_flip_flops_chooses_by_its_load() {
        let cells = folded(bounded(16), &(300..316).collect::<Vec<_>>());
        assert_eq!((count(&cells, "$lut"), count(&cells, "dffeas")), (16, 16));
        let pins = |port: &str| &cells["ff7"]["connections"][port];
        assert_eq!((pins("d"), pins("asdata"), pins("sload")), (&json!([107]), &json!(["1"]), &json!([3])));
    }

    #[test]
    fn fewer_flip_flops_keep_their_tables() {
        assert_eq!(folded(bounded(15), &(300..315).collect::<Vec<_>>()).len(), 45);
    }

    #[test]
    fn what_another_flip_flop_takes_is_no_element_of_its_own() {
        let mut cells = bounded(16);
        cells.insert("other".into(), flip_flop(100, 400, "1"));
        assert_eq!(count(&folded(cells, &(300..316).chain([400]).collect::<Vec<_>>()), "$lut"), 32);
    }

    #[test]
    fn a_table_of_two_inputs_goes_into_a_carry() {
        // (x ^ s) + cin, and a sum of two others, which leaves no input for a third.
        let carry = |a: Value, b: Value, sum: u64| {
            let parameters = json!({ "SUM": "10010110", "CARRY": "11101000" });
            cell("pf_carry", parameters, json!({ "a": [a], "b": [b], "cin": [9], "sum": [sum], "cout": [sum + 1] }))
        };
        let mut cells = Map::new();
        cells.insert("turned".into(), table(&[3, 4], "0110", 10));
        cells.insert("alone".into(), carry(json!(10), json!("0"), 20));
        cells.insert("also_turned".into(), table(&[3, 4], "0110", 11));
        cells.insert("full".into(), carry(json!(11), json!(5), 30));
        let cells = folded(cells, &[20, 21, 30, 31]);
        assert_eq!(cells.keys().collect::<Vec<_>>(), ["alone", "also_turned", "full"]);
        let alone = &cells["alone"];
        assert_eq!((&alone["connections"]["a"], &alone["connections"]["b"]), (&json!([3]), &json!([4])));
        // With cin clear the sum is x ^ s and there is no carry; with it set both are the other way round.
        assert_eq!(
            (&alone["parameters"]["SUM"], &alone["parameters"]["CARRY"]),
            (&json!("10010110"), &json!("01100000"))
        );
    }

    #[test]
    fn registers_of_multipliers_are_theirs_where_every_bit_has_one() {
        let product = |enable: &str| {
            let mut cells = Map::new();
            cells.insert(
                "m".into(),
                cell("pf_mul18", json!({}), json!({ "A": [10, "1"], "B": [11], "Y": [20, 21, 22] })),
            );
            for (name, d, q) in [("a", 5, 10), ("b", 6, 11), ("p", 20, 30), ("r", 21, 31)] {
                cells.insert(name.into(), flip_flop(d, q, if name == "r" { enable } else { "1" }));
            }
            cells
        };
        // The flip-flop `b` stays for its other reader.
        let cells = folded(product("1"), &[30, 31, 11]);
        assert_eq!(cells.keys().collect::<Vec<_>>(), ["b", "m"]);
        let pins = &cells["m"]["connections"];
        assert_eq!((&pins["A"], &pins["B"], &pins["Y"]), (&json!([5, "1"]), &json!([6]), &json!([30, 31, 22])));
        let cells = folded(product("7"), &[30, 31, 11]);
        assert_eq!(cells.keys().collect::<Vec<_>>(), ["b", "m", "p", "r"]);
    }
}
