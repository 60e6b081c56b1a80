//! Folding: the modulo schedule of a pipeline that takes a pair every K clocks (its initiation interval).
//!
//! Uses of one operator, in one format and with one set of attributes, share units: pipelined circuits that take arguments
//! in each clock. In clock t a unit serves the uses whose cycle is t modulo K, its slot, so it is used at most once a slot, and
//! ceil(uses / K) units are enough. A pipeline has no loops, so any order of placing finds slots for all; which slots and which
//! units decides about registers and multiplexers ([`place`], [`bind`], [`anneal`]). An operator that is smaller than its multiplexers would
//! be is not shared (`kinds`). Where readers find a value that waits is in [`reads`]: in registers, or, where these would be very
//! many, in memories behind the units ([`stores`]).

mod anneal;
mod bind;
mod flags;
mod kinds;
mod place;
mod reads;
mod stores;

pub use flags::{Chain, Term};
pub use kinds::SharedUses;
pub use reads::Source;
pub(crate) use reads::There;
pub use stores::Store;

use crate::graph::{Graph, NodeId, NodeKind};
use crate::middle::library::Library;
use crate::middle::schedule::{Schedule, fixed};
use hdl::Reduce;
use hdl::circuit::target::Clock;
use hdl::engine::Slices;
use kinds::{Wish, kinds};

/// The largest initiation interval.
pub const MOST: u32 = hdl::engine::MOST_II;

/// A shared circuit.
#[derive(Clone, PartialEq, Debug)]
pub struct Unit {
    /// Index in [`Folded::kinds`].
    pub kind: usize,
    /// For each slot the item that it serves: a node, or behind all nodes the output of that number.
    pub slots: Vec<Option<usize>>,
}

/// A graph folded: when each item starts, and where. Items are the nodes, and then the outputs on their way to the sums.
#[derive(Clone)]
pub struct Folded {
    /// Clocks from one pair to the next, K.
    pub ii: u32,
    pub library: Library,
    /// Whether a node depends on parameters and constants alone.
    pub fixed: Vec<bool>,
    /// The cycle in which an item reads its arguments, counted from its pair's first; slots are cycles modulo K.
    pub start: Vec<u32>,
    /// Cycles from there until the result: for a shared item with the register in front of its unit.
    pub latency: Vec<u32>,
    /// Whether the first two arguments change places at the unit.
    pub swapped: Vec<bool>,
    pub kinds: Vec<SharedUses>,
    pub units: Vec<Unit>,
    /// The unit of each item; `None` where it has hardware of its own.
    pub unit: Vec<Option<usize>>,
    /// The first of the K cycles in which shared sums take their terms, a multiple of K.
    pub sums: u32,
    /// How sums are added up in slices, if they are.
    pub slices: Option<Slices>,
    /// Whether values of units wait in memories for other units.
    pub stored: bool,
    /// The memory behind each unit.
    pub stores: Vec<Store>,
    /// The chains that combine the flags of a pair.
    pub flags: Vec<Chain>,
}

impl Folded {
    /// The cycle in which plain outputs and flags are read: the last one of the sums.
    pub fn depth(&self) -> u32 {
        self.sums + self.ii - 1
    }

    /// The cycle in which an item's value is there.
    pub fn ready(&self, item: usize) -> u32 {
        self.start[item] + self.latency[item]
    }

