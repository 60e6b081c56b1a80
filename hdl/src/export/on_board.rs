//! A board's project for its vendor's tool, from the Verilog to the bitstream.

use super::{Text, text};
use crate::board::{Board, Vendor};
use askama::Template;

/// The names of all files that any board's project has.
pub const PROJECT_FILES: [&str; 5] = [SCRIPT, VERILOG, "pins.xdc", "pins.tcl", CLOCK];
const SCRIPT: &str = "project.tcl";
const VERILOG: &str = "project.v";
const CLOCK: &str = "clock.sdc";

#[derive(Template)]
#[template(path = "export/board_vivado.tcl", escape = "none")]
struct Vivado<'a> {
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
#[template(path = "export/board_quartus.tcl", escape = "none")]
struct Quartus<'a> {
    made: &'a str,
    board: &'a Board,
    vendor: &'a Vendor,
    top: &'a str,
    script: &'a str,
    verilog: &'a str,
    pins: &'a str,
    clock: &'a str,
    bitstream: &'a str,
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
    let (made, bitstream) = (format!("Made by pairforge {version}"), vendor.bitstream());
    let (made, script, clock) = (made.as_str(), SCRIPT, CLOCK);
    let pins = if vendor.tool == "vivado" { "pins.xdc" } else { "pins.tcl" };
    let of = |name: &str, text: String| Text { name: name.into(), text };
    let mut all = vec![of(VERILOG, verilog), of(pins, board.constraints.into())];
    if vendor.tool == "vivado" {
        let vivado = Vivado { made, board, vendor, top, script, verilog: VERILOG, pins, bitstream };
        all.push(text(script.into(), vivado.render()));
    } else {
        let period = format!("{:.3}", 1000.0 / board.oscillator_mhz);
        all.push(text(clock.into(), Clock { made, board, period }.render()));
        let quartus = Quartus { made, board, vendor, top, script, verilog: VERILOG, pins, clock, bitstream };
        all.push(text(script.into(), quartus.render()));
    }
    all
}
