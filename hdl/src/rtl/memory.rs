//! A memory with one write port and one read port as Verilog.

use askama::Template;

/// The text of its body, `templates/ram.v`.
#[derive(Template)]
#[template(path = "ram.v", escape = "none")]
pub(crate) struct Ram {
    depth: u32,
    /// Whether a word may be read while it is written; tools put logic around the memory for that.
    collides: bool,
    slices: Vec<Slice>,
    /// The slices' words, the highest one first.
    words: String,
}

/// Bits of a memory that share a block.
struct Slice {
    index: u32,
    width: u32,
    /// What it is written with.
    data: String,
}

impl Ram {
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
                Slice { index: k, width: high - low + 1, data }
            })
            .collect();
        let words: Vec<String> = slices.iter().rev().map(|s| format!("word_{}", s.index)).collect();
        Ram { depth, collides, slices, words: words.join(", ") }
    }
}

/// Bits of each word that one block memory of 18 Kibit holds, the commonest size, when it has `depth` words.
fn block_width(depth: u32) -> u32 {
    match depth {
        0..=512 => 36,
        513..=1024 => 18,
        1025..=2048 => 9,
        _ => (16_384 / depth.next_power_of_two()).max(1),
    }
}
