//! M2L of solid harmonics: by tables of mirrored offsets, or pair by pair where there are too many offsets.

mod pairwise;

use super::matrices::Translation;
use super::orders::Orders;
use super::terms::terms;
use crate::arith::vector::{Isa, Vectors};
use crate::expansion::mirrored::{self, Cells, FARTHEST, Level, Matrices, Mirrored, Term};
use crate::tree::Cell;
use crate::tree::lists::reach;
use pairwise::Pairwise;
use std::ops::Range;

/// M2L of an order and an opening angle.
pub enum M2l<T> {
    Tables(Mirrored<T>),
    Pairwise(Pairwise),
}

/// What the tables are made of.
struct Entries {
    weights: Vec<f64>,
    orders: Orders,
    terms: Vec<super::terms::Term>,
}

impl Matrices for Entries {
    fn is_mirrored(&self) -> bool {
        true
    }

    fn order(&self, offset: [i64; 3]) -> usize {
        self.orders.at(offset)
    }

    fn entries(&self, offset: [i64; 3], take: &mut dyn FnMut(&dyn Fn(usize, usize) -> f64)) {
        let translation = Translation::new(self.orders.at(offset), offset.map(|x| x as f64), &self.weights);
        take(&|a, b| translation.entry(self.terms[a], self.terms[b], &self.weights));
    }
}

impl<T: Vectors> M2l<T> {
    /// For cells that are near below `near2`.
    pub fn new(order: usize, near2: u64, isa: Isa, weights: &[f64]) -> M2l<T> {
        M2l::with_orders(order, near2, isa, weights, Orders::new(order, near2))
    }

    /// With other orders than those that offsets need.
    pub fn with_orders(order: usize, near2: u64, isa: Isa, weights: &[f64], orders: Orders) -> M2l<T> {
        let weights = weights.to_vec();
        if reach(near2) > FARTHEST {
            return M2l::Pairwise(Pairwise { order, orders, weights, near2 });
        }
        let terms = terms(order);
        let known: Vec<Term> = terms.iter().map(|t| Term { class: t.class(), degree: t.n }).collect();
        M2l::Tables(Mirrored::new(&known, near2, isa, Entries { weights, orders, terms }))
    }

    /// Adds to the local expansions `l` of the cells in `levels` what the multipoles `m` give. `list` has for each split cell the split
    /// cells of its level whose children it takes, near ones included.
    pub fn run<'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        m: &[T],
        l: &mut [T],
    ) {
        let tables = match self {
            M2l::Pairwise(pairwise) => return pairwise.run(cells, list, m, l),
            M2l::Tables(tables) => tables,
        };
        // Images that `cells` holds besides have no expansions of their own.
        let size = m.len() / levels.last().map_or(1, |level| level.end);
        let mut rest = l;
        let mut split_off =
            |cells: usize| rest.split_off_mut(..cells * size).expect("every cell has a local expansion");
        split_off(levels.first().map_or(0, |root| root.len()));
        let below = |level: &Range<usize>| cells[level.clone()].iter().map(|c| c.children as usize).sum();
        let levels = levels.iter().map(|level| Level {
            tables,
            parents: level.clone(),
            first: 0,
            m,
            l: split_off(below(level)),
        });
        mirrored::run(Cells { cells, list }, levels.collect());
    }
}
