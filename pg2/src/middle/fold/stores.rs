//! The memories in which values of units wait, and which of their ports shows which value.
//!
//! Behind a unit stands a ring of as many clocks as a value of it waits at most. A port reads it so many clocks back as the slot
//! says, and each port is a memory of its own, with the same content. Two values of a unit that are read in one clock take two ports.

use super::Folded;
use super::reads::{Source, There};
use crate::graph::Graph;
use hdl::rtl::ring;
use std::collections::{BTreeMap, BTreeSet};

/// For each port and slot the node that is read, and how many clocks ago its unit showed it.
pub type Store = Vec<Vec<Option<(usize, u32)>>>;

/// The worth of a block memory in lookup tables where values wait. Devices have some 400 tables for each block, of which others
/// want their part.
const MEMORY: u64 = 100;
/// Registers that cost as much as a lookup table.
const REGISTERS: u64 = 4;
/// Tables that a value goes through on its way from a memory into the register in front of a unit.
const LEVELS: f64 = 4.0;
/// Rounds of exchanges at most.
const MOST_ROUNDS: u32 = 20;

/// A read of a memory by a unit's item.
struct Read {
    /// The unit whose memory it is, the slot, and the value that is read.
    unit: usize,
    slot: usize,
    what: (usize, u32),
    /// The unit and its port that read it.
    by: (usize, usize),
}

/// Gives each value that is read from memory a port, so that the readers' ports have few sources.
pub(super) fn stores(graph: &Graph, folded: &mut Folded) {
    let there = folded.there(graph);
    let reads = reads(graph, folded, &there);
    let ii = folded.ii as usize;
    // What each memory shows in each slot.
    let mut shown: Vec<Vec<Vec<(usize, u32)>>> = vec![vec![Vec::new(); ii]; folded.units.len()];
    for r in &reads {
        let all = &mut shown[r.unit][r.slot];
        if !all.contains(&r.what) {
            all.push(r.what);
        }
    }
    let most = |slots: &Vec<Vec<(usize, u32)>>| slots.iter().map(Vec::len).max().unwrap_or(0);
    folded.stores = shown.iter().map(|slots| vec![vec![None; ii]; most(slots)]).collect();
    for (unit, slots) in shown.iter().enumerate() {
        for (slot, all) in slots.iter().enumerate() {
            all.iter().enumerate().for_each(|(port, what)| folded.stores[unit][port][slot] = Some(*what));
        }
    }
    improve(&mut folded.stores, &reads);
}

fn reads(graph: &Graph, folded: &Folded, there: &[There]) -> Vec<Read> {
    let mut reads = Vec::new();
    for (by, unit) in folded.units.iter().enumerate() {
        for (slot, item) in unit.slots.iter().enumerate().filter_map(|(s, i)| Some((s, (*i)?))) {
            for (port, arg) in folded.ports(graph, item).into_iter().enumerate() {
                if folded.fixed[arg] || !folded.waits_in_memory(arg, item) {
                    continue;
                }
                let waits = folded.start[item] - there[arg].ready;
                if waits >= ring::READ {
                    let of = folded.unit[arg].expect("a unit's value");
                    reads.push(Read { unit: of, slot, what: (arg, waits), by: (by, port) });
                }
            }
        }
    }
    reads
}

impl Folded {
    /// Whether memories could cost less than registers do: a block for each unit at least, for what these registers and at most half
    /// of the multiplexers take; and whether a value comes out of a block early enough in its clock.
    pub(super) fn may_be_stored(&self, graph: &Graph) -> bool {
        let clock = self.library.clock;
        let target = clock.target;
        let path = target.ff + target.rom + LEVELS * target.lut;
        let blocks = self.kinds.iter().filter(|k| k.module.is_some()).map(|k| k.units as u64).sum::<u64>();
        let most = self.held_bits(graph).iter().sum::<u64>() / REGISTERS + self.choices(graph) / 2;
        path * clock.mhz <= 1000.0 && target.memory_bits > 0 && most > blocks * MEMORY
    }

    /// The cost of waiting in lookup tables: multiplexers among sources, registers, and memories.
    pub(super) fn waiting_costs(&self, graph: &Graph) -> u64 {
        let registers = self.waiting_bits(graph).iter().sum::<u64>();
        self.choices(graph) + registers / REGISTERS + self.store_blocks() * MEMORY
    }

    /// Bits that count the clocks of the rings, if there are any.
    pub fn ring_bits(&self) -> Option<u32> {
        self.stores.iter().flatten().flatten().flatten().map(|read| read.1).max().map(ring::bits)
    }

    /// Bits of all rings.
    pub fn ring_words_bits(&self) -> u64 {
        self.rings().map(|(width, words)| width * words).sum()
    }

    /// Block memories of all rings.
    pub fn store_blocks(&self) -> u64 {
        self.rings().map(|(width, words)| self.library.clock.target.blocks(words, width)).sum()
    }

