//! Binding of uses to units of their kind, so that the units' inputs choose among few sources.
//!
//! Uses of a slot go first to the units that know their sources already. Then uses of one slot change places, and the arguments
//! of commuting operators do, as long as that saves tables of multiplexers.

use super::reads::{Source, There};
use super::{Folded, Unit};
use crate::graph::Graph;
use hdl::circuit::area::choice_tables;

/// Rounds of exchanges at most.
const MOST_ROUNDS: u32 = 12;

struct Binder<'a> {
    graph: &'a Graph,
    folded: &'a mut Folded,
    there: Vec<There>,
    args: Vec<Vec<usize>>,
    /// Items that read a node straight from its unit.
    direct: Vec<Vec<usize>>,
}

/// Gives each shared item its unit.
pub(super) fn bind(graph: &Graph, folded: &mut Folded) {
    let there = folded_there(graph, folded);
    let mut b = Binder::new(graph, folded, there);
    b.first();
    b.rounds();
}

/// Exchanges uses of one slot where that is better.
pub(super) fn improve(graph: &Graph, folded: &mut Folded) {
    let there = folded.there(graph);
    Binder::new(graph, folded, there).rounds();
}

/// When values are there; what shares a unit shows its result for one clock, although no unit is named yet.
fn folded_there(graph: &Graph, folded: &mut Folded) -> Vec<There> {
    let shared: Vec<usize> = folded.kinds.iter().flat_map(|k| k.items.iter().copied()).collect();
    shared.iter().for_each(|item| folded.unit[*item] = Some(usize::MAX));
    let there = folded.there(graph);
    shared.iter().for_each(|item| folded.unit[*item] = None);
    there
}

