//! Particles of a rank with what they carry: sorted by Morton key, sent to the ranks that own them, and results sent back.

use super::RankError;
use super::bytes::{Number, Reader, Writer, push_each};
use super::comm::{Comm, Tag, exchange};
use crate::data::particles::Columns;
use crate::tree::boxmap::BoxMap;
use crate::tree::{self, sorted_keys};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Points in Morton order; those of one place in the order of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    pub keys: Vec<u64>,
    /// x, y and z, then what the points carry.
    pub columns: Vec<Vec<f64>>,
    /// The index of each in the input.
    pub home: Vec<u32>,
}

impl Points {
    /// Sorts a stretch of the input that begins at index `first`.
    pub fn sorted(columns: &[&[f64]], map: &BoxMap, first: u32) -> Points {
        let (keys, order) = sorted_keys([columns[0], columns[1], columns[2]], map);
        let home = order.iter().map(|k| first + k).collect();
        Points { keys, columns: columns.iter().map(|column| permuted(column, &order)).collect(), home }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn places(&self) -> Columns<'_> {
        [&self.columns[0], &self.columns[1], &self.columns[2]]
    }

    /// Sends each point of a stretch of the input to the rank in the keys' range of which it lies, and sorts what this one gets.
    /// `cuts` has where each rank's range begins and where the last one ends.
    pub fn shared_out(comm: &dyn Comm, stretch: &Stretch, map: &BoxMap, cuts: &[u64]) -> Result<Points, RankError> {
        let Stretch { columns, keys, first } = stretch;
        let inner = &cuts[1..cuts.len() - 1];
        let places = places_by_rank(keys, comm.size(), |key| inner.partition_point(|cut| cut <= key));
        let ways = Ways::new(comm, Tag::Points, &places)?;
        // Ranks hold the input in its order, so that points of one place are still in it. Columns travel one after the other and come
        // into one room, since fresh memory takes longer than what is written to it.
        let (mut homes, mut whole, mut room) = (Vec::new(), Vec::new(), Vec::new());
        ways.join(&mut homes, |k| first + k)?;
        ways.join(&mut whole, |k| keys[k as usize])?;
        let (keys, order) = tree::by_key(&whole);
        drop(whole);
        let home = order.par_iter().map(|k| homes[*k as usize]).collect();
        let mut sorted = Points { keys, columns: Vec::new(), home };
        for column in columns {
            ways.join(&mut room, |k| column[k as usize])?;
            sorted.columns.push(permuted(&room, &order));
        }
        sorted.order_within_keys(map);
        Ok(sorted)
    }

