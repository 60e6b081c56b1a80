use super::*;

/// The function of a table or a step's table as Lattice and yosys have it (`cells_sim.v`), written apart from the code above.
fn read(cell: &Value, parameter: &str, inputs: [u32; 4]) -> u32 {
    let bits: Vec<u32> =
        cell["parameters"][parameter].as_str().expect("bits").chars().rev().map(|c| (c == '1') as u32).collect();
    bits[(inputs[0] + 2 * inputs[1] + 4 * inputs[2] + 8 * inputs[3]) as usize]
}

/// The value of a bit: nets 2 to 9 are the signals, others are driven by tables.
fn value(cells: &Value, bit: &Value, signals: u32) -> u32 {
    let Some(net) = bit.as_u64() else { return (bit == "1") as u32 };
    if net < 10 {
        return signals >> (net - 2) & 1;
    }
    let table = cells.as_object().expect("cells").values().find(|c| c["connections"]["Z"][0] == net).expect("a driver");
    read(table, "INIT", PINS.map(|pin| value(cells, &table["connections"][pin][0], signals)))
}

/// Both sums and the carry of the chain's cell.
fn chain(netlist: &Value, signals: u32, carry: u32) -> [u32; 3] {
    let cells = &netlist["modules"]["top"]["cells"];
    let cell = &cells["chain"];
    let mut carry = carry;
    let mut out = [0; 3];
    for step in 0..2 {
        let inputs = PINS.map(|pin| value(cells, &cell["connections"][format!("{pin}{step}")][0], signals));
        let parameter = format!("INIT{step}");
        let (own, made) = (read(cell, &parameter, inputs), read(cell, &parameter, [inputs[0], inputs[1], 0, 0]));
        out[step] = own ^ carry;
        carry = ((1 - own) & 1) & made | own & carry;
    }
    out[2] = carry;
    out
}

fn table(bits: u16, inputs: [Value; 4], z: u64) -> Value {
    json!({
        "type": "LUT4", "parameters": { "INIT": format!("{bits:016b}") },
        "port_directions": { "A": "input", "B": "input", "C": "input", "D": "input", "Z": "output" },
        "connections": { "A": [inputs[0]], "B": [inputs[1]], "C": [inputs[2]], "D": [inputs[3]], "Z": [z] },
    })
}

/// An adder's two steps as yosys makes them, behind tables; nets 10 to 13 are what the tables drive.
fn netlist(fronts: &[Value], steps: [[Value; 4]; 2], ports: &[u64]) -> Value {
    let mut cell = json!({
        "type": "CCU2C", "port_directions": { "S0": "output", "S1": "output", "COUT": "output" },
        "parameters": { "INIT0": "1001011010101010", "INIT1": "1001011010101010", "INJECT1_0": "NO", "INJECT1_1": "NO" },
        "connections": { "CIN": [9], "S0": [90], "S1": [91], "COUT": [92] },
    });
    cell["port_directions"]["CIN"] = json!("input");
    for (k, step) in steps.iter().enumerate() {
        for (pin, bit) in PINS.iter().zip(step) {
            cell["connections"][format!("{pin}{k}")] = json!([bit]);
            cell["port_directions"][format!("{pin}{k}")] = json!("input");
        }
    }
    let mut cells = json!({ "chain": cell });
    fronts.iter().enumerate().for_each(|(k, front)| cells[format!("front_{k}")] = front.clone());
    json!({ "modules": { "top": { "ports": { "q": { "direction": "output", "bits": ports } }, "cells": cells } } })
}

fn net(n: u64) -> Value {
    json!(n)
}

fn low() -> Value {
    json!("0")
}

fn high() -> Value {
    json!("1")
}

/// The number of tables taken in, with the same sums and carry for all signals.
fn taken(before: &Value) -> u64 {
    let mut after = before.clone();
    let taken = take_in(&mut after, "top");
    for signals in 0..128 {
        for carry in 0..2 {
            assert_eq!(chain(&after, signals, carry), chain(before, signals, carry), "signals {signals:b}: {after}");
        }
    }
    let cells = |n: &Value| n["modules"]["top"]["cells"].as_object().expect("cells").len() as u64;
    assert_eq!(cells(&after) + taken, cells(before));
    taken
}

#[test]
fn a_choice_and_gates_in_front_of_addends_find_room() {
    // An addend that is one of two values, and one that is masked, with the other addend masked too.
    let choice = table(0xcaca, [net(2), net(3), net(4), low()], 10);
    let masked = table(0x8888, [net(2), net(3), low(), low()], 11);
    let cleared = table(0x2222, [net(4), net(5), low(), low()], 12);
    let steps = [[net(6), net(10), low(), high()], [net(11), net(12), low(), high()]];
    assert_eq!(taken(&netlist(&[choice.clone(), masked, cleared], steps, &[])), 3);
    // Tables read elsewhere too stay. Of two choices one fits: both would need six inputs.
    let steps = [[net(6), net(10), low(), high()], [net(6), net(7), low(), high()]];
    assert_eq!(taken(&netlist(std::slice::from_ref(&choice), steps, &[10])), 0);
    let other = table(0xcaca, [net(5), net(6), net(7), low()], 11);
    let steps = [[net(10), net(11), low(), high()], [net(6), net(7), low(), high()]];
    assert_eq!(taken(&netlist(&[choice, other], steps, &[])), 1);
}

#[test]
fn whatever_is_taken_in_sum_and_carry_stay() {
    let mut random = 7u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let mut all = 0;
    for _ in 0..400 {
        let mut front = |z: u64| {
            let inputs = [0; 4].map(|_| if below(2) == 0 { low() } else { net(2 + below(6)) });
            table(below(1 << 16) as u16, inputs, z)
        };
        let fronts: Vec<Value> = (10..14).map(&mut front).collect();
        let steps = [10, 12].map(|z| [net(z), net(z + 1), if below(2) == 0 { low() } else { net(8) }, high()]);
        all += taken(&netlist(&fronts, steps, &[]));
    }
    assert!(all > 100, "{all}");
}
