//! Particles sorted by Morton key, in parallel and in one order for any number of threads.

use super::MAX_LEVEL;
use super::boxmap::BoxMap;
use crate::arith::lanes::fastest;
use crate::data::particles::Columns;
use rayon::prelude::*;

/// The 60-bit Morton key of a grid point: three bits a level, x the most significant of each.
#[inline(always)]
pub fn morton(grid: &[i32; 3]) -> u64 {
    let spread = |x: i32| {
        let mut v = ((x + (1 << 30)) as u64) >> (31 - MAX_LEVEL);
        v = (v | v << 32) & 0x001f_0000_0000_ffff;
        v = (v | v << 16) & 0x001f_0000_ff00_00ff;
        v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
        v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
        (v | v << 2) & 0x1249_2492_4924_9249
    };
    spread(grid[0]) << 2 | spread(grid[1]) << 1 | spread(grid[2])
}

/// A particle's Morton key and index in the input.
type Keyed = (u64, u32);

/// Particles of one task.
const TASK: usize = 1 << 12;

/// Keys and input indices in the order of Morton key, then of X, then of the input: particles of one X stand together.
pub fn sorted(columns: Columns, map: &BoxMap) -> (Vec<u64>, Vec<u32>) {
    let finish = |part: &mut [Keyed]| {
        for group in part.chunk_by_mut(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let grid = |k: u32| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(columns[a][k as usize]))));
            group.sort_by_cached_key(|e| (grid(e.1), e.1));
        }
    };
    by_key_and(&keys(columns, map), finish)
}

/// Keys and indices in the order of the keys; equal ones stay in theirs.
pub fn by_key(keys: &[u64]) -> (Vec<u64>, Vec<u32>) {
    by_key_and(keys, |_| {})
}

/// The same, after something else is done with each part that holds all of some keys.
fn by_key_and(keys: &[u64], finish: impl Fn(&mut [Keyed]) + Sync) -> (Vec<u64>, Vec<u32>) {
    let mut keyed = by_bucket(keys);
    let mut parts: Vec<&mut [Keyed]> = keyed.chunk_by_mut(|a, b| bucket(a.0) == bucket(b.0)).collect();
    parts.par_iter_mut().for_each(|part| {
        sort_bucket(part);
        finish(part);
    });
    (keyed.par_iter().map(|e| e.0).collect(), keyed.par_iter().map(|e| e.1).collect())
}

/// The Morton keys of particles.
pub fn keys(columns: Columns, map: &BoxMap) -> Vec<u64> {
    let [x, y, z] = columns;
    let mut keys = vec![0; x.len()];
    let places = x.par_chunks(TASK).zip(y.par_chunks(TASK)).zip(z.par_chunks(TASK));
    places.zip(keys.par_chunks_mut(TASK)).for_each(|(((x, y), z), keys)| some_keys(map, [x, y, z], keys));
    keys
}

fastest! {
    fn some_keys(map: &BoxMap, columns: Columns, keys: &mut [u64]) = some_keys_body
}

#[inline(always)]
fn some_keys_body<const FMA: bool>(map: &BoxMap, columns: Columns, keys: &mut [u64]) {
    let [x, y, z] = columns;
    for (((key, x), y), z) in keys.iter_mut().zip(x).zip(y).zip(z) {
        let grid = |a: usize, x: f64| BoxMap::grid(map.unit(a, map.scaled(x)));
        *key = morton(&[grid(0, *x), grid(1, *y), grid(2, *z)]);
    }
}

/// Bits of a key that choose its bucket.
const BITS: u32 = 12;

fn bucket(key: u64) -> usize {
    (key >> (3 * MAX_LEVEL - BITS)) as usize
}

