//! M2L in f64 with most of its products in f32: those that count for so little that what f32 rounds is far below what the
//! order leaves out ([`Orders::split`]).

use super::{Entries, Stage, tables};
use crate::arith::vector::{Isa, Vectors};
use crate::expansion::mirrored::{self, Mirrored};
use crate::expansion::solid::orders::Orders;
use crate::expansion::solid::terms::count;
use crate::parallel::prelude::*;
use std::sync::OnceLock;

/// Multipoles whose largest term lies in this range, and their products, are in the range of f32.
const SUIT_F32: [f64; 2] = [1e-18, 1e18];

/// The tables of both formats.
pub struct Mixed<T> {
    orders: Orders,
    /// Products of two terms up to these degrees are computed in T.
    split: Orders,
    low: Mirrored<T>,
    high: Mirrored<f32>,
    /// For multipoles beyond the range of f32.
    all: OnceLock<Mirrored<T>>,
    near2: u64,
    isa: Isa,
    weights: Vec<f64>,
}

impl<T: Vectors> Mixed<T> {
    pub fn new(orders: Orders, split: Orders, near2: u64, isa: Isa, weights: &[f64]) -> Mixed<T> {
        let low = Entries::new(split, weights);
        let high = Entries { beyond: Some(split), ..Entries::new(orders, weights) };
        let (low, high) = (tables(near2, isa, low), tables(near2, isa, high));
        Mixed { orders, split, low, high, all: OnceLock::new(), near2, isa, weights: weights.to_vec() }
    }

    /// As [`M2l::run`](super::M2l::run).
    pub fn run(&self, stage: &Stage, m: &[T], l: &mut [T]) {
        let (size, head) = (count(self.orders.highest()), count(self.split.highest()));
        let cells = m.len() / size;
        let (mut low, mut high) = (vec![T::default(); cells * head], vec![0f32; cells * size]);
        let parts = low.par_chunks_exact_mut(head).zip(high.par_chunks_exact_mut(size));
        let do_suit = m.par_chunks_exact(size).zip(parts).map(|(m, (low, high))| {
            low.copy_from_slice(&m[..head]);
            high.iter_mut().zip(m).for_each(|(high, m)| *high = m.f64() as f32);
            let largest = m.iter().fold(0.0f64, |a, m| a.max(m.f64().abs()));
            largest == 0.0 || (SUIT_F32[0]..=SUIT_F32[1]).contains(&largest)
        });
        if !do_suit.reduce(|| true, |a, b| a && b) {
            let all = self.all.get_or_init(|| tables(self.near2, self.isa, Entries::new(self.orders, &self.weights)));
            return mirrored::run(stage.cells, stage.levels(all, m, l));
        }
        let (mut low_sums, mut high_sums) = (vec![T::default(); low.len()], vec![0f32; high.len()]);
        mirrored::run(stage.cells, stage.levels(&self.low, &low, &mut low_sums));
        mirrored::run(stage.cells, stage.levels(&self.high, &high, &mut high_sums));
        let parts = low_sums.par_chunks_exact(head).zip(high_sums.par_chunks_exact(size));
        l.par_chunks_exact_mut(size).zip(parts).for_each(|(l, (low, high))| {
            l.iter_mut().zip(high).for_each(|(l, high)| *l += T::of(*high as f64));
            l.iter_mut().zip(low).for_each(|(l, low)| *l += *low);
        });
    }
}
