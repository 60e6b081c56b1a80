//! Particles sorted by Morton key, in parallel and in one order for any number of threads.

use super::MAX_LEVEL;
use super::boxmap::BoxMap;
use crate::arith::lanes::fastest;
use crate::data::particles::Columns;
use crate::parallel::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The lower twenty bits of a coordinate, three places apart.
#[inline(always)]
pub fn dilated(x: u64) -> u64 {
    let mut v = x & 0x000f_ffff;
    v = (v | v << 32) & 0x001f_0000_0000_ffff;
    v = (v | v << 16) & 0x001f_0000_ff00_00ff;
    v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
    v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
    (v | v << 2) & 0x1249_2492_4924_9249
}

/// Every third bit of a key, one beside the other.
#[inline(always)]
pub fn contracted(key: u64) -> u64 {
    let mut v = key & 0x0249_2492_4924_9249;
    v = (v | v >> 2) & 0x00c3_0c30_c30c_30c3;
    v = (v | v >> 4) & 0x000f_00f0_0f00_f00f;
    v = (v | v >> 8) & 0x001f_0000_ff00_00ff;
    v = (v | v >> 16) & 0x001f_0000_0000_ffff;
    (v | v >> 32) & 0x000f_ffff
}

/// The 60-bit Morton key of a grid point: three bits a level, x the most significant of each.
#[inline(always)]
pub fn morton(grid: &[i32; 3]) -> u64 {
    let spread = |x: i32| dilated(((x + (1 << 30)) as u64) >> (31 - MAX_LEVEL));
    spread(grid[0]) << 2 | spread(grid[1]) << 1 | spread(grid[2])
}

/// Particles of one task.
pub const TASK: usize = 1 << 12;

/// Keys and input indices in the order of Morton key, then of X, then of the input: particles of one X stand together.
pub fn sorted(columns: Columns, map: &BoxMap) -> (Vec<u64>, Vec<u32>) {
    let grid = |k: u32| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(columns[a][k as usize]))));
    let finish = |keys: &[u64], order: &mut [u32]| {
        let mut rest = order;
        for group in keys.chunk_by(|a, b| a == b) {
            let (group, behind) = std::mem::take(&mut rest).split_at_mut(group.len());
            if group.len() > 1 {
                group.sort_by_cached_key(|k| (grid(*k), *k));
            }
            rest = behind;
        }
    };
    by_key_and(&keys(columns, map), finish)
}

/// Keys and indices in the order of the keys; equal ones stay in theirs.
pub fn by_key(keys: &[u64]) -> (Vec<u64>, Vec<u32>) {
    by_key_and(keys, |_, _| {})
}

/// The same, after something else is done with each part that holds all of some keys.
fn by_key_and(keys: &[u64], finish: impl Fn(&[u64], &mut [u32]) + Sync) -> (Vec<u64>, Vec<u32>) {
    let buckets = Buckets::of(keys);
    let (mut order, ends) = buckets.share_out(keys);
    let mut sorted = vec![0; keys.len()];
    let mut parts = Vec::with_capacity(ends.len());
    let (mut rest, mut rest_of_order, mut first) = (&mut sorted[..], &mut order[..], 0);
    for end in ends.into_iter().map(|end| end as usize).filter(|end| *end > 0) {
        let (part, behind) = rest.split_at_mut(end - first);
        let (indices, indices_behind) = rest_of_order.split_at_mut(end - first);
        parts.push((part, indices));
        (rest, rest_of_order, first) = (behind, indices_behind, end);
    }
    parts.into_par_iter().filter(|part| !part.0.is_empty()).for_each_init(Default::default, |rooms, (part, order)| {
        buckets.sort(keys, part, order, rooms);
        finish(part, order);
    });
    (sorted, order)
}

