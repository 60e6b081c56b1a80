//! The expansion in real solid harmonics, in f32 or f64, with vectors as wide as the machine has them.
//!
//! `M_nm = sum of q R_nm(x - c)` and `phi(x) = sum of L_nm R_nm(x - c)` with the harmonics of [`harmonics`], lengths in
//! units of the cell's edge. Order P has the (P+1)^2 terms up to degree P in both, and all products of them. The order of
//! terms is that of [`terms`]: by degree, so that a lower order is the head of a higher one.
//!
//! Sums over cells and particles are done in an order that does not depend on the number of threads.

pub mod dense;
mod derivatives;
pub mod harmonics;
pub mod m2l;
pub mod matrices;
pub mod orders;
mod points;
pub mod terms;
pub mod waves;

use crate::arith::vector::{Isa, Vectors};
use crate::expansion::shift::Shifts;
use crate::expansion::sparse::{Product, rounded, with_slopes};
use crate::expansion::{Derivatives, Expansion, Far, Points, Values};
use crate::tree::Tree;
use harmonics::Harmonics;
use m2l::{M2l, M2lBy};
use matrices::Translation;
use orders::Orders;
use points::{Harmonic, HarmonicKind};
use std::sync::OnceLock;

/// The operators of an order.
pub struct Solid<T> {
    order: usize,
    near2: u64,
    /// Where M2L takes the order below.
    lower_beyond: Option<f64>,
    m2l_by: M2lBy,
    isa: Isa,
    /// [`terms::Term::weight`] of all terms that tables are made of.
    weights: Vec<f64>,
    /// Up to the order, for expansions, and to one order more, for gradients of multipoles.
    harmonics: [Harmonics<T>; 2],
    local_slopes: [Vec<Product<T>>; 3],
    multipole_slopes: [Vec<Product<T>>; 3],
    /// Tables for second derivatives of multipoles.
    upper: OnceLock<derivatives::Upper<T>>,
    shifts: Shifts<T>,
    /// The tables of M2L.
    m2l: OnceLock<M2l<T>>,
}

/// Terms that are computed at a point for a multipole expansion and its gradient.
pub fn terms_at_a_point(order: usize) -> usize {
    terms::count(order + 1)
}

impl<T: Vectors> Solid<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Solid<T> {
        Solid::with(order, near2, Isa::best())
    }

    /// The same with the order below for M2L at far offsets, see [`Orders::lower_beyond`].
    pub fn lower_beyond(self, lower_beyond: Option<f64>) -> Solid<T> {
        Solid { lower_beyond, ..self }
    }

    /// The same with a translation for M2L.
    pub fn m2l_by(self, m2l_by: M2lBy) -> Solid<T> {
        Solid { m2l_by, ..self }
    }

    /// As [`Solid::new`], by a set of instructions.
    pub fn with(order: usize, near2: u64, isa: Isa) -> Solid<T> {
        let weights = matrices::weights(2 * order);
        let octants = matrices::ShiftsOfOctants::new(order, &weights);
        let of_t = |slopes: [Vec<Product<f64>>; 3]| slopes.map(|s| rounded(&s));
        Solid {
            order,
            near2,
            lower_beyond: None,
            m2l_by: M2lBy::default(),
            isa,
            harmonics: [Harmonics::new(order), Harmonics::new(order + 1)],
            local_slopes: of_t(matrices::local_slopes(order, &weights)),
            multipole_slopes: of_t(matrices::multipole_slopes(order, &weights)),
            upper: OnceLock::new(),
            shifts: Shifts::new(isa, terms::count(order), |octant| octants.of(octant)),
            m2l: OnceLock::new(),
            weights,
        }
    }

    /// M2L on so many levels from the root on.
    pub fn m2l_to(&self, far: Far, levels: usize, m: &[T], l: &mut [T]) {
        let levels = &far.tree.levels[..levels.min(far.tree.levels.len())];
        let Some(last) = levels.last().filter(|_| !far.lists.v.is_empty()) else { return };
        let list = |parent: usize| &far.lists.v[parent][..];
        let orders = || Orders::new(self.order, self.near2).lower_beyond(self.lower_beyond);
        let new = match self.m2l_by {
            M2lBy::Cheapest => M2l::new,
            M2lBy::Matrices => M2l::by_matrices,
        };
        let m2l = self.m2l.get_or_init(|| new(orders(), self.near2, self.isa, &self.weights));
        let numbers = last.end * terms::count(self.order);
        // Those of the last level give nothing to their children.
        let parents = &levels[..levels.len() - 1];
        m2l.run(far.tree.acting(), parents, &list, &m[..numbers], &mut l[..numbers]);
    }

    /// Potential and gradient of an expansion as sums over harmonics.
    fn values(&self, kind: HarmonicKind, terms: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        let (slopes, harmonics) = match kind {
            HarmonicKind::Regular => (&self.local_slopes, &self.harmonics[0]),
            HarmonicKind::Irregular => (&self.multipole_slopes, &self.harmonics[1]),
        };
        let factors = with_slopes(terms, slopes, terms::count(harmonics.order));
        points::values(self.isa, &Harmonic { harmonics, kind }, points.x, &factors, out, scratch);
    }
}

impl<T: Vectors> Expansion<T> for Solid<T> {
    fn multipole_terms(&self) -> usize {
        terms::count(self.order)
    }

    fn local_terms(&self) -> usize {
        terms::count(self.order)
    }

    fn p2m(&self, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>) {
        let harmonic = Harmonic { harmonics: &self.harmonics[0], kind: HarmonicKind::Regular };
        points::moments(self.isa, &harmonic, points.x, charges, m, scratch);
    }

    fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        self.shifts.m2m(octant, child, parent);
    }

    fn m2m_all(&self, tree: &Tree, m: &mut [T]) {
        self.shifts.m2m_all(&tree.cells, &tree.levels, m);
    }

    fn m2l_pair(&self, _: u32, offset: [i64; 3], m: &[T], l: &mut [T]) {
        let translation = Translation::new(self.order, offset.map(|x| x as f64), &self.weights);
        translation.apply(self.order, &self.weights, m, l);
    }

    fn m2l(&self, far: Far, m: &[T], l: &mut [T]) {
        self.m2l_to(far, far.tree.levels.len(), m, l);
    }

    fn p2l(&self, _: u32, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>) {
        let harmonic = Harmonic { harmonics: &self.harmonics[0], kind: HarmonicKind::Irregular };
        points::moments(self.isa, &harmonic, points.x, charges, l, scratch);
    }

    fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        self.shifts.l2l(octant, parent, child);
    }

    fn l2l_all(&self, tree: &Tree, l: &mut [T]) {
        self.shifts.l2l_all(&tree.cells, &tree.levels, l);
    }

    fn l2p(&self, l: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        self.values(HarmonicKind::Regular, l, points, out, scratch);
    }

    fn m2p(&self, _: u32, m: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>) {
        self.values(HarmonicKind::Irregular, m, points, out, scratch);
    }

    fn derivatives(&self) -> Option<&dyn Derivatives<T>> {
        Some(self)
    }
}
