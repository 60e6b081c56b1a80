//! Lets steps of ECP5's carry chains do what tables in front of them do.
//!
//! A step has a table of four inputs for its sum bit, before the carry is added to it, and takes the carry that it makes itself from the
//! same table with the upper two inputs at 0. Yosys uses two or three of the inputs: so a gate in front of an addend, or a choice
//! between two values, fits in the step. A table is taken in only if it has no other reader, and if for all values of the signals
//! the step gives the same sum and the same carry as before: that is tried out, signal by signal.

use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Inputs of a table, and of one of the two steps of a `CCU2C`, whose pins have the step's number behind.
const PINS: [&str; 4] = ["A", "B", "C", "D"];
/// Most signals around a step that are looked at: more than four can be left only where the tables do not depend on some.
const MOST: usize = 6;

/// A bit that is read: a net or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bit {
    Net(u64),
    Constant(bool),
}

impl Bit {
    fn of(value: &Value) -> Bit {
        value.as_u64().map_or(Bit::Constant(value == "1"), Bit::Net)
    }
}

/// A table of four inputs: its bits, and what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Table {
    bits: u16,
    inputs: [Bit; 4],
}

impl Table {
    fn of(cell: &Value, parameter: &str, step: &str) -> Option<Table> {
        let bits = u16::from_str_radix(cell["parameters"][parameter].as_str()?.trim(), 2).ok()?;
        Some(Table { bits, inputs: PINS.map(|pin| Bit::of(&cell["connections"][format!("{pin}{step}")][0])) })
    }

    /// The inputs where the signals have the values that `known` says.
    fn index(&self, known: impl Fn(Bit) -> bool) -> u16 {
        self.inputs.iter().enumerate().map(|(k, b)| (known(*b) as u16) << k).sum()
    }

    fn at(&self, index: u16) -> bool {
        self.bits >> index & 1 == 1
    }
}

/// Takes tables into the steps of carry chains in the module `top` of yosys's JSON; how many.
pub(crate) fn take_in(netlist: &mut Value, top: &str) -> u64 {
    let Some(module) = netlist.get_mut("modules").and_then(|m| m.get_mut(top)) else { return 0 };
    let mut readers: HashMap<u64, u32> = HashMap::new();
    for port in module.get("ports").and_then(Value::as_object).into_iter().flat_map(|p| p.values()) {
        for net in port["bits"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            *readers.entry(net).or_default() += 1;
        }
    }
    let Some(cells) = module.get_mut("cells").and_then(Value::as_object_mut) else { return 0 };
    let mut tables: HashMap<u64, (String, Table)> = HashMap::new();
    for (name, cell) in cells.iter() {
        for (port, bits) in cell["connections"].as_object().into_iter().flatten() {
            for net in bits.as_array().into_iter().flatten().filter_map(Value::as_u64) {
                if cell["port_directions"][port] != "output" {
                    *readers.entry(net).or_default() += 1;
                } else if let Some(table) =
                    (cell["type"] == "LUT4" && port == "Z").then(|| Table::of(cell, "INIT", "")).flatten()
                {
                    tables.insert(net, (name.clone(), table));
                }
            }
        }
    }
    tables.retain(|net, _| readers.get(net) == Some(&1));
    let chains: Vec<String> = cells.iter().filter(|c| c.1["type"] == "CCU2C").map(|c| c.0.clone()).collect();
    let mut taken = 0;
    for name in chains {
        for step in ["0", "1"] {
            taken += into_step(cells, &name, step, &tables);
        }
    }
    taken
}

