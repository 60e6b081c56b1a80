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
const SHARE: f64 = 0.1;

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

impl<T: Vectors> Table<T> {
    pub fn new(of: &Between, isa: Isa) -> Table<T> {
        let symmetry = of.kernel.symmetry();
        let is_mirrored = symmetry != Symmetry::None;
        let terms = &of.series.terms;
        let matrices = of.matrices();
        let class = |n: &Index| if is_mirrored { n.iter().fold(0, |class, k| 2 * class + *k as usize % 2) } else { 0 };
        let all: Vec<usize> = terms.iter().map(class).collect();
        let most = (SHARE * beyond(&matrices, terms)).powi(2);
        let gram = |take: &(dyn Fn(&mut Gram, f64, &[f64]) + Sync)| {
            let part = |mut gram: Gram, (offset, matrix): &([i64; 3], Vec<f64>)| {
                take(&mut gram, images(*offset, is_mirrored), matrix);
                gram
            };
            let new = || Gram::new(&all);
            // Parts of one size, joined in order, so that the threads do not matter.
            let parts: Vec<Gram> = matrices.par_chunks(8).map(|m| m.iter().fold(new(), part)).collect();
            parts.iter().fold(new(), Gram::join)
        };
        let rows = gram(&|gram, factor, matrix| gram.add(factor, matrix));
        let of_targets = rows.spectrum();
        let (targets, sources) = if is_mirrored {
            (None, of_targets.basis(of_targets.needed(most)))
        } else {
            let columns = gram(&|gram, factor, matrix| gram.add(factor, &transposed(matrix, terms.len())));
            let of_sources = columns.spectrum();
            let count = of_targets.needed(most).max(of_sources.needed(most));
            (Some(of_targets.basis(count)), of_sources.basis(count))
        };
        let left = targets.as_ref().unwrap_or(&sources);
        let rank = rank(&sources);
        let all: f64 = matrices.iter().map(|(offset, _)| images(*offset, is_mirrored)).sum();
        let small = |(offset, matrix): &([i64; 3], Vec<f64>)| {
            let matrix = between(left, matrix, &sources);
            (*offset, (needed(&matrix, rank, most / all), matrix))
        };
        let known: Vec<Term> =
            classes(&sources).iter().zip(0..).map(|(class, degree)| Term { class: *class, degree }).collect();
        let offsets = Offsets { is_mirrored, matrices: matrices.par_iter().map(small).collect(), rank };
        let mirrored = Mirrored::new(&known, of.near2, isa, offsets);
        let (of_sources, of_targets) = (rows_of(&sources, terms.len()), rows_of(left, terms.len()));
        let down = Matrix::new(isa, [terms.len(), rank], |term, k| of_targets[k * terms.len() + term]);
        let up = Matrix::new(isa, [rank, terms.len()], |k, term| of_sources[k * terms.len() + term]);
        Table { mirrored, rank, sources: up, targets: down }
    }

    /// Adds the combinations of the terms of all sources.
    pub fn compress(&self, m: &[T], to: &mut [T]) {
        self.sources.add_to_all(m, to);
    }

    /// Adds `factor` times what the combinations of the terms of all targets give to these, which leaves them multiplied by it.
    pub fn spread(&self, from: &mut [T], factor: T, l: &mut [T]) {
        if factor != T::ONE {
            from.par_chunks_mut(1 << 16).for_each(|from| from.iter_mut().for_each(|x| *x = *x * factor));
        }
        self.targets.add_to_all(from, l);
    }
}

impl Between<'_> {
    /// The coefficients at all offsets that have a matrix of their own.
    fn matrices(&self) -> Vec<([i64; 3], Vec<f64>)> {
        let symmetry = self.kernel.symmetry();
        let highest = 2 * reach(self.near2) + 1;
        let lowest = if symmetry == Symmetry::None { -highest } else { 0 };
        let count = highest - lowest + 1;
        let offset = |k: i64| [k / (count * count), k / count % count, k % count].map(|x| x + lowest);
        let edge = 2f64.powi(-(self.level as i32));
        let listed: Vec<[i64; 3]> = (0..count.pow(3)).map(offset).filter(|o| is_listed(*o, self.near2)).collect();
        let coefficients = |at: &[i64; 3]| self.series.coefficients(self.kernel, edge, *at);
        if symmetry != Symmetry::Full {
            return listed.par_iter().map(|at| (*at, coefficients(at))).collect();
        }
        let mut bases: Vec<[i64; 3]> = listed.iter().map(|at| Image::of(*at).base).collect();
        bases.sort_unstable();
        bases.dedup();
        let made: HashMap<[i64; 3], Vec<f64>> = bases.par_iter().map(|at| (*at, coefficients(at))).collect();
        let terms = &self.series.terms;
        let place: HashMap<Index, usize> = terms.iter().copied().zip(0..).collect();
        let image = |at: &[i64; 3]| {
            let image = Image::of(*at);
            (*at, image.matrix(&made[&image.base], terms, &place))
        };
        listed.par_iter().map(image).collect()
    }
}

impl Between<'_> {
    /// The coefficients at every offset.
    pub fn all<T: Real>(&self) -> HashMap<[i64; 3], Vec<T>> {
        let of_t = |matrix: Vec<f64>| matrix.into_iter().map(T::of).collect::<Vec<T>>();
        let made = self.matrices();
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
fn beyond(matrices: &[([i64; 3], Vec<f64>)], terms: &[Index]) -> f64 {
    let highest = degree(*terms.last().expect("there are terms"));
    let is_mirrored = matrices.iter().all(|(at, _)| at.iter().all(|x| *x >= 0));
    let mut squares = vec![0.0; highest + 1];
    for (offset, matrix) in matrices {
        let factor = images(*offset, is_mirrored);
        for (row, a) in matrix.chunks_exact(terms.len()).zip(terms) {
            for (x, b) in row.iter().zip(terms) {
                squares[degree(*a).max(degree(*b))] += factor * x * x;
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

    /// The matrix at the offset from that of the base.
    fn matrix(&self, base: &[f64], terms: &[Index], place: &HashMap<Index, usize>) -> Vec<f64> {
        let of_term = |n: &Index| {
            let mut of_base = [0; 3];
            (0..3).for_each(|a| of_base[self.axes[a]] = n[a]);
            place[&of_base]
        };
        let images: Vec<usize> = terms.iter().map(of_term).collect();
        let row = |a: &usize| images.iter().map(|b| base[a * terms.len() + b]).collect::<Vec<f64>>();
        images.iter().flat_map(row).collect()
    }
}
