//! Exports of an engine for use in another design: a project of a vendor's tools, a component in another language, IP-XACT.
//!
//! All of it is text around the ports of the engine's top module, made by templates in `hdl/templates/export/`. Ports come
//! from the module itself, so that no text can name a port that the Verilog lacks.

mod alone;
pub mod axi;
mod component;
pub mod ipxact;
mod on_board;
mod project;

pub use alone::{ALONE_PINS, alone};
pub use component::{LANGUAGES, Language, language};
pub use on_board::{PROJECT_FILES, board_project};
pub use project::{TOOLS, Tool, tool};

use crate::rtl::netlist::{Dir, Module};

/// An engine whose Verilog stands in files.
pub struct Core<'a> {
    /// The top module; its ports count, and it need not have a body.
    pub top: &'a Module,
    /// Names of the Verilog files.
    pub files: &'a [String],
    /// The FPGA family that the pipelines are made for.
    pub target: &'a str,
    /// The clock in MHz.
    pub mhz: f64,
    /// Of this program.
    pub version: &'a str,
}

/// A file that was made: its name and its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    pub name: String,
    pub text: String,
}

/// A port as the templates see it.
struct Pin<'a> {
    name: &'a str,
    width: u32,
    is_input: bool,
}

impl Pin<'_> {
    fn is_clock(&self) -> bool {
        matches!(self.name, "clk" | "ap_clk")
    }
}

impl Core<'_> {
    fn pins(&self) -> Vec<Pin<'_>> {
        let ports = self.top.ports.iter();
        ports.map(|p| Pin { name: &p.name, width: p.width, is_input: p.dir == Dir::In }).collect()
    }

    /// The first line of every file, without the sign of a comment.
    fn made(&self) -> String {
        format!("Made by pairforge {}", self.version)
    }

    /// Width of the data of both streams.
    fn data_bits(&self) -> u32 {
        self.top.ports.iter().find(|p| p.name == "s_tdata").map_or(0, |p| p.width)
    }
}

/// A template's text; a final newline is added where it lacks one.
fn text(name: String, rendered: askama::Result<String>) -> Text {
    let mut text = rendered.expect("rendering into a string cannot fail");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Text { name, text }
}
