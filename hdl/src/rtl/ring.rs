//! Rings: circular buffers in memory that give a word of so many clocks ago as is asked for from clock to clock.
//!
//! All rings of a module share the counter of the clocks. It has no reset and may begin anywhere; only simulators need an initial value.

use crate::rtl::netlist::{Dir, Item, Module, range};

/// Clocks from when `back` is there until `q` shows the word of so many clocks before that: `q` is `d` of `back + READ` clocks ago.
pub const READ: u32 = 2;
/// The name of what counts.
const COUNT: &str = "ring_count";

/// The bits that count the clocks of rings whose words are asked for up to `clocks` clocks after they came.
pub fn bits(clocks: u32) -> u32 {
    clocks.next_power_of_two().ilog2().max(1)
}

/// The counter of the clocks: ports `clk` and `at`.
pub fn counter(bits: u32) -> Module {
    let mut m = Module { name: format!("{COUNT}_{bits}"), ..Module::default() };
    m.doc.push(format!("Counts through {} words.", 1u64 << bits));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::Out, "at", bits);
    let index = range(bits);
    m.items.push(Item::Text(format!(
        "    reg {index}count;\n    initial count = {bits}'d0;\n    assign at = count;\n    always @(posedge clk) count <= count + {bits}'d1;"
    )));
    m
}

/// A ring of words of `width` bits: ports `clk`, `at`, `d`, `back` and `q`. Words of 2 to 2^`bits` clocks ago can be asked for, so
/// that none is read while it is written.
pub fn ring(width: u32, bits: u32) -> Module {
    let mut m = Module { name: format!("ring_{width}_by_{}", 1u64 << bits), ..Module::default() };
    m.doc.push(format!("{width} bits of `back` + {READ} clocks ago."));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "at", bits);
    m.port(Dir::In, "d", width);
    m.port(Dir::In, "back", bits);
    m.port(Dir::Out, "q", width);
    let (bus, index, last) = (range(width), range(bits), (1u64 << bits) - 1);
    m.items.push(Item::Text(format!(
        "    (* no_rw_check, ramstyle = \"no_rw_check\", syn_ramstyle = \"no_rw_check\" *) reg {bus}memory [0:{last}];\n\
         \x20   reg {index}from;\n    reg {bus}word;\n    assign q = word;\n    always @(posedge clk) begin\n\
         \x20       memory[at] <= d;\n        from <= at - back;\n        word <= memory[from];\n    end"
    )));
    m
}
