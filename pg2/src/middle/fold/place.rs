//! The cycle of each item: as early as its arguments and a free slot allow at first, then moved and exchanged as long as that
//! saves register bits.

use super::Folded;
use super::reads::There;
use crate::graph::{Graph, NodeKind};

/// Exchanges that are tried at most in all, so that large kernels end too.
const MOST_TRIALS: u64 = 6_000_000;
/// Rounds over all items at most.
const MOST_ROUNDS: u32 = 8;

struct Placer<'a> {
    folded: &'a mut Folded,
    /// Of each item the moving nodes that it reads, and of each node the items that read it.
    args: Vec<Vec<usize>>,
    users: Vec<Vec<usize>>,
    width: Vec<u64>,
    /// Whether an item is a pin, a constant or static: then it has no cycle.
    still: Vec<bool>,
    kind: Vec<Option<usize>>,
    /// For each kind and slot the items in it.
    taken: Vec<Vec<Vec<usize>>>,
    there: Vec<There>,
    nodes: usize,
}

/// Gives each item its cycle.
pub(super) fn place(graph: &Graph, folded: &mut Folded) {
    let mut p = Placer::new(graph, folded);
    p.earliest(graph);
    p.outputs();
    p.renew(graph);
    p.improve(graph);
}

impl<'a> Placer<'a> {
    fn new(graph: &Graph, folded: &'a mut Folded) -> Placer<'a> {
        let (n, all) = (graph.nodes.len(), folded.start.len());
        let args: Vec<Vec<usize>> = (0..all)
            .map(|item| {
                let mut args = folded.args(graph, item);
                args.retain(|a| !folded.fixed[*a]);
                args.sort_unstable();
                args.dedup();
                args
            })
            .collect();
        let mut users = vec![Vec::new(); n];
        for (item, args) in args.iter().enumerate() {
            args.iter().for_each(|a| users[*a].push(item));
        }
        let is_op = |k: usize| k >= n || matches!(graph.nodes[k].kind, NodeKind::Op { .. });
        let still = (0..all).map(|k| !is_op(k) || folded.fixed.get(k) == Some(&true)).collect();
        let mut kind = vec![None; all];
        for (k, of) in folded.kinds.iter().enumerate() {
            of.items.iter().for_each(|item| kind[*item] = Some(k));
        }
        Placer {
            args,
            users,
            width: graph.nodes.iter().map(|n| n.format.width() as u64).collect(),
            still,
            kind,
            taken: vec![vec![Vec::new(); folded.ii as usize]; folded.kinds.len()],
            there: Vec::new(),
            nodes: n,
            folded,
        }
    }

    fn slot(&self, cycle: u32) -> usize {
        (cycle % self.folded.ii) as usize
    }

    fn room(&self, kind: usize, cycle: u32) -> bool {
        self.taken[kind][self.slot(cycle)].len() < self.folded.kinds[kind].units as usize
    }

    fn ready_of_args(&self, item: usize) -> u32 {
        self.args[item].iter().map(|a| self.folded.ready(*a)).max().unwrap_or(0)
    }

    /// Nodes in the order in which the outputs ask for them, so that what belongs together is placed together.
    fn earliest(&mut self, graph: &Graph) {
        let mut order = Vec::new();
        let mut seen = vec![false; self.nodes];
        let ends = graph.outputs.iter().map(|o| o.value.0 as usize).chain(0..self.nodes);
        for end in ends {
            let mut stack = vec![(end, 0)];
            while let Some((k, next)) = stack.pop() {
                if next == 0 && std::mem::replace(&mut seen[k], true) {
                    continue;
                }
                match self.args[k].get(next) {
                    Some(a) => stack.extend([(k, next + 1), (*a, 0)]),
                    None => order.push(k),
                }
            }
        }
        // What is static reads only what is static, which the order of the outputs does not follow; nodes stand behind their arguments.
        for k in 0..self.nodes {
            if self.still[k] {
                self.static_start(graph, k);
            }
        }
        for k in order {
            if self.still[k] {
                continue;
            }
            let mut cycle = self.ready_of_args(k);
            if let Some(kind) = self.kind[k] {
                while !self.room(kind, cycle) {
                    cycle += 1;
                }
                let slot = self.slot(cycle);
                self.taken[kind][slot].push(k);
            }
            self.folded.start[k] = cycle;
        }
    }

    /// When what is static has settled, for reports.
    fn static_start(&mut self, graph: &Graph, k: usize) {
        let args = self.folded.args(graph, k);
        self.folded.start[k] = args.into_iter().map(|a| self.folded.ready(a)).max().unwrap_or(0);
    }

    /// The cycles of the outputs: the first window that has slots for all sums that share.
    fn outputs(&mut self) {
        let (ii, n) = (self.folded.ii, self.nodes);
        let last = (0..n).map(|k| self.folded.ready(k)).max().unwrap_or(0);
        let mut sums = (last.saturating_sub(ii - 2)).next_multiple_of(ii).max(ii);
        while !self.sums_fit(sums) {
            sums += ii;
        }
        self.folded.sums = sums;
        for item in (n..self.folded.start.len()).filter(|item| self.kind[*item].is_none()) {
            self.folded.start[item] = sums + ii - 1;
        }
    }

    /// Places the shared sums in the window from `sums` on, those whose values are there first in front; `false` if they do not fit.
    fn sums_fit(&mut self, sums: u32) -> bool {
        for kind in 0..self.folded.kinds.len() {
            if self.folded.kinds[kind].module.is_some() {
                continue;
            }
            let mut items = self.folded.kinds[kind].items.clone();
            if let (true, Some(slices)) = (self.folded.kinds[kind].fixed, self.folded.slices) {
                for (k, item) in items.into_iter().enumerate() {
                    self.folded.start[item] = sums + slices.place(k as u32).1;
                    if self.ready_of_args(item) > self.folded.start[item] {
                        return false;
                    }
                }
                continue;
            }
            items.sort_by_key(|item| self.ready_of_args(*item));
            self.taken[kind].iter_mut().for_each(Vec::clear);
            for item in items {
                let first = self.ready_of_args(item).max(sums - 1);
                let Some(cycle) = (first..sums + self.folded.ii - 1).find(|c| self.room(kind, *c)) else {
                    return false;
                };
                let slot = self.slot(cycle);
                self.taken[kind][slot].push(item);
                self.folded.start[item] = cycle;
            }
        }
        true
    }

    fn renew(&mut self, graph: &Graph) {
        self.there = self.folded.there(graph);
    }

    /// The first and the last cycle in which an item can start, the others where they are.
    fn range(&self, item: usize) -> (u32, u32) {
        let first = self.ready_of_args(item);
        let (sums, ii, latency) = (self.folded.sums, self.folded.ii, self.folded.latency[item]);
        if item >= self.nodes {
            return (first.max(sums - 1), sums + ii - 2);
        }
        let users = self.users[item].iter().map(|u| self.folded.start[*u]).min();
        let last = users.unwrap_or(u32::MAX).min(sums + ii - 2);
        (first, last - latency)
    }

    /// Register bits behind a node.
    fn bits(&self, node: usize) -> u64 {
        let last = self.users[node].iter().map(|u| self.folded.start[*u]).max().unwrap_or(0);
        let stays = if self.kind[node].is_some() { 0 } else { self.there[node].stays };
        let there = There { ready: self.folded.ready(node), stays };
        self.width[node] * there.wait(last, self.folded.ii) as u64
    }

    /// Register bits around some items.
    fn around(&self, items: &[usize]) -> u64 {
        let mut nodes: Vec<usize> = items.iter().flat_map(|i| self.args[*i].iter().copied()).collect();
        nodes.extend(items.iter().filter(|i| **i < self.nodes));
        nodes.sort_unstable();
        nodes.dedup();
        nodes.into_iter().map(|k| self.bits(k)).sum()
    }

    /// The cycles of a slot within a range.
    fn cycles(&self, slot: usize, (first, last): (u32, u32)) -> impl Iterator<Item = u32> + use<> {
        let ii = self.folded.ii;
        let from = first + (slot as u32 + ii - first % ii) % ii;
        (from..=last.max(from)).step_by(ii as usize).filter(move |c| *c <= last)
    }

    fn improve(&mut self, graph: &Graph) {
        let mut trials = 0;
        for round in 0..MOST_ROUNDS {
            let mut better = false;
            let mut items: Vec<usize> = (0..self.folded.start.len()).filter(|k| !self.still[*k]).collect();
            items.retain(|k| *k < self.nodes || self.kind[*k].is_some_and(|kind| !self.folded.kinds[kind].fixed));
            if round % 2 == 0 {
                items.reverse();
            }
            for item in items {
                let moved = match self.kind[item] {
                    None => self.move_own(item),
                    Some(kind) => self.move_shared(item, kind, &mut trials),
                };
                if moved {
                    better = true;
                    self.renew(graph);
                }
            }
            if !better || trials > MOST_TRIALS {
                return;
            }
        }
    }

    /// Moves an item without a unit to its best cycle.
    fn move_own(&mut self, item: usize) -> bool {
        let (now, (first, last)) = (self.folded.start[item], self.range(item));
        let mut best = (self.around(&[item]), now);
        for cycle in first..=last {
            self.folded.start[item] = cycle;
            let bits = self.around(&[item]);
            if bits < best.0 {
                best = (bits, cycle);
            }
        }
        self.folded.start[item] = best.1;
        best.1 != now
    }

    /// Moves an item to its best cycle; where that slot is taken, another one of its kind takes this one's slot.
    fn move_shared(&mut self, item: usize, kind: usize, trials: &mut u64) -> bool {
        let now = self.folded.start[item];
        let own = self.slot(now);
        let before = self.around(&[item]);
        // What is saved, the new cycle, and who takes the old slot in which cycle.
        let mut best: (u64, u32, Option<(usize, u32)>) = (0, now, None);
        for slot in 0..self.folded.ii as usize {
            let cycles: Vec<u32> = self.cycles(slot, self.range(item)).collect();
            let free = slot == own || self.taken[kind][slot].len() < self.folded.kinds[kind].units as usize;
            for cycle in cycles {
                *trials += 1;
                self.folded.start[item] = cycle;
                let alone = before.saturating_sub(self.around(&[item]));
                if free && alone > best.0 {
                    best = (alone, cycle, None);
                }
                if !free && alone > best.0 {
                    for k in 0..self.taken[kind][slot].len() {
                        let other = self.taken[kind][slot][k];
                        if let Some((saved, at)) = self.exchange(item, now, other, own, trials)
                            && saved > best.0
                        {
                            best = (saved, cycle, Some((other, at)));
                        }
                    }
                }
                self.folded.start[item] = now;
            }
        }
        let (saved, cycle, other) = best;
        if saved == 0 {
            return false;
        }
        let to = self.slot(cycle);
        self.folded.start[item] = cycle;
        self.taken[kind][own].retain(|i| *i != item);
        self.taken[kind][to].push(item);
        if let Some((other, at)) = other {
            self.folded.start[other] = at;
            self.taken[kind][to].retain(|i| *i != other);
            self.taken[kind][own].push(other);
        }
        true
    }

    /// The savings if `other` goes to its best cycle in slot `slot` while `item`, which was in cycle `was`, stands where it is.
    fn exchange(&mut self, item: usize, was: u32, other: usize, slot: usize, trials: &mut u64) -> Option<(u64, u32)> {
        let (to, from) = (self.folded.start[item], self.folded.start[other]);
        let both = [item, other];
        self.folded.start[item] = was;
        let before = self.around(&both);
        self.folded.start[item] = to;
        let mut best: Option<(u64, u32)> = None;
        for cycle in self.cycles(slot, self.range(other)).collect::<Vec<_>>() {
            *trials += 1;
            self.folded.start[other] = cycle;
            let after = self.around(&both);
            if after < before && best.is_none_or(|b| before - after > b.0) {
                best = Some((before - after, cycle));
            }
        }
        self.folded.start[other] = from;
        best
    }
}
