//! The contents of the j memory: which pieces of the sources are resident where, and which to give up.
//!
//! Sources are cut into *atoms*, the maximal ranges that no segment of the job cuts, and atoms live in slots
//! of the j memory. All uses are known before the first packet is sent, so the atom given up is the one
//! whose next use is farthest away (Belady's rule, optimal for pieces of equal size), never one of the run at hand.

use fmm::arith::ranges::joined;
use hdl::engine::protocol::Segment as Resident;
use std::collections::BTreeSet;
use std::ops::Range;

/// A range of sources that is loaded and given up as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atom {
    pub first: usize,
    pub count: usize,
}

/// Cuts sources at every edge of `segments` (pairs of first, count), and further so that none has more than
/// `limit` records. Ranges that no segment covers are left out.
pub fn atoms(segments: impl Iterator<Item = (usize, usize)> + Clone, limit: usize) -> Vec<Atom> {
    let mut edges: Vec<(usize, i64)> = segments.filter(|s| s.1 > 0).flat_map(|(f, c)| [(f, 1), (f + c, -1)]).collect();
    edges.sort_unstable();
    let mut list = Vec::new();
    let mut depth = 0;
    for (k, &(at, step)) in edges.iter().enumerate() {
        depth += step;
        let end = edges.get(k + 1).map_or(at, |e| e.0);
        let mut first = at;
        while depth > 0 && first < end {
            let count = (end - first).min(limit);
            list.push(Atom { first, count });
            first += count;
        }
    }
    list
}

/// The atoms that cover a segment: a range of indices into the sorted list.
pub fn cover(atoms: &[Atom], first: usize, count: usize) -> Range<usize> {
    let start = atoms.partition_point(|a| a.first < first);
    let end = atoms.partition_point(|a| a.first < first + count);
    start..end.max(start)
}

/// A piece of the j memory to load: `count` records of the sources from `source`, at record `address`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    pub address: u32,
    pub source: usize,
    pub count: usize,
}

/// The j memory in slots of `slot` records.
pub struct Residency {
    slot: usize,
    /// Slots in all.
    slots: usize,
    free: BTreeSet<usize>,
    /// Slots of each resident atom, in order; empty if it is not resident.
    held: Vec<Vec<usize>>,
    /// Positions in the run order at which each atom is used, ascending, and how many have passed.
    uses: Vec<Vec<u32>>,
    passed: Vec<usize>,
    /// Resident atoms by their [`rank`](Self::rank).
    queue: BTreeSet<(u32, u32, usize)>,
}

impl Residency {
    /// An empty memory of `capacity` records, and for each atom the ascending positions of its uses.
    pub fn new(capacity: usize, slot: usize, uses: Vec<Vec<u32>>) -> Residency {
        let count = uses.len();
        Residency {
            slot,
            slots: capacity / slot,
            free: (0..capacity / slot).collect(),
            held: vec![Vec::new(); count],
            uses,
            passed: vec![0; count],
            queue: BTreeSet::new(),
        }
    }

    /// Slots that an atom takes.
    pub fn slots_of(&self, atom: &Atom) -> usize {
        atom.count.div_ceil(self.slot)
    }

    fn next_use(&self, k: usize) -> u32 {
        self.uses[k].get(self.passed[k]).copied().unwrap_or(u32::MAX)
    }

    /// Its place in the queue: the last one is given up first. Of atoms that are not used again the one goes that was
    /// not used for longest, since no run can still be reading it.
    fn rank(&self, k: usize) -> (u32, u32, usize) {
        let last = self.passed[k].checked_sub(1).map_or(0, |n| self.uses[k][n]);
        (self.next_use(k), u32::MAX - last, k)
    }

    /// Whether two sets of distinct atoms can be resident together.
    pub fn fit(&self, atoms: &[Atom], one: &[usize], other: &[usize]) -> bool {
        let all: BTreeSet<usize> = one.iter().chain(other).copied().collect();
        all.iter().map(|k| self.slots_of(&atoms[*k])).sum::<usize>() <= self.slots
    }

