//! Covering gates with lookup tables: cuts of each gate, of which those are taken that need the fewest tables within the time that the
//! slowest path takes in any case. It is the way of ABC's mapper `if`: by time, and among equals by the tables that a cut needs, which
//! gates share that read it; then for each gate by the tables that are needed for nothing else.

use super::family::{Chain, Family};
use super::gates::{Bit, Gate, Gates};
use hdl::hash::{FastMap, FastSet};

/// The most inputs of a table, several joined by multiplexers counted as one.
pub(crate) const WIDEST: usize = 7;
/// Cuts that are kept of each gate.
const KEPT: usize = 8;

/// Gates that a gate can be computed from.
#[derive(Clone, Copy, Debug)]
struct Cut {
    leaves: [u32; WIDEST],
    count: u8,
    /// A bit for each leaf by its number, to compare quickly.
    sign: u64,
    time: f32,
    flow: f32,
}

impl Cut {
    fn single(gate: u32) -> Cut {
        let mut leaves = [0; WIDEST];
        leaves[0] = gate;
        Cut { leaves, count: 1, sign: 1 << (gate % 64), time: 0.0, flow: 0.0 }
    }

    fn leaves(&self) -> &[u32] {
        &self.leaves[..self.count as usize]
    }

    /// The leaves of both, unless these are more than `most`.
    fn joined(&self, other: &Cut, most: usize) -> Option<Cut> {
        let sign = self.sign | other.sign;
        if sign.count_ones() as usize > most {
            return None;
        }
        let (mut leaves, mut n) = ([0; WIDEST], 0);
        let (a, b) = (self.leaves(), other.leaves());
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let next = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) if x == y => {
                    (i, j) = (i + 1, j + 1);
                    *x
                }
                (Some(x), Some(y)) if x > y => {
                    j += 1;
                    *y
                }
                (Some(x), _) => {
                    i += 1;
                    *x
                }
                (None, Some(y)) => {
                    j += 1;
                    *y
                }
                (None, None) => break,
            };
            if n == most {
                return None;
            }
            leaves[n] = next;
            n += 1;
        }
        Some(Cut { leaves, count: n as u8, sign, time: 0.0, flow: 0.0 })
    }

    fn within(&self, other: &Cut) -> bool {
        self.count <= other.count
            && self.sign & !other.sign == 0
            && self.leaves().iter().all(|leaf| other.leaves().contains(leaf))
    }
}

/// The first cuts of a list, without those that have all leaves of an earlier one.
fn first(found: Vec<Cut>) -> Vec<Cut> {
    let mut few: Vec<Cut> = Vec::with_capacity(KEPT + 1);
    for cut in found {
        if few.len() < KEPT && !few.iter().any(|known| known.within(&cut)) {
            few.push(cut);
        }
    }
    few
}

/// A covering.
struct Cover<'a> {
    family: &'a Family,
    gates: &'a [Gate],
    /// Whether anything needs the gate.
    live: Vec<bool>,
    /// Cells that read it besides tables, as it is and inverted.
    hard: Vec<[bool; 2]>,
    /// Tables and cells that read it in the present covering.
    readers: Vec<u32>,
    /// The number that will, to share its cost among.
    shares: Vec<f32>,
    time: Vec<f32>,
    flow: Vec<f32>,
    best: Vec<Cut>,
    latest: Vec<f32>,
}

/// The resources of a covering.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Covered {
    pub tables: u64,
    /// Steps of carry chains.
    pub steps: u64,
}

/// Covers what `roots` need; each root is read by a cell that is no table.
pub(crate) fn cover(gates: &Gates, roots: &[Bit], family: &Family) -> Covered {
    let mut cover = Cover::new(&gates.list, roots, family);
    cover.pass();
    cover.require(roots);
    for _ in 0..2 {
        cover.exact();
        cover.require(roots);
    }
    cover.covered()
}