    /// Brings points of one key, which are in the order of the input, into that of their grid.
    fn order_within_keys(&mut self, map: &BoxMap) {
        for range in tree::runs(&self.keys) {
            let grid = |k: &usize| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(self.columns[a][*k]))));
            if range.clone().is_sorted_by_key(|k| grid(&k)) {
                continue;
            }
            let mut order: Vec<usize> = range.clone().collect();
            order.sort_by_cached_key(grid);
            let home: Vec<u32> = order.iter().map(|k| self.home[*k]).collect();
            self.home[range.clone()].copy_from_slice(&home);
            for column in &mut self.columns {
                let sorted: Vec<f64> = order.iter().map(|k| column[*k]).collect();
                column[range.clone()].copy_from_slice(&sorted);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RankError> {
        let mut bytes = Reader::new(bytes);
        bytes.behind(&mut self.keys)?;
        bytes.behind(&mut self.home)?;
        self.columns.iter_mut().try_for_each(|column| bytes.behind(column))
    }

    /// The same for sorted points, of which each rank has a range of keys behind those of the rank before: what stays is not moved.
    pub fn moved(mut self, comm: &dyn Comm, cuts: &[u64]) -> Result<Points, RankError> {
        let place = |rank: usize| self.keys.partition_point(|key| *key < cuts[rank]);
        let range = |rank: usize| place(rank)..place(rank + 1);
        let others = (0..comm.size()).filter(|rank| *rank != comm.rank());
        let out = others.map(|rank| (rank, range(rank))).filter(|(_, range)| !range.is_empty());
        let out = out.map(|(rank, range)| (rank, self.write(range))).collect();
        let own = range(comm.rank());
        let (mut before, mut behind) = (Points::empty(self.columns.len()), Points::empty(self.columns.len()));
        for (from, bytes) in exchange(comm, Tag::Points, out)? {
            if from < comm.rank() { &mut before } else { &mut behind }.append(&bytes)?;
        }
        around(&mut self.keys, &own, before.keys, behind.keys);
        around(&mut self.home, &own, before.home, behind.home);
        let others = before.columns.into_par_iter().zip(behind.columns);
        let all = self.columns.par_iter_mut().zip(others);
        all.for_each(|(column, (before, behind))| around(column, &own, before, behind));
        Ok(self)
    }

    fn empty(columns: usize) -> Points {
        Points { columns: vec![Vec::new(); columns], ..Points::default() }
    }

    fn write(&self, range: Range<usize>) -> Vec<u8> {
        let mut bytes = Writer::default();
        bytes.u64s(&self.keys[range.clone()]);
        bytes.u32s(&self.home[range.clone()]);
        self.columns.iter().for_each(|column| bytes.f64s(&column[range.clone()]));
        bytes.take()
    }

    /// Sends columns of results to where the points come from. `starts` has the index of the input at which each rank's stretch
    /// begins, and where the last one ends.
    pub fn returned(&self, comm: &dyn Comm, columns: &[&[f64]], starts: &[u64]) -> Result<Vec<Vec<f64>>, RankError> {
        let places =
            places_by_rank(&self.home, comm.size(), |home| starts.partition_point(|start| *start <= *home as u64) - 1);
        let ways = Ways::new(comm, Tag::Results, &places)?;
        let first = starts[comm.rank()];
        let count = (starts[comm.rank() + 1] - first) as usize;
        let (mut homes, mut room) = (Vec::new(), Vec::new());
        ways.others(&mut homes, |k| self.home[k as usize])?;
        // For each place of the stretch where its results are: among all of the rank or, behind these, among those that come.
        let own = self.len() as u32;
        let from: Vec<AtomicU32> = (0..count).into_par_iter().map(|_| AtomicU32::new(0)).collect();
        let set = |home: u32, k: u32| from[(home as u64 - first) as usize].store(k, Relaxed);
        places[comm.rank()].par_iter().for_each(|k| set(self.home[*k as usize], *k));
        homes.par_iter().enumerate().for_each(|(k, home)| set(*home, own + k as u32));
        let mut found = Vec::with_capacity(columns.len());
        for column in columns {
            room.clear();
            push_each(&mut room, column, |x| *x);
            ways.others(&mut room, |k| column[k as usize])?;
            found.push(from.par_iter().map(|k| room[k.load(Relaxed) as usize]).collect());
        }
        Ok(found)
    }
}

/// A stretch of the input, which begins at index `first` of the whole.
pub struct Stretch<'a> {
    /// x, y and z, then what the points carry.
    columns: Vec<&'a [f64]>,
    pub keys: Vec<u64>,
    first: u32,
}

