//! M2M and L2L: dense triangular matrices by octant, a vector of rows times several cells at a time.

use super::matrices;
use super::terms::{count, terms};
use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, Vectors, vectorised};
use crate::tree::Cell;
use rayon::prelude::*;
use std::ops::Range;

/// Cells that are worked on together.
const TOGETHER: usize = 8;

/// Parents of one task.
const TASK: usize = 64;

/// A matrix in tiles of as many rows as a vector has lanes, each with the columns that are not 0.
struct Matrix<T> {
    size: usize,
    tiles: Vec<Tile>,
    /// Column after column of each tile.
    entries: Vec<T>,
}

struct Tile {
    row: usize,
    columns: Range<usize>,
    /// Place of its first entry.
    start: usize,
}

impl<T: Real> Matrix<T> {
    /// From the entry at each row and column; `columns` gives those of a range of rows that are not 0.
    fn new(
        size: usize,
        lanes: usize,
        entry: impl Fn(usize, usize) -> f64,
        columns: impl Fn(Range<usize>) -> Range<usize>,
    ) -> Matrix<T> {
        let mut matrix = Matrix { size, tiles: Vec::new(), entries: Vec::new() };
        for row in (0..size).step_by(lanes) {
            let columns = columns(row..size.min(row + lanes));
            matrix.tiles.push(Tile { row, columns: columns.clone(), start: matrix.entries.len() });
            for column in columns {
                let rows = row..row + lanes;
                matrix.entries.extend(rows.map(|r| T::of(if r < size { entry(r, column) } else { 0.0 })));
            }
        }
        matrix
    }
}

/// M2M and L2L of an order.
pub struct Shifts<T> {
    isa: Isa,
    m2m: Vec<Matrix<T>>,
    l2l: Vec<Matrix<T>>,
}

impl<T: Vectors> Shifts<T> {
    pub fn new(order: usize, isa: Isa, weights: &[f64]) -> Shifts<T> {
        let (all, size, lanes) = (terms(order), count(order), isa.lanes::<T>());
        let degree = |k: usize| all[k].n;
        let half = |k: usize| 0.5f64.powi(degree(k) as i32);
        let one = |octant: usize| {
            let place = [4, 2, 1].map(|bit| if octant & bit == 0 { -0.25 } else { 0.25 });
            let shift = matrices::shift(order, place, weights);
            // Of the child's terms on the parent's, in units of each: a child's degree k shrinks by 2^-k.
            let up = |row: usize, column: usize| half(column) * shift[row * size + column];
            let down = |row: usize, column: usize| 0.5 * half(row) * shift[column * size + row];
            let m2m = Matrix::new(size, lanes, up, |rows| 0..count(degree(rows.end - 1)));
            let l2l = Matrix::new(size, lanes, down, |rows| degree(rows.start).pow(2)..size);
            (m2m, l2l)
        };
        let (m2m, l2l) = (0..8).map(one).unzip();
        Shifts { isa, m2m, l2l }
    }

    /// From a child to its parent.
    pub fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        apply::<T>(self.isa, &self.m2m[octant], child, parent, &[(0, 0)]);
    }

    /// From a parent to its child.
    pub fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        apply::<T>(self.isa, &self.l2l[octant], parent, child, &[(0, 0)]);
    }

    /// The multipoles of all split cells, from the deepest level up; those of the leaves are there.
    pub fn m2m_all(&self, cells: &[Cell], levels: &[Range<usize>], m: &mut [T]) {
        let size = self.m2m[0].size;
        for level in levels.iter().rev() {
            let (upper, lower) = m.split_at_mut(level.end * size);
            let own = &mut upper[level.start * size..];
            own.par_chunks_mut(TASK * size).zip(cells[level.clone()].par_chunks(TASK)).for_each(|(own, parents)| {
                for (octant, matrix) in self.m2m.iter().enumerate() {
                    let pair = |(to, parent): (usize, &Cell)| {
                        let from = parent.child_range().find(|c| cells[*c].octant() == octant)?;
                        Some(((from - level.end) * size, to * size))
                    };
                    let pairs: Vec<_> = parents.iter().enumerate().filter_map(pair).collect();
                    apply::<T>(self.isa, matrix, lower, own, &pairs);
                }
            });
        }
    }

    /// Adds the local expansions of all parents to those of their children, from the root down.
    pub fn l2l_all(&self, cells: &[Cell], levels: &[Range<usize>], l: &mut [T]) {
        let size = self.l2l[0].size;
        for level in levels.iter().skip(1) {
            let (upper, lower) = l.split_at_mut(level.start * size);
            let own = &mut lower[..level.len() * size];
            own.par_chunks_mut(8 * TASK * size).zip(cells[level.clone()].par_chunks(8 * TASK)).for_each(
                |(own, children)| {
                    for (octant, matrix) in self.l2l.iter().enumerate() {
                        let of_octant = |(to, child): (usize, &Cell)| {
                            (child.octant() == octant).then(|| (child.parent as usize * size, to * size))
                        };
                        let pairs: Vec<_> = children.iter().enumerate().filter_map(of_octant).collect();
                        apply::<T>(self.isa, matrix, upper, own, &pairs);
                    }
                },
            );
        }
    }
}

vectorised! {
    /// Adds the matrix times the terms of `from` to those of `to`, for each pair of their places.
    fn apply<T>(matrix: &Matrix<T>, from: &[T], to: &mut [T], pairs: &[(usize, usize)]) = apply_in
}

#[inline(always)]
unsafe fn apply_in<V: Vector>(
    matrix: &Matrix<V::Item>,
    from: &[V::Item],
    to: &mut [V::Item],
    pairs: &[(usize, usize)],
) {
    let together = pairs.chunks_exact(TOGETHER);
    let rest = together.remainder();
    // SAFETY: as for the caller.
    unsafe {
        for pairs in together {
            apply_to::<V, TOGETHER>(matrix, from, to, pairs.try_into().expect("chunks are of this length"));
        }
        for pair in rest {
            apply_to::<V, 1>(matrix, from, to, &[*pair]);
        }
    }
}

#[inline(always)]
unsafe fn apply_to<V: Vector, const N: usize>(
    matrix: &Matrix<V::Item>,
    from: &[V::Item],
    to: &mut [V::Item],
    pairs: &[(usize, usize); N],
) {
    // SAFETY: as for the caller.
    unsafe {
        let zero = V::splat(V::Item::default());
        for tile in &matrix.tiles {
            let sources = pairs.map(|p| &from[p.0 + tile.columns.start..p.0 + tile.columns.end]);
            let mut sums = [zero; N];
            let columns = matrix.entries[tile.start..].chunks_exact(V::LANES).take(tile.columns.len());
            for (k, column) in columns.enumerate() {
                let column = V::load(column);
                for i in 0..N {
                    sums[i] = column.mul_add(V::splat(sources[i][k]), sums[i]);
                }
            }
            for (sum, pair) in sums.iter().zip(pairs) {
                let to = &mut to[pair.1 + tile.row..pair.1 + matrix.size.min(tile.row + V::LANES)];
                if to.len() == V::LANES {
                    V::load(to).add(*sum).store(to);
                    continue;
                }
                let mut lanes = [V::Item::default(); 16];
                sum.store(&mut lanes);
                to.iter_mut().zip(lanes).for_each(|(to, x)| *to += x);
            }
        }
    }
}
