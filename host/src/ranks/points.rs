//! Particles of a rank with what they carry: sorted by Morton key, sent to the ranks that own them, and results sent back.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use crate::data::particles::Columns;
use crate::tree::boxmap::BoxMap;
use crate::tree::{self, sorted_keys};
use rayon::prelude::*;
use std::ops::Range;

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
        let places = stretch.places_by_rank(cuts);
        let lengths: Vec<u64> = places.iter().map(|places| places.len() as u64).collect();
        let ways = Ways { comm, places: &places, counts: &comm.counts(&lengths)? };
        // Ranks hold the input in its order, so that points of one place are still in it. Columns travel one after the other and come
        // into one room, since fresh memory takes longer than what is written to it.
        let (mut homes, mut whole, mut room) = (Vec::new(), Vec::new(), Vec::new());
        let indices = |places: &[u32]| places.iter().map(|k| first + k).collect::<Vec<u32>>();
        ways.join(&mut homes, |bytes, places| bytes.u32s(&indices(places)), |bytes, room| bytes.u32s_behind(room))?;
        ways.join(&mut whole, |bytes, places| bytes.u64s_at(keys, places), |bytes, room| bytes.u64s_behind(room))?;
        let (keys, order) = tree::by_key(&whole);
        drop(whole);
        let home = order.par_iter().map(|k| homes[*k as usize]).collect();
        let mut sorted = Points { keys, columns: Vec::new(), home };
        for column in columns {
            ways.join(&mut room, |bytes, places| bytes.f64s_at(column, places), |bytes, room| bytes.f64s_behind(room))?;
            sorted.columns.push(permuted(&room, &order));
        }
        sorted.order_within_keys(map);
        Ok(sorted)
    }

    /// Brings points of one key, which are in the order of the input, into that of their grid.
    fn order_within_keys(&mut self, map: &BoxMap) {
        let mut end = 0;
        for group in self.keys.chunk_by(|a, b| a == b) {
            let range = end..end + group.len();
            end = range.end;
            let grid = |k: &usize| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(self.columns[a][*k]))));
            if range.len() == 1 || range.clone().is_sorted_by_key(|k| grid(&k)) {
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
        self.keys.extend(bytes.u64s()?);
        self.home.extend(bytes.u32s()?);
        self.columns.iter_mut().try_for_each(|column| bytes.f64s_behind(column))
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
        for (column, (before, behind)) in self.columns.iter_mut().zip(before.columns.into_iter().zip(behind.columns)) {
            around(column, &own, before, behind);
        }
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
        let mut of_rank: Vec<Vec<u32>> = vec![Vec::new(); comm.size()];
        for (k, home) in self.home.iter().enumerate() {
            of_rank[starts.partition_point(|start| *start <= *home as u64) - 1].push(k as u32);
        }
        let message = |places: &[u32]| {
            let mut bytes = Writer::default();
            bytes.u32s_at(&self.home, places);
            columns.iter().for_each(|column| bytes.f64s_at(column, places));
            bytes.take()
        };
        let out = of_rank.iter().enumerate().filter(|r| !r.1.is_empty());
        let out = out.map(|(rank, places)| (rank, message(places))).collect();
        let first = starts[comm.rank()];
        let count = (starts[comm.rank() + 1] - first) as usize;
        let mut found = vec![vec![0.0; count]; columns.len()];
        for (_, bytes) in exchange(comm, Tag::Results, out)? {
            let mut bytes = Reader::new(&bytes);
            let home = bytes.u32s()?;
            for column in &mut found {
                for (home, x) in home.iter().zip(bytes.f64s()?) {
                    column[(*home as u64 - first) as usize] = x;
                }
            }
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

    /// For each rank the places of its points.
    fn places_by_rank(&self, cuts: &[u64]) -> Vec<Vec<u32>> {
        let inner = &cuts[1..cuts.len() - 1];
        let expected = self.keys.len() / cuts.len();
        let mut places: Vec<Vec<u32>> = (0..=inner.len()).map(|_| Vec::with_capacity(expected)).collect();
        for (k, key) in self.keys.iter().enumerate() {
            places[inner.partition_point(|cut| cut <= key)].push(k as u32);
        }
        places
    }
}

/// Which points go where, and how many come from each rank.
struct Ways<'a> {
    comm: &'a dyn Comm,
    places: &'a [Vec<u32>],
    counts: &'a [u64],
}

impl Ways<'_> {
    /// Sends a column's points to their ranks, and puts what comes from all ranks into `room`, in the order of ranks.
    fn join<T>(
        &self,
        room: &mut Vec<T>,
        write: impl Fn(&mut Writer, &[u32]),
        read: impl Fn(&mut Reader, &mut Vec<T>) -> Result<(), RankError>,
    ) -> Result<(), RankError> {
        let Ways { comm, places, counts } = *self;
        let message = |places: &[u32]| {
            let mut bytes = Writer::default();
            write(&mut bytes, places);
            bytes.take()
        };
        for (rank, places) in places.iter().enumerate().filter(|p| p.0 != comm.rank() && !p.1.is_empty()) {
            comm.send(rank, Tag::Points, message(places))?;
        }
        room.clear();
        for (rank, _) in counts.iter().enumerate().filter(|c| *c.1 > 0) {
            let bytes = match rank == comm.rank() {
                true => message(&places[rank]),
                false => comm.receive(rank, Tag::Points)?,
            };
            read(&mut Reader::new(&bytes), room)?;
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
