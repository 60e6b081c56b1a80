//! Softened 1/r: solid harmonics for 1/r, and Chebyshev polynomials for what softening changes.
//!
//! Between cells that are far in units of the softening length, `1/sqrt(r^2 + E^2) - 1/r` is a small part of 1/r, about
//! `-E^2 / (2 r^2)`. So a low order gives it as well as the order of the harmonics gives 1/r, and a lower one on each coarser level; on the
//! coarsest ones it is nothing. Tables of low orders cost little to make, and those of 1/r are the same for all levels. Where cells are not larger than
//! the softening length, softened 1/r is smooth, and is expanded itself, without harmonics, which would have to cancel.
//!
//! An expansion is that in harmonics and after it that in polynomials, both in units of the cell's edge.

use super::chebyshev::softened::{Change, Softened as Kernel};
use super::chebyshev::{Chebyshev, Function, Units};
use super::solid::Solid;
use super::{Derivatives, Expansion, Far, Points, SecondDerivatives, Translated, Values};
use crate::arith::vector::Vectors;
use crate::parallel::prelude::*;
use crate::tree::{MAX_LEVEL, Tree};
use std::sync::Arc;

/// The operators of an order.
pub struct Softened<T> {
    hard: Solid<T>,
    soft: Chebyshev<T>,
    /// Levels from the root on where harmonics act.
    levels: usize,
    /// Terms of the harmonics, and all.
    terms: [usize; 2],
}

pub mod lengths;
pub mod orders;

impl<T: Vectors> Softened<T> {
    /// For an order of the harmonics, and cells that are near below `near2`.
    pub fn new(order: usize, far: Translated, near2: u64, kernel: &Kernel) -> Softened<T> {
        let edges = |level: usize| kernel.eps * (level as f64).exp2();
        let levels = (0..=MAX_LEVEL as usize).take_while(|level| edges(*level) <= orders::LONGEST).count();
        let most = orders::most(near2);
        let of_levels: Vec<usize> = orders::of_levels(order, near2, kernel.eps, kernel.levels).collect();
        let of_level = |level: usize| {
            let function: Arc<dyn Function> = match level < levels {
                true => Arc::new(Change { eps: kernel.eps }),
                false => Arc::new(Kernel::new(kernel.eps, kernel.levels)),
            };
            (function, of_levels.get(level).map_or(0, |order| most.min(*order)))
        };
        let hard = Solid::new(order, near2).lower_beyond(far.lower_beyond).m2l_by(far.m2l_by);
        let soft = Chebyshev::by_level((0..=MAX_LEVEL as usize).map(of_level).collect(), near2, Units::Cell);
        let soft = soft.sharing(kernel.kept.clone());
        let terms = [hard.multipole_terms(), hard.multipole_terms() + soft.multipole_terms()];
        Softened { hard, soft, levels, terms }
    }

    fn is_hard(&self, level: u32) -> bool {
        (level as usize) < self.levels
    }

    /// The expansions of all cells, those in harmonics and those in polynomials.
    fn apart(&self, all: &[T]) -> [Vec<T>; 2] {
        let [hard, both] = self.terms;
        [0..hard, hard..both].map(|part| {
            let mut to = vec![T::default(); all.len() / both * part.len()];
            let tasks = to.par_chunks_mut(TASK * part.len()).zip(all.par_chunks(TASK * both));
            tasks.for_each(|(to, from)| {
                let cells = to.chunks_exact_mut(part.len()).zip(from.chunks_exact(both));
                cells.for_each(|(to, from)| to.copy_from_slice(&from[part.clone()]));
            });
            to
        })
    }

    /// Puts them together.
    fn join(&self, [hard, soft]: [Vec<T>; 2], all: &mut [T]) {
        let [of_hard, both] = self.terms;
        let tasks = all.par_chunks_mut(TASK * both);
        let tasks = tasks.zip(hard.par_chunks(TASK * of_hard)).zip(soft.par_chunks(TASK * (both - of_hard)));
        tasks.for_each(|((to, hard), soft)| {
            let parts = hard.chunks_exact(of_hard).zip(soft.chunks_exact(both - of_hard));
            for (to, (hard, soft)) in to.chunks_exact_mut(both).zip(parts) {
                to[..of_hard].copy_from_slice(hard);
                to[of_hard..].copy_from_slice(soft);
            }
        });
    }

    fn split<'a>(&self, one: &'a [T]) -> (&'a [T], &'a [T]) {
        one.split_at(self.terms[0])
    }

    fn split_mut<'a>(&self, one: &'a mut [T]) -> (&'a mut [T], &'a mut [T]) {
        one.split_at_mut(self.terms[0])
    }
}

