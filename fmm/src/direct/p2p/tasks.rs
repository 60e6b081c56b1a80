//! P2P by Newton's third law: each pair of leaves is computed once for both of them.
//!
//! A leaf computes its pairs with the leaves behind it in Morton order, and what acts on it alone. Leaves are cut into tasks, each
//! for one thread. What a task has for the leaves of others is kept in its [`Halo`] and added in the order of tasks. Tasks
//! follow from the tree alone, so that no sum depends on the number of threads.

mod part;
mod results;

use super::mutual::{Back, Leaf, mutual_sums};
use super::pieces::{Piece, add_back};
use super::sources::{Acting, LANES, prefetch};
use super::{Again, Force, Near, Out, Rest, Scratch, Setting, TargetGroup, is_f64};
use crate::arith::vector::{Isa, Vectors};
use crate::parallel::prelude::*;
use crate::tree::{Cell, MAX_LEVEL};
pub use part::{Cutter, InPart, Section, large_charges};
use results::Results;
use std::ops::Range;

/// The number of tasks that a large problem is cut into: enough for many threads.
const TASKS: u64 = 256;

/// Pairs that a task is worth.
const LEAST_PAIRS: u64 = 1 << 18;

/// A leaf with more particles is worked on by several threads, in one direction alone.
const CROWD: u32 = 4096;

/// The number of tasks a thread brought together before the next ones: their data is in the caches still, and the next ones have
/// their memory, which would take as long to get from the system as to fill.
const TOGETHER: usize = 16;

/// Of the kind that has no pairs in both directions.
const NONE: u32 = u32::MAX;

/// Whether pairs in both directions at once take less time than each leaf alone. What a leaf takes besides its pairs is more: sums
/// at its sources, which are cleared and given to others. Measured with uniform particles, on a sphere and of normal
/// distributions, both ways are even at about 4000 pairs a leaf in f64 and 20000 in vectors of 16 lanes.
pub fn are_worth<T: Vectors>(pairs: &[u64]) -> bool {
    are_worth_at::<T>(pairs.iter().sum(), pairs.len())
}

/// The same for so many pairs of so many leaves.
pub fn are_worth_at<T: Vectors>(pairs: u64, leaves: usize) -> bool {
    let least = if Isa::best().lanes::<T>() > 8 { 20_000 } else { 4_000 };
    pairs >= least * leaves as u64
}

/// The pairs of each leaf.
pub fn pairs(near: &Near) -> Vec<u64> {
    let of = |leaf: &u32| {
        let leaf = *leaf as usize;
        near.tree.cells[leaf].targets as u64 * near.lists.direct(leaf).count() as u64
    };
    near.tree.leaves.iter().map(of).collect()
}

/// Adds the direct interactions of each set of charges to its `out`, as [`Near::all`] does. `pairs` are those of [`pairs`].
pub fn all<T: Vectors>(near: &Near, pairs: &[u64], out: Vec<Out>) -> Vec<Again> {
    in_parts::<T>(near, pairs, out, TOGETHER * rayon::current_num_threads())
}

/// The same, with so many tasks at a time.
pub fn in_parts<T: Vectors>(near: &Near, pairs: &[u64], out: Vec<Out>, together: usize) -> Vec<Again> {
    let leaves = Leaves::new::<T>(near, None);
    let tasks = tasks(pairs);
    let mut results = Results::new(&leaves, &tasks, out);
    for some in tasks.chunks(together) {
        results.take(sums::<T>(&leaves, some.to_vec()));
    }
    results.finish()
}

/// The sums of tasks.
type Found<T> = (Own<T>, Halo<T>);

fn sums<T: Vectors>(leaves: &Leaves, tasks: Vec<Range<usize>>) -> Vec<Found<T>> {
    let one = |room: &mut ThreadScratch<T>, task: Range<usize>| leaves.task(task, room);
    tasks.into_par_iter().map_init(ThreadScratch::default, one).collect()
}

/// Stretches of leaves of one task.
fn tasks_of(section: &Section) -> Vec<Range<usize>> {
    let mut first = 0;
    let stretch = |tasks: &[u32]| {
        first += tasks.len();
        first - tasks.len()..first
    };
    section.tasks.chunk_by(|a, b| a == b).map(stretch).collect()
}

