//! The matrices of M2L, one for all offsets that mirror each other.

use crate::arith::lanes::Real;
use crate::parallel::prelude::*;
use crate::tree::lists::{is_listed, reach};

/// Offsets of parents along an axis up to which there are tables: an angle of 1/8.
pub const FARTHEST: i64 = 7;

/// Bytes of matrices that are kept, where making them again costs little.
const MOST_KEPT: usize = 256 << 20;

/// The properties of a term that M2L uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// In which coordinates it is odd: x is bit 2, y bit 1, z bit 0, as in octants; 0 where mirroring is not used.
    pub class: usize,
    /// Offsets that need a lower order leave out higher degrees.
    pub degree: usize,
}

/// The matrices of M2L.
pub trait Matrices: Send + Sync {
    /// Whether mirroring an offset changes nothing but the signs of odd terms.
    fn is_mirrored(&self) -> bool;

    /// Up to which degree terms matter between cells, the target's centre at `offset` from the source's.
    fn order(&self, offset: [i64; 3]) -> usize;

    /// Appends the entries of blocks, each in columns; none but of terms that matter.
    fn fill(&self, offset: [i64; 3], blocks: &[Block], to: &mut Vec<f64>);

    /// Bytes of matrices that are kept; those of more are made when they are needed.
    fn most_kept(&self) -> usize {
        MOST_KEPT
    }
}

/// A part of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Targets' terms, and sources'.
    pub rows: &'a [usize],
    pub columns: &'a [usize],
}

impl Block<'_> {
    /// Appends the entries, given the share of the source's term, the second, in the target's term, the first.
    #[inline(always)]
    pub fn append(&self, to: &mut Vec<f64>, entry: impl Fn(usize, usize) -> f64) {
        for column in self.columns {
            to.extend(self.rows.iter().map(|row| entry(*row, *column)));
        }
    }
}

/// The order of terms within M2L: by class of parity, then by degree, so that a lower order is the head of each class.
pub struct Layout {
    /// Terms of a cell.
    pub size: usize,
    /// The first place of each class.
    pub starts: [usize; 8],
    /// For each term in its usual place the place here.
    pub places: Vec<u32>,
    /// The usual places of the terms.
    terms: Vec<usize>,
    /// Terms of each class up to each degree.
    counts: Vec<[usize; 8]>,
}

impl Layout {
    pub fn new(all: &[Term]) -> Layout {
        let mut terms: Vec<usize> = (0..all.len()).collect();
        terms.sort_by_key(|k| (all[*k].class, all[*k].degree));
        let mut places = vec![0; all.len()];
        terms.iter().zip(0..).for_each(|(t, k)| places[*t] = k);
        let up_to = |class: usize, order: usize| all.iter().filter(|t| t.class == class && t.degree <= order).count();
        let order = all.iter().map(|t| t.degree).max().unwrap_or(0);
        let starts = std::array::from_fn(|class| (0..class).map(|c| up_to(c, order)).sum());
        let counts = (0..=order).map(|order| std::array::from_fn(|class| up_to(class, order))).collect();
        Layout { size: all.len(), starts, places, terms, counts }
    }

    /// Terms of a class up to a degree.
    #[inline(always)]
    pub fn count(&self, class: usize, order: usize) -> usize {
        self.counts[order][class]
    }

    /// Their usual places.
    fn of_class(&self, class: usize, order: usize) -> &[usize] {
        &self.terms[self.starts[class]..][..self.count(class, order)]
    }
}

/// The offsets (±x, ±y, ±z) from sources to targets, or one offset alone, and their matrix.
pub struct Orbit<T> {
    /// x, y and z; none negative where mirrored offsets are taken together.
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
    /// For the targets of each octant the mirrored sources, none if its parent has no such. Bit k of the place says that the offset is
    /// negative along the k-th axis of `pairs`.
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
    /// The source of the matrices that are not kept.
    matrices: Option<Box<dyn Matrices>>,
}

