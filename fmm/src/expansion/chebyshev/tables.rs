//! The tables of M2L of one level: matrices between the combinations of terms that matter, by offset.

use super::coefficients::Series;
use super::compress::{Block, Gram, between, classes, rank};
use super::{Function, Symmetry};
use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vectors};
use crate::expansion::basis::{Index, degree};
use crate::expansion::mirrored::{Matrices, MatrixBlock, Mirrored, Term};
use crate::expansion::shift::Matrix;
use crate::parallel::prelude::*;
use crate::tree::lists::{is_listed, reach};
use std::collections::HashMap;

/// The error that compression may add, as a part of the contribution of the terms above the order: by leaving out
/// combinations at all offsets, and more of them at each far one. Both add up as squares.
pub const SHARE: f64 = 0.1;

/// The same where what the terms above give is a small part of an error.
const SHARE_BESIDE: f64 = 0.3;

/// M2L at one level.
pub struct Table<T> {
    pub mirrored: Mirrored<T>,
    /// From the terms of sources to the combinations that matter, and from those of targets to their terms.
    sources: Matrix<T>,
    targets: Matrix<T>,
    pub rank: usize,
}

/// The kernel between the cells of a level.
pub struct Between<'a> {
    pub kernel: &'a dyn Function,
    pub series: &'a Series,
    pub level: u32,
    pub near2: u64,
    /// Whether it is expanded beside something larger.
    pub is_beside: bool,
}

/// The matrices of all offsets.
struct Offsets {
    is_mirrored: bool,
    matrices: HashMap<[i64; 3], (usize, Vec<f64>)>,
    rank: usize,
}

impl Matrices for Offsets {
    fn is_mirrored(&self) -> bool {
        self.is_mirrored
    }

    fn order(&self, offset: [i64; 3]) -> usize {
        self.matrices[&offset].0
    }

    fn fill(&self, offset: [i64; 3], blocks: &[MatrixBlock], to: &mut Vec<f64>) {
        let matrix = &self.matrices[&offset].1;
        blocks.iter().for_each(|block| block.append(to, |a, b| matrix[a * self.rank + b]));
    }

    fn most_kept(&self) -> usize {
        // They are made together, and their size was checked.
        usize::MAX
    }
}

/// The coefficients at offsets that follow from one another by exchanging axes.
pub struct Alike {
    pub matrix: Vec<f64>,
    pub offsets: Vec<Exchanged>,
}

/// An offset, how many offsets its matrix serves, and for each term that of the matrix that it is.
pub struct Exchanged {
    pub offset: [i64; 3],
    pub serves: f64,
    pub terms: Vec<usize>,
}

impl<T: Vectors> Table<T> {
    pub fn new(of: &Between, isa: Isa) -> Table<T> {
        let symmetry = of.kernel.symmetry();
        let is_mirrored = symmetry != Symmetry::None;
        let terms = &of.series.terms;
        let matrices = of.matrices();
        let class = |n: &Index| if is_mirrored { n.iter().fold(0, |class, k| 2 * class + *k as usize % 2) } else { 0 };
        let all: Vec<usize> = terms.iter().map(class).collect();
        let most = (if of.is_beside { SHARE_BESIDE } else { SHARE } * beyond(&matrices, terms)).powi(2);
        let gram = |take: &(dyn Fn(&mut Gram, &[f64]) + Sync)| {
            let part = |mut gram: Gram, alike: &Alike| {
                let mut own = Gram::new(&all);
                take(&mut own, &alike.matrix);
                alike.offsets.iter().for_each(|of| gram.add_exchanged(of.serves, &own, &of.terms));
                gram
            };
            let new = || Gram::new(&all);
            // Parts of one size, joined in order, so that the threads do not matter.
            let parts: Vec<Gram> = matrices.par_chunks(2).map(|m| m.iter().fold(new(), part)).collect();
            parts.iter().fold(new(), Gram::join)
        };
        let rows = gram(&|gram, matrix| gram.add(matrix));
        let exchanges = if symmetry == Symmetry::Full { exchanges(terms) } else { Vec::new() };
        let of_targets = rows.spectrum(&exchanges);
        let (targets, sources) = if is_mirrored {
            (None, of_targets.basis(of_targets.needed(most)))
        } else {
            let columns = gram(&|gram, matrix| gram.add(&transposed(matrix, terms.len())));
            let of_sources = columns.spectrum(&exchanges);
            let count = of_targets.needed(most).max(of_sources.needed(most));
            (Some(of_targets.basis(count)), of_sources.basis(count))
        };
        let left = targets.as_ref().unwrap_or(&sources);
        let rank = rank(&sources);
        let all: f64 = matrices.iter().flat_map(|alike| &alike.offsets).map(|of| of.serves).sum();
        let offsets: Vec<(&Alike, &Exchanged)> =
            matrices.iter().flat_map(|alike| alike.offsets.iter().map(move |of| (alike, of))).collect();
        let small = |(alike, of): &(&Alike, &Exchanged)| {
            let matrix = between(left, &alike.matrix, &of.terms, &sources);
            (of.offset, (needed(&matrix, rank, most / all), matrix))
        };
        let known: Vec<Term> =
            classes(&sources).iter().zip(0..).map(|(class, degree)| Term { class: *class, degree }).collect();
        let offsets = Offsets { is_mirrored, matrices: offsets.par_iter().map(small).collect(), rank };
        let mirrored = Mirrored::new(&known, of.near2, isa, offsets);
        let (of_sources, of_targets) = (rows_of(&sources, terms.len()), rows_of(left, terms.len()));
        let down = Matrix::new(isa, [terms.len(), rank], |term, k| of_targets[k * terms.len() + term]);
        let up = Matrix::new(isa, [rank, terms.len()], |k, term| of_sources[k * terms.len() + term]);
        Table { mirrored, rank, sources: up, targets: down }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        56 * self.rank * self.rank * size_of::<T>()
    }

