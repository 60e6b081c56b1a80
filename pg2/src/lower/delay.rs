//! Delay lines: one for each value that waits, with a tap for each different wait.

use crate::graph::NodeId;
use hdl::names::Names;
use hdl::netlist::{Dir, Item, Module};
use std::collections::{BTreeSet, HashMap};

/// Waits up to this long are written as plain registers; longer ones are instances of a delay module.
const PLAIN: u32 = 2;

/// The delay lines of a pipeline.
#[derive(Default)]
pub(super) struct Delays {
    taps: HashMap<(NodeId, u32), String>,
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
            if wait - at <= PLAIN {
                for step in at + 1..=wait {
                    let name = names.unique(&format!("{value}_d{step}"));
                    items.push(Item::Reg { name: name.clone(), width, next: from });
                    from = name;
                }
            } else {
                let name = names.unique(&format!("{value}_d{wait}"));
                let cycles = wait - at;
                self.used.insert((width, cycles));
                let connections = [("clk", "clk"), ("d", from.as_str()), ("q", name.as_str())];
                items.push(Item::Net { name: name.clone(), width });
                items.push(Item::Instance {
                    module: module_name(width, cycles),
                    name: names.unique(&format!("wait_{name}")),
                    connections: connections.map(|(p, e)| (p.to_string(), e.to_string())).to_vec(),
                });
                from = name;
            }
            self.taps.insert((id, wait), from.clone());
            at = wait;
        }
    }

    /// The delay modules in use.
    pub(super) fn modules(&self) -> Vec<Module> {
        self.used.iter().map(|&(width, cycles)| module(width, cycles)).collect()
    }
}

fn module_name(width: u32, cycles: u32) -> String {
    format!("delay_{width}_by_{cycles}")
}

/// A shift register of `width` bits and `cycles` steps.
fn module(width: u32, cycles: u32) -> Module {
    let mut m = Module { name: module_name(width, cycles), latency: cycles, ..Module::default() };
    m.doc.push(format!("{width} bits, {cycles} cycles later."));
    m.port(Dir::In, "clk", 1);
    m.port(Dir::In, "d", width);
    m.port(Dir::Out, "q", width);
    let mut from = "d".to_string();
    for step in 1..=cycles {
        let name = format!("s{step}");
        m.items.push(Item::Reg { name: name.clone(), width, next: from });
        from = name;
    }
    m.items.push(Item::Assign { name: "q".into(), expr: from });
    m
}
