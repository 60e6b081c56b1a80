//! Particles of a rank with what they carry: sorted by Morton key, sent to the ranks that own them, and results sent back.

use super::RankError;
use super::bytes::{self, Reader, Writer};
use super::comm::{Comm, Tag, exchange, gather_u64};
use super::records::{Arrived, INDEX, Index, Items, Ranges, Records};
use fmm::data::particles::Columns;
use fmm::data::parts;
use fmm::parallel::prelude::*;
use fmm::tree::boxmap::BoxMap;
use fmm::tree::{self, sorted_keys};
use std::mem::MaybeUninit;
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
        let permuted = |column: &&[f64]| order.par_iter().map(|k| column[*k as usize]).collect();
        Points { keys, columns: columns.iter().map(permuted).collect(), home }
    }

    pub fn len(&self) -> usize {
        self.home.len()
    }

    pub fn is_empty(&self) -> bool {
        self.home.is_empty()
    }

    /// Lets go of all but where the points came from.
    pub fn forget(&mut self) {
        self.keys = Vec::new();
        self.columns = Vec::new();
    }

    pub fn places(&self) -> Columns<'_> {
        [&self.columns[0], &self.columns[1], &self.columns[2]]
    }

    /// Sends each point of a stretch of the input to the rank in the keys' range of which it lies, and sorts what this one gets.
    /// `cuts` has where each rank's range begins and where the last one ends.
    pub fn shared_out(comm: &dyn Comm, stretch: &Stretch, map: &BoxMap, cuts: &[u64]) -> Result<Points, RankError> {
        let Stretch { columns, first } = stretch;
        let count = columns[0].len();
        let total = gather_u64(comm, &[count as u64])?.iter().map(|one| one[0]).sum();
        let ranges = Ranges::new(cuts, total);
        // A key takes less time to be made again than to be kept and sent.
        let keys = |points: Range<usize>, keys: &mut Vec<u64>| {
            tree::keys_of_some([0, 1, 2].map(|a| &columns[a][points.clone()]), map, keys);
        };
        let records = Records { index: Index::From(*first), columns };
        let arrived = records.share_out(comm, Tag::Points, &ranges, count, &keys)?;
        let mut sorted = Points::of_buckets(&arrived, columns.len(), map, |bucket| ranges.least(comm.rank(), bucket));
        sorted.order_within_keys(map);
        Ok(sorted)
    }

    /// Sorts what has arrived bucket by bucket: ranks hold the input in its order, so that points of one key are still in it. Of each
    /// bucket the least key is known, and the bits in which others differ from it.
    fn of_buckets(
        arrived: &Arrived,
        columns: usize,
        map: &BoxMap,
        least: impl Fn(usize) -> (u64, u32) + Sync,
    ) -> Points {
        let counts = arrived.counts();
        let mut points = Points::empty(columns);
        // Some more may come from other ranks when cuts move.
        let count: usize = counts.iter().sum();
        let room = count + count / 32;
        points.keys.reserve_exact(room);
        points.home.reserve_exact(room);
        points.columns.iter_mut().for_each(|column| column.reserve_exact(room));
        let both = parts(&mut points.keys, &counts).zip(parts(&mut points.home, &counts));
        let mut rooms: Vec<Bucket> =
            both.map(|(keys, home)| Bucket { keys, home, columns: Vec::with_capacity(columns) }).collect();
        for column in &mut points.columns {
            rooms.iter_mut().zip(parts(column, &counts)).for_each(|(room, part)| room.columns.push(part));
        }
        rooms.into_par_iter().enumerate().for_each_init(
            Default::default,
            |(bytes, keys, sorter): &mut (Vec<u8>, Keys, Sorter), (bucket, room)| {
                let (items, (least, below)) = (arrived.bucket(bucket, bytes), least(bucket));
                let keys = keys.of(items, map);
                room.write(items, keys, sorter.sort(keys, least, below));
            },
        );
        // SAFETY: every part was written, of so many in all.
        unsafe {
            points.keys.set_len(count);
            points.home.set_len(count);
            points.columns.iter_mut().for_each(|column| column.set_len(count));
        }
        points
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
        let others = before.columns.into_par_iter().zip(behind.columns);
        let columns = self.columns.par_iter_mut().zip(others);
        rayon::join(
            || {
                rayon::join(
                    || around(&mut self.keys, &own, before.keys, behind.keys),
                    || around(&mut self.home, &own, before.home, behind.home),
                )
            },
            || columns.for_each(|(column, (before, behind))| around(column, &own, before, behind)),
        );
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
        let ranges = Ranges::new(starts, starts[comm.size()]);
        let records = Records { index: Index::Each(&self.home), columns };
        let homes =
            |points: Range<usize>, to: &mut Vec<u64>| to.extend(self.home[points].iter().map(|home| *home as u64));
        let arrived = records.share_out(comm, Tag::Results, &ranges, self.len(), &homes)?;
        let [first, end] = [starts[comm.rank()], starts[comm.rank() + 1]];
        let least = |bucket: usize| ranges.least(comm.rank(), bucket).0.min(end);
        let counts: Vec<usize> = (0..ranges.buckets()).map(|b| (least(b + 1) - least(b)) as usize).collect();
        if arrived.counts() != counts {
            return Err(bytes::cut());
        }
        let mut found = vec![Vec::new(); columns.len()];
        let mut rooms: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(columns.len())).collect();
        for column in &mut found {
            rooms.iter_mut().zip(parts(column, &counts)).for_each(|(room, part)| room.push(part));
        }
        rooms.into_par_iter().enumerate().for_each_init(Vec::new, |bytes, (bucket, columns)| {
            let (items, least) = (arrived.bucket(bucket, bytes), least(bucket));
            for (c, column) in columns.into_iter().enumerate() {
                column.fill(MaybeUninit::new(0.0));
                for k in 0..items.len() {
                    let home = items.number::<INDEX, u32>(k, 0) as u64;
                    column[(home - least) as usize] = MaybeUninit::new(items.number(k, INDEX + 8 * c));
                }
            }
        });
        // SAFETY: every part was filled, of so many in all.
        found.iter_mut().for_each(|column| unsafe { column.set_len((end - first) as usize) });
        Ok(found)
    }
}

