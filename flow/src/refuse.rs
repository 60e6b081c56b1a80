//! Warnings that go with a wrong circuit, and that the tools nevertheless go on from.

use crate::FlowError;
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

#[cfg(test)]
mod tests {
    use super::*;

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