/// Cuts the leaves into stretches of about the same number of pairs.
fn tasks(pairs: &[u64]) -> Vec<Range<usize>> {
    let mut cutter = Cutter::new(pairs.iter().sum());
    let tasks = pairs.iter().map(|pairs| cutter.next(*pairs)).collect();
    tasks_of(&Section { tasks, ..Section::default() })
}

/// Columns of sums, four for each set of charges, in box units; with so many numbers behind the last one that whole vectors can be
/// read and written.
fn columns<T: Vectors>(count: usize, sets: usize) -> Vec<Vec<T>> {
    (0..4 * sets).map(|_| vec![T::default(); count + LANES]).collect()
}

/// Sums at the targets of a task, and how many sources were too close to each.
struct Own<T> {
    leaves: Range<usize>,
    targets: Range<usize>,
    columns: Vec<Vec<T>>,
    close: Vec<u32>,
}

/// Sums of a task at targets of later ones.
struct Halo<T> {
    /// These targets: (first, count), ascending and merged, and where their sums begin.
    segments: Vec<(u32, u32)>,
    starts: Vec<usize>,
    columns: Vec<Vec<T>>,
    /// Targets, and how many sources were too close.
    close: Vec<(usize, u32)>,
}

impl<T: Vectors> Halo<T> {
    /// For the particles of some segments from `first` on.
    fn new(segments: &[(u32, u32)], first: usize, sets: usize) -> Halo<T> {
        let behind = |(from, count): &(u32, u32)| {
            let (from, end) = ((*from).max(first as u32), from + count);
            (end > from).then(|| (from, end - from))
        };
        let mut all: Vec<(u32, u32)> = segments.iter().filter_map(behind).collect();
        all.sort_unstable();
        let (mut merged, mut starts, mut count) = (Vec::<(u32, u32)>::new(), Vec::new(), 0);
        for next in all {
            match merged.last_mut() {
                Some(last) if next.0 <= last.0 + last.1 => {
                    let more = (next.0 + next.1).saturating_sub(last.0 + last.1);
                    last.1 += more;
                    count += more as usize;
                }
                _ => {
                    merged.push(next);
                    starts.push(count);
                    count += next.1 as usize;
                }
            }
        }
        Halo { segments: merged, starts, columns: columns(count, sets), close: Vec::new() }
    }

    /// Where the sums of a target are.
    fn place(&self, target: usize) -> usize {
        let k = self.segments.partition_point(|s| s.0 as usize <= target) - 1;
        self.starts[k] + target - self.segments[k].0 as usize
    }
}

/// Segments of sorted particles for the leaves of a task: those that act on a leaf alone, and those on which it acts too.
#[derive(Default)]
struct Split {
    alone: Vec<(u32, u32)>,
    mutual: Vec<(u32, u32)>,
    /// Where those of each leaf end.
    ends: Vec<[usize; 2]>,
}

/// Scratch memory of one thread.
#[derive(Default)]
struct ThreadScratch<T> {
    scratch: Scratch<T>,
    back: Back<T>,
    carried: Vec<T>,
    /// The sorted particles of a leaf.
    everyone: Vec<usize>,
    split: Split,
    /// Pieces for the task's own targets and for those of others.
    pieces: [Vec<Piece>; 2],
}

/// All leaves in Morton order.
struct Leaves<'a> {
    near: &'a Near<'a>,
    /// For each sorted particle the place of its leaf, where that is asked for.
    of: Vec<u32>,
    /// Where the particles of each leaf end.
    ends: Vec<u32>,
    /// Leaves of one kind have pairs in both directions.
    kinds: Vec<u32>,
    /// Whether all leaves are of one such kind.
    is_even: bool,
    /// All sets of charges.
    sets: Vec<usize>,
    /// In a part of a larger problem what is known of the whole, and for each leaf of another part the own ones behind it on
    /// which it acts.
    section: Option<&'a Section>,
    given: Vec<Vec<(u32, u32)>>,
}

