//! Delay lines: one for each value that waits, with a tap for each different wait.

use super::memory::Memories;
use crate::graph::NodeId;
use hdl::hash::FastMap;
use hdl::rtl::names::Names;
use hdl::rtl::netlist::{Dir, Module};
use hdl::rtl::{Name, Value, cat, net};
use std::collections::BTreeMap;

/// Waits up to this long are written as plain registers; longer ones are instances of a delay module.
const PLAIN: u32 = 2;

/// The delay lines of a pipeline.
pub(super) struct Delays {
    /// The values that wait in memory instead.
    memories: Memories,
    taps: FastMap<(NodeId, u32), Value>,
    /// The delay modules in use, by width and cycles.
    used: BTreeMap<(u32, u32), Name>,
    /// Their ports.
    ports: [Name; 3],
    pub(super) clk: Value,
}

impl Delays {
    pub(super) fn new(memories: Memories) -> Delays {
        let ports = ["clk", "d", "q"].map(Name::from);
        let clk = net(&ports[0], 1);
        Delays { memories, taps: FastMap::default(), used: BTreeMap::new(), ports, clk }
    }

    /// Declares what comes out of the memories.
    pub(super) fn begin(&mut self, names: &mut Names, module: &mut Module) {
        self.memories.declare(names, module);
    }

    /// Writes the memories, when all that goes into them is there.
    pub(super) fn end(&self, names: &mut Names, module: &mut Module) {
        self.memories.write(names, module);
    }

    /// A value after `wait` cycles; `None` if it does not wait.
    pub(super) fn tap(&self, id: NodeId, wait: u32) -> Option<&Value> {
        self.taps.get(&(id, wait))
    }

    /// Writes the delay line of a value for ascending `waits`, each tap fed by the one before.
    pub(super) fn line(&mut self, id: NodeId, value: &Value, waits: &[u32], names: &mut Names, module: &mut Module) {
        let (mut from, mut at) = (value.clone(), 0);
        for &wait in waits.iter().filter(|w| **w > 0) {
            let name = |cycle: u32| format!("{value}_d{cycle}");
            from = match self.memories.through(id, wait, &from) {
                Some(stored) => module.reg(names.unique(&name(wait)), stored),
                None => self.wait(from, (at, wait), name, names, module),
            };
            self.taps.insert((id, wait), from.clone());
            at = wait;
        }
    }

    /// Delays `from`, which is there in the first of `cycles`, until the second; `name` says what it is called in a cycle.
    pub(super) fn wait(
        &mut self,
        mut from: Value,
        cycles: (u32, u32),
        name: impl Fn(u32) -> String,
        names: &mut Names,
        module: &mut Module,
    ) -> Value {
        let (first, last) = cycles;
        if last - first <= PLAIN {
            for cycle in first + 1..=last {
                from = module.reg(names.unique(&name(cycle)), from);
            }
            return from;
        }
        let (name, width) = (names.unique(&name(last)), from.width());
        let used = self.used.entry((width, last - first));
        let made = used.or_insert_with(|| module_name(width, last - first).into());
        let q = module.net(&name, width);
        let connections = self.ports.iter().cloned().zip([self.clk.clone(), from, q.clone()]);
        module.instance(&*made, names.unique(&format!("wait_{name}")), connections);
        q
    }

    /// The delay modules in use.
    pub(super) fn modules(&self) -> Vec<Module> {
        let registers = self.used.keys().map(|&(width, cycles)| module(width, cycles));
        registers.chain(self.memories.modules()).collect()
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
    let mut from = m.input("d", width);
    m.port(Dir::Out, "q", width);
    let mut left = cycles;
    while left > 0 {
        let steps = left.min(MOST_BITS / width);
        let (name, bits) = (format!("wait_{left}"), steps * width);
        let own = net(&name, bits);
        from = m.reg(name, cat([own.low(bits - width), from])).top(width);
        left -= steps;
    }
    m.assign("q", from);
    m
}
