//! A memory that is written while nothing else happens, and read through a register.
//!
//! One port writes it: from the high bit on whether a word is written, the word's number, and the word.

use super::memory::{attributes, block_width};
use super::netlist::{Dir, Item, Module, range};
use std::fmt::Write as _;

/// Bits of the numbers below `depth`; at least 1.
pub fn address_bits(depth: u32) -> u32 {
    (32 - (depth.max(2) - 1).leading_zeros()).max(1)
}

/// Bits of the port that writes a memory of `depth` words of `width` bits.
pub fn port_bits(width: u32, depth: u32) -> u32 {
    1 + address_bits(depth) + width
}

/// The module of such a memory: ports `clk`, `write`, `addr` and `q`, which shows the word a clock after its number.
pub fn module(width: u32, depth: u32) -> Module {
    let (bits, total) = (address_bits(depth), port_bits(width, depth));
    let mut m = Module { name: format!("table_{width}x{depth}"), latency: 1, ..Module::default() };
    m.doc.push(format!("A table of {depth} words of {width} bits, loaded at run time."));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "write", total);
    m.port(Dir::In, "addr", bits);
    m.port(Dir::Out, "q", width);
    let step = block_width(depth);
    let (mut memories, mut writes, mut reads, mut words) = (String::new(), String::new(), String::new(), Vec::new());
    for (k, low) in (0..width).step_by(step as usize).enumerate() {
        let high = (low + step).min(width) - 1;
        let own = range(high - low + 1);
        let data = if high == low { format!("write[{low}]") } else { format!("write[{high}:{low}]") };
        let marks = attributes(high - low + 1, depth, false);
        let _ = writeln!(memories, "    {marks}reg {own}memory_{k} [0:{}];\n    reg {own}word_{k};", depth - 1);
        let _ = writeln!(writes, "        if (write[{}]) memory_{k}[place] <= {data};", total - 1);
        let _ = writeln!(reads, "        word_{k} <= memory_{k}[addr];");
        words.push(format!("word_{k}"));
    }
    words.reverse();
    m.items.push(Item::Text(format!(
        "{memories}    wire {}place = write[{}:{width}];\n    always @(posedge clk) begin\n{writes}{reads}    end\n    \
         assign q = {{{}}};",
        range(bits),
        total - 2,
        words.join(", ")
    )));
    m
}

/// Block memories of 18 Kibit that it takes.
pub fn blocks(width: u32, depth: u32) -> u32 {
    width.div_ceil(block_width(depth)) * depth.div_ceil(16_384).max(1)
}