impl<'a> Leaves<'a> {
    fn new<T: Vectors>(near: &'a Near<'a>, section: Option<&'a Section>) -> Leaves<'a> {
        let cells = || near.tree.leaves.iter().map(|leaf| &near.tree.cells[*leaf as usize]);
        // What is too close in f32 depends on the edge; so does whether the softening length is held.
        let kind = |cell: &Cell| match cell.level {
            _ if cell.count > CROWD => NONE,
            MAX_LEVEL => NONE,
            _ if is_f64::<T>() => 0,
            level => level,
        };
        let ends = cells().map(|cell| cell.first + cell.count).collect();
        let kinds: Vec<u32> = cells().map(kind).collect();
        let is_even = kinds.iter().all(|kind| *kind == kinds[0] && *kind != NONE);
        let mut of = Vec::new();
        if !is_even || section.is_some() {
            of.reserve(near.tree.len());
            cells().enumerate().for_each(|(k, cell)| of.resize(of.len() + cell.count as usize, k as u32));
        }
        let sets = near.all_sets();
        let mut leaves = Leaves { near, of, ends, kinds, is_even, sets, section, given: Vec::new() };
        leaves.given = section.map(|section| leaves.given(section)).unwrap_or_default();
        leaves
    }

    /// Whether a leaf is one of another part.
    fn is_copy(&self, place: usize) -> bool {
        self.section.is_some_and(|section| !section.own.contains(&place))
    }

    fn cell(&self, place: usize) -> &Cell {
        &self.near.tree.cells[self.near.tree.leaves[place] as usize]
    }

    /// The targets of a task.
    fn targets(&self, leaves: &Range<usize>) -> Range<usize> {
        self.cell(leaves.start).sources().start..self.cell(leaves.end - 1).sources().end
    }

    /// The sums of a task.
    fn task<T: Vectors>(&self, leaves: Range<usize>, room: &mut ThreadScratch<T>) -> (Own<T>, Halo<T>) {
        let targets = self.targets(&leaves);
        let Split { alone, mutual, ends } = &mut room.split;
        [&mut *alone, mutual].into_iter().for_each(Vec::clear);
        ends.clear();
        for place in leaves.clone() {
            self.split(place, alone, mutual);
            ends.push([alone.len(), mutual.len()]);
        }
        let sets = self.near.charges.len();
        let mut halo = Halo::new(mutual, targets.end, sets);
        let close = vec![0; targets.len()];
        let mut own = Own { leaves, columns: columns(targets.len(), sets), targets, close };
        for place in own.leaves.clone() {
            self.leaf(place, room, &mut own, &mut halo);
        }
        (own, halo)
    }

    /// Adds what acts directly on a leaf to two lists.
    fn split(&self, place: usize, alone: &mut Vec<(u32, u32)>, mutual: &mut Vec<(u32, u32)>) {
        if self.is_copy(place) {
            mutual.extend(&self.given[place]);
            return;
        }
        let firsts = [alone.len(), mutual.len()];
        let kind = self.kinds[place];
        for (first, count) in self.near.lists.direct(self.near.tree.leaves[place] as usize).own {
            let (mut first, end) = (*first, first + count);
            if self.is_even {
                // Those before the leaf have computed their pairs with it.
                let behind = self.ends[place];
                let own = behind - self.cell(place).count;
                if first <= own && own < end {
                    push(alone, firsts[0], (own, behind - own));
                }
                if end > behind {
                    push(mutual, firsts[1], (first.max(behind), end - first.max(behind)));
                }
                continue;
            }
            let mut other = self.of[first as usize] as usize;
            while first < end {
                let behind = self.ends[other];
                let is_mutual = other != place && kind != NONE && self.kinds[other] == kind;
                match is_mutual {
                    true if other < place => {}
                    true => push(mutual, firsts[1], (first, behind - first)),
                    false => push(alone, firsts[0], (first, behind - first)),
                }
                (first, other) = (behind, other + 1);
            }
        }
    }

    /// Adds the sums of a leaf and what it gives to others.
    fn leaf<T: Vectors>(&self, place: usize, room: &mut ThreadScratch<T>, own: &mut Own<T>, halo: &mut Halo<T>) {
        let (near, leaf) = (self.near, self.near.tree.leaves[place] as usize);
        let ThreadScratch { scratch, back, carried, everyone, split, pieces } = room;
        let setting = near.setting::<T>(leaf, &self.sets);
        if setting.held.is_empty() {
            return;
        }
        let k = place - own.leaves.start;
        let starts = if k == 0 { [0; 2] } else { split.ends[k - 1] };
        let (alone, mutual) = (&split.alone[starts[0]..split.ends[k][0]], &split.mutual[starts[1]..split.ends[k][1]]);
        let is_copy = self.is_copy(place);
        if is_copy && mutual.is_empty() {
            return;
        }
        let mut direct = near.lists.direct(leaf);
        direct.own = alone;
        everyone.clear();
        everyone.extend(self.cell(place).sources());
        let targets = &everyone[..];
        let part = TargetGroup { leaf, targets, sets: &setting.held };
        near.gather(&part, &setting, &Acting { direct, mutual }, scratch);
        // What the next leaf gathers comes while this one is summed.
        if let Some(next) = split.ends.get(k + 1) {
            let of_next = &split.mutual[split.ends[k][1]..next[1]];
            prefetch(near.tree, near.charges[setting.held[0]], mutual, of_next);
        }
        if mutual.is_empty() {
            near.leaf_sums(&setting, scratch);
        } else {
            carried.clear();
            let charges = setting.held.iter().flat_map(|set| &near.charges[*set].scaled[self.cell(place).sources()]);
            carried.extend(charges.map(|q| T::of(*q)));
            scratch.sums.clear();
            scratch.sums.resize(targets.len() * setting.held.len(), Default::default());
            back.make_room(&scratch.sources, setting.held.len());
            let Scratch { sources, targets, sums, .. } = &mut *scratch;
            let charges = sources.charges();
            let large = self.section.filter(|_| is_copy).map(|section| {
                let of_leaf = &section.large[place * self.sets.len()..];
                setting.held.iter().map(|set| of_leaf[*set]).collect::<Vec<bool>>()
            });
            let squares = setting.squares;
            let leaf = Leaf { sources, charges: &charges, squares, targets, carried, large: large.as_deref() };
            mutual_sums::<T>(Isa::best(), &leaf, back, sums);
            find_pieces(mutual, own, halo, pieces);
            self.give(&setting, back, pieces, own, halo);
            count_close(back, &sources.guarded_mutual, sources.mutual.start, mutual, own, halo);
        }
        let unit = T::of(setting.unit);
        let scale = [unit, unit * unit, unit * unit, unit * unit];
        let (sets, first) = (setting.held.len(), targets[0] - own.targets.start);
        let close = own.close[first..].iter_mut().zip(scratch.sums.chunks(sets));
        close.for_each(|(close, sums)| *close += sums[0].close);
        let count = targets.len();
        for (place, set) in setting.held.iter().enumerate() {
            let [p, x, y, z] = &mut own.columns[4 * set..4 * set + 4] else { unreachable!("a set has four columns") };
            // Cut once, so that no place is checked in the loop.
            let [p, x, y, z] = [p, x, y, z].map(|column| &mut column[first..first + count]);
            let sums = &scratch.sums[..count * sets];
            for k in 0..count {
                let force = sums[k * sets + place].force;
                p[k] += force[0] * scale[0];
                x[k] += force[1] * scale[1];
                y[k] += force[2] * scale[2];
                z[k] += force[3] * scale[3];
            }
        }
    }

    /// Adds what a leaf gives to others.
    fn give<T: Vectors>(
        &self,
        setting: &Setting<T>,
        back: &mut Back<T>,
        pieces: &[Vec<Piece>; 2],
        own: &mut Own<T>,
        halo: &mut Halo<T>,
    ) {
        for (k, set) in setting.held.iter().enumerate() {
            let (back, unit, set) = (back.columns(k), T::of(setting.unit), 4 * set..4 * set + 4);
            add_back::<T>(Isa::best(), &back, unit, &pieces[0], &mut own.columns[set.clone()]);
            add_back::<T>(Isa::best(), &back, unit, &pieces[1], &mut halo.columns[set]);
        }
    }

    /// Adds the sums of a task to the results; targets with sources that were too close are computed again.
    fn finish<T: Vectors>(
        &self,
        own: &Own<T>,
        (scratch, everyone): &mut (Scratch<f64>, Vec<usize>),
        out: &mut [Out],
    ) -> Vec<Again> {
        let (near, first) = (self.near, own.targets.start);
        let sets = &self.sets[..];
        let mut all = vec![Again::default(); sets.len()];
        for place in own.leaves.clone().filter(|place| !self.is_copy(*place)) {
            let leaf = near.tree.leaves[place] as usize;
            everyone.clear();
            everyone.extend(self.cell(place).sources());
            let targets = &everyone[..];
            let part = TargetGroup { leaf, targets, sets };
            let setting = near.setting::<T>(leaf, sets);
            let rest = match setting.held.is_empty() {
                true => Rest { targets: Vec::new(), summed: setting.held, others: setting.others, pairs: 0 },
                false => {
                    let (again, pairs) = near.too_close(targets.iter().map(|k| (*k, own.close[k - first])));
                    for set in setting.held.iter() {
                        let force = &mut out[*set].force[targets[0] - first..][..targets.len()];
                        let [p, x, y, z] = [0, 1, 2, 3].map(|a| &own.columns[4 * set + a][targets[0] - first..]);
                        let sums = p.iter().zip(x).zip(y.iter().zip(z));
                        let (close, coincident) =
                            (&own.close[targets[0] - first..], &near.tree.targets().coincident[targets[0]..]);
                        for (((force, ((p, x), (y, z))), close), coincident) in
                            force.iter_mut().zip(sums).zip(close).zip(coincident)
                        {
                            if close == coincident {
                                let sums = [p.f64(), x.f64(), y.f64(), z.f64()];
                                (0..4).for_each(|a| force[a] += sums[a]);
                            }
                        }
                    }
                    Rest { targets: again, summed: setting.held, others: setting.others, pairs }
                }
            };
            let mut add = |set: usize, k: usize, f: Force, h| out[set].add(k - first, f, h);
            near.compute_rest::<T>(&rest, &part, scratch, &mut add, &mut all);
        }
        all
    }
}

/// Adds a segment to a list that begins at `first`.
fn push(list: &mut Vec<(u32, u32)>, first: usize, next: (u32, u32)) {
    match list[first..].last_mut() {
        Some(last) if last.0 + last.1 == next.0 => last.1 += next.1,
        _ => list.push(next),
    }
}

/// Where what a leaf gives to some segments is to be added: to the task's own targets, and to those of others.
fn find_pieces<T: Vectors>(mutual: &[(u32, u32)], own: &Own<T>, halo: &Halo<T>, pieces: &mut [Vec<Piece>; 2]) {
    pieces.iter_mut().for_each(Vec::clear);
    let mut from = 0;
    for (first, count) in mutual {
        let (first, count) = (*first as usize, *count as usize);
        let inside = own.targets.end.saturating_sub(first).min(count);
        if inside > 0 {
            pieces[0].push(Piece { from, count: inside, to: first - own.targets.start });
        }
        if inside < count {
            pieces[1].push(Piece { from: from + inside, count: count - inside, to: halo.place(first + inside) });
        }
        from += count;
    }
}

/// Counts the sources of a leaf's that were too close to the particles of some segments.
fn count_close<T: Vectors>(
    back: &Back<T>,
    lines: &[usize],
    first_line: usize,
    mutual: &[(u32, u32)],
    own: &mut Own<T>,
    halo: &mut Halo<T>,
) {
    for (line, counts) in lines.iter().zip(&back.close) {
        for (lane, count) in counts.0.iter().map(|count| count.f64() as u32).enumerate().filter(|c| c.1 > 0) {
            let mut rest = (line - first_line) * LANES + lane;
            for (first, length) in mutual {
                if rest < *length as usize {
                    let target = *first as usize + rest;
                    match own.targets.contains(&target) {
                        true => own.close[target - own.targets.start] += count,
                        false => halo.close.push((target, count)),
                    }
                    break;
                }
                rest -= *length as usize;
            }
        }
    }
}
