//! The matrices of M2L, one for all offsets that mirror each other.

use super::{FARTHEST, count, terms};
use crate::arith::lanes::Real;
use crate::expansion::solid::matrices::Translation;
use crate::expansion::solid::orders::Orders;
use crate::expansion::solid::terms::Term;
use crate::tree::lists::{is_listed, reach};
use rayon::prelude::*;

/// Matrices beyond this many bytes are not kept, but made when they are needed.
const TABLE_LIMIT: usize = 256 << 20;

/// The order of terms within M2L: by class of parity, then by degree, so that a lower order is the head of each class.
pub struct Layout {
    /// Terms of a cell.
    pub size: usize,
    /// The first place of each class.
    pub starts: [usize; 8],
    /// For each term in its usual place the place here.
    pub places: Vec<u32>,
    terms: Vec<Term>,
    /// Terms of each class up to each degree.
    counts: Vec<[usize; 8]>,
}

impl Layout {
    pub fn new(order: usize) -> Layout {
        let all = terms(order);
        let of_class = |class: usize| all.iter().filter(move |t| t.class() == class).copied();
        let sorted: Vec<Term> = (0..8).flat_map(of_class).collect();
        let mut places = vec![0; all.len()];
        sorted.iter().zip(0..).for_each(|(t, k)| places[t.place()] = k);
        let up_to = |class: usize, order: usize| of_class(class).filter(|t| t.n <= order).count();
        let starts = std::array::from_fn(|class| (0..class).map(|c| up_to(c, order)).sum());
        let counts = (0..=order).map(|order| std::array::from_fn(|class| up_to(class, order))).collect();
        Layout { size: count(order), starts, places, terms: sorted, counts }
    }

    /// Terms of a class up to a degree.
    #[inline(always)]
    pub fn count(&self, class: usize, order: usize) -> usize {
        self.counts[order][class]
    }

    fn of_class(&self, class: usize, order: usize) -> &[Term] {
        &self.terms[self.starts[class]..][..self.count(class, order)]
    }
}

/// The offsets (±x, ±y, ±z) from sources to targets, and their matrix.
pub struct Orbit<T> {
    /// x, y and z, none negative.
    at: [i64; 3],
    pub order: usize,
    /// Axes, as bits of an octant, along which sources lie on both sides, on one side, and neither.
    pub pairs: usize,
    singles: usize,
    zeros: usize,
    /// Rows of the product's tiles at most.
    rows: usize,
    /// Where the blocks of each class of targets start in the matrix: tiles of rows, and in each column after column.
    pub starts: [usize; 9],
    matrix: Vec<T>,
    /// The first column of each group of combined sources.
    groups: [usize; 9],
    /// For each class of sources the first column of each of its combinations.
    pub places: [[u32; 8]; 8],
    /// For the targets of each octant the mirrored sources. Bit k of the place says that the offset is negative along the
    /// k-th axis of `pairs`.
    pub mirrored: [Vec<Mirrored>; 8],
}

/// One of the mirrored sources of a target.
pub struct Mirrored {
    /// The place of the offset of the target's parent from the source's, see [`Tables::place`].
    pub parent: u32,
    pub octant: u32,
}

/// All orbits of an opening angle.
pub struct Tables<T> {
    reach: i64,
    pub orbits: Vec<Orbit<T>>,
    weights: Vec<f64>,
}

impl<T: Real> Tables<T> {
    pub fn new(layout: &Layout, near2: u64, rows: usize, weights: &[f64], orders: &Orders) -> Tables<T> {
        let reach = reach(near2);
        let edge = if reach > FARTHEST { 0..=0 } else { 0..=2 * reach + 1 };
        let all = edge.clone().flat_map(|x| {
            let edge = edge.clone();
            edge.clone().flat_map(move |y| edge.clone().map(move |z| [x, y, z]))
        });
        let mut orbits: Vec<Orbit<T>> =
            all.filter(|d| is_listed(*d, near2)).map(|at| Orbit::new(layout, at, reach, rows, orders)).collect();
        let size: usize = orbits.iter().map(|o| o.starts[8] * size_of::<T>()).sum();
        if size <= TABLE_LIMIT {
            orbits.par_iter_mut().for_each(|o| o.matrix = o.fill(layout, weights));
        }
        Tables { reach, orbits, weights: weights.to_vec() }
    }

    /// Offsets of parents.
    pub fn offsets(&self) -> usize {
        (2 * self.reach as usize + 1).pow(3)
    }

    /// The place of an offset of two parents.
    pub fn place(&self, offset: [i64; 3]) -> usize {
        place(offset, self.reach)
    }

    /// The matrix of an orbit; `room` is for one that is not kept.
    #[inline(always)]
    pub fn matrix<'a>(&'a self, layout: &Layout, orbit: &'a Orbit<T>, room: &'a mut Vec<T>) -> &'a [T] {
        if orbit.matrix.is_empty() {
            *room = orbit.fill(layout, &self.weights);
            return room;
        }
        &orbit.matrix
    }
}