    /// Adds the combinations of the terms of all sources, of which each cell has `size`, its own first.
    pub fn compress(&self, m: &[T], size: usize, to: &mut [T]) {
        self.sources.add_to_all((m, size), (to, self.rank));
    }

    /// Adds `factor` times what the combinations of the terms of all targets give to these, which leaves them multiplied by it.
    pub fn spread(&self, from: &mut [T], factor: T, l: &mut [T], size: usize) {
        if factor != T::ONE {
            from.par_chunks_mut(1 << 16).for_each(|from| from.iter_mut().for_each(|x| *x = *x * factor));
        }
        self.targets.add_to_all((from, self.rank), (l, size));
    }
}

impl Between<'_> {
    /// The coefficients at all offsets that have a matrix of their own.
    pub fn matrices(&self) -> Vec<Alike> {
        let symmetry = self.kernel.symmetry();
        let highest = 2 * reach(self.near2) + 1;
        let lowest = if symmetry == Symmetry::None { -highest } else { 0 };
        let count = highest - lowest + 1;
        let offset = |k: i64| [k / (count * count), k / count % count, k % count].map(|x| x + lowest);
        let edge = 2f64.powi(-(self.level as i32));
        let listed: Vec<[i64; 3]> = (0..count.pow(3)).map(offset).filter(|o| is_listed(*o, self.near2)).collect();
        let terms = &self.series.terms;
        let place: HashMap<Index, usize> = terms.iter().copied().zip(0..).collect();
        let image = |at: &[i64; 3]| if symmetry == Symmetry::Full { Image::of(*at) } else { Image::own(*at) };
        let exchanged = |at: &[i64; 3]| Exchanged {
            offset: *at,
            serves: images(*at, symmetry != Symmetry::None),
            terms: image(at).terms(terms, &place),
        };
        let mut bases: Vec<[i64; 3]> = listed.iter().map(|at| image(at).base).collect();
        bases.sort_unstable();
        bases.dedup();
        let alike = |base: &[i64; 3]| Alike {
            matrix: self.series.coefficients(self.kernel, edge, *base),
            offsets: listed.iter().filter(|at| image(at).base == *base).map(exchanged).collect(),
        };
        bases.par_iter().map(alike).collect()
    }
}

impl Between<'_> {
    /// The coefficients at every offset.
    pub fn all<T: Real>(&self) -> HashMap<[i64; 3], Vec<T>> {
        let of_t = |matrix: Vec<f64>| matrix.into_iter().map(T::of).collect::<Vec<T>>();
        let size = self.series.terms.len();
        let own = |alike: Alike| {
            let Alike { matrix, offsets } = alike;
            let one = move |of: Exchanged| {
                let entry = |k: usize| matrix[of.terms[k / size] * size + of.terms[k % size]];
                (of.offset, (0..size * size).map(entry).collect::<Vec<f64>>())
            };
            offsets.into_iter().map(one).collect::<Vec<_>>()
        };
        let made: Vec<([i64; 3], Vec<f64>)> = self.matrices().into_iter().flat_map(own).collect();
        if self.kernel.symmetry() == Symmetry::None {
            return made.into_par_iter().map(|(at, matrix)| (at, of_t(matrix))).collect();
        }
        let images = |(at, matrix): &([i64; 3], Vec<f64>)| {
            let (at, terms) = (*at, &self.series.terms);
            let of_octant = move |octant: usize| {
                let mut image = at;
                (0..3).filter(|a| octant & 4 >> a != 0).for_each(|a| image[a] = -image[a]);
                let odd = |n: &Index| (0..3).filter(|a| octant & 4 >> a != 0).map(|a| n[a] as u32).sum::<u32>() % 2;
                let entry = |k: usize| {
                    let (a, b) = (k / terms.len(), k % terms.len());
                    T::of(if odd(&terms[a]) == odd(&terms[b]) { matrix[k] } else { -matrix[k] })
                };
                (image, (0..matrix.len()).map(entry).collect::<Vec<T>>())
            };
            (0..8).map(of_octant).collect::<Vec<_>>()
        };
        made.par_iter().flat_map_iter(images).collect().into_iter().collect()
    }
}

