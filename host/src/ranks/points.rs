//! Particles of a rank with what they carry: sorted by Morton key, sent to the ranks that own them, and results sent back.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use crate::data::particles::Columns;
use crate::tree::boxmap::BoxMap;
use crate::tree::sorted_keys;
use rayon::prelude::*;
use std::ops::Range;

/// Points in Morton order; those of one place in the order of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    pub keys: Vec<u64>,
    /// x, y and z, then what the points carry.
    pub columns: Vec<Vec<f64>>,
    /// The index of each in the input.
    pub home: Vec<u64>,
}

impl Points {
    /// Sorts a stretch of the input that begins at index `first`.
    pub fn sorted(columns: &[&[f64]], map: &BoxMap, first: u64) -> Points {
        let (keys, order) = sorted_keys([columns[0], columns[1], columns[2]], map);
        let home = order.iter().map(|k| first + *k as u64).collect();
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

    fn write(&self, range: Range<usize>) -> Vec<u8> {
        let mut bytes = Writer::default();
        bytes.u64s(&self.keys[range.clone()]);
        bytes.u64s(&self.home[range.clone()]);
        self.columns.iter().for_each(|column| bytes.f64s(&column[range.clone()]));
        bytes.take()
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), RankError> {
        let mut bytes = Reader::new(bytes);
        self.keys.extend(bytes.u64s()?);
        self.home.extend(bytes.u64s()?);
        self.columns.iter_mut().try_for_each(|column| bytes.f64s().map(|more| column.extend(more)))
    }

    /// Sends each point to the rank in the keys' range of which it lies. `cuts` has where each rank's range begins and where the
    /// last one ends.
    pub fn moved(&self, comm: &dyn Comm, map: &BoxMap, cuts: &[u64]) -> Result<Points, RankError> {
        let place = |rank: usize| self.keys.partition_point(|key| *key < cuts[rank]);
        let ranges = (0..comm.size()).map(|rank| (rank, place(rank)..place(rank + 1))).filter(|r| !r.1.is_empty());
        let out = ranges.map(|(rank, range)| (rank, self.write(range))).collect();
        let mut found = Points { columns: vec![Vec::new(); self.columns.len()], ..Points::default() };
        for (_, bytes) in exchange(comm, Tag::Points, out)? {
            found.append(&bytes)?;
        }
        if found.keys.is_sorted() && found.is_in_order(map) {
            return Ok(found);
        }
        // Ranks hold the input in its order, so that points of one place are still in the order of the input.
        let (keys, order) = sorted_keys(found.places(), map);
        let home = order.par_iter().map(|k| found.home[*k as usize]).collect();
        let columns = found.columns.iter().map(|column| permuted(column, &order)).collect();
        Ok(Points { keys, columns, home })
    }

    /// Whether points of one key are in their order too.
    fn is_in_order(&self, map: &BoxMap) -> bool {
        let grid = |k: usize| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(self.columns[a][k]))));
        (1..self.len())
            .all(|k| self.keys[k - 1] != self.keys[k] || (grid(k - 1), self.home[k - 1]) < (grid(k), self.home[k]))
    }

    /// Sends columns of results to where the points come from. `starts` has the index of the input at which each rank's stretch
    /// begins, and where the last one ends.
    pub fn returned(&self, comm: &dyn Comm, columns: &[&[f64]], starts: &[u64]) -> Result<Vec<Vec<f64>>, RankError> {
        let mut of_rank: Vec<Vec<u32>> = vec![Vec::new(); comm.size()];
        for (k, home) in self.home.iter().enumerate() {
            of_rank[starts.partition_point(|start| start <= home) - 1].push(k as u32);
        }
        let message = |places: &[u32]| {
            let mut bytes = Writer::default();
            bytes.u64s(&places.iter().map(|k| self.home[*k as usize]).collect::<Vec<_>>());
            columns.iter().for_each(|column| bytes.f64s(&permuted(column, places)));
            bytes.take()
        };
        let out = of_rank.iter().enumerate().filter(|r| !r.1.is_empty());
        let out = out.map(|(rank, places)| (rank, message(places))).collect();
        let first = starts[comm.rank()];
        let count = (starts[comm.rank() + 1] - first) as usize;
        let mut found = vec![vec![0.0; count]; columns.len()];
        for (_, bytes) in exchange(comm, Tag::Results, out)? {
            let mut bytes = Reader::new(&bytes);
            let home = bytes.u64s()?;
            for column in &mut found {
                for (home, x) in home.iter().zip(bytes.f64s()?) {
                    column[(home - first) as usize] = x;
                }
            }
        }
        Ok(found)
    }
}

fn permuted(column: &[f64], order: &[u32]) -> Vec<f64> {
    order.par_iter().map(|k| column[*k as usize]).collect()
}