    /// Proves the schedule: no unit serves two uses in one slot, each use is served once by a unit of its kind, and every
    /// argument is there when it is read.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        let n = graph.nodes.len();
        let mut served = vec![0; self.start.len()];
        for (u, unit) in self.units.iter().enumerate() {
            if unit.slots.len() != self.ii as usize {
                return Err(format!("unit {u} has {} slots", unit.slots.len()));
            }
            for (slot, item) in unit.slots.iter().enumerate().filter_map(|(s, i)| Some((s, (*i)?))) {
                served[item] += 1;
                if self.unit[item] != Some(u) || self.start[item] as usize % self.ii as usize != slot {
                    return Err(format!("unit {u} serves item {item} in slot {slot}, where it does not start"));
                }
                if !self.kinds[unit.kind].items.contains(&item) {
                    return Err(format!("unit {u} is not of the kind of item {item}"));
                }
            }
        }
        for (item, served) in served.into_iter().enumerate() {
            if served != self.unit[item].is_some() as u32 {
                return Err(format!("item {item} is served {served} times"));
            }
            for a in
                self.args(graph, item).into_iter().filter(|a| self.fixed.get(item) == Some(&true) || !self.fixed[*a])
            {
                if self.ready(a) > self.start[item] {
                    return Err(format!("item {item} starts before %{a} is ready"));
                }
            }
            let shared_sum = item >= n && self.unit[item].is_some();
            let last = if shared_sum { self.depth() } else { self.depth().max(1) - (item < n) as u32 };
            if self.ready(item) > last {
                return Err(format!("item {item} is ready after cycle {last}"));
            }
            if shared_sum && self.ready(item) < self.sums {
                return Err(format!("output {} enters its sum before cycle {}", item - n, self.sums));
            }
            if let (Some(slices), Some(k)) = (&self.slices, item.checked_sub(n)) {
                let (adder, slot) = slices.place(k as u32);
                let first = self.units.iter().position(|u| self.kinds[u.kind].fixed);
                if self.ready(item) != self.sums + slot || self.unit[item] != first.map(|f| f + adder as usize) {
                    return Err(format!("output {k} enters another sum than its own"));
                }
            }
        }
        self.check_stores(graph)?;
        self.check_flags(graph)
    }

    /// The nodes that an item reads.
    pub fn args(&self, graph: &Graph, item: usize) -> Vec<usize> {
        match graph.nodes.get(item).map(|n| &n.kind) {
            None => vec![graph.outputs[item - graph.nodes.len()].value.0 as usize],
            Some(NodeKind::Op { args, .. }) => args.iter().map(|a| a.0 as usize).collect(),
            Some(_) => Vec::new(),
        }
    }

    /// The arguments in the order of the unit's ports.
    pub fn ports(&self, graph: &Graph, item: usize) -> Vec<usize> {
        let mut args = self.args(graph, item);
        if self.swapped[item] {
            args.swap(0, 1);
        }
        args
    }

    /// Whether an item is the first one of its unit, or has no unit.
    pub fn leads(&self, item: usize) -> bool {
        self.unit[item].is_none_or(|u| self.units[u].slots.iter().flatten().next() == Some(&item))
    }

    /// The outputs that enter a shared sum: for each unit of sums the outputs by slot of the cycle of their term.
    pub fn shared_sums(&self, graph: &Graph) -> Vec<(usize, Vec<(usize, u32)>)> {
        let n = graph.nodes.len();
        let of = |unit: &Unit| {
            let mut uses: Vec<(usize, u32)> =
                unit.slots.iter().flatten().map(|item| (item - n, self.ready(*item) - self.sums)).collect();
            uses.sort_by_key(|u| u.1);
            uses
        };
        let sums = self.units.iter().enumerate().filter(|(_, u)| self.kinds[u.kind].module.is_none());
        sums.map(|(k, unit)| (k, of(unit))).collect()
    }

    /// The same as a schedule of the whole, for reports: registers of a unit are shared out among its uses.
    pub fn schedule(&self, graph: &Graph) -> Schedule {
        let n = graph.nodes.len();
        let mut s = Schedule {
            start: self.start[..n].to_vec(),
            latency: self.latency[..n].to_vec(),
            fixed: self.fixed.clone(),
            operator_bits: vec![0; n],
            delay_bits: self.waiting_bits(graph),
            depth: self.depth(),
        };
        for k in 0..n {
            let Some(module) = self.library.module(NodeId(k as u32)) else { continue };
            s.operator_bits[k] = match self.unit[k] {
                None => module.register_bits,
                Some(u) => {
                    let uses: Vec<usize> = self.units[u].slots.iter().flatten().copied().collect();
                    let in_front: u64 = self.args(graph, k).iter().map(|a| graph.nodes[*a].format.width() as u64).sum();
                    let (all, count) = (module.register_bits + in_front, uses.len() as u64);
                    all / count + if uses[0] == k { all % count } else { 0 }
                }
            };
        }
        s
    }
}

