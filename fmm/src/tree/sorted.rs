//! Points in Morton order: their places in scaled, box and integer coordinates, and how many sources each coincides with.

use super::boxmap::BoxMap;
use super::sort::{self, morton};
use crate::arith::lanes::fastest;
use crate::arith::scale::ldexp;
use crate::data::particles::Columns;
use crate::parallel::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Points in Morton order.
#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// For each sorted point its index in the input.
    pub order: Vec<u32>,
    /// Scaled coordinates (see [`BoxMap`]): differences are as exact as the input's where [`BoxMap::exact`] holds.
    pub scaled: [Vec<f64>; 3],
    /// The coordinates of the input, kept where scaled ones have lost bits.
    input: Option<[Vec<f64>; 3]>,
    /// Box coordinates in [-0.5, 0.5).
    pub unit: [Vec<f64>; 3],
    /// Integer coordinates X.
    pub grid: Vec<[i32; 3]>,
    /// For each sorted point the number of sources at exactly its coordinates, itself included where it is one.
    pub coincident: Vec<u32>,
    /// The power of two of scaled coordinates.
    shift: i32,
}

impl Sorted {
    /// Sorts points, and gives their Morton keys too. Coincident particles are not counted yet.
    pub(super) fn new(columns: Columns, map: &BoxMap) -> (Sorted, Vec<u64>) {
        let (keys, order) = sort::sorted(columns, map);
        let scaled = columns.map(|c| order.par_iter().map(|k| map.scaled(c[*k as usize])).collect::<Vec<f64>>());
        let (unit, grid) = placed(map, &scaled);
        let input = (!map.exact).then(|| columns.map(|c| order.iter().map(|k| c[*k as usize]).collect()));
        (Sorted { order, scaled, input, unit, grid, coincident: Vec::new(), shift: map.shift }, keys)
    }

    /// Points that stand in Morton order already; `order` says of each what its index is. Coincident particles are not counted yet.
    pub fn in_order(columns: Columns, order: Vec<u32>, map: &BoxMap) -> Sorted {
        Sorted::among(columns, 0..columns[0].len(), columns[0].len(), order, map)
    }

    /// The same for points that stand among `count`, in the places `own`. The others are at 0 until they are [`Sorted::put`].
    pub fn among(columns: Columns, own: Range<usize>, count: usize, order: Vec<u32>, map: &BoxMap) -> Sorted {
        fn among(column: &[f64], own: &Range<usize>, count: usize, of: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
            // Own ones are written by all threads, and not cleared before.
            let mut all = Vec::with_capacity(count);
            all.resize(own.start, 0.0);
            column[..own.len()].par_iter().map(|x| of(*x)).extend_into(&mut all);
            all.resize(count, 0.0);
            all
        }
        let scaled = match map.factor() {
            Some(factor) => columns.map(|c| among(c, &own, count, |x| x * factor)),
            None => columns.map(|c| among(c, &own, count, |x| map.scaled(x))),
        };
        let (unit, grid) = placed(map, &scaled);
        let input = (!map.exact).then(|| columns.map(|c| among(c, &own, count, |x| x)));
        Sorted { order, scaled, input, unit, grid, coincident: Vec::new(), shift: map.shift }
    }

