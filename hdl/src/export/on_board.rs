//! A board's project for its vendor's tool, from the Verilog to the bitstream.

use super::{Text, text};
use crate::board::{Board, Vendor};
use askama::Template;

/// The names of all files that any board's project has.
pub const PROJECT_FILES: [&str; 5] = [SCRIPT, VERILOG, "pins.xdc", "pins.tcl", CLOCK];
const SCRIPT: &str = "project.tcl";
const VERILOG: &str = "project.v";
const CLOCK: &str = "clock.sdc";

/// A project as both tools' scripts have it.
#[derive(Clone, Copy)]
struct Project<'a> {
    made: &'a str,
    board: &'a Board,
    vendor: &'a Vendor,
    top: &'a str,
    script: &'a str,
    verilog: &'a str,
    pins: &'a str,
    bitstream: &'a str,
}

#[derive(Template)]
#[template(path = "export/board_vivado.tcl", escape = "none")]
struct Vivado<'a> {
    project: Project<'a>,
}

#[derive(Template)]
#[template(path = "export/board_quartus.tcl", escape = "none")]
struct Quartus<'a> {
    project: Project<'a>,
    clock: &'a str,
}

#[derive(Template)]
#[template(path = "export/board.sdc", escape = "none")]
struct Clock<'a> {
    made: &'a str,
    board: &'a Board,
    period: String,
}

impl Vendor {
    /// The command that runs a board's project.
    pub fn command(&self, dir: &str) -> String {
        match self.tool {
            "vivado" => format!("vivado -mode batch -source {dir}/{SCRIPT}"),
            _ => format!("quartus_sh -t {dir}/{SCRIPT}"),
        }
    }

    /// The file that it makes, beside the project.
    pub fn bitstream(&self) -> &'static str {
        if self.tool == "vivado" { "engine.bit" } else { "engine.rbf" }
    }
}

/// The files of the project of a design, its Verilog among them; none for a board whose bitstream open tools make.
pub fn board_project(board: &Board, top: &str, verilog: String, version: &str) -> Vec<Text> {
    let Some(vendor) = board.vendor else { return Vec::new() };
    let made = &format!("Made by pairforge {version}");
    let is_vivado = vendor.tool == "vivado";
    let pins = if is_vivado { "pins.xdc" } else { "pins.tcl" };
    let (script, bitstream) = (SCRIPT, vendor.bitstream());
    let project = Project { made, board, vendor, top, script, verilog: VERILOG, pins, bitstream };
    let of = |name: &str, text: String| Text { name: name.into(), text };
    let mut all = vec![of(VERILOG, verilog), of(pins, board.constraints.into())];
    if is_vivado {
        all.push(text(script.into(), Vivado { project }.render()));
    } else {
        let period = format!("{:.3}", 1000.0 / board.oscillator_mhz);
        all.push(text(CLOCK.into(), Clock { made, board, period }.render()));
        all.push(text(script.into(), Quartus { project, clock: CLOCK }.render()));
    }
    all
}