/// A line an item, then one for each unit, the bound, and the depth.
impl std::fmt::Display for Folded {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for item in 0..self.start.len() {
            let place = self.unit[item].map_or(String::new(), |u| format!(", unit {u}"));
            let turned = if self.swapped[item] { ", arguments exchanged" } else { "" };
            let still = if self.fixed.get(item) == Some(&true) { ", static" } else { "" };
            writeln!(f, "%{item}: cycles {} to {}{place}{turned}{still}", self.start[item], self.ready(item))?;
        }
        for (k, unit) in self.units.iter().enumerate() {
            let slot = |s: &Option<usize>| s.map_or("-".to_string(), |item| format!("%{item}"));
            let slots: Vec<String> = unit.slots.iter().map(slot).collect();
            writeln!(f, "unit {k}, {}: {}", self.kinds[unit.kind].what, slots.join(" "))?;
        }
        for kind in &self.kinds {
            let (uses, bound) = (kind.items.len(), kind.least(self.ii));
            writeln!(f, "{}: {uses} uses, {} units of at least {bound}", kind.what, kind.units)?;
        }
        writeln!(f, "a pair every {} clocks, sums from cycle {}, depth {}", self.ii, self.sums, self.depth())
    }
}

/// Folds a graph that is simplified; `ii` is 2 to [`MOST`].
pub fn fold(graph: &Graph, clock: Clock, ii: u32) -> Folded {
    assert!((2..=MOST).contains(&ii), "a folded pipeline takes a pair every 2 to {MOST} clocks");
    let fixed = fixed(graph);
    let Wish { library, kinds } = kinds(graph, &fixed, clock, ii);
    let n = graph.nodes.len() + graph.outputs.len();
    let mut folded = Folded {
        ii,
        library,
        fixed,
        start: vec![0; n],
        latency: vec![0; n],
        swapped: vec![false; n],
        kinds,
        units: Vec::new(),
        unit: vec![None; n],
        sums: ii,
        slices: graph.layout().slices(ii),
        stored: false,
        stores: Vec::new(),
        flags: Vec::new(),
    };
    for k in 0..graph.nodes.len() {
        folded.latency[k] = folded.library.module(NodeId(k as u32)).map_or(0, |m| m.latency);
    }
    // A register stands behind the multiplexers of a unit, but for sums in slices, whose adders have one of their own.
    let kinds = folded.kinds.iter().filter(|k| !k.fixed);
    let shared: Vec<usize> = kinds.flat_map(|k| k.items.iter().copied()).collect();
    shared.into_iter().for_each(|item| folded.latency[item] += 1);
    place::place(graph, &mut folded);
    let held = bound(graph, folded.clone());
    if !held.may_be_stored(graph) {
        return held;
    }
    folded.stored = true;
    let stored = bound(graph, folded);
    if stored.waiting_costs(graph) < held.waiting_costs(graph) { stored } else { held }
}

/// Units and final cycles of what is placed, and where values wait.
fn bound(graph: &Graph, mut folded: Folded) -> Folded {
    bind::bind(graph, &mut folded);
    anneal::anneal(graph, &mut folded);
    match folded.stored {
        true => stores::stores(graph, &mut folded),
        false => bind::improve(graph, &mut folded),
    }
    folded.flags = flags::chains(graph, &folded);
    folded
}

/// Whether an output is a sum of values that differ from pair to pair.
pub(crate) fn sums(graph: &Graph, fixed: &[bool], output: usize) -> bool {
    let o = &graph.outputs[output];
    o.reduce == Reduce::Sum && !fixed[o.value.0 as usize]
}
