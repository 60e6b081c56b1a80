//! Delay lines: one for each value that waits, with a tap for each different wait.

use crate::graph::NodeId;
use hdl::hash::FastMap;
use hdl::rtl::names::Names;
use hdl::rtl::netlist::{Dir, Item, Module};
use std::collections::BTreeSet;

/// Waits up to this long are written as plain registers; longer ones are instances of a delay module.
const PLAIN: u32 = 2;

/// The delay lines of a pipeline.
#[derive(Default)]
pub(super) struct Delays {
    taps: FastMap<(NodeId, u32), String>,
    /// (width, cycles) of the delay modules in use.
    used: BTreeSet<(u32, u32)>,
}

impl Delays {
    /// The name of a value after `wait` cycles; `None` if it does not wait.
    pub(super) fn tap(&self, id: NodeId, wait: u32) -> Option<&str> {
        self.taps.get(&(id, wait)).map(String::as_str)
    }

    /// Writes the delay line of `value` for ascending `waits`, each tap fed by the one before.
    pub(super) fn line(
        &mut self,
        id: NodeId,
        value: &str,
        width: u32,
        waits: &[u32],
        names: &mut Names,
        items: &mut Vec<Item>,
    ) {
        let (mut from, mut at) = (value.to_string(), 0);
        for &wait in waits.iter().filter(|w| **w > 0) {
            let name = |cycle: u32| format!("{value}_d{cycle}");
            from = self.wait(from, width, (at, wait), name, names, items);
            self.taps.insert((id, wait), from.clone());
            at = wait;
        }
    }

    /// Delays `from`, which is there in the first of `cycles`, until the second; `name` says what it is called in a cycle.
    pub(super) fn wait(
        &mut self,
        mut from: String,
        width: u32,
        cycles: (u32, u32),
        name: impl Fn(u32) -> String,
        names: &mut Names,
        items: &mut Vec<Item>,
    ) -> String {
        let (first, last) = cycles;
        if last - first <= PLAIN {
            for cycle in first + 1..=last {
                let name = names.unique(&name(cycle));
                items.push(Item::Reg { name: name.clone(), width, next: from });
                from = name;
            }
            return from;
        }
        let name = names.unique(&name(last));
        self.used.insert((width, last - first));
        let connections = [("clk", "clk"), ("d", from.as_str()), ("q", name.as_str())];
        items.push(Item::Net { name: name.clone(), width });
        items.push(Item::Instance {
            module: module_name(width, last - first),
            name: names.unique(&format!("wait_{name}")),
            connections: connections.map(|(p, e)| (p.to_string(), e.to_string())).to_vec(),
        });
        name
    }

    /// The delay modules in use.
    pub(super) fn modules(&self) -> Vec<Module> {
        self.used.iter().map(|&(width, cycles)| module(width, cycles)).collect()
    }
}

fn module_name(width: u32, cycles: u32) -> String {
    format!("delay_{width}_by_{cycles}")
}

/// Tools take vectors of this many bits.
const MOST_BITS: u32 = 1 << 15;

/// A shift register of `width` bits and `cycles` steps: one vector, or several where that would be too wide, so that the text
/// does not grow with the wait.
fn module(width: u32, cycles: u32) -> Module {
    let mut m = Module { name: module_name(width, cycles), latency: cycles, ..Module::default() };
    m.doc.push(format!("{width} bits, {cycles} cycles later."));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "d", width);
    m.port(Dir::Out, "q", width);
    let (mut from, mut left) = ("d".to_string(), cycles);
    while left > 0 {
        let steps = left.min(MOST_BITS / width);
        let (name, bits) = (format!("wait_{left}"), steps * width);
        let next = if steps == 1 { from } else { format!("{{{name}[{}:0], {from}}}", bits - width - 1) };
        m.items.push(Item::Reg { name: name.clone(), width: bits, next });
        from = if steps == 1 { name } else { format!("{name}[{}:{}]", bits - 1, bits - width) };
        left -= steps;
    }
    m.items.push(Item::Assign { name: "q".into(), expr: from });
    m
}
