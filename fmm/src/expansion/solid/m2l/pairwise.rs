//! M2L pair by pair, for angles so small that there are too many offsets for tables.

use crate::arith::lanes::Real;
use crate::expansion::solid::matrices::Translation;
use crate::expansion::solid::orders::Orders;
use crate::expansion::solid::terms::count;
use crate::parallel::prelude::*;
use crate::tree::Cell;
use crate::tree::lists::is_near;

/// The parameters that determine a matrix.
pub struct Pairwise {
    pub order: usize,
    pub orders: Orders,
    pub weights: Vec<f64>,
    pub near2: u64,
}

impl Pairwise {
    /// As [`M2l::run`](super::M2l::run).
    pub fn run<'v, T: Real>(&self, cells: &[Cell], list: &(dyn Fn(usize) -> &'v [u32] + Sync), m: &[T], l: &mut [T]) {
        let size = count(self.order);
        l.par_chunks_exact_mut(size).zip(cells).skip(1).for_each(|(l, target)| {
            for source in list(target.parent as usize).iter().flat_map(|s| cells[*s as usize].child_range()) {
                let offset: [i64; 3] = std::array::from_fn(|a| target.at[a] as i64 - cells[source].at[a] as i64);
                if is_near(offset, self.near2) {
                    continue;
                }
                let order = self.orders.at(offset);
                let translation = Translation::new(order, offset.map(|x| x as f64), &self.weights);
                translation.apply(order, &self.weights, &m[source * size..(source + 1) * size], l);
            }
        });
    }
}