/// How many offsets a matrix serves.
fn images(offset: [i64; 3], is_mirrored: bool) -> f64 {
    if is_mirrored { 2f64.powi(offset.iter().filter(|x| **x != 0).count() as i32) } else { 1.0 }
}

/// About the root of the sum of squares that the terms of the first degree above the order would have, from how those of the
/// highest degrees fall.
pub fn beyond(matrices: &[Alike], terms: &[Index]) -> f64 {
    let degrees: Vec<usize> = terms.iter().map(|n| degree(*n)).collect();
    let highest = *degrees.last().expect("there are terms");
    let mut squares = vec![0.0; highest + 1];
    for Alike { matrix, offsets } in matrices {
        let factor: f64 = offsets.iter().map(|of| of.serves).sum();
        for (row, a) in matrix.chunks_exact(terms.len()).zip(&degrees) {
            for (x, b) in row.iter().zip(&degrees) {
                squares[*a.max(b)] += factor * x * x;
            }
        }
    }
    let last = squares[highest].sqrt();
    // Two degrees, since a kernel may have little of odd or of even ones.
    let two = [highest.saturating_sub(2), highest].map(|k| squares[k].sqrt());
    let falls = if two[0] > 0.0 { (two[1] / two[0]).sqrt().clamp(0.05, 1.0) } else { 1.0 };
    last * falls
}

/// The first place from which on rows and columns have a sum of squares of at most `most`.
fn needed(matrix: &[f64], rank: usize, most: f64) -> usize {
    let mut sum = 0.0;
    for k in (1..rank).rev() {
        let row = matrix[k * rank..][..k + 1].iter();
        let column = (0..k).map(|i| &matrix[i * rank + k]);
        sum += row.chain(column).map(|x| x * x).sum::<f64>();
        if sum > most {
            return k;
        }
    }
    0
}

fn transposed(matrix: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| matrix[k % n * n + k / n]).collect()
}

/// All combinations, one row for each.
fn rows_of(blocks: &[Block], terms: usize) -> Vec<f64> {
    let mut rows = vec![0.0; rank(blocks) * terms];
    for block in blocks {
        for (place, vector) in &block.kept {
            block.terms.iter().zip(vector).for_each(|(term, x)| rows[place * terms + term] = *x);
        }
    }
    rows
}

/// An offset without negative coordinates as the image of one in ascending order.
struct Image {
    base: [i64; 3],
    /// The axis of the base that each axis is.
    axes: [usize; 3],
}

impl Image {
    fn of(offset: [i64; 3]) -> Image {
        let mut sorted = [0, 1, 2];
        sorted.sort_by_key(|a: &usize| offset[*a]);
        let mut axes = [0; 3];
        sorted.iter().enumerate().for_each(|(k, a)| axes[*a] = k);
        Image { base: sorted.map(|a| offset[a]), axes }
    }

    /// An offset as its own image.
    fn own(offset: [i64; 3]) -> Image {
        Image { base: offset, axes: [0, 1, 2] }
    }

    /// For each term that of the base that it is.
    fn terms(&self, terms: &[Index], place: &HashMap<Index, usize>) -> Vec<usize> {
        let of_term = |n: &Index| {
            let mut of_base = [0; 3];
            (0..3).for_each(|a| of_base[self.axes[a]] = n[a]);
            place[&of_base]
        };
        terms.iter().map(of_term).collect()
    }
}

/// For each class of parity the one that it is like but for an exchange of axes, and for each term that which it is there.
fn exchanges(terms: &[Index]) -> Vec<(usize, Vec<usize>)> {
    let place: HashMap<Index, usize> = terms.iter().copied().zip(0..).collect();
    let of_class = |class: usize| {
        // Bits of the class along x, y and z in ascending order, as of an offset.
        let image = Image::of([4, 2, 1].map(|bit| (class & bit != 0) as i64));
        (image.base.iter().fold(0, |class, bit| 2 * class + *bit as usize), image.terms(terms, &place))
    };
    (0..8).map(of_class).collect()
}