/// Keys and indices bucket by bucket, in the order of the input within one.
fn by_bucket(keys: &[u64]) -> Vec<Keyed> {
    let chunk = (keys.len() / 64).max(TASK);
    let count = |keys: &[u64]| {
        let mut counts = vec![0u32; 1 << BITS];
        keys.iter().for_each(|k| counts[bucket(*k)] += 1);
        counts
    };
    // First the number of each chunk's keys in each bucket, then where the first of them goes.
    let mut places: Vec<Vec<u32>> = keys.par_chunks(chunk).map(count).collect();
    let mut sum = 0;
    for bucket in 0..1 << BITS {
        for counts in &mut places {
            sum += std::mem::replace(&mut counts[bucket], sum);
        }
    }
    let mut sorted: Vec<Keyed> = Vec::with_capacity(keys.len());
    let out = Places(sorted.as_mut_ptr());
    keys.par_chunks(chunk).zip(places).enumerate().for_each(|(c, (keys, mut places))| {
        for (k, key) in keys.iter().enumerate() {
            let place = &mut places[bucket(*key)];
            // SAFETY: the counts give every key a place of its own, below the number of keys.
            unsafe { out.at(*place as usize).write((*key, (c * chunk + k) as u32)) };
            *place += 1;
        }
    });
    // SAFETY: every place was written.
    unsafe { sorted.set_len(keys.len()) };
    sorted
}

/// Where several threads write, each at places of its own.
struct Places(*mut Keyed);

// SAFETY: no place is given to two threads.
unsafe impl Sync for Places {}

impl Places {
    /// # Safety
    /// The place must lie in the vector.
    unsafe fn at(&self, place: usize) -> *mut Keyed {
        unsafe { self.0.add(place) }
    }
}

/// Sorts a bucket by key; equal keys, which are in the order of the input, stay so.
fn sort_bucket(part: &mut [Keyed]) {
    const PLACE: u32 = 64 - (3 * MAX_LEVEL - BITS);
    if part.len() > 1 << PLACE {
        return part.par_sort_unstable();
    }
    // What the keys of a bucket differ in, and the place in it, as one number.
    let pack = |(place, e): (usize, &Keyed)| e.0 << PLACE | place as u64;
    let mut packed: Vec<u64> = part.iter().enumerate().map(pack).collect();
    packed.sort_unstable();
    let before = part.to_vec();
    for (to, packed) in part.iter_mut().zip(packed) {
        *to = before[(packed & ((1 << PLACE) - 1)) as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::random::{Charge, Distribution, generate};

    #[test]
    fn morton_keys_interleave_the_upper_twenty_bits() {
        assert_eq!(morton(&[-(1 << 30); 3]), 0);
        assert_eq!(morton(&[(1 << 30) - 1; 3]), (1 << 60) - 1);
        assert_eq!(morton(&[0, -(1 << 30), -(1 << 30)]), 1 << 59);
        assert_eq!(morton(&[-(1 << 30), -(1 << 30), -(1 << 30) + (1 << 11)]), 1);
        assert_eq!(morton(&[-(1 << 30), -(1 << 30) + (1 << 12), -(1 << 30)]), 1 << 4);
    }

    #[test]
    fn particles_are_in_the_order_of_key_grid_and_input() {
        // Buckets of few and of very many, with particles in one cell of the deepest level and in one place.
        for (n, clump) in [(0, 0), (1, 0), (20_000, 300), (100, 70_000)] {
            let mut p = generate(n, Distribution::Plummer, Charge::Random, 7);
            for k in 0..clump {
                p.push([0.3, 0.4, 0.5 + 1e-9 * ((k * 7919) % 50) as f64 * (k % 3) as f64], 1.0);
            }
            let map = BoxMap::new(p.columns());
            let grid = |k: usize| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(p.columns()[a][k]))));
            let mut wanted: Vec<_> = (0..p.len()).map(|k| (morton(&grid(k)), grid(k), k as u32)).collect();
            wanted.sort_unstable();
            let (keys, order) = sorted(p.columns(), &map);
            assert!(keys.into_iter().zip(order).eq(wanted.into_iter().map(|w| (w.0, w.2))), "{n} {clump}");
        }
    }
}