impl<T: Real> Tables<T> {
    pub fn new(layout: &Layout, near2: u64, rows: usize, matrices: Box<dyn Matrices>) -> Tables<T> {
        let reach = reach(near2);
        assert!(reach <= FARTHEST, "the offsets are few enough for tables");
        let highest = 2 * reach + 1;
        let edge = if matrices.is_mirrored() { 0..=highest } else { -highest..=highest };
        let all = edge.clone().flat_map(|x| {
            let edge = edge.clone();
            edge.clone().flat_map(move |y| edge.clone().map(move |z| [x, y, z]))
        });
        let listed: Vec<[i64; 3]> = all.filter(|d| is_listed(*d, near2)).collect();
        let make = |at: &[i64; 3]| Orbit::new(layout, *at, reach, rows, &*matrices);
        let mut orbits: Vec<Orbit<T>> = listed.par_iter().map(make).collect();
        let size: usize = orbits.iter().map(|o| o.starts[8] * size_of::<T>()).sum();
        let is_kept = size <= matrices.most_kept();
        if is_kept {
            orbits.par_iter_mut().for_each(|o| o.matrix = o.fill(layout, &*matrices));
        }
        Tables { reach, orbits, matrices: Some(matrices).filter(|_| !is_kept) }
    }

    /// Offsets of parents.
    pub fn offsets(&self) -> usize {
        (2 * self.reach as usize + 1).pow(3)
    }

    /// The place of an offset of two parents.
    pub fn place(&self, offset: [i64; 3]) -> usize {
        place(offset, self.reach)
    }

    /// The matrix of an orbit; `room` is the memory of one that is not kept.
    #[inline(always)]
    pub fn matrix<'a>(&'a self, layout: &Layout, orbit: &'a Orbit<T>, room: &'a mut Vec<T>) -> &'a [T] {
        if let Some(matrices) = &self.matrices {
            *room = orbit.fill(layout, &**matrices);
            return room;
        }
        &orbit.matrix
    }
}

fn place(offset: [i64; 3], reach: i64) -> usize {
    offset.iter().fold(0, |place, x| place * (2 * reach + 1) as usize + (x + reach) as usize)
}

impl<T: Real> Orbit<T> {
    fn new(layout: &Layout, at: [i64; 3], reach: i64, rows: usize, matrices: &dyn Matrices) -> Orbit<T> {
        let bits = |is: &dyn Fn(i64) -> bool| (0..3).filter(|a| is(at[*a])).map(|a| 4 >> a).sum::<usize>();
        let (single, is_mirrored) = (2 * reach + 1, matrices.is_mirrored());
        let mut orbit = Orbit {
            at,
            order: matrices.order(at),
            pairs: bits(&|x| is_mirrored && x > 0 && x < single),
            singles: bits(&|x| is_mirrored && x == single),
            zeros: bits(&|x| is_mirrored && x == 0),
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
        let one = |signs: usize| -> Option<Mirrored> {
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
            let is_near = parent.iter().all(|p: &i64| p.abs() <= reach);
            is_near.then(|| Mirrored { parent: place(parent, reach) as u32, octant: source })
        };
        (0..1 << self.axes().count()).filter_map(one).collect()
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
    fn fill(&self, layout: &Layout, matrices: &dyn Matrices) -> Vec<T> {
        let mut blocks = Vec::new();
        for class in 0..8 {
            let rows = layout.of_class(class, self.order);
            for rows in rows.chunks(self.tile(rows.len()).max(1)) {
                let classes = (0..8).filter(|b| self.acts(class, *b));
                blocks.extend(classes.map(|b| Block { rows, columns: layout.of_class(b, self.order) }));
            }
        }
        let mut entries = Vec::with_capacity(self.starts[8]);
        matrices.fill(self.at, &blocks, &mut entries);
        entries.into_iter().map(T::of).collect()
    }
}