/// Cells whose expansions one task copies.
const TASK: usize = 64;

impl<T: Vectors> Expansion<T> for Softened<T> {
    fn multipole_terms(&self) -> usize {
        self.terms[1]
    }

    fn local_terms(&self) -> usize {
        self.terms[1]
    }

    fn p2m(&self, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split_mut(m);
        self.hard.p2m(points, charges, hard, scratch);
        self.soft.p2m(points, charges, soft, scratch);
    }

    fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        let ((hard, soft), (to_hard, to_soft)) = (self.split(child), self.split_mut(parent));
        self.hard.m2m(octant, hard, to_hard);
        self.soft.m2m(octant, soft, to_soft);
    }

    fn m2m_all(&self, tree: &Tree, m: &mut [T]) {
        let [mut hard, mut soft] = self.apart(m);
        self.hard.m2m_all(tree, &mut hard);
        self.soft.m2m_all(tree, &mut soft);
        self.join([hard, soft], m);
    }

    fn m2l_pair(&self, level: u32, offset: [i64; 3], m: &[T], l: &mut [T]) {
        let ((hard, soft), (to_hard, to_soft)) = (self.split(m), self.split_mut(l));
        if self.is_hard(level) {
            self.hard.m2l_pair(level, offset, hard, to_hard);
        }
        self.soft.m2l_pair(level, offset, soft, to_soft);
    }

    fn m2l(&self, far: Far, m: &[T], l: &mut [T]) {
        if far.lists.v.is_empty() {
            return;
        }
        let [hard, soft] = self.apart(m);
        let [mut to_hard, mut to_soft] = self.apart(l);
        self.hard.m2l_to(far, self.levels, &hard, &mut to_hard);
        self.soft.m2l(far, &soft, &mut to_soft);
        self.join([to_hard, to_soft], l);
    }

    fn p2l(&self, level: u32, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split_mut(l);
        if self.is_hard(level) {
            self.hard.p2l(level, points, charges, hard, scratch);
        }
        self.soft.p2l(level, points, charges, soft, scratch);
    }

    fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        let ((hard, soft), (to_hard, to_soft)) = (self.split(parent), self.split_mut(child));
        self.hard.l2l(octant, hard, to_hard);
        self.soft.l2l(octant, soft, to_soft);
    }

    fn l2l_all(&self, tree: &Tree, l: &mut [T]) {
        let [mut hard, mut soft] = self.apart(l);
        self.hard.l2l_all(tree, &mut hard);
        self.soft.l2l_all(tree, &mut soft);
        self.join([hard, soft], l);
    }

    fn l2p(&self, l: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split(l);
        self.hard.l2p(hard, points, out, scratch);
        self.soft.l2p(soft, points, out, scratch);
    }

    fn m2p(&self, level: u32, m: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split(m);
        if self.is_hard(level) {
            self.hard.m2p(level, hard, points, out, scratch);
        }
        self.soft.m2p(level, soft, points, out, scratch);
    }

    fn derivatives(&self) -> Option<&dyn Derivatives<T>> {
        Some(self)
    }
}

impl<T: Vectors> Derivatives<T> for Softened<T> {
    fn p2m_dipoles(&self, points: Points<T>, dipoles: [&[T]; 3], m: &mut [T], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split_mut(m);
        self.hard.p2m_dipoles(points, dipoles, hard, scratch);
        self.soft.p2m_dipoles(points, dipoles, soft, scratch);
    }

    fn p2l_dipoles(&self, level: u32, points: Points<T>, dipoles: [&[T]; 3], l: &mut [T], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split_mut(l);
        if self.is_hard(level) {
            self.hard.p2l_dipoles(level, points, dipoles, hard, scratch);
        }
        self.soft.p2l_dipoles(level, points, dipoles, soft, scratch);
    }

    fn l2p_hessian(&self, l: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>) {
        let (hard, soft) = self.split(l);
        self.hard.l2p_hessian(hard, points, out, scratch);
        self.soft.l2p_hessian(soft, points, out, scratch);
    }

    fn m2p_hessian(
        &self,
        level: u32,
        m: &[T],
        points: Points<T>,
        out: &mut [SecondDerivatives<T>],
        scratch: &mut Vec<T>,
    ) {
        let (hard, soft) = self.split(m);
        if self.is_hard(level) {
            self.hard.m2p_hessian(level, hard, points, out, scratch);
        }
        self.soft.m2p_hessian(level, soft, points, out, scratch);
    }
}
