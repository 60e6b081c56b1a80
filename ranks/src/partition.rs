//! The partition of the box among ranks: one common box, and cuts of the Morton order at the beginnings of leaves.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, gather_f64, gather_u64};
use super::points::Points;
use fmm::data::particles::Columns;
use fmm::data::periodic::Periodic;
use fmm::octree::periodic::check_ends;
use fmm::parallel::prelude::*;
use fmm::tree::boxmap::BoxMap;
use fmm::tree::{self, MAX_LEVEL};

/// Behind all Morton keys.
pub const END: u64 = 1 << (3 * MAX_LEVEL);

/// Keys that a rank sends to others to find the first cuts, and those out of which they are taken: with so many, cuts are off by
/// a few thousandths of a rank's particles.
const SAMPLES: usize = 256;
const LOOKED_AT: usize = 1 << 15;

/// Samples on either side of a cut that tell how dense keys are there.
const AROUND: usize = 2;

/// How many bits of a key lie below a cell's level.
pub fn below(level: u32) -> u32 {
    3 * (MAX_LEVEL - level)
}

/// The box that is common to all ranks, without periods so many times enlarged.
pub fn common_box(
    comm: &dyn Comm,
    sets: &[Columns],
    periodic: Option<&Periodic>,
    enlarge: f64,
) -> Result<BoxMap, RankError> {
    let own = BoxMap::ends(sets);
    let all = gather_f64(comm, &own.map_or(Vec::new(), |ends| ends.as_flattened().to_vec()))?;
    let mut ends: Option<[[f64; 2]; 3]> = None;
    for other in all.iter().filter(|other| other.len() == 6) {
        let axis = |a: usize| [other[2 * a], other[2 * a + 1]];
        let joined = |a: usize, [low, high]: [f64; 2]| [low.min(axis(a)[0]), high.max(axis(a)[1])];
        ends = Some(match ends {
            Some(ends) => [joined(0, ends[0]), joined(1, ends[1]), joined(2, ends[2])],
            None => [axis(0), axis(1), axis(2)],
        });
    }
    if let (Some(ends), Some(periodic)) = (ends, periodic) {
        check_ends(ends, periodic)?;
    }
    let mut map = BoxMap::around(ends, periodic).enlarged(ends, enlarge);
    let exact = gather_u64(comm, &[map.is_exact(sets) as u64])?;
    map.exact = exact.iter().all(|one| one[0] == 1);
    Ok(map)
}

/// Where each rank's keys begin, and where the last ones end. A rank without particles has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    pub cuts: Vec<u64>,
}

impl Partition {
    pub fn ranks(&self) -> usize {
        self.cuts.len() - 1
    }

    /// The rank that owns a key.
    pub fn rank_of(&self, key: u64) -> usize {
        self.cuts[..self.ranks()].partition_point(|cut| *cut <= key) - 1
    }

    /// The ranks that own a cell's first and last keys.
    pub fn ranks_of(&self, level: u32, prefix: u64) -> [usize; 2] {
        let shift = below(level);
        [self.rank_of(prefix << shift), self.rank_of(((prefix + 1) << shift) - 1)]
    }

    /// The rank that answers for a cell: of those with particles in it the last one.
    pub fn owner(&self, level: u32, prefix: u64) -> usize {
        self.ranks_of(level, prefix)[1]
    }

    /// Whether several ranks have a part of a cell.
    pub fn is_shared(&self, level: u32, prefix: u64) -> bool {
        let [first, last] = self.ranks_of(level, prefix);
        first != last
    }
}

/// The number of sources and of targets.
pub type Pair = [u64; 2];

/// The summary of a rank that all ranks have: its particles, and how many of them lie in the cells above its first and its last key.
#[derive(Clone, Debug)]
pub struct Summary {
    pub count: Pair,
    ends: [u64; 2],
    /// For each level, in the cell above the first key and in that above the last one.
    paths: Vec<[Pair; 2]>,
}

/// Keys of sources and of targets; one set where these are the same.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub sources: &'a [u64],
    pub targets: Option<&'a [u64]>,
}

