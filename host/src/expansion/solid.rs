//! The expansion in real solid harmonics, in f32 or f64, with vectors as wide as the machine has them.
//!
//! `M_nm = sum of q R_nm(x - c)` and `phi(x) = sum of L_nm R_nm(x - c)` with the harmonics of [`harmonics`], lengths in
//! units of the cell's edge. Order P has the (P+1)^2 terms up to degree P in both, and all products of them. The order of
//! terms is that of [`terms`]: by degree, so that a lower order is the head of a higher one.
//!
//! Everything here works on slices: points relative to a cell's centre ([`points`]), the terms of all cells one after the
//! other ([`shift`], [`m2l`]). Sums over cells and particles are done in an order that does not depend on the number of
//! threads.

mod harmonics;
mod m2l;
mod matrices;
mod orders;
mod points;
mod shift;
mod terms;
#[cfg(test)]
mod tests;

use crate::arith::vector::{Isa, Vectors};
use crate::tree::Cell;
use harmonics::Harmonics;
use m2l::M2l;
use matrices::Entry;
use points::{Basis, Kind};
use shift::Shifts;
use std::ops::Range;

/// The tables of one order.
pub struct Solid<T> {
    pub order: usize,
    /// Terms of a cell.
    pub terms: usize,
    isa: Isa,
    inner: Harmonics<T>,
    /// Irregular harmonics for P2L, and those of one order more that gradients of multipoles need.
    outer: [Harmonics<T>; 2],
    local_slopes: [Vec<Entry<T>>; 3],
    multipole_slopes: [Vec<Entry<T>>; 3],
    shifts: Shifts<T>,
    m2l: M2l<T>,
}

/// For each term its factors in the potential and in the gradient.
pub type Factors<T> = Vec<[T; 4]>;

impl<T: Vectors> Solid<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Solid<T> {
        Solid::with(order, near2, Isa::best())
    }

    fn with(order: usize, near2: u64, isa: Isa) -> Solid<T> {
        let weights = matrices::weights(2 * order + 1);
        let rounded = |slopes: [Vec<Entry<f64>>; 3]| {
            let one = |e: &Entry<f64>| Entry { dst: e.dst, src: e.src, factor: T::of(e.factor) };
            slopes.map(|s| s.iter().map(one).collect())
        };
        Solid {
            order,
            terms: terms::count(order),
            isa,
            inner: Harmonics::new(order),
            outer: [Harmonics::new(order), Harmonics::new(order + 1)],
            local_slopes: rounded(matrices::local_slopes(order, &weights)),
            multipole_slopes: rounded(matrices::multipole_slopes(order, &weights)),
            shifts: Shifts::new(order, isa, &weights),
            m2l: M2l::new(order, near2, isa, &weights),
        }
    }

    /// P2M: adds to `m` the multipoles of charges at `x`.
    pub fn p2m(&self, x: [&[T]; 3], q: &[T], m: &mut [T]) {
        points::moments(self.isa, &Basis { harmonics: &self.inner, kind: Kind::Regular }, x, q, m);
    }

    /// P2L: adds to `l` what charges at `x`, far from the cell, give.
    pub fn p2l(&self, x: [&[T]; 3], q: &[T], l: &mut [T]) {
        points::moments(self.isa, &Basis { harmonics: &self.outer[0], kind: Kind::Irregular }, x, q, l);
    }

    /// What [`l2p`](Self::l2p) needs of a local expansion.
    pub fn local_factors(&self, l: &[T]) -> Factors<T> {
        factors(l, &self.local_slopes, self.terms)
    }

    /// L2P: adds potential and gradient at `x` to `out`.
    pub fn l2p(&self, factors: &Factors<T>, x: [&[T]; 3], out: &mut [[T; 4]]) {
        points::values(self.isa, &Basis { harmonics: &self.inner, kind: Kind::Regular }, x, factors, out);
    }

    /// What [`m2p`](Self::m2p) needs of a multipole expansion.
    pub fn multipole_factors(&self, m: &[T]) -> Factors<T> {
        factors(m, &self.multipole_slopes, terms::count(self.order + 1))
    }

    /// M2P: adds potential and gradient at `x`, far from the cell, to `out`.
    pub fn m2p(&self, factors: &Factors<T>, x: [&[T]; 3], out: &mut [[T; 4]]) {
        points::values(self.isa, &Basis { harmonics: &self.outer[1], kind: Kind::Irregular }, x, factors, out);
    }

    /// M2M: the multipoles of all split cells from those of the leaves.
    pub fn m2m(&self, cells: &[Cell], levels: &[Range<usize>], m: &mut [T]) {
        self.shifts.m2m(cells, levels, m);
    }

    /// L2L: adds the local expansions of all parents to their children's.
    pub fn l2l(&self, cells: &[Cell], levels: &[Range<usize>], l: &mut [T]) {
        self.shifts.l2l(cells, levels, l);
    }

    /// M2L: adds to `l` what the multipoles `m` give. `list` has for each split cell the split cells of its level whose
    /// children it takes, near ones included.
    pub fn m2l<'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        m: &[T],
        l: &mut [T],
    ) {
        self.m2l.run(cells, levels, list, m, l);
    }
}

fn factors<T: Vectors>(terms: &[T], slopes: &[Vec<Entry<T>>; 3], count: usize) -> Factors<T> {
    let mut factors = vec![[T::default(); 4]; count];
    factors.iter_mut().zip(terms).for_each(|(f, term)| f[0] = *term);
    for (axis, slopes) in slopes.iter().enumerate() {
        for e in slopes {
            factors[e.dst as usize][axis + 1] += e.factor * terms[e.src as usize];
        }
    }
    factors
}

impl<T: Vectors> Solid<T> {
    /// BENCH
    pub fn m2l_flops(&self) -> (usize, usize) { self.m2l.flops() }
}