    /// Makes the atoms `wanted` (distinct) resident for position `now`, and returns what must be loaded. None of `kept`
    /// is given up, which must [`fit`](Self::fit) beside what is wanted.
    pub fn require(&mut self, atoms: &[Atom], wanted: &[usize], kept: &[usize], now: u32) -> Vec<Load> {
        // What must stay leaves the queue, so that it cannot be given up; it comes back below.
        for &k in kept {
            self.queue.remove(&self.rank(k));
        }
        for &k in wanted {
            self.queue.remove(&self.rank(k));
            while self.passed[k] < self.uses[k].len() && self.uses[k][self.passed[k]] <= now {
                self.passed[k] += 1;
            }
        }
        let mut loads = Vec::new();
        for &k in wanted.iter() {
            if self.held[k].is_empty() {
                self.place(atoms, k, &mut loads);
            }
        }
        for &k in wanted.iter().chain(kept) {
            self.queue.insert(self.rank(k));
        }
        joined(loads, |last, next| {
            let in_memory = last.address as usize + last.count == next.address as usize;
            let touch = in_memory && last.source + last.count == next.source;
            last.count += if touch { next.count } else { 0 };
            touch
        })
    }

    fn place(&mut self, atoms: &[Atom], k: usize, loads: &mut Vec<Load>) {
        let needed = self.slots_of(&atoms[k]);
        while self.free.len() < needed {
            let (_, _, victim) = self.queue.pop_last().expect("what is wanted together fits the memory");
            let slots = std::mem::take(&mut self.held[victim]);
            self.free.extend(slots);
        }
        let mut source = atoms[k].first;
        let end = source + atoms[k].count;
        for _ in 0..needed {
            let slot = self.free.pop_first().expect("enough slots were freed");
            let count = self.slot.min(end - source);
            loads.push(Load { address: (slot * self.slot) as u32, source, count });
            self.held[k].push(slot);
            source += count;
        }
    }

    /// Where a resident atom's records are.
    pub fn segments(&self, atom: &Atom, k: usize) -> impl Iterator<Item = Resident> {
        let (slot, count) = (self.slot, atom.count);
        self.held[k]
            .iter()
            .enumerate()
            .map(move |(n, s)| Resident { first: (s * slot) as u32, count: slot.min(count - n * slot) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_are_cut_at_every_edge_and_gaps_are_left_out() {
        let list = atoms([(0, 10), (5, 10), (20, 3), (5, 0)].into_iter(), 4);
        let ranges: Vec<(usize, usize)> = list.iter().map(|a| (a.first, a.count)).collect();
        assert_eq!(ranges, [(0, 4), (4, 1), (5, 4), (9, 1), (10, 4), (14, 1), (20, 3)]);
        assert_eq!(cover(&list, 5, 10), 2..6);
        assert_eq!(cover(&list, 20, 3), 6..7);
    }

    #[test]
    fn the_atom_used_farthest_away_is_given_up() {
        let atoms: Vec<Atom> = (0..3).map(|k| Atom { first: 4 * k, count: 4 }).collect();
        // Two fit. Order of use: 0 1 2 0 1: at position 2, atom 1 (used at 4) goes rather than 0 (used at 3).
        let mut memory = Residency::new(8, 4, vec![vec![0, 3], vec![1, 4], vec![2]]);
        assert_eq!(memory.require(&atoms, &[0], &[], 0).len(), 1);
        assert_eq!(memory.require(&atoms, &[1], &[], 1).len(), 1);
        assert_eq!(memory.require(&atoms, &[2], &[], 2).len(), 1);
        assert!(memory.require(&atoms, &[0], &[], 3).is_empty());
        assert_eq!(memory.require(&atoms, &[1], &[], 4), [Load { address: 4, source: 4, count: 4 }]);
    }

    #[test]
    fn neighbours_are_loaded_in_one_piece() {
        let atoms = vec![Atom { first: 0, count: 10 }, Atom { first: 10, count: 3 }];
        let mut memory = Residency::new(32, 4, vec![vec![0], vec![0]]);
        let loads = memory.require(&atoms, &[0, 1], &[], 0);
        // The first atom ends inside its third slot, so the second starts a slot of its own.
        assert_eq!(loads, [Load { address: 0, source: 0, count: 10 }, Load { address: 12, source: 10, count: 3 }]);
        let segments: Vec<Resident> = memory.segments(&atoms[0], 0).collect();
        assert_eq!(segments.iter().map(|s| s.count).sum::<u32>(), 10);
    }
}