impl Keys<'_> {
    pub fn targets(&self) -> &[u64] {
        self.targets.unwrap_or(self.sources)
    }

    /// The first and the last key of all.
    pub fn ends(&self) -> Option<[u64; 2]> {
        let both = [self.sources, self.targets()];
        let first = both.iter().filter_map(|keys| keys.first()).min()?;
        let last = both.iter().filter_map(|keys| keys.last()).max()?;
        Some([*first, *last])
    }

    /// The particles of a cell.
    fn within(&self, level: u32, prefix: u64) -> Pair {
        let shift = below(level);
        [self.sources, self.targets()].map(|keys| {
            let place = |key: u64| keys.partition_point(|k| *k < key) as u64;
            place((prefix + 1) << shift) - place(prefix << shift)
        })
    }
}

/// The summaries of all ranks.
pub fn summaries(comm: &dyn Comm, keys: &Keys) -> Result<Vec<Summary>, RankError> {
    let mut own = Writer::default();
    let count = [keys.sources.len(), keys.targets().len()].map(|n| n as u64);
    let ends = keys.ends().unwrap_or_default();
    let mut numbers = vec![count[0], count[1], ends[0], ends[1]];
    for level in 0..=MAX_LEVEL {
        ends.iter().for_each(|key| numbers.extend(keys.within(level, key >> below(level))));
    }
    own.u64s(&numbers);
    let one = |bytes: &Vec<u8>| {
        let numbers = Reader::new(bytes).u64s()?;
        let pair = |k: usize| [numbers[k], numbers[k + 1]];
        let paths = (0..=MAX_LEVEL as usize).map(|level| [pair(4 + 4 * level), pair(6 + 4 * level)]).collect();
        Ok(Summary { count: pair(0), ends: pair(2), paths })
    };
    comm.all_gather(own.take())?.iter().map(one).collect()
}

impl Summary {
    pub fn is_empty(&self) -> bool {
        self.count == [0; 2]
    }

    /// The particles in a cell.
    fn within(&self, level: u32, prefix: u64) -> Pair {
        let [first, last] = self.ends.map(|key| key >> below(level) == prefix);
        match (self.is_empty(), first, last) {
            (true, ..) | (_, false, false) => [0; 2],
            (_, true, true) => self.count,
            (_, first, _) => self.paths[level as usize][!first as usize],
        }
    }
}

fn add(a: Pair, b: Pair) -> Pair {
    [a[0] + b[0], a[1] + b[1]]
}

/// The particles of all ranks in a cell that holds an end of rank `me`: those of ranks before it, and all.
pub fn totals(all: &[Summary], me: usize, level: u32, prefix: u64) -> [Pair; 2] {
    let is_there = |s: &&Summary| s.is_empty() || s.within(level, prefix) != [0; 2];
    let sum = |a: Pair, s: &Summary| add(a, s.within(level, prefix));
    let before = all[..me].iter().rev().take_while(is_there).fold([0; 2], sum);
    [before, all[me..].iter().take_while(is_there).fold(before, sum)]
}

/// First cuts: about as many particles for each rank, whose places are in any order.
pub fn cuts_by_count(comm: &dyn Comm, sets: &[Columns], map: &BoxMap) -> Result<Vec<u64>, RankError> {
    let mut own = Vec::new();
    for columns in sets {
        let count = columns[0].len();
        let some = columns.map(|c| c.iter().step_by(count.div_ceil(LOOKED_AT).max(1)).copied().collect::<Vec<f64>>());
        let mut some = tree::keys(some.each_ref().map(|column| &column[..]), map);
        some.par_sort_unstable();
        // Each sample stands for as many particles.
        let samples = SAMPLES.min(some.len());
        let place = |k: usize| (2 * k + 1) * some.len() / (2 * samples);
        own.extend((0..samples).flat_map(|k| [some[place(k)], (count / samples) as u64]));
    }
    let mut samples: Vec<[u64; 2]> = Vec::new();
    gather_u64(comm, &own)?.iter().for_each(|of| samples.extend(of.as_chunks::<2>().0));
    samples.sort_unstable();
    let total: u64 = samples.iter().map(|s| s[1]).sum();
    let (mut cuts, mut sum) = (vec![0], 0);
    for (k, [key, weight]) in samples.iter().enumerate() {
        while cuts.len() < comm.size() && sum as u128 * comm.size() as u128 >= total as u128 * cuts.len() as u128 {
            let before = cuts[cuts.len() - 1];
            let stretch = samples[(k + AROUND).min(samples.len() - 1)][0] - samples[k.saturating_sub(AROUND)][0];
            cuts.push(at_cell(*key, stretch).max(before));
        }
        sum += weight;
    }
    cuts.resize(comm.size(), END);
    cuts.push(END);
    Ok(cuts)
}