/// Takes as many tables into a step as fit in it.
fn into_step(cells: &mut Map<String, Value>, name: &str, step: &str, tables: &HashMap<u64, (String, Table)>) -> u64 {
    let cell = &cells[name];
    if cell["parameters"][format!("INJECT1_{step}")].as_str().is_none_or(|v| v.trim() != "NO") {
        return 0;
    }
    let Some(own) = Table::of(cell, &format!("INIT{step}"), step) else { return 0 };
    let before: Vec<(usize, &(String, Table))> = (0..4)
        .filter_map(|k| match own.inputs[k] {
            Bit::Net(net) => Some((k, tables.get(&net)?)),
            Bit::Constant(_) => None,
        })
        .collect();
    let mut choices: Vec<u32> = (1..1 << before.len()).collect();
    choices.sort_by_key(|c: &u32| std::cmp::Reverse(c.count_ones()));
    for choice in choices {
        let chosen: Vec<(usize, &(String, Table))> =
            before.iter().enumerate().filter(|(k, _)| choice >> k & 1 == 1).map(|(_, b)| *b).collect();
        let mut fronts = [None; 4];
        chosen.iter().for_each(|(k, front)| fronts[*k] = Some(front.1));
        let Some(found) = together(&own, &fronts) else { continue };
        let cell = &mut cells[name];
        cell["parameters"][format!("INIT{step}")] = json!(format!("{:016b}", found.bits));
        for (pin, bit) in PINS.iter().zip(found.inputs) {
            let value = match bit {
                Bit::Net(net) => json!([net]),
                Bit::Constant(high) => json!([if high { "1" } else { "0" }]),
            };
            cell["connections"][format!("{pin}{step}")] = value;
        }
        chosen.iter().for_each(|(_, front)| drop(cells.remove(&front.0)));
        return chosen.len() as u64;
    }
    0
}

/// The table of a step with the tables in front of its inputs taken in, if there is one.
fn together(own: &Table, fronts: &[Option<Table>; 4]) -> Option<Table> {
    let mut signals: Vec<u64> = Vec::new();
    for (front, input) in fronts.iter().zip(own.inputs) {
        for bit in front.map_or(vec![input], |f| f.inputs.to_vec()) {
            if let Bit::Net(net) = bit
                && !signals.contains(&net)
            {
                signals.push(net);
            }
        }
    }
    if signals.len() > MOST {
        return None;
    }
    // For each value of the signals the step's own bit, and the carry that it makes where that bit is 0.
    let wanted: Vec<(bool, Option<bool>)> = (0..1u32 << signals.len())
        .map(|value| {
            let known = |bit: Bit| match bit {
                Bit::Constant(high) => high,
                Bit::Net(net) => signals.iter().position(|s| *s == net).is_some_and(|k| value >> k & 1 == 1),
            };
            let input = |k: usize| fronts[k].map_or(known(own.inputs[k]), |f| f.at(f.index(known)));
            let index = (0..4).map(|k| (input(k) as u16) << k).sum();
            let sum = own.at(index);
            (sum, (!sum).then(|| own.at(index & 3)))
        })
        .collect();
    let matters = |k: &usize| (0..wanted.len()).any(|v| wanted[v] != wanted[v ^ 1 << k]);
    let live: Vec<usize> = (0..signals.len()).filter(matters).collect();
    orders(live.len()).into_iter().find_map(|pins| {
        // An input that nothing needs is high, so that the carry's part of the table is free.
        let mut inputs = [Bit::Constant(true); 4];
        live.iter().zip(&pins).for_each(|(k, pin)| inputs[*pin] = Bit::Net(signals[*k]));
        let mut bits: [Option<bool>; 16] = [None; 16];
        let mut set = |index: usize, bit: bool| *bits[index].get_or_insert(bit) == bit;
        for (value, (sum, carry)) in wanted.iter().enumerate() {
            let high = |pin: usize| match live.iter().zip(&pins).find(|(_, p)| **p == pin) {
                Some((k, _)) => value >> k & 1,
                None => 1,
            };
            let index = (0..4).map(|pin| high(pin) << pin).sum::<usize>();
            if !set(index, *sum) || !carry.is_none_or(|c| set(index & 3, c)) {
                return None;
            }
        }
        let bits = (0..16).map(|k| (bits[k].unwrap_or(false) as u16) << k).sum();
        Some(Table { bits, inputs })
    })
}

/// The ways to put so many signals on the four pins.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = if count > 4 { Vec::new() } else { vec![Vec::new()] };
    for _ in 0..count {
        let longer = |order: &Vec<usize>| {
            let free: Vec<usize> = (0..4).filter(|pin| !order.contains(pin)).collect();
            free.into_iter().map(|pin| order.iter().copied().chain([pin]).collect()).collect::<Vec<Vec<usize>>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[cfg(test)]
mod tests;