impl<'a> Stretch<'a> {
    pub fn new(columns: Vec<&'a [f64]>, map: &BoxMap, first: u32) -> Stretch<'a> {
        let keys = tree::keys([columns[0], columns[1], columns[2]], map);
        Stretch { columns, keys, first }
    }
}

/// For each rank the places of what is its.
fn places_by_rank<T: Sync>(all: &[T], ranks: usize, rank: impl Fn(&T) -> usize + Sync) -> Vec<Vec<u32>> {
    let chunk = (all.len() / 64).max(1 << 12);
    let count = |some: &[T]| {
        let mut counts = vec![0; ranks];
        some.iter().for_each(|one| counts[rank(one)] += 1);
        counts
    };
    let counts: Vec<Vec<usize>> = all.par_chunks(chunk).map(count).collect();
    let of_rank = |rank: usize| vec![0; counts.iter().map(|of| of[rank]).sum()];
    let mut places: Vec<Vec<u32>> = (0..ranks).map(of_rank).collect();
    // What each chunk writes.
    let mut parts: Vec<Vec<&mut [u32]>> = counts.iter().map(|_| Vec::with_capacity(ranks)).collect();
    for (rank, mut rest) in places.iter_mut().map(|places| &mut places[..]).enumerate() {
        for (part, counts) in parts.iter_mut().zip(&counts) {
            part.push(rest.split_off_mut(..counts[rank]).expect("the counts are those of the places"));
        }
    }
    all.par_chunks(chunk).zip(parts).enumerate().for_each(|(c, (some, mut part))| {
        let mut next = vec![0; ranks];
        for (k, one) in some.iter().enumerate() {
            let rank = rank(one);
            part[rank][next[rank]] = (c * chunk + k) as u32;
            next[rank] += 1;
        }
    });
    places
}

/// Which points go where, and how many come from each rank.
struct Ways<'a> {
    comm: &'a dyn Comm,
    tag: Tag,
    places: &'a [Vec<u32>],
    counts: Vec<u64>,
}

impl<'a> Ways<'a> {
    /// Tells the others how many points come.
    fn new(comm: &'a dyn Comm, tag: Tag, places: &'a [Vec<u32>]) -> Result<Ways<'a>, RankError> {
        let lengths: Vec<u64> = places.iter().map(|places| places.len() as u64).collect();
        Ok(Ways { comm, tag, places, counts: comm.counts(&lengths)? })
    }

    /// Sends a number for each point to its rank, and puts what comes from all ranks into `room`, in the order of ranks.
    fn join<const N: usize, T: Number<N>>(
        &self,
        room: &mut Vec<T>,
        of: impl Fn(u32) -> T + Sync,
    ) -> Result<(), RankError> {
        room.clear();
        self.exchange(room, of, true)
    }

    /// The same without the rank's own points, behind what is there.
    fn others<const N: usize, T: Number<N>>(
        &self,
        room: &mut Vec<T>,
        of: impl Fn(u32) -> T + Sync,
    ) -> Result<(), RankError> {
        self.exchange(room, of, false)
    }

    fn exchange<const N: usize, T: Number<N>>(
        &self,
        room: &mut Vec<T>,
        of: impl Fn(u32) -> T + Sync,
        with_own: bool,
    ) -> Result<(), RankError> {
        let Ways { comm, tag, places, counts } = self;
        let is_other = |rank: usize| rank != comm.rank();
        for (rank, places) in places.iter().enumerate().filter(|p| is_other(p.0) && !p.1.is_empty()) {
            let mut bytes = Writer::default();
            bytes.each(places, |k| of(*k));
            comm.send(rank, *tag, bytes.take())?;
        }
        let is_wanted = |(rank, count): &(usize, &u64)| **count > 0 && (with_own || is_other(*rank));
        room.reserve(counts.iter().enumerate().filter(is_wanted).map(|c| *c.1 as usize).sum());
        for (rank, _) in counts.iter().enumerate().filter(is_wanted) {
            match rank == comm.rank() {
                true => push_each(room, &places[rank], |k| of(*k)),
                false => Reader::new(&comm.receive(rank, *tag)?).behind(room)?,
            }
        }
        Ok(())
    }
}

/// Keeps a part of a column, and puts others before and behind it.
fn around<T>(column: &mut Vec<T>, own: &Range<usize>, before: Vec<T>, behind: Vec<T>) {
    column.truncate(own.end);
    column.splice(..own.start, before);
    column.extend(behind);
}

fn permuted(column: &[f64], order: &[u32]) -> Vec<f64> {
    order.par_iter().map(|k| column[*k as usize]).collect()
}