/// The beginning of a cell that is near a key and small beside a stretch of keys around it. Most leaves are smaller than that: none
/// then has to be brought together behind such a cut.
fn at_cell(key: u64, stretch: u64) -> u64 {
    /// A cell has up to one part of so many.
    const PART: u64 = 16;
    let bits = (stretch / PART).checked_ilog2().unwrap_or(0) / 3 * 3;
    let half = 1 << bits >> 1;
    (key + half) >> bits << bits
}

/// Shares of leaves in a row such that the busiest rank has as little work as whole leaves allow: the first leaf of each rank, and the
/// end of the last one. Cuts are as near to even ones as this leaves them.
pub fn even_shares(work: &[f64], ranks: usize) -> Vec<usize> {
    let mut sums = vec![0.0];
    work.iter().for_each(|work| sums.push(sums[sums.len() - 1] + work));
    let total = sums[work.len()];
    // Where a rank ends that begins at a leaf and has up to `most`.
    let end = |first: usize, most: f64| sums.partition_point(|sum| *sum <= sums[first] + most) - 1;
    let is_enough = |most: f64| (0..ranks).fold(0, |first, _| end(first, most)) == work.len();
    // Greedy ranks get on by the mean at least if the heaviest leaf is added to it; rounding may take a little.
    let heaviest = work.iter().copied().fold(0.0, f64::max);
    let mean = total / ranks as f64;
    let (mut less, mut most) = (mean.max(heaviest) * (1.0 - 1e-9), (mean + heaviest) * (1.0 + 1e-9));
    while !is_enough(most) && most < f64::MAX {
        most = (2.0 * most).max(f64::MIN_POSITIVE);
    }
    while is_between(less, most) {
        let middle = less + 0.5 * (most - less);
        *if is_enough(middle) { &mut most } else { &mut less } = middle;
    }
    // The least leaf at which a rank may begin: those behind it must be able to take the rest.
    let begin = |end: usize| sums.partition_point(|sum| sum + most < sums[end]);
    let mut firsts = vec![work.len(); ranks + 1];
    (0..ranks).rev().for_each(|rank| firsts[rank] = begin(firsts[rank + 1]));
    firsts[0] = 0;
    for rank in 1..ranks {
        let even = total * rank as f64 / ranks as f64;
        let before = sums.partition_point(|sum| *sum < even).min(work.len());
        let is_nearer = before > 0 && even - sums[before - 1] < sums[before] - even;
        let nearest = before - is_nearer as usize;
        let last = end(firsts[rank - 1], most);
        firsts[rank] = nearest.max(firsts[rank]).min(last).max(firsts[rank - 1]);
    }
    firsts
}

/// Whether bisection can still go on.
fn is_between(low: f64, high: f64) -> bool {
    high - low > 1e-12 * high
}

/// The state of a rank after a cut.
pub struct Settled {
    pub partition: Partition,
    pub summaries: Vec<Summary>,
    pub sources: Points,
    pub targets: Option<Points>,
}

impl Settled {
    pub fn keys(&self) -> Keys<'_> {
        Keys { sources: &self.sources.keys, targets: self.targets.as_ref().map(|t| &t.keys[..]) }
    }
}

impl Settled {
    /// Lets go of all that results do not need on their way back: memory that is free is taken by what comes next, and fresh memory takes
    /// longer than what is written there.
    pub fn forget(&mut self) {
        self.sources.forget();
        self.targets.iter_mut().for_each(Points::forget);
    }

    /// Moves particles to other cuts.
    pub fn recut(self, comm: &dyn Comm, cuts: &[u64], leaf: usize) -> Result<Settled, RankError> {
        let sources = self.sources.moved(comm, cuts)?;
        let targets = self.targets.map(|targets| targets.moved(comm, cuts)).transpose()?;
        settle(comm, (sources, targets), leaf)
    }
}