/// Memory for the points of a bucket.
struct Bucket<'a> {
    keys: &'a mut [MaybeUninit<u64>],
    home: &'a mut [MaybeUninit<u32>],
    columns: Vec<&'a mut [MaybeUninit<f64>]>,
}

/// Points of a bucket that a thread writes at a time.
const TASK: usize = 1 << 15;

impl Bucket<'_> {
    /// Writes items, which have these keys, in an order.
    fn write(self, items: Items, keys: &[u64], order: &[u64]) {
        fn column<T: Copy + Send>(to: &mut [MaybeUninit<T>], order: &[u64], of: impl Fn(usize) -> T + Sync) {
            to.par_chunks_mut(TASK).zip(order.par_chunks(TASK)).for_each(|(to, order)| {
                let places = to.iter_mut().zip(order);
                places.for_each(|(to, k)| *to = MaybeUninit::new(of(*k as usize)));
            });
        }
        column(self.keys, order, |k| keys[k]);
        column(self.home, order, |k| items.number::<INDEX, u32>(k, 0));
        for (c, to) in self.columns.into_iter().enumerate() {
            column(to, order, |k| items.number::<8, f64>(k, INDEX + 8 * c));
        }
    }
}

/// The keys of a bucket after the other, in the same memory.
#[derive(Default)]
struct Keys {
    places: [Vec<f64>; 3],
    keys: Vec<u64>,
}

impl Keys {
    /// The keys of items, whose first columns are their places.
    fn of(&mut self, items: Items, map: &BoxMap) -> &[u64] {
        for (a, column) in self.places.iter_mut().enumerate() {
            column.clear();
            column.extend((0..items.len()).map(|k| items.number::<8, f64>(k, INDEX + 8 * a)));
        }
        tree::keys_of_some(self.places.each_ref().map(|column| &column[..]), map, &mut self.keys);
        &self.keys
    }
}

/// Sorts buckets one after the other, in the same memory.
#[derive(Default)]
struct Sorter {
    packed: Vec<u64>,
    room: Vec<u64>,
}

impl Sorter {
    /// The items of a bucket in the order of their keys, equal ones as they stand. Keys are up to 2^below above the least one.
    fn sort(&mut self, keys: &[u64], least: u64, below: u32) -> &[u64] {
        /// Bits of the places of a bucket that one thread sorts.
        const MOST: u32 = 16;
        let (count, place) = (keys.len() as u64, u64::BITS - below);
        self.packed.clear();
        if count > 1 << place.min(MOST) {
            self.packed.extend(tree::by_key(keys).1.into_iter().map(u64::from));
        } else {
            // What the keys differ in, and the place, as one number.
            let packed = |(k, key): (usize, &u64)| key.wrapping_sub(least).checked_shl(place).unwrap_or(0) | k as u64;
            self.packed.extend(keys.iter().enumerate().map(packed));
            tree::sort_spread(&mut self.packed, &mut self.room);
            let mask = (1 << place.min(MOST)) - 1;
            self.packed.iter_mut().for_each(|packed| *packed &= mask);
        }
        &self.packed
    }
}

/// A stretch of the input.
pub struct Stretch<'a> {
    /// x, y and z, then what the points carry.
    pub columns: Vec<&'a [f64]>,
    /// The index of the first one in the whole.
    pub first: u32,
}

/// Keeps a part of a column, and puts others before and behind it.
fn around<T>(column: &mut Vec<T>, own: &Range<usize>, before: Vec<T>, behind: Vec<T>) {
    column.truncate(own.end);
    column.splice(..own.start, before);
    column.extend(behind);
}