    /// Gives points other places: those of `columns` in stretches, each with its first point and its number.
    pub fn put<'s>(&mut self, columns: Columns, map: &BoxMap, stretches: impl Iterator<Item = (&'s u32, u32)>) {
        let new = Sorted::in_order(columns, Vec::new(), map);
        let mut from = 0;
        for (first, count) in stretches {
            let (to, of) = (*first as usize..(first + count) as usize, from..from + count as usize);
            from = of.end;
            for a in 0..3 {
                self.scaled[a][to.clone()].copy_from_slice(&new.scaled[a][of.clone()]);
                self.unit[a][to.clone()].copy_from_slice(&new.unit[a][of.clone()]);
                if let (Some(input), Some(new)) = (&mut self.input, &new.input) {
                    input[a][to.clone()].copy_from_slice(&new[a][of.clone()]);
                }
            }
            self.grid[to].copy_from_slice(&new.grid[of]);
        }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The position of a sorted point in the input, to the bit.
    pub fn position(&self, k: usize) -> [f64; 3] {
        match &self.input {
            Some(input) => [0, 1, 2].map(|a| input[a][k]),
            None => [0, 1, 2].map(|a| ldexp(self.scaled[a][k], self.shift)),
        }
    }

    /// The points with these integer coordinates, which stand together.
    pub fn on_grid(&self, at: &[i32; 3]) -> Range<usize> {
        let wanted = (morton(at), *at);
        let first = self.grid.partition_point(|grid| (morton(grid), *grid) < wanted);
        first..first + self.grid[first..].iter().take_while(|grid| *grid == at).count()
    }

    /// A key that is equal for points at equal coordinates alone.
    fn key(&self, k: usize) -> [u64; 3] {
        // Adding 0 makes -0 and 0 one key.
        self.position(k).map(|x| (x + 0.0).to_bits())
    }

    /// Counts coincident points among these points themselves.
    pub(super) fn count_coincident(&mut self) {
        /// Points of a task.
        const TWINS: usize = 1 << 16;
        let mut coincident: Vec<u32> = rayon::iter::repeat_n(1, self.len()).with_min_len(TWINS).collect();
        for group in sort::runs(&self.grid) {
            let mut members: Vec<usize> = group.collect();
            members.sort_unstable_by_key(|k| self.key(*k));
            for same in members.chunk_by(|a, b| self.key(*a) == self.key(*b)) {
                same.iter().for_each(|k| coincident[*k] = same.len() as u32);
            }
        }
        self.coincident = coincident;
    }

    /// Counts coincident points among other points, the sources.
    #[allow(clippy::needless_range_loop, reason = "the same place of several arrays")]
    pub(super) fn count_coincident_among(&mut self, sources: &Sorted) {
        let mut coincident = vec![0; self.len()];
        let mut first = 0;
        for group in self.grid.chunk_by(|a, b| a == b) {
            let mut keys: Vec<[u64; 3]> = sources.on_grid(&group[0]).map(|k| sources.key(k)).collect();
            keys.sort_unstable();
            for k in first..first + group.len() {
                let own = self.key(k);
                let below = keys.partition_point(|key| *key < own);
                coincident[k] = keys[below..].partition_point(|key| *key == own) as u32;
            }
            first += group.len();
        }
        self.coincident = coincident;
    }
}

/// Box and integer coordinates of scaled ones.
fn placed(map: &BoxMap, scaled: &[Vec<f64>; 3]) -> ([Vec<f64>; 3], Vec<[i32; 3]>) {
    const TASK: usize = 1 << 12;
    let count = scaled[0].len();
    let (mut unit, mut grid) = ([const { Vec::new() }; 3], Vec::new());
    let [x, y, z] = unit.each_mut().map(|column| room(column, count).par_chunks_mut(TASK));
    let parts = x.zip(y).zip(z).zip(room(&mut grid, count).par_chunks_mut(TASK));
    parts.enumerate().for_each(|(task, (((x, y), z), grid))| {
        let part = task * TASK..task * TASK + grid.len();
        place(map, scaled.each_ref().map(|column| &column[part.clone()]), [x, y, z], grid);
    });
    // SAFETY: all of each was written.
    unsafe {
        unit.iter_mut().for_each(|column| column.set_len(count));
        grid.set_len(count);
    }
    (unit, grid)
}

/// The spare capacity of an empty column for a number of items.
fn room<T>(column: &mut Vec<T>, count: usize) -> &mut [MaybeUninit<T>] {
    column.reserve_exact(count);
    &mut column.spare_capacity_mut()[..count]
}

type Unwritten<'a, T> = &'a mut [MaybeUninit<T>];

fastest! {
    fn place(map: &BoxMap, scaled: Columns, unit: [Unwritten<f64>; 3], grid: Unwritten<[i32; 3]>) = place_body
}

#[inline(always)]
fn place_body<const FMA: bool>(map: &BoxMap, scaled: Columns, unit: [Unwritten<f64>; 3], grid: Unwritten<[i32; 3]>) {
    grid.fill(MaybeUninit::new([0; 3]));
    for (axis, (unit, scaled)) in unit.into_iter().zip(scaled).enumerate() {
        for (unit, scaled) in unit.iter_mut().zip(scaled) {
            *unit = MaybeUninit::new(map.unit(axis, *scaled));
        }
        for (grid, unit) in grid.iter_mut().zip(unit) {
            // SAFETY: both were written above.
            unsafe { grid.assume_init_mut()[axis] = BoxMap::grid(unit.assume_init()) };
        }
    }
}
