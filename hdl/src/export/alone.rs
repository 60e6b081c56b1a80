//! A small top for placing an engine alone: a shift register for its inputs and one for its outputs, so that it needs four
//! pins and its own paths are the longest.

use askama::Template;

/// The pins of [`alone`]'s module: the clock, two inputs and an output.
pub const ALONE_PINS: [&str; 4] = ["clk", "rst_in", "serial_in", "serial_out"];

#[derive(Template)]
#[template(path = "export/alone.v", escape = "none")]
struct Alone<'a> {
    top: &'a str,
    engine: &'a str,
    /// Bits of the data of a stream.
    bits: u32,
}

/// The Verilog of a top around the engine `engine` with streams of `bits` bits.
pub fn alone(top: &str, engine: &str, bits: u32) -> String {
    Alone { top, engine, bits }.render().expect("rendering into a string cannot fail") + "\n"
}