impl<'a> Binder<'a> {
    fn new(graph: &'a Graph, folded: &'a mut Folded, there: Vec<There>) -> Binder<'a> {
        let args: Vec<Vec<usize>> = (0..folded.start.len()).map(|item| folded.args(graph, item)).collect();
        let mut direct = vec![Vec::new(); graph.nodes.len()];
        for (item, args) in args.iter().enumerate() {
            for a in args.iter().filter(|a| !folded.fixed[**a] && there[**a].wait(folded.start[item], folded.ii) == 0) {
                direct[*a].push(item);
            }
        }
        Binder { graph, folded, there, args, direct }
    }

    fn rounds(&mut self) {
        for _ in 0..MOST_ROUNDS {
            if !self.improve() {
                return;
            }
        }
    }

    /// Where an item finds an argument, as far as units are named.
    fn source(&self, item: usize, arg: usize) -> Source {
        self.folded.found(&self.there, item, arg)
    }

    /// The source that an item reads at a port.
    fn port(&self, item: usize, port: usize) -> usize {
        let args = &self.args[item];
        args[if self.folded.swapped[item] && port < 2 { 1 - port } else { port }]
    }

    /// Lookup tables in front of a unit's port, in halves, and with its different sources as what decides among equals.
    fn cost(&self, unit: usize) -> u64 {
        let of = &self.folded.units[unit];
        let kind = &self.folded.kinds[of.kind];
        let inputs = self.folded.library.clock.target.lut_inputs;
        let mut sum = 0;
        let mut known: Vec<Source> = Vec::with_capacity(of.slots.len());
        for (port, width) in kind.ports.iter().enumerate() {
            known.clear();
            for item in of.slots.iter().flatten() {
                let source = self.merged(self.source(*item, self.port(*item, port)));
                if !known.contains(&source) {
                    known.push(source);
                }
            }
            sum += *width as u64 * (8 * choice_tables(known.len() as u64, inputs) + known.len() as u64);
        }
        sum
    }

    /// Constants come out of one table.
    fn merged(&self, source: Source) -> Source {
        match source {
            Source::Still(k) if is_constant(self.graph, k) => Source::Still(usize::MAX),
            other => other,
        }
    }

    /// Units, and each use to the free one of its slot to which it adds least.
    fn first(&mut self) {
        let mut order: Vec<(u32, usize, usize)> = Vec::new();
        for (kind, of) in self.folded.kinds.iter().enumerate() {
            let slots = vec![None; self.folded.ii as usize];
            self.folded.units.extend((0..of.units).map(|_| Unit { kind, slots: slots.clone() }));
            order.extend(of.items.iter().map(|item| (self.folded.start[*item], *item, kind)));
        }
        order.sort_unstable();
        for (start, item, kind) in order {
            let slot = (start % self.folded.ii) as usize;
            if let (true, Some(slices)) = (self.folded.kinds[kind].fixed, &self.folded.slices) {
                let (adder, _) = slices.place((item - self.graph.nodes.len()) as u32);
                let first = self.folded.units.iter().position(|u| u.kind == kind).expect("a kind has a unit");
                self.put(first + adder as usize, slot, Some(item));
                continue;
            }
            let free: Vec<usize> = (0..self.folded.units.len())
                .filter(|u| self.folded.units[*u].kind == kind && self.folded.units[*u].slots[slot].is_none())
                .collect();
            let added = |b: &mut Self, u: usize| {
                let before = b.cost(u);
                b.put(u, slot, Some(item));
                let added = b.cost(u) - before;
                b.put(u, slot, None);
                added
            };
            let mut best = (u64::MAX, free[0], false);
            for swapped in [false, true].into_iter().take(1 + self.folded.kinds[kind].commutes as usize) {
                self.folded.swapped[item] = swapped;
                for u in &free {
                    let cost = added(self, *u);
                    if cost < best.0 {
                        best = (cost, *u, swapped);
                    }
                }
            }
            self.folded.swapped[item] = best.2;
            self.put(best.1, slot, Some(item));
        }
    }

    fn put(&mut self, unit: usize, slot: usize, item: Option<usize>) {
        if let Some(old) = self.folded.units[unit].slots[slot] {
            self.folded.unit[old] = None;
        }
        self.folded.units[unit].slots[slot] = item;
        if let Some(new) = item {
            self.folded.unit[new] = Some(unit);
        }
    }

    /// The units whose multiplexers depend on where some items are, these units among them.
    fn concerned(&self, units: &[usize], items: &[Option<usize>]) -> Vec<usize> {
        let mut all = units.to_vec();
        for item in items.iter().flatten().filter(|item| **item < self.graph.nodes.len()) {
            all.extend(self.direct[*item].iter().filter_map(|reader| self.folded.unit[*reader]));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn improve(&mut self) -> bool {
        let mut better = false;
        for a in 0..self.folded.units.len() {
            let kind = self.folded.units[a].kind;
            if self.folded.kinds[kind].fixed {
                continue;
            }
            for slot in 0..self.folded.ii as usize {
                if self.folded.kinds[kind].commutes {
                    better |= self.turn(a, slot);
                }
                for b in a + 1..self.folded.units.len() {
                    if self.folded.units[b].kind != kind {
                        break;
                    }
                    better |= self.change(a, b, slot);
                }
            }
        }
        better
    }

    /// Exchanges the arguments of a use if that is better.
    fn turn(&mut self, unit: usize, slot: usize) -> bool {
        let Some(item) = self.folded.units[unit].slots[slot] else { return false };
        let before = self.cost(unit);
        self.folded.swapped[item] ^= true;
        let better = self.cost(unit) < before;
        self.folded.swapped[item] ^= !better;
        better
    }

    /// Exchanges two uses of one slot if that is better, each with its arguments in either order.
    fn change(&mut self, a: usize, b: usize, slot: usize) -> bool {
        let items = [self.folded.units[a].slots[slot], self.folded.units[b].slots[slot]];
        if items == [None, None] {
            return false;
        }
        let concerned = self.concerned(&[a, b], &items);
        let cost = |b: &Self| concerned.iter().map(|u| b.cost(*u)).sum::<u64>();
        let before = cost(self);
        let turned: Vec<bool> = items.iter().map(|i| i.is_some_and(|i| self.folded.swapped[i])).collect();
        self.exchange(a, b, slot);
        if self.folded.kinds[self.folded.units[a].kind].commutes {
            self.turn(a, slot);
            self.turn(b, slot);
        }
        if cost(self) < before {
            return true;
        }
        self.exchange(a, b, slot);
        for (item, turned) in items.iter().zip(turned) {
            item.iter().for_each(|i| self.folded.swapped[*i] = turned);
        }
        false
    }

    fn exchange(&mut self, a: usize, b: usize, slot: usize) {
        let (x, y) = (self.folded.units[a].slots[slot], self.folded.units[b].slots[slot]);
        self.put(a, slot, None);
        self.put(b, slot, None);
        self.put(a, slot, y);
        self.put(b, slot, x);
    }
}

pub(super) fn is_constant(graph: &Graph, node: usize) -> bool {
    matches!(graph.nodes[node].kind, crate::graph::NodeKind::Const { .. })
}

impl Folded {
    /// About how many tables choose among the sources of all units.
    pub fn choices(&self, graph: &Graph) -> u64 {
        let there = self.there(graph);
        let inputs = self.library.clock.target.lut_inputs;
        let mut sum = 0;
        for unit in &self.units {
            for (port, width) in self.kinds[unit.kind].ports.iter().enumerate() {
                let mut known: Vec<Source> = Vec::new();
                for item in unit.slots.iter().flatten() {
                    let source = self.found(&there, *item, self.ports(graph, *item)[port]);
                    if !known.contains(&source) {
                        known.push(source);
                    }
                }
                sum += *width as u64 * choice_tables(known.len() as u64, inputs);
            }
        }
        sum
    }
}
