//! M2M, L2L and other dense matrices on expansions: a vector of rows times several cells at a time.

use crate::arith::vector::{Isa, Vector, Vectors, vectorised};
use crate::parallel::prelude::*;
use crate::tree::Cell;
use std::ops::Range;

/// Cells that are worked on together.
const TOGETHER: usize = 8;

/// Parents of one task.
const TASK: usize = 64;

/// A matrix in tiles of as many rows as a vector has lanes, each with the columns that are not 0.
pub struct Matrix<T> {
    isa: Isa,
    /// Rows and columns.
    size: [usize; 2],
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

impl<T: Vectors> Matrix<T> {
    /// From the entry at each row and column.
    pub fn new(isa: Isa, size: [usize; 2], entry: impl Fn(usize, usize) -> f64) -> Matrix<T> {
        let ([rows, columns], lanes) = (size, isa.lanes::<T>());
        let mut matrix = Matrix { isa, size, tiles: Vec::new(), entries: Vec::new() };
        for row in (0..rows).step_by(lanes) {
            let all = || row..rows.min(row + lanes);
            let is_used = |column: &usize| all().any(|row| entry(row, *column) != 0.0);
            let first = (0..columns).find(is_used).unwrap_or(columns);
            let end = (first..columns).rfind(is_used).map_or(first, |last| last + 1);
            matrix.tiles.push(Tile { row, columns: first..end, start: matrix.entries.len() });
            let start = matrix.entries.len();
            matrix.entries.resize(start + (end - first) * lanes, T::default());
            for (column, entries) in (first..end).zip(matrix.entries[start..].chunks_exact_mut(lanes)) {
                entries.iter_mut().zip(all()).for_each(|(to, row)| *to = T::of(entry(row, column)));
            }
        }
        matrix
    }

    /// Adds the matrix times each of the expansions in `from` to those in `to`, which have so many `columns` and `rows`: those of the matrix
    /// are the first.
    pub fn add_to_all(&self, (from, columns): (&[T], usize), (to, rows): (&mut [T], usize)) {
        let tasks = to.par_chunks_mut(TASK * rows).zip(from.par_chunks(TASK * columns));
        tasks.for_each(|(to, from)| {
            let pairs: Vec<_> = (0..to.len() / rows).map(|k| (k * columns, k * rows)).collect();
            apply::<T>(self.isa, self, from, to, &pairs);
        });
    }
}

/// M2M and L2L of an expansion.
pub struct Shifts<T> {
    m2m: Vec<Matrix<T>>,
    l2l: Vec<Matrix<T>>,
}

impl<T: Vectors> Shifts<T> {
    /// For so many terms. `of` gives for an octant the share of each of the child's terms in the parent's multipole, and of
    /// each of the parent's in the child's local expansion: rows are the terms of the result.
    pub fn new(isa: Isa, size: usize, of: impl Fn(usize) -> [Vec<f64>; 2] + Sync) -> Shifts<T> {
        let one = |octant: usize| {
            let [m2m, l2l] = of(octant).map(|all| Matrix::new(isa, [size; 2], |row, column| all[row * size + column]));
            (m2m, l2l)
        };
        let (m2m, l2l) = (0..8).into_par_iter().map(one).collect::<Vec<_>>().into_iter().unzip();
        Shifts { m2m, l2l }
    }

    /// From a child to its parent.
    pub fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]) {
        apply::<T>(self.m2m[octant].isa, &self.m2m[octant], child, parent, &[(0, 0)]);
    }

    /// From a parent to its child.
    pub fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]) {
        apply::<T>(self.l2l[octant].isa, &self.l2l[octant], parent, child, &[(0, 0)]);
    }

    /// The multipoles of all split cells, from the deepest level up; those of the leaves are there.
    pub fn m2m_all(&self, cells: &[Cell], levels: &[Range<usize>], m: &mut [T]) {
        let size = self.m2m[0].size[0];
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
                    apply::<T>(matrix.isa, matrix, lower, own, &pairs);
                }
            });
        }
    }

    /// Adds the local expansions of all parents to those of their children, from the root down.
    pub fn l2l_all(&self, cells: &[Cell], levels: &[Range<usize>], l: &mut [T]) {
        let size = self.l2l[0].size[0];
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
                        apply::<T>(matrix.isa, matrix, upper, own, &pairs);
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
                let to = &mut to[pair.1 + tile.row..pair.1 + matrix.size[0].min(tile.row + V::LANES)];
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
