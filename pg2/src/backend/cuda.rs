//! Graphs as CUDA C++, compiled at run time for the GPU that is found.
//!
//! A mode describes a kernel by structs and functions over them, which stay in registers once they are inlined:
//!
//! - `Target`, `Source`, `Params`: the elements of a record as the mode computes with them, and `load` for each, which takes
//!   the patterns of a record in order.
//! - `Sums`: the accumulators of all outputs and the flags raised; `start` clears them, `pair` adds one pair, `join` adds
//!   other sums of the same target, and `finish` writes the patterns of the outputs and gives the flags.
//!
//! [`module`] puts the kernel `pairs` around them, which runs any job. [`p2p`] is the P2P stage of an FMM, where all the time
//! goes: its pair function works on coordinates relative to a cell, without a conversion in the loop. The same texts compile
//! as C++ for the host, so that they are tested without a GPU.

pub mod count;
pub mod exact;
pub mod native;
pub mod p2p;
mod selected;

use crate::graph::{Graph, PinClass};

const PAIRS: &str = include_str!("../../templates/pairs.cu");

/// A kernel `ceiling(out, factor, steps)` that measures how many instructions the GPU issues: [`CEILING_CHAINS`] fused
/// multiply-adds a step in each of 256 threads a block, with a result for each thread.
pub const CEILING: &str = include_str!("../../templates/ceiling.cu");
pub const CEILING_CHAINS: u32 = 16;

/// The kernel `pairs` of [`module`]: its name and the threads of a block.
pub const PAIRS_NAME: &str = "pairs";
pub const PAIRS_THREADS: u32 = 128;

/// A translation unit with the kernel `pairs` around a mode's functions. Its arguments, all on the device:
///
/// | argument | what |
/// |---|---|
/// | `targets`, `sources`, `params` | records of 64-bit patterns |
/// | `cidx` | for each block its run, and the first of its targets within the run |
/// | `cpart_idx` | for each run its first target and how many it has |
/// | `uidx` | for each run where its sources begin in `ulist`; one more entry ends the last |
/// | `ulist` | stretches of sources: first, count |
/// | `results`, `flags` | records of patterns, and the flags of each target |
///
/// The names are those of Haney et al. A block takes up to [`PAIRS_THREADS`] targets of one run. Where it has fewer, several
/// threads share the sources of a target.
pub fn module(graph: &Graph, functions: &str) -> String {
    let count = |class| graph.elements_of(class).len();
    format!(
        "{}\n#define THREADS {PAIRS_THREADS}\n#define TARGET_WORDS {}\n#define SOURCE_WORDS {}\n#define RESULT_WORDS {}\n\n\
         {functions}\n{PAIRS}",
        prelude(),
        count(PinClass::Ipin),
        count(PinClass::Jpin),
        graph.outputs.len()
    )
}

/// The definitions that CUDA C++ and the host's C++ have under one name.
pub fn prelude() -> String {
    [hdl::op::ctext::HEAD, include_str!("../../templates/prelude.cuh")].concat()
}

/// The same functions for a C++ compiler of the host: a prelude and, in a namespace of that name, the functions.
pub fn host_text(parts: &[(&str, &str)]) -> String {
    let spaces = parts.iter().map(|(name, functions)| format!("namespace {name} {{\n{functions}\n}}\n"));
    spaces.fold(prelude(), |text, part| text + &part)
}