/// Moves particles, of which each rank has a range of keys, so that each cut is at the beginning of a leaf that is not empty: of cells
/// with up to `leaf` sources and targets the largest.
pub fn settle(
    comm: &dyn Comm,
    (sources, targets): (Points, Option<Points>),
    leaf: usize,
) -> Result<Settled, RankError> {
    let mut now = Settled { partition: Partition { cuts: Vec::new() }, summaries: Vec::new(), sources, targets };
    now.summaries = summaries(comm, &now.keys())?;
    let own = now.keys().ends().map(|[first, _]| leaf_start(&now.summaries, comm.rank(), first, leaf));
    let starts = gather_u64(comm, &own.into_iter().collect::<Vec<u64>>())?;
    let mut cuts = vec![END; comm.size() + 1];
    let mut next = END;
    for (rank, start) in starts.iter().enumerate().rev() {
        next = start.first().copied().unwrap_or(next);
        cuts[rank] = next;
    }
    // The first rank with particles has all before them; ranks before it have none.
    let first = cuts[0];
    cuts.iter_mut().filter(|cut| **cut == first && first != END).for_each(|cut| *cut = 0);
    cuts[0] = 0;
    let next = |rank: usize| cuts[rank + 1];
    let is_outside = now.keys().ends().is_some_and(|[_, last]| last >= next(comm.rank()));
    let outside = gather_u64(comm, &[is_outside as u64])?;
    if outside.iter().any(|one| one[0] != 0) {
        now.sources = now.sources.moved(comm, &cuts)?;
        now.targets = now.targets.map(|targets| targets.moved(comm, &cuts)).transpose()?;
        now.summaries = summaries(comm, &now.keys())?;
    }
    now.partition = Partition { cuts };
    Ok(now)
}

/// The first key of the leaf that holds a rank's first key.
fn leaf_start(all: &[Summary], me: usize, key: u64, leaf: usize) -> u64 {
    let is_leaf = |level: &u32| {
        let [_, count] = totals(all, me, *level, key >> below(*level));
        *level == MAX_LEVEL || count.iter().all(|n| *n <= leaf as u64)
    };
    let level = (0..=MAX_LEVEL).find(is_leaf).unwrap_or(MAX_LEVEL);
    key >> below(level) << below(level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::data::random::Random;

    #[test]
    fn first_cuts_are_at_cells_that_are_small_beside_what_is_around_them() {
        for (key, stretch) in
            [(0o7_654_321, 0o200_000), (0o7_777_777, 0o1_000), (5, 0), (5, 15), (0, END), (END - 1, END)]
        {
            let cut = at_cell(key, stretch);
            let edge = if cut == 0 { END } else { 1 << (cut.trailing_zeros() / 3 * 3) };
            assert!(cut.abs_diff(key) * 32 <= stretch && edge > stretch / 128, "{key:o} {stretch:o} {cut:o}");
        }
    }

    #[test]
    fn the_busiest_rank_has_as_little_as_whole_leaves_allow() {
        let mut random = Random::new(5);
        for (leaves, ranks) in [(0, 3), (1, 1), (1, 4), (7, 3), (12, 4), (12, 12), (40, 9)] {
            let work: Vec<f64> = (0..leaves).map(|_| (32.0 * random.unit().powi(3)).ceil()).collect();
            let sum = |from: usize, to: usize| work[from..to].iter().sum::<f64>();
            // The least work of the busiest of so many ranks for the first leaves.
            let mut least: Vec<f64> = (0..=leaves).map(|end| sum(0, end)).collect();
            for _ in 1..ranks {
                let with = |end: usize| (0..=end).map(|k| least[k].max(sum(k, end))).fold(f64::INFINITY, f64::min);
                least = (0..=leaves).map(with).collect();
            }
            let firsts = even_shares(&work, ranks);
            assert!(firsts.len() == ranks + 1 && firsts[0] == 0 && firsts[ranks] == leaves && firsts.is_sorted());
            let most = firsts.windows(2).map(|w| sum(w[0], w[1])).fold(0.0, f64::max);
            assert_eq!(most, least[leaves], "{leaves} leaves, {ranks} ranks, {work:?}");
        }
        assert_eq!(even_shares(&[1.0; 12], 4), [0, 3, 6, 9, 12]);
    }
}