/// The Morton keys of particles.
pub fn keys(columns: Columns, map: &BoxMap) -> Vec<u64> {
    let [x, y, z] = columns;
    assert!(y.len() == x.len() && z.len() == x.len(), "columns are of one length");
    let mut keys = Vec::with_capacity(x.len());
    let room = keys.spare_capacity_mut()[..x.len()].par_chunks_mut(TASK);
    let places = x.par_chunks(TASK).zip(y.par_chunks(TASK)).zip(z.par_chunks(TASK));
    places.zip(room).for_each(|(((x, y), z), keys)| {
        // Each task clears its own part: one thread would wait long for so much fresh memory.
        keys.fill(MaybeUninit::new(0));
        // SAFETY: all of them were written just now.
        some_keys(map, [x, y, z], unsafe { &mut *(keys as *mut [MaybeUninit<u64>] as *mut [u64]) });
    });
    // SAFETY: the columns are of one length, so that every task has cleared and filled its part.
    unsafe { keys.set_len(x.len()) };
    keys
}

/// The same by one thread, into a vector that has none yet.
pub fn keys_of_some(columns: Columns, map: &BoxMap, keys: &mut Vec<u64>) {
    keys.clear();
    keys.resize(columns[0].len(), 0);
    some_keys(map, columns, keys);
}

fastest! {
    fn some_keys(map: &BoxMap, columns: Columns, keys: &mut [u64]) = some_keys_body
}

#[inline(always)]
fn some_keys_body<const FMA: bool>(map: &BoxMap, columns: Columns, keys: &mut [u64]) {
    for (axis, column) in columns.into_iter().enumerate() {
        // Each loop is simple enough to run in vectors.
        match map.factor() {
            Some(factor) => add_axis(keys, column, |x| map.unit(axis, x * factor)),
            None => add_axis(keys, column, |x| map.unit(axis, map.scaled(x))),
        }
    }
}

/// Puts the bits of one more axis behind those that are there.
#[inline(always)]
fn add_axis(keys: &mut [u64], column: &[f64], unit: impl Fn(f64) -> f64) {
    for (key, x) in keys.iter_mut().zip(column) {
        // As BoxMap::grid takes it; adding 2^52 leaves the whole number in the lower bits.
        let grid = (unit(*x) * 2f64.powi(31)).floor() + (2f64.powi(52) + 2f64.powi(30));
        *key = *key << 1 | dilated(grid.to_bits() >> (31 - MAX_LEVEL));
    }
}

/// Where two or more items in a row are equal.
pub fn runs<T: PartialEq + Sync>(all: &[T]) -> Vec<Range<usize>> {
    let pairs = || all.par_chunks(TASK).zip(all[all.len().min(1)..].par_chunks(TASK));
    // Looking at all pairs of a chunk is far faster than stopping at one.
    let some = |(task, (items, next)): (usize, (&[T], &[T]))| {
        let is_any = items.iter().zip(next).fold(false, |any, (a, b)| any | (a == b));
        let places = if is_any { 0..items.len().min(next.len()) } else { 0..0 };
        places.filter(|k| items[*k] == next[*k]).map(|k| task * TASK + k).collect::<Vec<usize>>()
    };
    let equal = pairs().enumerate().map(some).collect::<Vec<_>>().concat();
    equal.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 2).collect()
}

/// The most bits of a key that choose its bucket.
const BITS: u32 = 12;

/// Equal parts of the range of some keys, of which there are 2^BITS at most.
struct Buckets {
    least: u64,
    /// Bits of a key's distance from the least one within a bucket.
    below: u32,
}