impl<'a> Cover<'a> {
    fn new(gates: &'a [Gate], roots: &[Bit], family: &'a Family) -> Cover<'a> {
        let n = gates.len();
        let (mut live, mut hard, mut shares) = (vec![false; n], vec![[false; 2]; n], vec![0f32; n]);
        for root in roots {
            live[(root / 2) as usize] = true;
            hard[(root / 2) as usize][(root & 1) as usize] = true;
            shares[(root / 2) as usize] += 1.0;
        }
        let mut going_on: FastSet<[Bit; 3]> = FastSet::default();
        for k in (0..n).rev().filter(|k| gates[*k] != Gate::Zero) {
            if !live[k] {
                continue;
            }
            let (bits, count) = gates[k].operands();
            if matches!(gates[k], Gate::Carry(..)) {
                going_on.insert(bits);
            }
            // The table of the last sum of a chain inverts what it reads.
            let last = family.chain == Chain::Split && matches!(gates[k], Gate::Sum(..)) && !going_on.contains(&bits);
            for bit in &bits[..count] {
                let at = (bit / 2) as usize;
                live[at] = true;
                shares[at] += 1.0;
                let carry = matches!(gates[at], Gate::Carry(..));
                // A carry goes on within its chain.
                if !(gates[k].is_logic() || carry && *bit == bits[2]) {
                    hard[at][(bit & 1) as usize & !last as usize] = true;
                }
            }
        }
        let best = (0..n as u32).map(Cut::single).collect();
        let zero = vec![0f32; n];
        Cover {
            family,
            gates,
            live,
            hard,
            readers: vec![0; n],
            shares,
            time: zero.clone(),
            flow: zero.clone(),
            best,
            latest: vec![f32::INFINITY; n],
        }
    }

    fn area(&self, inputs: u8) -> f32 {
        self.family.area[inputs as usize]
    }

    /// When a cell of a carry chain is done.
    fn chained(&self, k: usize) -> f32 {
        let f = self.family;
        let (bits, _) = self.gates[k].operands();
        let at = |bit: Bit| self.time[(bit / 2) as usize];
        let operands = at(bits[0]).max(at(bits[1]));
        match self.gates[k] {
            Gate::Sum(..) => (operands + f.into_sum).max(at(bits[2]) + f.carry_sum),
            _ => (operands + f.into_carry).max(at(bits[2]) + f.carry),
        }
    }

    /// Chooses a cut for each gate.
    fn pass(&mut self) {
        let n = self.gates.len();
        let mut kept: Vec<Vec<Cut>> = vec![Vec::new(); n];
        for k in 0..n {
            if !self.live[k] {
                continue;
            }
            let gate = self.gates[k];
            if !gate.is_logic() {
                let chained = matches!(gate, Gate::Sum(..) | Gate::Carry(..));
                self.time[k] = if chained { self.chained(k) } else { 0.0 };
                self.flow[k] = 0.0;
                kept[k] = vec![Cut { time: self.time[k], ..Cut::single(k as u32) }];
                continue;
            }
            let mut found = self.cuts(k, &kept);
            found.iter_mut().for_each(|cut| self.price(cut));
            found.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.flow.total_cmp(&b.flow)).then(a.count.cmp(&b.count)));
            let mut few = first(found);
            self.best[k] = few[0];
            self.time[k] = few[0].time;
            self.flow[k] = few[0].flow / self.shares[k].max(1.0);
            few.push(Cut { time: self.time[k], flow: self.flow[k], ..Cut::single(k as u32) });
            kept[k] = few;
        }
    }

    /// Time and flow of area of a cut.
    fn price(&self, cut: &mut Cut) {
        let leaves = || cut.leaves().iter().map(|leaf| *leaf as usize);
        let pins = self.family.pins(cut.count);
        let time = self.by_time(cut).iter().zip(pins).map(|((time, _), pin)| time + pin).fold(0.0, f32::max);
        let flow = leaves().map(|leaf| self.flow[leaf]).sum::<f32>() + self.area(cut.count);
        (cut.time, cut.flow) = (time, flow);
    }

    /// The leaves of a cut, the latest one first, which gets the fastest pin.
    fn by_time(&self, cut: &Cut) -> [(f32, u32); WIDEST] {
        let mut all = [(f32::NEG_INFINITY, 0); WIDEST];
        for (at, leaf) in all.iter_mut().zip(cut.leaves()) {
            *at = (self.time[*leaf as usize], *leaf);
        }
        all[..cut.count as usize].sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }

    fn cuts(&self, k: usize, kept: &[Vec<Cut>]) -> Vec<Cut> {
        let (bits, count) = self.gates[k].operands();
        let most = self.family.inputs;
        let of = |bit: Bit| &kept[(bit / 2) as usize];
        let mut found = Vec::with_capacity(80);
        for a in of(bits[0]) {
            for b in of(bits[1]) {
                let Some(two) = a.joined(b, most) else { continue };
                if count == 2 {
                    found.push(two);
                    continue;
                }
                found.extend(of(bits[2]).iter().filter_map(|c| two.joined(c, most)));
            }
        }
        found
    }

    /// The latest that each gate may be done without any path getting longer than the longest.
    fn require(&mut self, roots: &[Bit]) {
        let n = self.gates.len();
        let slowest = (0..n).filter(|k| self.live[*k]).map(|k| self.time[k]).fold(0.0, f32::max);
        self.latest.fill(f32::INFINITY);
        roots.iter().for_each(|root| self.latest[(root / 2) as usize] = slowest);
        let f = self.family;
        for k in (0..n).rev().filter(|k| self.live[*k]) {
            let (latest, bound) = (self.latest[k].min(slowest), self.latest[k].is_finite());
            let (bits, _) = self.gates[k].operands();
            let all = &mut self.latest;
            let mut by = |at: usize, time: f32| all[at] = all[at].min(time);
            match self.gates[k] {
                Gate::Sum(..) => {
                    bits[..2].iter().for_each(|bit| by((bit / 2) as usize, latest - f.into_sum));
                    by((bits[2] / 2) as usize, latest - f.carry_sum);
                }
                Gate::Carry(..) => {
                    bits[..2].iter().for_each(|bit| by((bit / 2) as usize, latest - f.into_carry));
                    by((bits[2] / 2) as usize, latest - f.carry);
                }
                gate if gate.is_logic() && (self.readers[k] > 0 || bound) => {
                    let cut = self.best[k];
                    for ((_, leaf), pin) in self.by_time(&cut).iter().zip(f.pins(cut.count)) {
                        self.latest[*leaf as usize] = self.latest[*leaf as usize].min(latest - pin);
                    }
                }
                _ => {}
            }
        }
    }

    /// Chooses for each gate of the covering the cut that adds the fewest tables to all others.
    fn exact(&mut self) {
        let n = self.gates.len();
        self.readers.fill(0);
        for k in (0..n).rev() {
            self.readers[k] += self.hard[k].iter().filter(|h| **h).count() as u32;
            if self.readers[k] > 0 && self.gates[k].is_logic() {
                let cut = self.best[k];
                cut.leaves().iter().for_each(|leaf| self.readers[*leaf as usize] += 1);
            }
        }
        let mut kept: Vec<Vec<Cut>> = vec![Vec::new(); n];
        for k in 0..n {
            if !self.live[k] {
                continue;
            }
            if !self.gates[k].is_logic() {
                let chained = matches!(self.gates[k], Gate::Sum(..) | Gate::Carry(..));
                self.time[k] = if chained { self.chained(k) } else { 0.0 };
                kept[k] = vec![Cut { time: self.time[k], ..Cut::single(k as u32) }];
                continue;
            }
            let used = self.readers[k] > 0;
            let before = self.best[k];
            let mut found = self.cuts(k, &kept);
            found.push(before);
            if used {
                self.release(&before);
            }
            for cut in &mut found {
                self.price(cut);
                cut.flow = self.hold(cut);
                self.release(cut);
            }
            let latest = self.latest[k];
            found.sort_by(|a, b| {
                let late = |cut: &Cut| if cut.time <= latest + 0.01 { 0.0 } else { cut.time };
                late(a)
                    .total_cmp(&late(b))
                    .then(a.flow.total_cmp(&b.flow))
                    .then(a.count.cmp(&b.count))
                    .then(a.time.total_cmp(&b.time))
            });
            let mut few = first(found);
            self.best[k] = few[0];
            self.time[k] = few[0].time;
            if used {
                let best = self.best[k];
                self.hold(&best);
            }
            few.push(Cut { time: self.time[k], ..Cut::single(k as u32) });
            kept[k] = few;
        }
    }

    /// Adds a reader to the leaves of a cut: the area of what was not read before, the cut's own among it.
    fn hold(&mut self, cut: &Cut) -> f32 {
        let mut sum = self.area(cut.count);
        for leaf in cut.leaves() {
            let at = *leaf as usize;
            self.readers[at] += 1;
            if self.readers[at] == 1 && self.gates[at].is_logic() {
                let inner = self.best[at];
                sum += self.hold(&inner);
            }
        }
        sum
    }

    fn release(&mut self, cut: &Cut) {
        for leaf in cut.leaves() {
            let at = *leaf as usize;
            self.readers[at] -= 1;
            if self.readers[at] == 0 && self.gates[at].is_logic() {
                let inner = self.best[at];
                self.release(&inner);
            }
        }
    }

    fn covered(&self) -> Covered {
        let f = self.family;
        let mut sum = Covered::default();
        for k in (1..self.gates.len()).filter(|k| self.live[*k]) {
            let [plain, inverted] = self.hard[k];
            match self.gates[k] {
                // What cells read inverted as well as not takes a table for either.
                gate if gate.is_logic() && self.readers[k] > 0 => {
                    sum.tables += f.tables[self.best[k].count as usize] * (1 + (plain && inverted) as u64);
                }
                gate if !gate.is_logic() && inverted => sum.tables += 1,
                _ => {}
            }
        }
        sum.steps = self.steps() - if f.joined_sums { self.joined_sums() } else { 0 };
        sum
    }

    /// Sums of chains that one table alone reads which has room for their operands: yosys's `opt_lut` makes one table of both.
    fn joined_sums(&self) -> u64 {
        let tables =
            (1..self.gates.len()).filter(|k| self.live[*k] && self.readers[*k] > 0 && self.gates[*k].is_logic());
        let joins = |k: &usize| {
            let cut = &self.best[*k];
            cut.leaves().iter().any(|leaf| {
                let at = *leaf as usize;
                let Gate::Sum(a, b, carry) = self.gates[at] else { return false };
                if self.readers[at] != 1 || self.hard[at] != [false; 2] {
                    return false;
                }
                let mut all: Vec<u32> = [a, b, carry].iter().map(|bit| bit / 2).filter(|gate| *gate > 0).collect();
                all.extend(cut.leaves().iter().filter(|other| *other != leaf));
                all.sort_unstable();
                all.dedup();
                all.len() <= self.family.inputs
            })
        };
        tables.filter(joins).count() as u64
    }

    /// Steps of carry chains, whole chains in as many as come together.
    fn steps(&self) -> u64 {
        let f = self.family;
        if f.chain == Chain::Split {
            let sums = self.gates.iter().zip(&self.live).filter(|(g, live)| **live && matches!(g, Gate::Sum(..)));
            return sums.count() as u64;
        }
        // By the operands of a step its length from the chain's beginning, and whether the chain goes on.
        let mut steps: FastMap<[Bit; 3], (u64, bool)> = FastMap::default();
        for gate in (1..self.gates.len()).filter(|k| self.live[*k]).map(|k| self.gates[k]) {
            let (Gate::Sum(a, b, carry) | Gate::Carry(a, b, carry)) = gate else { continue };
            let before = match self.gates[(carry / 2) as usize] {
                Gate::Carry(x, y, z) => steps.get_mut(&[x, y, z]),
                _ => None,
            };
            let length = before.map_or(0, |(length, goes_on)| {
                *goes_on = true;
                *length
            });
            steps.entry([a, b, carry]).or_insert((length + 1, false));
        }
        let ends = steps.values().filter(|(_, goes_on)| !goes_on);
        ends.map(|(length, _)| length.next_multiple_of(f.steps)).sum()
    }
}