    /// Width and words of each ring.
    fn rings(&self) -> impl Iterator<Item = (u64, u64)> {
        let words = self.ring_bits().map_or(0, |bits| 1 << bits);
        let width = |unit: usize| self.result_width(unit) as u64;
        self.stores.iter().enumerate().flat_map(move |(u, ports)| ports.iter().map(move |_| (width(u), words)))
    }

    /// The width of a unit's result.
    fn result_width(&self, unit: usize) -> u32 {
        let module = self.kinds[self.units[unit].kind].module.expect("what is stored comes out of a module");
        let ports = &self.library.modules[module].module.ports;
        ports.iter().find(|p| p.name == "q").map_or(0, |p| p.width)
    }

    /// The units behind which a register has what they showed the clock before.
    pub fn late(&self, graph: &Graph) -> BTreeSet<usize> {
        let there = self.there(graph);
        let args = (0..self.start.len()).flat_map(|item| self.args(graph, item).into_iter().map(move |a| (item, a)));
        args.filter_map(|(item, a)| match self.found(&there, item, a) {
            Source::Late(unit) => Some(unit),
            _ => None,
        })
        .collect()
    }

    /// Bits of all registers in which values wait: behind each node, and with the first use of a unit those of the unit.
    pub(super) fn waiting_bits(&self, graph: &Graph) -> Vec<u64> {
        let mut bits = self.held_bits(graph);
        for unit in self.late(graph) {
            let first = self.units[unit].slots.iter().flatten().find(|item| **item < bits.len());
            bits[*first.expect("a unit that is read serves a node")] += self.result_width(unit) as u64;
        }
        bits
    }

    /// Proves that what waits in memory is there, and behind one port in the clock in which it is read.
    pub(super) fn check_stores(&self, graph: &Graph) -> Result<(), String> {
        if !self.stored {
            return Ok(());
        }
        let most = self.ring_bits().map_or(0, |bits| 1u32 << bits);
        for r in reads(graph, self, &self.there(graph)) {
            let ((node, waits), slot) = (r.what, r.slot);
            let ports = self.stores[r.unit].iter().filter(|port| port[slot] == Some(r.what)).count();
            if ports != 1 || self.unit[node] != Some(r.unit) {
                return Err(format!("%{node} is read in slot {slot} through {ports} ports of memory {}", r.unit));
            }
            if !(ring::READ..=most).contains(&waits) {
                return Err(format!("%{node} is read in slot {slot} from a memory {waits} clocks after it was there"));
            }
            let item = self.units[r.by.0].slots[slot];
            if item.is_none_or(|item| self.start[item] != self.ready(node) + waits || self.start[item] <= ring::READ) {
                return Err(format!("%{node} is not read {waits} clocks after it was there in slot {slot}"));
            }
        }
        Ok(())
    }
}

/// Exchanges what two ports of a memory show in a slot, as long as readers then have fewer sources.
fn improve(stores: &mut [Store], reads: &[Read]) {
    let mut by_place: BTreeMap<(usize, usize), Vec<&Read>> = BTreeMap::new();
    reads.iter().for_each(|r| by_place.entry((r.unit, r.slot)).or_default().push(r));
    let at = |stores: &[Store], r: &Read| {
        stores[r.unit].iter().position(|port| port[r.slot] == Some(r.what)).expect("each read has a port")
    };
    // How many reads a reader's port has from each port of each memory.
    let mut counts: BTreeMap<((usize, usize), usize, usize), u32> = BTreeMap::new();
    for r in reads {
        *counts.entry((r.by, r.unit, at(stores, r))).or_insert(0) += 1;
    }
    for _ in 0..MOST_ROUNDS {
        let mut better = false;
        for ((unit, slot), all) in &by_place {
            let ports = stores[*unit].len();
            for a in 0..ports {
                for b in a + 1..ports {
                    let mut change = 0i64;
                    let concerned: Vec<(&Read, usize)> =
                        all.iter().map(|r| (*r, at(stores, r))).filter(|(_, p)| *p == a || *p == b).collect();
                    for (r, p) in &concerned {
                        let to = if *p == a { b } else { a };
                        let from = counts.get_mut(&(r.by, *unit, *p)).expect("it is counted");
                        *from -= 1;
                        change -= (*from == 0) as i64;
                        let to = counts.entry((r.by, *unit, to)).or_insert(0);
                        change += (*to == 0) as i64;
                        *to += 1;
                    }
                    if change < 0 {
                        let store = &mut stores[*unit];
                        let (x, y) = (store[a][*slot], store[b][*slot]);
                        store[a][*slot] = y;
                        store[b][*slot] = x;
                        better = true;
                        continue;
                    }
                    for (r, p) in &concerned {
                        let to = if *p == a { b } else { a };
                        *counts.get_mut(&(r.by, *unit, to)).expect("it is counted") -= 1;
                        *counts.get_mut(&(r.by, *unit, *p)).expect("it is counted") += 1;
                    }
                }
            }
        }
        if !better {
            return;
        }
    }
}
