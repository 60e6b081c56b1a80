//! Delay lines in memory: a circular buffer that takes a word and gives an old one each clock.
//!
//! They have no reset: like the pipelines they stand in, they flush themselves. The address counts through a power of two
//! from any start, so only simulators need an initial value.

use crate::rtl::netlist::{Dir, Item, Module};
use crate::rtl::{Value, net};

/// The fewest cycles of a delay line in memory.
pub const LEAST: u32 = 2;

/// How such a memory is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Read {
    /// Through a register of the memory's own, as block memories are. The word comes late in its clock.
    Registered,
    /// At once, as lookup tables are.
    Direct,
}

/// The name of a delay line of `width` bits and `cycles` cycles, at least [`LEAST`].
pub fn name(width: u32, cycles: u32, read: Read) -> String {
    match read {
        Read::Registered => format!("delay_memory_{width}_by_{cycles}"),
        Read::Direct => format!("delay_table_{width}_by_{cycles}"),
    }
}

/// Its module: ports `clk`, `d` and `q`.
pub fn module(width: u32, cycles: u32, read: Read) -> Module {
    assert!(cycles >= LEAST, "a delay of {cycles} cycles needs no memory");
    let mut m = Module { name: name(width, cycles, read), latency: cycles, ..Module::default() };
    m.doc.push(format!("{width} bits, {cycles} cycles later, in memory."));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "d", width);
    m.port(Dir::Out, "q", width);
    let bits = 32 - (cycles - 1).leading_zeros();
    // A register behind the memory gives one of the cycles.
    let back = cycles - (read == Read::Registered) as u32;
    let at = m.counter("at", bits);
    let from = if back == 1 << bits { at.clone() } else { &at - Value::constant(bits, back as i128) };
    let from = m.wire("back", from);
    let (name, data) = ("word".into(), net("d", width));
    m.items.push(Item::Memory { name, words: 1 << bits, at, data, from, read });
    m.assign("q", net("word", width));
    m
}
