//! M2L of solid harmonics: by tables of mirrored offsets, by plane waves, or pair by pair where there are too many offsets.

mod mixed;
mod pairwise;

use super::matrices::{Share, Translation};
use super::orders::Orders;
use super::terms::terms;
use super::waves::Waves;
use crate::arith::vector::{Isa, Vectors};
use crate::expansion::mirrored::{self, Cells, FARTHEST, Level, Matrices, MatrixBlock, Mirrored, Term};
use crate::parallel::prelude::*;
use crate::tree::Cell;
use crate::tree::lists::reach;
use mixed::Mixed;
use pairwise::Pairwise;
use std::ops::Range;

/// The translation that M2L of solid harmonics takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum M2lBy {
    /// Plane waves where they cost less.
    #[default]
    Cheapest,
    Matrices,
}

/// M2L of an order and an opening angle.
#[allow(clippy::large_enum_variant, reason = "an expansion has one")]
pub enum M2l<T> {
    Tables(Mirrored<T>),
    Mixed(Mixed<T>),
    Pairwise(Pairwise),
    Waves(Waves<T>),
}

/// Up to this order the shares of all terms in each other are kept, 32 bytes each, for all offsets. They fit a core's cache, and of
/// small trees most of M2L's time is making its tables.
const SHARES_TO: usize = 10;

/// The first order at which plane waves cost no more than matrices for the same error, in f64: with AVX-512, where matrices are fastest.
/// With AVX2 they win from order 14 on, but results do not go by the instructions of a machine beyond rounding.
const LEAST_BY_WAVES: usize = 20;

/// The first order at which M2L in f64 goes by plane waves, for cells that are near below `near2`, if there is one.
pub fn least_by_waves(near2: u64) -> Option<usize> {
    (near2 == 4).then_some(LEAST_BY_WAVES)
}

/// The data from which the tables are made.
struct Entries {
    weights: Vec<f64>,
    orders: Orders,
    terms: Vec<super::terms::Term>,
    /// The share of each source's term in the targets' terms, one source after the other; none above [`SHARES_TO`].
    shares: Vec<Share>,
    /// Where there are two tables: products of terms up to these degrees are in the other one.
    beyond: Option<Orders>,
}

impl Entries {
    fn new(orders: Orders, weights: &[f64]) -> Entries {
        let terms = terms(orders.highest());
        let mut shares = Vec::new();
        if orders.highest() <= SHARES_TO {
            let of_source = |b: &super::terms::Term| terms.iter().map(|a| Share::new(*a, *b, weights)).collect();
            shares = terms.par_iter().map(of_source).collect::<Vec<Vec<Share>>>().into_iter().flatten().collect();
        }
        Entries { weights: weights.to_vec(), orders, terms, shares, beyond: None }
    }
}

impl Matrices for Entries {
    fn is_mirrored(&self) -> bool {
        true
    }

    fn order(&self, offset: [i64; 3]) -> usize {
        self.orders.at(offset)
    }

    fn fill(&self, offset: [i64; 3], blocks: &[MatrixBlock], to: &mut Vec<f64>) {
        let translation = Translation::new(self.orders.at(offset), offset.map(|x| x as f64), &self.weights);
        let size = self.terms.len();
        let entry = |a: usize, b: usize| match self.shares.is_empty() {
            true => translation.entry(self.terms[a], self.terms[b], &self.weights),
            false => translation.of(&self.shares[b * size + a]),
        };
        let Some(beyond) = self.beyond.map(|orders| orders.at(offset)) else {
            return blocks.iter().for_each(|block| block.append(to, entry));
        };
        let is_elsewhere = |a: usize, b: usize| self.terms[a].n.max(self.terms[b].n) <= beyond;
        let entry = |a: usize, b: usize| if is_elsewhere(a, b) { 0.0 } else { entry(a, b) };
        blocks.iter().for_each(|block| block.append(to, entry));
    }
}

/// Tables of the M2L of some terms.
fn tables<T: Vectors>(near2: u64, isa: Isa, entries: Entries) -> Mirrored<T> {
    let known: Vec<Term> = entries.terms.iter().map(|t| Term { class: t.class(), degree: t.n }).collect();
    Mirrored::new(&known, near2, isa, entries)
}

/// The cells that M2L is between.
pub struct Stage<'a, 'v> {
    pub cells: Cells<'a, 'v>,
    pub levels: &'a [Range<usize>],
}

impl Stage<'_, '_> {
    /// The expansions of all levels' children.
    fn levels<'a, T: Vectors>(&self, tables: &'a Mirrored<T>, m: &'a [T], l: &'a mut [T]) -> Vec<Level<'a, T>> {
        let cells = self.cells.cells;
        let size = tables.size();
        let mut rest = l;
        let mut split_off =
            |cells: usize| rest.split_off_mut(..cells * size).expect("every cell has a local expansion");
        split_off(self.levels.first().map_or(0, |root| root.len()));
        let below = |level: &Range<usize>| cells[level.clone()].iter().map(|c| c.children as usize).sum();
        let level =
            |level: &Range<usize>| Level { tables, parents: level.clone(), first: 0, m, l: split_off(below(level)) };
        self.levels.iter().map(level).collect()
    }
}

impl<T: Vectors> M2l<T> {
    /// For cells that are near below `near2`: what costs least. Plane waves have the highest order at all offsets, so that orders with
    /// parts are those of matrices.
    pub fn new(orders: Orders, near2: u64, isa: Isa, weights: &[f64]) -> M2l<T> {
        let may_be_waves = size_of::<T>() == size_of::<f64>() && !orders.has_part();
        match may_be_waves && least_by_waves(near2).is_some_and(|least| orders.highest() >= least) {
            true => M2l::Waves(Waves::new(orders.highest(), isa)),
            false => M2l::by_matrices(orders, near2, isa, weights),
        }
    }

    /// Without plane waves, in f32 where that does not add to the error.
    pub fn by_matrices(orders: Orders, near2: u64, isa: Isa, weights: &[f64]) -> M2l<T> {
        match orders.split(near2).filter(|_| size_of::<T>() == size_of::<f64>() && reach(near2) <= FARTHEST) {
            Some(split) => M2l::Mixed(Mixed::new(orders, split, near2, isa, weights)),
            None => M2l::with_orders(orders.highest(), near2, isa, weights, orders),
        }
    }

    /// With other orders than those that offsets need.
    pub fn with_orders(order: usize, near2: u64, isa: Isa, weights: &[f64], orders: Orders) -> M2l<T> {
        if reach(near2) > FARTHEST {
            return M2l::Pairwise(Pairwise { order, orders, weights: weights.to_vec(), near2 });
        }
        M2l::Tables(tables(near2, isa, Entries::new(orders, weights)))
    }

    /// Adds to the local expansions `l` of the cells in `levels` and their children what the multipoles `m` give. `list` has for each split cell the split
    /// cells of its level whose children it takes, near ones included.
    pub fn run<'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        m: &[T],
        l: &mut [T],
    ) {
        let stage = Stage { cells: Cells { cells, list }, levels };
        match self {
            M2l::Pairwise(pairwise) => pairwise.run(cells, list, m, l),
            M2l::Tables(tables) => mirrored::run(stage.cells, stage.levels(tables, m, l)),
            M2l::Waves(waves) => waves.run(cells, levels, list, m, l),
            M2l::Mixed(mixed) => mixed.run(&stage, m, l),
        }
    }
}
