//! Cycles and units together, by simulated annealing: fewer sources in front of the units, and fewer registers behind them.
//!
//! A step moves one use to another cycle and unit; whoever is there takes its place. Steps that cost something are taken with a
//! probability that falls from step to step. The random numbers are always the same ones, and so is the result.

use super::Folded;
use super::bind::is_constant;
use super::reads::There;
use crate::graph::Graph;
use rustc_hash::FxHashMap;

/// Steps for each shared use, and at most.
const STEPS: u64 = 2_500;
const MOST_STEPS: u64 = 6_000_000;
/// Weights of the cost, in fortieths of a lookup table: one more source of a bit, a register, and a window in which a unit raises flags.
const SOURCE: u64 = 26;
const REGISTER: u64 = 10;
const WINDOW: u64 = 60;
/// The cost of each further value that a memory shows in one clock, from the first on: a block has one port that reads, and many
/// reads of one clock are so many blocks.
const PORT: [u64; 4] = [20, 60, 1_500, 4_000];
/// The first and the last temperature.
const HOT: f64 = 3_000.0;
const COLD: f64 = 30.0;
/// The same where values wait in memories, so that a source seldom is one value's alone.
const STORED: (f64, f64) = (1_500.0, 20.0);

struct Annealer<'a> {
    folded: &'a mut Folded,
    nodes: usize,
    /// Of each item what it reads, and that of it that moves; of each node its readers.
    args: Vec<Vec<usize>>,
    moving: Vec<Vec<usize>>,
    users: Vec<Vec<usize>>,
    /// Of each node the readers for which registers hold it.
    held_for: Vec<Vec<usize>>,
    width: Vec<u64>,
    constant: Vec<bool>,
    stays: Vec<u32>,
    shared: Vec<usize>,
    /// The units of each kind.
    of_kind: Vec<Vec<usize>>,
    /// The first row of each unit: one for each port, and one for the windows in which it raises flags.
    rows: Vec<usize>,
    /// The first row of each unit's memory: one for each slot, and one for the register beside it.
    stores: Vec<usize>,
    /// How many uses have a source in a row, or a window; and how many different ones a row has.
    counts: FxHashMap<(u32, u32), u32>,
    different: Vec<u32>,
    /// The cost of all units, and of each node.
    units_cost: u64,
    node_cost: Vec<u64>,
    random: u64,
}

/// A place of an item.
type Place = (u32, usize);

/// Moves shared items as long as that is worth it.
pub(super) fn anneal(graph: &Graph, folded: &mut Folded) {
    let mut a = Annealer::new(graph, folded);
    let steps = (a.shared.len() as u64 * STEPS).min(MOST_STEPS);
    let (hot, cold) = if a.folded.stored { STORED } else { (HOT, COLD) };
    let cool = (cold / hot).powf(1.0 / steps.max(1) as f64);
    let mut temperature = hot;
    for _ in 0..steps {
        a.step(temperature);
        temperature *= cool;
    }
}

