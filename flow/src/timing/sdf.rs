//! Delays of a placed and routed design: what nextpnr's `--sdf` wrote of its cells and wires.

use crate::FlowError;
use std::collections::HashMap;
use std::path::Path;

/// A pin: its cell's number, and its name.
pub(crate) type Pin = (usize, String);

/// The delays in a file, in nanoseconds, each the slowest that the file names.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    pub cells: Vec<Cell>,
    pub wires: Vec<Wire>,
}

#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub kind: String,
    pub name: String,
    /// Delays from a pin to a pin. From a clock, it is that of the data behind its edge.
    pub arcs: Vec<(String, String, f64)>,
    /// Set-up times of pins.
    pub setups: Vec<(String, f64)>,
}

#[derive(Debug)]
pub(crate) struct Wire {
    pub from: Pin,
    pub to: Pin,
    pub ns: f64,
}

/// Reads the file.
pub(crate) fn read(path: &Path) -> Result<Delays, FlowError> {
    let text = std::fs::read_to_string(path).map_err(FlowError::io(path))?;
    parse(&text).map_err(|reason| FlowError::Report { path: path.to_path_buf(), reason })
}

/// Nextpnr writes one entry a line: the file is read by lines. Its wires come before the cells that they join.
pub(crate) fn parse(text: &str) -> Result<Delays, String> {
    if !text.contains("(TIMESCALE 1ps)") {
        return Err("its delays are not in picoseconds".into());
    }
    let mut delays = Delays::default();
    let mut wires = Vec::new();
    let mut kind = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split([' ', '(', ')']).filter(|w| !w.is_empty()).collect();
        match words[..] {
            ["CELLTYPE", name] => kind = name.trim_matches('"').to_string(),
            ["INSTANCE", name] => {
                delays.cells.push(Cell { kind: std::mem::take(&mut kind), name: plain(name), ..Cell::default() });
            }
            ["INTERCONNECT", from, to, ref ns @ ..] => wires.push((from, to, slowest(ns)?)),
            ["IOPATH", from, to, ref ns @ ..] => {
                last(&mut delays)?.arcs.push((plain(from), plain(to), slowest(ns)?));
            }
            // Rising and falling edges of the pin, its clock's edge, set-up and hold.
            ["SETUPHOLD", _, pin, _, _, setup, _] => {
                let (pin, ns) = (plain(pin), slowest(&[setup])?);
                let setups = &mut last(&mut delays)?.setups;
                match setups.iter_mut().find(|s| s.0 == pin) {
                    Some(known) => known.1 = known.1.max(ns),
                    None => setups.push((pin, ns)),
                }
            }
            _ => {}
        }
    }
    let numbers: HashMap<&str, usize> = delays.cells.iter().enumerate().map(|(k, c)| (c.name.as_str(), k)).collect();
    let pin = |whole: &str| -> Result<Pin, String> {
        let (cell, pin) = whole.rsplit_once('/').ok_or_else(|| format!("`{whole}` names no pin of a cell"))?;
        let cell = plain(cell);
        let number = numbers.get(cell.as_str()).ok_or_else(|| format!("the cell `{cell}` is not in it"))?;
        Ok((*number, plain(pin)))
    };
    let wire = |(from, to, ns): (&str, &str, f64)| Ok(Wire { from: pin(from)?, to: pin(to)?, ns });
    delays.wires = wires.into_iter().map(wire).collect::<Result<_, String>>()?;
    Ok(delays)
}

fn last(delays: &mut Delays) -> Result<&mut Cell, String> {
    delays.cells.last_mut().ok_or_else(|| "a delay belongs to no cell".into())
}

/// A name without the escapes of the format.
fn plain(name: &str) -> String {
    name.replace('\\', "")
}

/// The slowest of times such as `201:216:231`.
fn slowest(times: &[&str]) -> Result<f64, String> {
    let numbers = times.iter().flat_map(|t| t.split(':'));
    let mut most: Option<f64> = None;
    for number in numbers {
        let ps: f64 = number.parse().map_err(|_| format!("`{number}` is no delay"))?;
        most = Some(most.map_or(ps, |m: f64| m.max(ps)));
    }
    most.map(|ps| ps / 1000.0).ok_or_else(|| "a delay has no time".into())
}
