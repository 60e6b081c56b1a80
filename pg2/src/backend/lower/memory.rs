//! Values that wait in memory instead of registers, where a target has memories for that.

use crate::graph::{Graph, NodeId};
use crate::middle::schedule::{Schedule, waits};
use hdl::circuit::memory::{Wait, in_memory, read};
use hdl::circuit::target::Target;
use hdl::hash::FastMap;
use hdl::rtl::delay;
use hdl::rtl::names::Names;
use hdl::rtl::netlist::Module;
use hdl::rtl::{Value, cat};
use std::collections::BTreeMap;

/// The memories of a pipeline: one for each number of cycles that values spend in one.
pub struct Memories {
    read: Option<delay::Read>,
    /// For each value and wait that ends in memory, the memories that it goes through and its lowest bit in each.
    stays: FastMap<(NodeId, u32), Stay>,
    /// By cycles.
    words: BTreeMap<u32, Word>,
}

struct Stay {
    width: u32,
    /// Cycles of a memory, and the lowest bit in its word.
    pieces: Vec<(u32, u32)>,
}

/// The word of a memory.
#[derive(Default)]
struct Word {
    width: u32,
    /// The output of the memory.
    out: Option<Value>,
    /// The inputs of the memory, by the lowest bit.
    parts: BTreeMap<u32, Value>,
}

impl Memories {
    /// Decides what waits in memory.
    pub fn plan(graph: &Graph, schedule: &Schedule, target: &Target) -> Memories {
        let mut memories = Memories { read: read(target), stays: FastMap::default(), words: BTreeMap::new() };
        if memories.read.is_none() {
            return memories;
        }
        let mut taps = Vec::new();
        for (k, node_waits) in waits(graph, schedule).iter().enumerate() {
            let mut at = 0;
            for &wait in node_waits.iter().filter(|w| **w > 0) {
                let id = NodeId(k as u32);
                taps.push((id, wait, Wait { width: graph.node(id).format.width(), cycles: wait - at }));
                at = wait;
            }
        }
        let all: Vec<Wait> = taps.iter().map(|t| t.2).collect();
        for ((id, wait, Wait { width, .. }), cycles) in taps.into_iter().zip(in_memory(&all, target)) {
            let place = |cycles: u32| {
                let word = memories.words.entry(cycles).or_default();
                word.width += width;
                (cycles, word.width - width)
            };
            let pieces: Vec<(u32, u32)> = cycles.into_iter().map(place).collect();
            if !pieces.is_empty() {
                memories.stays.insert((id, wait), Stay { width, pieces });
            }
        }
        memories
    }

    /// For each node the bits that wait in memory.
    pub fn bits(&self, nodes: usize) -> Vec<u64> {
        let mut bits = vec![0; nodes];
        for ((id, _), stay) in &self.stays {
            let cycles: u32 = stay.pieces.iter().map(|p| p.0).sum();
            bits[id.0 as usize] += stay.width as u64 * cycles as u64;
        }
        bits
    }

    /// Declares the words that come out.
    pub(super) fn declare(&mut self, names: &mut Names, module: &mut Module) {
        for (cycles, word) in &mut self.words {
            word.out = Some(module.net(names.unique(&format!("waited_{cycles}")), word.width));
        }
    }

    /// Puts the value of a node, or its tap before this one, into the memories on the way to the tap `wait`; gives what comes
    /// out of the last of them. `None` if this way does not go through memory.
    pub(super) fn through(&mut self, id: NodeId, wait: u32, from: &Value) -> Option<Value> {
        let Stay { width, pieces } = self.stays.get(&(id, wait))?;
        let mut value = from.clone();
        for (cycles, low) in pieces {
            let word = self.words.get_mut(cycles).expect("it is planned");
            word.parts.insert(*low, value);
            value = word.out.as_ref().expect("it is declared").bits(*low, *width);
        }
        Some(value)
    }

    /// The instances.
    pub(super) fn write(&self, names: &mut Names, module: &mut Module) {
        let Some(read) = self.read else { return };
        for (cycles, word) in &self.words {
            let q = word.out.clone().expect("it is declared");
            let d = cat(word.parts.values().rev().cloned());
            let connections = [("clk", module.signal("clk")), ("d", d), ("q", q)];
            let name = names.unique(&format!("wait_{cycles}"));
            module.instance(delay::name(word.width, *cycles, read), name, connections);
        }
    }

    /// The memories themselves.
    pub(super) fn modules(&self) -> impl Iterator<Item = Module> {
        let all = self.read.into_iter().flat_map(|read| self.words.iter().map(move |w| (w, read)));
        all.map(|((cycles, word), read)| delay::module(word.width, *cycles, read))
    }
}
