//! A small top for placing an engine alone: a shift register for its inputs and one for its outputs, so that it needs four
//! pins and its own paths are the longest.

use std::fmt::Write as _;

/// Name of the wrapper's module.
pub const TOP: &str = "pairforge_alone";

/// The pins of [`verilog`]'s module.
pub const PINS: [&str; 4] = ["clk", "rst_in", "serial_in", "serial_out"];

/// The wrapper around the engine `engine` with streams of `bits` bits.
pub fn verilog(engine: &str, bits: u32) -> String {
    // valid, last and ready of the streams beside their data.
    let (inputs, outputs) = (bits + 3, bits + 3);
    let mut text = String::new();
    let _ = write!(
        text,
        "// The engine alone: every input and output of it is a register here.
module {TOP} (
    input  wire clk,
    input  wire rst_in,
    input  wire serial_in,
    output reg  serial_out
);
    reg rst_1, rst;
    reg [{i}:0] shift_in, in;
    reg [{o}:0] out, shift_out;
    wire [{o}:0] from;
    always @(posedge clk) begin
        rst_1 <= rst_in;
        rst <= rst_1;
        shift_in <= {{shift_in[{i1}:0], serial_in}};
        in <= shift_in;
        out <= from;
        // A word is taken whenever a marker arrives at the end of the input's register.
        shift_out <= shift_in[{i}] ? out : {{shift_out[{o1}:0], 1'b0}};
        serial_out <= shift_out[{o}];
    end
    {engine} engine (
        .clk(clk),
        .rst(rst),
        .s_tdata(in[{b1}:0]),
        .s_tvalid(in[{bits}]),
        .s_tlast(in[{b_1}]),
        .m_tready(in[{b_2}]),
        .s_tready(from[{b_2}]),
        .m_tdata(from[{b1}:0]),
        .m_tvalid(from[{bits}]),
        .m_tlast(from[{b_1}])
    );
endmodule
",
        i = inputs - 1,
        o = outputs - 1,
        i1 = inputs - 2,
        o1 = outputs - 2,
        b1 = bits - 1,
        b_1 = bits + 1,
        b_2 = bits + 2,
    );
    text
}
