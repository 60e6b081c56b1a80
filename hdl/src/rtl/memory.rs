//! A memory with one write port and one read port as Verilog.

use super::netlist::Dir::{self, In, Out};
use askama::Template;

/// The text of its body, `templates/ram.v`.
#[derive(Template)]
#[template(path = "ram.v", escape = "none")]
pub(crate) struct Ram {
    depth: u32,
    /// Whether a word may be read while it is written.
    collides: bool,
    slices: Vec<Slice>,
    /// The slices' words, the highest one first.
    words: String,
}

/// Bits of a memory that share a block.
struct Slice {
    index: u32,
    width: u32,
    attributes: String,
    /// The data it is written with.
    data: String,
}

impl Ram {
    /// The ports of its module.
    pub fn ports(width: u32, address: u32) -> [(Dir, &'static str, u32); 7] {
        [
            (In, "clk", 1),
            (In, "we", 1),
            (In, "waddr", address),
            (In, "wdata", width),
            (In, "re", 1),
            (In, "raddr", address),
            (Out, "rdata", width),
        ]
    }

    pub fn new(width: u32, depth: u32, collides: bool) -> Ram {
        let step = block_width(depth);
        let slices: Vec<Slice> = (0..width.div_ceil(step))
            .map(|k| {
                let (low, high) = (k * step, ((k + 1) * step).min(width) - 1);
                let data = match (width, low == high) {
                    (1, _) => "wdata".into(),
                    (_, true) => format!("wdata[{low}]"),
                    (_, false) => format!("wdata[{high}:{low}]"),
                };
                let width = high - low + 1;
                Slice { index: k, width, attributes: attributes(width, depth, collides), data }
            })
            .collect();
        let words: Vec<String> = slices.iter().rev().map(|s| format!("word_{}", s.index)).collect();
        Ram { depth, collides, slices, words: words.join(", ") }
    }
}

/// Bits of each word that one block memory of 18 Kibit holds, the commonest size, when it has `depth` words.
pub(crate) fn block_width(depth: u32) -> u32 {
    match depth {
        0..=512 => 36,
        513..=1024 => 18,
        1025..=2048 => 9,
        _ => (16_384 / depth.next_power_of_two()).max(1),
    }
}

/// Fewest words and bits of a memory that belongs into blocks on every family. Smaller ones are left to the tools, since families
/// have different places for them.
const BLOCK_WORDS: u32 = 512;
const BLOCK_BITS: u64 = 4096;
/// The same of a read-only memory; tools put smaller ones into tables.
const ROM_WORDS: usize = 1024;
const ROM_WIDTH: u32 = 8;

/// The synthesis attributes of a memory, in the words of each tool: yosys, Vivado, Quartus, and Synplify or Radiant. Unless it `collides`,
/// no word is read while it is written, so that nothing has to stand around the memory for that.
pub(crate) fn attributes(width: u32, depth: u32, collides: bool) -> String {
    let mut list = Vec::new();
    if !collides {
        list.extend(["no_rw_check", "ramstyle = \"no_rw_check\"", "syn_ramstyle = \"no_rw_check\""]);
    }
    if depth >= BLOCK_WORDS && width as u64 * depth as u64 >= BLOCK_BITS {
        list.push("ram_style = \"block\"");
    }
    if list.is_empty() { String::new() } else { format!("(* {} *) ", list.join(", ")) }
}

/// The same of a read-only memory: attributes and their values.
pub(crate) fn rom_attributes(width: u32, words: usize) -> &'static [(&'static str, &'static str)] {
    match words >= ROM_WORDS && width >= ROM_WIDTH {
        true => &[("rom_style", "block"), ("syn_romstyle", "block_rom")],
        false => &[],
    }
}
