//! Wrong circuits that the tools give no error for: warnings that go with them, and what netlists show.

use crate::FlowError;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

/// A warning that ends the flow: a part of its text, and why.
struct Fatal {
    text: &'static str,
    why: &'static str,
}

/// The list; each of these was seen, or can only mean, that the netlist is not what the Verilog says.
const FATAL: &[Fatal] = &[
    // `synth_ice40 -dsp` drops a multiplier that stands before two registers, with no other sign.
    Fatal { text: "Driver-driver conflict", why: "a signal has two drivers, so the netlist is not the design" },
    Fatal { text: "multiple conflicting drivers", why: "a signal has two drivers, so the netlist is not the design" },
    Fatal { text: "is used but has no driver", why: "a signal is read that nothing drives" },
    Fatal { text: "found logic loop", why: "a feed-forward design has no loops" },
    Fatal { text: "combinational loop", why: "a feed-forward design has no loops" },
    Fatal { text: "Resizing cell port", why: "a port and what is connected to it differ in width" },
];

/// Fails on the first such warning in a log.
pub fn check(log: &Path) -> Result<(), FlowError> {
    let bytes = std::fs::read(log).map_err(FlowError::io(log))?;
    for (k, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        // Yosys names passes and options that speak of conflicts too; warnings alone count.
        let warns = line.to_ascii_lowercase().contains("warning");
        if let Some(fatal) = FATAL.iter().find(|f| warns && line.contains(f.text)) {
            let text = line.trim().to_string();
            return Err(FlowError::Refused { log: log.to_path_buf(), line: k + 1, text, why: fatal.why });
        }
    }
    Ok(())
}

/// A multiplier of iCE40: the inputs that count in every use of one.
const MULTIPLIER: &str = "SB_MAC16";
const OPERANDS: [&str; 4] = ["A", "B", "C", "D"];

/// Fails where a multiplier of iCE40 in the mapped netlist reads bits that nothing defines.
pub(crate) fn undefined(path: &Path, netlist: &Value, top: &str) -> Result<(), FlowError> {
    let module = &netlist["modules"][top];
    let bits = |list: &Value| list.as_array().into_iter().flatten().filter_map(Value::as_u64).collect::<Vec<u64>>();
    let multipliers: Vec<(&String, &Value)> = cells(module).filter(|(_, c)| c["type"] == MULTIPLIER).collect();
    if multipliers.is_empty() {
        return Ok(());
    }
    let mut driven: HashSet<u64> = HashSet::new();
    for port in module["ports"].as_object().into_iter().flatten().map(|(_, p)| p) {
        if port["direction"] != "output" {
            driven.extend(bits(&port["bits"]));
        }
    }
    for (_, cell) in cells(module) {
        for (port, net) in cell["connections"].as_object().into_iter().flatten() {
            if cell["port_directions"][port] != "input" {
                driven.extend(bits(net));
            }
        }
    }
    let is_undefined = |bit: &Value| *bit == "x" || bit.as_u64().is_some_and(|net| !driven.contains(&net));
    for (name, cell) in multipliers {
        let reads =
            |port: &&&str| cell["connections"][**port].as_array().is_some_and(|bits| bits.iter().any(is_undefined));
        if let Some(port) = OPERANDS.iter().find(reads) {
            let what = format!("the multiplier {name} reads bits at {port} that nothing drives");
            return Err(FlowError::Miscompiled { path: path.to_path_buf(), what });
        }
    }
    Ok(())
}

/// Fails where yosys has made fewer multipliers of iCE40 than it has found in the design, by its log.
pub(crate) fn lost_multipliers(log: &Path, netlist: &Value, top: &str) -> Result<(), FlowError> {
    let text = std::fs::read(log).map_err(FlowError::io(log))?;
    let text = String::from_utf8_lossy(&text);
    let found = text.lines().filter(|l| l.starts_with("Checking ") && l.ends_with(" for iCE40 DSP inference.")).count();
    // These stay as they are.
    let left = text.lines().filter(|l| l.starts_with("  ") && l.contains(" is too large (")).count();
    let made = cells(&netlist["modules"][top]).filter(|(_, c)| c["type"] == MULTIPLIER).count();
    if made + left < found {
        let what = format!("the netlist has {made} of the design's {found} multipliers");
        return Err(FlowError::Miscompiled { path: log.to_path_buf(), what });
    }
    Ok(())
}

/// The cells of a module, with their names.
fn cells(module: &Value) -> impl Iterator<Item = (&String, &Value)> {
    module["cells"].as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A netlist of a flip-flop and a multiplier whose addend has these bits.
    fn netlist(addend: Value) -> Value {
        let multiplier = json!({
            "type": "SB_MAC16",
            "port_directions": {"A": "input", "B": "input", "C": "input", "D": "input", "CI": "input", "O": "output"},
            "connections": {"A": [2, "0"], "B": [2, "1"], "C": addend, "D": [4], "CI": ["x"], "O": [3, 9]}
        });
        let register = json!({
            "type": "SB_DFF", "port_directions": {"D": "input", "Q": "output"}, "connections": {"D": [3], "Q": [4]}
        });
        let ports = json!({"a": {"direction": "input", "bits": [2]}, "q": {"direction": "output", "bits": [9, 7]}});
        json!({"modules": {"k": {"ports": ports, "cells": {"m": multiplier, "r": register}}}})
    }

    #[test]
    fn a_multiplier_that_reads_what_nothing_drives_is_refused() {
        let check = |addend: Value| undefined(Path::new("lane.json"), &netlist(addend), "k").map_err(|e| e.to_string());
        assert_eq!(check(json!([2, 4, "0"])), Ok(()));
        for wrong in [json!([2, "x"]), json!([5, 2]), json!([7])] {
            let error = check(wrong).expect_err("nothing drives it");
            assert!(error.contains("the multiplier m reads bits at C that nothing drives"), "{error}");
        }
    }

    #[test]
    fn a_multiplier_that_is_lost_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("lane.log");
        let one = "Checking k.$mul$1 for iCE40 DSP inference.\n";
        let check = |text: String| {
            std::fs::write(&log, text).unwrap();
            lost_multipliers(&log, &netlist(json!([4])), "k").map_err(|e| e.to_string())
        };
        assert_eq!(check(String::new()), Ok(()));
        assert_eq!(check(one.to_string()), Ok(()));
        assert_eq!(check(format!("{one}{one}  input A (4) is too large (17 > 16).\n")), Ok(()));
        assert!(check(one.repeat(2)).expect_err("lost").contains("the netlist has 1 of the design's 2 multipliers"));
    }

    #[test]
    fn a_fatal_warning_is_found_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("yosys.log");
        let warning =
            "Warning: Driver-driver conflict for \\p between cell $a.Q and $b.Q in m: Resolved using constant.";
        std::fs::write(&log, format!("12. Executing\nchecking Driver-driver conflict\n{warning}\nWarning: other\n"))
            .unwrap();
        match check(&log) {
            Err(FlowError::Refused { line: 3, text, .. }) => assert_eq!(text, warning),
            other => panic!("{other:?}"),
        }
        std::fs::write(&log, "Warning: other\nno Driver-driver conflict here\n").unwrap();
        check(&log).unwrap();
    }
}