impl Buckets {
    fn of(keys: &[u64]) -> Buckets {
        let none = || [u64::MAX, 0];
        let with = |[least, most]: [u64; 2], key: &u64| [least.min(*key), most.max(*key)];
        let ends = keys.par_chunks(TASK).map(|keys| keys.iter().fold(none(), with));
        let [least, most] = ends.reduce(none, |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let bits = most.checked_sub(least).and_then(u64::checked_ilog2).map_or(0, |bit| bit + 1);
        Buckets { least, below: bits.saturating_sub(BITS) }
    }

    fn bucket(&self, key: u64) -> usize {
        ((key - self.least) >> self.below) as usize
    }

    /// Indices bucket by bucket, in the order of the input within one, and where each bucket ends.
    fn share_out(&self, keys: &[u64]) -> (Vec<u32>, Vec<u32>) {
        let chunk = (keys.len() / 64).max(TASK);
        let count = |keys: &[u64]| {
            let mut counts = vec![0u32; 1 << BITS];
            keys.iter().for_each(|k| counts[self.bucket(*k)] += 1);
            counts
        };
        // First the number of each chunk's keys in each bucket, then where the first of them goes.
        let mut places: Vec<Vec<u32>> = keys.par_chunks(chunk).map(count).collect();
        let mut sum = 0;
        let mut ends = Vec::with_capacity(1 << BITS);
        for bucket in 0..1 << BITS {
            for counts in &mut places {
                sum += std::mem::replace(&mut counts[bucket], sum);
            }
            ends.push(sum);
        }
        let mut order: Vec<u32> = Vec::with_capacity(keys.len());
        let out = Places(order.as_mut_ptr());
        keys.par_chunks(chunk).zip(places).enumerate().for_each(|(c, (keys, mut places))| {
            for (k, key) in keys.iter().enumerate() {
                let place = &mut places[self.bucket(*key)];
                // SAFETY: the counts give every key a place of its own, below the number of keys.
                unsafe { out.at(*place as usize).write((c * chunk + k) as u32) };
                *place += 1;
            }
        });
        // SAFETY: every place was written.
        unsafe { order.set_len(keys.len()) };
        (order, ends)
    }

    /// Sorts a bucket's indices by key, equal keys in the order of the input, and writes its keys into `sorted`.
    fn sort(&self, keys: &[u64], sorted: &mut [u64], order: &mut [u32], rooms: &mut [Vec<u64>; 2]) {
        let key = |k: u32| keys[k as usize];
        let place = u64::BITS - self.below;
        if self.below > 0 && order.len() > 1 << place.min(31) {
            order.par_sort_unstable_by_key(|k| (key(*k), *k));
        } else if self.below > 0 && order.len() > 1 {
            // What the keys of a bucket differ in, and the place in it, as one number.
            let [room, other] = rooms;
            room.clear();
            room.extend(order.iter().enumerate().map(|(k, of)| (key(*of) - self.least) << place | k as u64));
            sort_spread(room, other);
            // In the places of the numbers what is still wanted of each: its index.
            let mask = (1u64 << place.min(31)) - 1;
            room.iter_mut().for_each(|packed| *packed = order[(*packed & mask) as usize] as u64);
            order.iter_mut().zip(&*room).for_each(|(to, of)| *to = *of as u32);
        }
        sorted.iter_mut().zip(order).for_each(|(to, k)| *to = key(*k));
    }
}

/// Sorts numbers that are mostly spread over all of their range: first by their upper bits, then the few that share these.
pub fn sort_spread(numbers: &mut Vec<u64>, room: &mut Vec<u64>) {
    const DIGITS: usize = 1 << 8;
    if numbers.len() < DIGITS / 4 {
        return numbers.sort_unstable();
    }
    let digit = |x: u64| (x >> 56) as usize;
    let mut ends = [0u32; DIGITS];
    numbers.iter().for_each(|x| ends[digit(*x)] += 1);
    let mut sum = 0;
    ends.iter_mut().for_each(|end| sum += std::mem::replace(end, sum));
    room.clear();
    room.resize(numbers.len(), 0);
    for x in numbers.iter() {
        let end = &mut ends[digit(*x)];
        room[*end as usize] = *x;
        *end += 1;
    }
    let mut first = 0;
    for end in ends.map(|end| end as usize) {
        if end - first > 1 {
            room[first..end].sort_unstable();
        }
        first = end;
    }
    std::mem::swap(numbers, room);
}

/// Where several threads write, each at places of its own.
struct Places(*mut u32);

// SAFETY: no place is given to two threads.
unsafe impl Sync for Places {}

impl Places {
    /// # Safety
    /// The place must lie in the vector.
    unsafe fn at(&self, place: usize) -> *mut u32 {
        unsafe { self.0.add(place) }
    }
}