fn place(offset: [i64; 3], reach: i64) -> usize {
    offset.iter().fold(0, |place, x| place * (2 * reach + 1) as usize + (x + reach) as usize)
}

impl<T: Real> Orbit<T> {
    fn new(layout: &Layout, at: [i64; 3], reach: i64, rows: usize, orders: &Orders) -> Orbit<T> {
        let bits = |is: &dyn Fn(i64) -> bool| (0..3).filter(|a| is(at[*a])).map(|a| 4 >> a).sum::<usize>();
        let single = 2 * reach + 1;
        let mut orbit = Orbit {
            at,
            order: orders.at(at),
            pairs: bits(&|x| x > 0 && x < single),
            singles: bits(&|x| x == single),
            zeros: bits(&|x| x == 0),
            rows,
            starts: [0; 9],
            matrix: Vec::new(),
            groups: [0; 9],
            places: [[0; 8]; 8],
            mirrored: Default::default(),
        };
        orbit.mirrored = std::array::from_fn(|octant| orbit.mirrored_of(octant, reach));
        for class in 0..8 {
            let columns = orbit.columns(layout, class);
            orbit.starts[class + 1] = orbit.starts[class] + layout.count(class, orbit.order) * columns;
            let own = if class & orbit.singles == 0 { columns } else { 0 };
            orbit.groups[class + 1] = orbit.groups[class] + own;
        }
        orbit.places = std::array::from_fn(|class| orbit.places_of(layout, class));
        orbit
    }

    /// Classes of sources that act on a class of targets.
    pub fn acts(&self, on: usize, class: usize) -> bool {
        (on ^ class) & self.zeros == 0
    }

    /// Columns of the blocks of a class of targets.
    pub fn columns(&self, layout: &Layout, class: usize) -> usize {
        (0..8).filter(|b| self.acts(class, *b)).map(|b| layout.count(b, self.order)).sum()
    }

    /// The first of the combined sources of a class of targets.
    pub fn group(&self, class: usize) -> usize {
        self.groups[class & !self.singles]
    }

    /// All combined sources.
    pub fn combined(&self) -> usize {
        self.groups[8]
    }

    /// Rows of the highest tile among `rows`, which are shared out evenly.
    #[inline(always)]
    pub fn tile(&self, rows: usize) -> usize {
        rows.div_ceil(rows.div_ceil(self.rows).max(1))
    }

    /// The sign of a class along the axes where sources lie on one side, for targets of an octant: upper children have
    /// their far sources below them, at positive offsets.
    #[inline(always)]
    pub fn sign(&self, class: usize, octant: usize) -> f64 {
        if (class & self.singles & !octant).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    }

    /// The axes along which sources lie on both sides, as bits.
    fn axes(&self) -> impl Iterator<Item = usize> {
        let pairs = self.pairs;
        [4, 2, 1].into_iter().filter(move |bit| pairs & bit != 0)
    }

    fn mirrored_of(&self, octant: usize, reach: i64) -> Vec<Mirrored> {
        let one = |signs: usize| {
            let negative: usize = self.axes().enumerate().map(|(k, bit)| bit * (signs >> k & 1)).sum();
            let negative = negative | self.singles & !octant;
            let (mut parent, mut source) = ([0; 3], 0);
            for (a, bit) in [4, 2, 1].into_iter().enumerate() {
                let upper = (octant & bit != 0) as i64;
                let d = if negative & bit == 0 { self.at[a] } else { -self.at[a] };
                let s = (upper - d).rem_euclid(2);
                source += bit as u32 * s as u32;
                parent[a] = (d - upper + s) / 2;
            }
            Mirrored { parent: place(parent, reach) as u32, octant: source }
        };
        (0..1 << self.axes().count()).map(one).collect()
    }

    fn places_of(&self, layout: &Layout, class: usize) -> [u32; 8] {
        let one = |signs: usize| {
            let changed: usize = self.axes().enumerate().map(|(k, bit)| bit * (signs >> k & 1)).sum();
            let target = class ^ changed;
            let before = (0..class).filter(|b| self.acts(target, *b)).map(|b| layout.count(b, self.order));
            (self.group(target) + before.sum::<usize>()) as u32
        };
        std::array::from_fn(|k| if k < 1 << self.axes().count() { one(k) } else { 0 })
    }

    /// The matrix.
    fn fill(&self, layout: &Layout, weights: &[f64]) -> Vec<T> {
        let translation = Translation::new(self.order, self.at.map(|x| x as f64), weights);
        let mut matrix = Vec::with_capacity(self.starts[8]);
        for class in 0..8 {
            let rows = layout.of_class(class, self.order);
            for tile in rows.chunks(self.tile(rows.len()).max(1)) {
                for b in (0..8).filter(|b| self.acts(class, *b)) {
                    for column in layout.of_class(b, self.order) {
                        matrix.extend(tile.iter().map(|row| T::of(translation.entry(*row, *column, weights))));
                    }
                }
            }
        }
        matrix
    }
}