impl<'a> Annealer<'a> {
    fn new(graph: &Graph, folded: &'a mut Folded) -> Annealer<'a> {
        let (n, all) = (graph.nodes.len(), folded.start.len());
        let args: Vec<Vec<usize>> = (0..all).map(|item| folded.args(graph, item)).collect();
        let moving: Vec<Vec<usize>> = args
            .iter()
            .map(|args| {
                let mut moving: Vec<usize> = args.iter().copied().filter(|a| !folded.fixed[*a]).collect();
                moving.sort_unstable();
                moving.dedup();
                moving
            })
            .collect();
        let mut users = vec![Vec::new(); n];
        moving.iter().enumerate().for_each(|(item, args)| args.iter().for_each(|a| users[*a].push(item)));
        let mut of_kind = vec![Vec::new(); folded.kinds.len()];
        folded.units.iter().enumerate().for_each(|(u, unit)| of_kind[unit.kind].push(u));
        let mut rows = Vec::with_capacity(folded.units.len());
        let mut next = 0;
        for unit in &folded.units {
            rows.push(next);
            next += folded.kinds[unit.kind].ports.len() + 1;
        }
        let mut stores = Vec::new();
        for _ in folded.units.iter().filter(|_| folded.stored) {
            stores.push(next);
            next += folded.ii as usize + 1;
        }
        let held_for = users
            .iter()
            .enumerate()
            .map(|(k, users)| users.iter().copied().filter(|u| !folded.waits_in_memory(k, *u)).collect())
            .collect();
        let mut made = Annealer {
            nodes: n,
            held_for,
            stores,
            args,
            moving,
            users,
            width: graph.nodes.iter().map(|n| n.format.width() as u64).collect(),
            constant: (0..n).map(|k| is_constant(graph, k)).collect(),
            stays: folded.there(graph).iter().map(|t| t.stays).collect(),
            shared: (0..all)
                .filter(|item| folded.unit[*item].is_some_and(|u| !folded.kinds[folded.units[u].kind].fixed))
                .collect(),
            of_kind,
            rows,
            counts: FxHashMap::default(),
            different: vec![0; next],
            units_cost: 0,
            node_cost: vec![0; n],
            random: 0x9e37_79b9_7f4a_7c15,
            folded,
        };
        (0..all).for_each(|item| made.count(item, true));
        made.node_cost = (0..n).map(|k| made.cost_of_node(k)).collect();
        made
    }

    /// A random number below `n` (SplitMix64).
    fn below(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((z ^ (z >> 31)) >> 32) * n as u64) >> 32) as usize
    }

    fn there(&self, node: usize) -> There {
        There { ready: self.folded.ready(node), stays: self.stays[node] }
    }

    /// A number for where an item finds an argument: equal numbers are one source.
    fn source(&self, item: usize, arg: usize) -> u32 {
        if self.folded.fixed[arg] {
            // Constants come out of one table.
            return if self.constant[arg] { 0 } else { 1 + arg as u32 };
        }
        let wait = self.there(arg).wait(self.folded.start[item], self.folded.ii) as usize;
        let units = self.folded.units.len();
        match self.folded.unit[arg] {
            Some(unit) if wait == 0 => (1 + self.nodes + unit) as u32,
            Some(unit) if self.folded.stored => {
                let waits = self.folded.start[item] - self.folded.ready(arg);
                (1 + self.nodes + waits.min(2) as usize * units + unit) as u32
            }
            _ => (1 + self.nodes + 3 * units + wait * self.nodes + arg) as u32,
        }
    }

    /// Counts what an item reads from the memory behind a unit, or from the register beside that.
    fn count_store(&mut self, item: usize, arg: usize, more: bool) {
        if !self.folded.stored || self.folded.fixed[arg] {
            return;
        }
        let Some(unit) = self.folded.unit[arg] else { return };
        let (start, ii) = (self.folded.start[item], self.folded.ii);
        match start - self.folded.ready(arg) {
            0 => {}
            1 => {
                let register = REGISTER * self.width[arg];
                self.count_one((self.stores[unit] + ii as usize, 1), more, |_| register);
            }
            _ => {
                let row = self.stores[unit] + (start % ii) as usize;
                self.count_one((row, arg as u32), more, |others| PORT[(others as usize).min(3)]);
            }
        }
    }

    /// Counts what an item of a unit reads and when it can raise flags, or takes it out of the count, and what that costs.
    fn count(&mut self, item: usize, more: bool) {
        let Some(unit) = self.folded.unit[item] else { return };
        let (kind, row) = (self.folded.units[unit].kind, self.rows[unit]);
        let ports = self.folded.kinds[kind].ports.len();
        for port in 0..ports {
            let turned = self.folded.swapped[item] && port < 2;
            let arg = self.args[item][if turned { 1 - port } else { port }];
            let source = self.source(item, arg);
            self.count_store(item, arg, more);
            let each = self.folded.kinds[kind].ports[port] as u64 * SOURCE;
            // The first source needs no multiplexer.
            self.count_one((row + port, source), more, |others| if others > 0 { each } else { 0 });
        }
        let flags = self.folded.kinds[kind].flags.0.count_ones() as u64;
        if flags > 0 {
            let window = self.folded.ready(item) / self.folded.ii;
            self.count_one((row + ports, window), more, |_| WINDOW * flags);
        }
    }

    /// Counts one more or one less; `cost` is that of what is in a row beside so many others.
    fn count_one(&mut self, (row, what): (usize, u32), more: bool, cost: impl Fn(u32) -> u64) {
        let count = self.counts.entry((row as u32, what)).or_default();
        let different = &mut self.different[row];
        if more {
            *count += 1;
            if *count == 1 {
                self.units_cost += cost(*different);
                *different += 1;
            }
        } else {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&(row as u32, what));
                *different -= 1;
                self.units_cost -= cost(*different);
            }
        }
    }

    /// The items whose sources change with where some items are.
    fn touched(&self, items: [Option<usize>; 2]) -> Vec<usize> {
        let mut all = Vec::with_capacity(16);
        for item in items.into_iter().flatten() {
            all.push(item);
            if item < self.nodes {
                all.extend(&self.users[item]);
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn count_all(&mut self, items: &[usize], more: bool) {
        items.iter().for_each(|item| self.count(*item, more));
    }

    fn cost_of_node(&self, node: usize) -> u64 {
        if self.folded.fixed[node] {
            return 0;
        }
        let last = self.held_for[node].iter().map(|u| self.folded.start[*u]).max().unwrap_or(0);
        REGISTER * self.width[node] * self.there(node).wait(last, self.folded.ii) as u64
    }

    /// The first and the last cycle in which an item can start.
    fn range(&self, item: usize) -> (u32, u32) {
        let first = self.moving[item].iter().map(|a| self.folded.ready(*a)).max().unwrap_or(0);
        let (sums, ii) = (self.folded.sums, self.folded.ii);
        if item >= self.nodes {
            return (first.max(sums - 1), sums + ii - 2);
        }
        let users = self.users[item].iter().map(|u| self.folded.start[*u]).min();
        (first, users.unwrap_or(u32::MAX).min(sums + ii - 2) - self.folded.latency[item])
    }

    /// A cycle to try: where an argument comes straight from its unit, where the result goes straight to a reader, or any near.
    fn wish(&mut self, item: usize, (first, last): (u32, u32)) -> u32 {
        let now = self.folded.start[item];
        let near = match self.below(4) {
            0 if !self.moving[item].is_empty() => {
                let k = self.below(self.moving[item].len());
                self.folded.ready(self.moving[item][k])
            }
            1 if item < self.nodes && !self.users[item].is_empty() => {
                let k = self.below(self.users[item].len());
                self.folded.start[self.users[item][k]] - self.folded.latency[item]
            }
            _ => {
                let reach = 2 * self.folded.ii;
                now.saturating_sub(reach) + self.below(2 * reach as usize + 1) as u32
            }
        };
        near.clamp(first, last)
    }

    fn put(&mut self, item: usize, (cycle, unit): Place) {
        self.folded.start[item] = cycle;
        self.folded.unit[item] = Some(unit);
        self.folded.units[unit].slots[(cycle % self.folded.ii) as usize] = Some(item);
    }

    fn clear(&mut self, (cycle, unit): Place) {
        self.folded.units[unit].slots[(cycle % self.folded.ii) as usize] = None;
    }

    /// One step: moves an item, and who is in its way.
    fn step(&mut self, temperature: f64) {
        let k = self.below(self.shared.len());
        let item = self.shared[k];
        let from: Place = (self.folded.start[item], self.folded.unit[item].expect("it shares a unit"));
        let range = self.range(item);
        if range.0 > range.1 {
            return;
        }
        let kind = self.folded.units[from.1].kind;
        let turn = self.folded.kinds[kind].commutes && self.below(4) == 0;
        let cycle = self.wish(item, range);
        let unit = match self.below(3) {
            0 => from.1,
            _ => {
                let k = self.below(self.of_kind[kind].len());
                self.of_kind[kind][k]
            }
        };
        let to: Place = (cycle, unit);
        if to == from && !turn {
            return;
        }
        let other = self.folded.units[unit].slots[(cycle % self.folded.ii) as usize].filter(|o| *o != item);
        let adjacent = |o: usize| self.moving[item].contains(&o) || self.moving[o].contains(&item);
        if other.is_some_and(adjacent) {
            return;
        }
        let others_from = other.map(|o| (self.folded.start[o], unit));
        let touched = self.touched([Some(item), other]);
        let before = self.units_cost;
        self.count_all(&touched, false);
        self.clear(from);
        self.put(item, to);
        if let Some(o) = other {
            let Some(back) = self.nearest(o, from.0) else {
                self.put(item, from);
                self.put(o, others_from.expect("it was somewhere"));
                self.count_all(&touched, true);
                return;
            };
            self.put(o, (back, from.1));
        }
        self.folded.swapped[item] ^= turn;
        self.count_all(&touched, true);
        if !self.settle([Some(item), other], before, temperature) {
            self.count_all(&touched, false);
            self.folded.swapped[item] ^= turn;
            self.clear(to);
            if let Some(o) = other {
                self.put(o, others_from.expect("it was somewhere"));
            }
            self.put(item, from);
            self.count_all(&touched, true);
        }
    }

    /// The cycle of the slot of `cycle` that is nearest to an item's own and possible.
    fn nearest(&self, item: usize, cycle: u32) -> Option<u32> {
        let (ii, now, (first, last)) = (self.folded.ii, self.folded.start[item], self.range(item));
        let block = now / ii * ii + cycle % ii;
        let candidates = [block, block + ii, block.saturating_sub(ii)];
        let fits = candidates.into_iter().filter(|c| c % ii == cycle % ii && (first..=last).contains(c));
        fits.min_by_key(|c| c.abs_diff(now))
    }

    /// Keeps where some items are now, if the costs allow it; those of the units were `before`.
    fn settle(&mut self, items: [Option<usize>; 2], before: u64, temperature: f64) -> bool {
        let mut nodes = Vec::with_capacity(8);
        for item in items.into_iter().flatten() {
            nodes.extend(&self.moving[item]);
            if item < self.nodes {
                nodes.push(item);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        let node_costs: Vec<u64> = nodes.iter().map(|k| self.cost_of_node(*k)).collect();
        let before = before + nodes.iter().map(|k| self.node_cost[*k]).sum::<u64>();
        let after = self.units_cost + node_costs.iter().sum::<u64>();
        if after > before {
            let odds = (-((after - before) as f64) / temperature).exp();
            if self.below(1 << 20) as f64 >= odds * (1u64 << 20) as f64 {
                return false;
            }
        }
        nodes.iter().zip(node_costs).for_each(|(k, cost)| self.node_cost[*k] = cost);
        true
    }
}
