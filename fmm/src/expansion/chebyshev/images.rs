//! All images of the root cell that are not near it, for a kernel whose sum over them converges, as one matrix from the root's
//! multipole to its local expansion (RULES H16).
//!
//! Images are taken together in super-cells of 3^k periods. With near images up to r periods away, those of k = 0 are all others up to
//! 3r + 1 cells away; these and the near ones are 2r + 1 super-cells of k = 1 along each axis, and so on: each k takes the
//! super-cells up to 3r + 1 away that the one before has not reached. They are as far from each other as M2L's cells are.
//! The multipole of a super-cell is a sum of shifted ones of three smaller ones along each periodic axis; its local expansion is shifted
//! to the one in its middle. Both shifts are exact. So with S_k the coefficients of all super-cells of k together,
//! the matrix is `S_0 + D (S_1 + D (S_2 + ...) U) U`.

use super::coefficients::Series;
use super::polynomials::shifted;
use super::{Function, Symmetry};
use crate::arith::lanes::Real;
use crate::expansion::basis::{Index, indices_of};
use crate::parallel::prelude::*;
use crate::tree::lists::{is_near, reach};
use std::collections::HashMap;

/// Super-cells of more than 3^96 periods are not looked at: a sum that needs them falls more slowly than with the root of a distance.
const MOST: usize = 96;

/// The part of the sum of magnitudes that is left out.
const LEFT_OUT: f64 = 1e-17;

/// A lattice of images.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lattice {
    /// The periodic axes.
    pub axes: [bool; 3],
    pub near2: u64,
}

/// How much of a lattice a sum over it needs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extent {
    /// Super-cells of up to 3^(levels - 1) periods.
    pub levels: usize,
    /// About the sum of magnitudes in units of the kernel at a quarter of a period.
    pub weight: f64,
}

impl Lattice {
    /// Whether the sum of a kernel's magnitudes over all images converges, by its values on lines from 0 on: how much of the lattice
    /// it needs. For a kernel that does not fall as fast as r^-d with d axes, or hardly faster, there is none.
    pub fn extent(&self, kernel: &dyn Function) -> Option<Extent> {
        let count = self.axes.iter().filter(|a| **a).count() as i32;
        let largest = |scale: f64| {
            let mut out = vec![[0.0; 4]; LINES.len() * self.directions().len()];
            let places: Vec<[f64; 3]> =
                self.directions().iter().flat_map(|d| LINES.map(|t| d.map(|x| t * scale * x))).collect();
            kernel.values(&places, &mut out);
            out.iter().fold(0.0, |a: f64, o| if o[0].is_finite() { a.max(o[0].abs()) } else { f64::INFINITY })
        };
        let first = (reach(self.near2) + 1) as f64;
        let all: Vec<f64> = (0..MOST)
            .into_par_iter()
            .map(|k| {
                let edge = 3f64.powi(k as i32);
                let periods = edge.powi(count) * self.offsets(k).len() as f64;
                // Nothing is nothing, however often.
                let largest = largest(first * edge);
                if largest == 0.0 { 0.0 } else { largest * periods }
            })
            .collect();
        let total: f64 = all.iter().sum();
        let most = LEFT_OUT * total;
        let mut rest = 0.0;
        let is_left_out = |part: &&f64| {
            rest += **part;
            rest <= most
        };
        let levels = MOST - all.iter().rev().take_while(is_left_out).count();
        let near = largest(0.5);
        let weight = if total == 0.0 { 0.0 } else { total / near };
        (total.is_finite() && levels < MOST).then_some(Extent { levels: levels.max(1), weight })
    }

    /// Directions to images, and aslant.
    fn directions(&self) -> Vec<[f64; 3]> {
        let all = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3].map(|x| x as f64 - 1.0));
        let along = all.filter(|d| (0..3).all(|a| self.axes[a] || d[a] == 0.0) && *d != [0.0; 3]);
        along.flat_map(|d| [d, [d[0] + 0.11, d[1] - 0.17, d[2] + 0.23]]).collect()
    }

    /// The super-cells of a level.
    fn offsets(&self, level: usize) -> Vec<[i64; 3]> {
        let inner = reach(self.near2);
        let most = self.axes.map(|a| if a { 3 * inner + 1 } else { 0 });
        let along = |a: usize| -most[a]..=most[a];
        let all = along(0).flat_map(|x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])));
        let is_new = |o: &[i64; 3]| match level {
            0 => !is_near(*o, self.near2),
            _ => o.iter().any(|x| x.abs() > inner),
        };
        all.filter(is_new).collect()
    }

    /// The matrix of an order: row by row the share of each of the root's multipole terms in each of its local ones.
    pub fn matrix(&self, kernel: &dyn Function, order: usize) -> Vec<f64> {
        let series = Series::new(order, (0..=order).flat_map(indices_of).collect());
        let shifts = Thirds::new(&series.terms, order, self.axes);
        let levels = self.extent(kernel).map_or(1, |extent| extent.levels);
        let mut sum = vec![0.0; series.terms.len() * series.terms.len()];
        for level in (0..levels).rev() {
            shifts.apply(&mut sum, series.terms.len());
            let own = self.coefficients(kernel, &series, level);
            sum.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
        }
        sum
    }

    /// The coefficients of all super-cells of a level together.
    fn coefficients(&self, kernel: &dyn Function, series: &Series, level: usize) -> Vec<f64> {
        let (edge, offsets, nodes) = (3f64.powi(level as i32), self.offsets(level), series.nodes());
        let n = nodes.len();
        let alike = |k: usize| self.alike(kernel.symmetry(), [k / (n * n), k / n % n, k % n], n);
        let mut own: Vec<[usize; 3]> = (0..n.pow(3)).map(alike).collect();
        own.sort_unstable();
        own.dedup();
        let sum = |at: &[usize; 3]| {
            let place = |o: &[i64; 3]| std::array::from_fn(|a| (o[a] as f64 + nodes[at[a]]) * edge);
            let places: Vec<[f64; 3]> = offsets.iter().map(place).collect();
            let mut out = vec![[0.0; 4]; places.len()];
            kernel.values(&places, &mut out);
            (*at, out.iter().map(|o| o[0]).sum::<f64>())
        };
        let sums: HashMap<[usize; 3], f64> = own.par_iter().map(sum).collect();
        series.of_values((0..n.pow(3)).map(|k| sums[&alike(k)]).collect())
    }

    /// One of the nodes that have a sum in common, as the images lie evenly about 0 and along all periodic axes alike.
    fn alike(&self, symmetry: Symmetry, mut node: [usize; 3], n: usize) -> [usize; 3] {
        if symmetry == Symmetry::None {
            return node;
        }
        node = node.map(|k| k.min(n - 1 - k));
        if symmetry == Symmetry::Full {
            for (a, b) in [(0, 1), (1, 2), (0, 1)] {
                if self.axes[a] == self.axes[b] && node[a] > node[b] {
                    node.swap(a, b);
                }
            }
            if self.axes[0] == self.axes[2] && node[0] > node[2] {
                node.swap(0, 2);
            }
        }
        node
    }
}

/// Distances on a line, in units of that of the nearest super-cells of a level: from their near sides to three times as far.
const LINES: [f64; 6] = [0.5, 0.75, 1.0, 1.4, 2.0, 2.8];

/// Shifts between super-cells, axis by axis.
struct Thirds {
    /// For each axis and each term of the larger cell the shares of the smaller cells' terms, row by row.
    up: [Vec<f64>; 3],
    /// The same for the smaller cell in the middle alone.
    middle: Vec<f64>,
    /// For each axis the terms of a larger cell, each with those of a smaller one that it is made of, and the place of the share.
    parts: [Vec<(usize, usize, usize)>; 3],
}

impl Thirds {
    fn new(terms: &[Index], order: usize, axes: [bool; 3]) -> Thirds {
        let flat = |shift: f64| shifted(order, shift, 3.0).concat();
        let middle = flat(0.0);
        let sides = [flat(-2.0), flat(2.0)];
        let both = |k: usize| middle[k] + sides[0][k] + sides[1][k];
        let periodic: Vec<f64> = (0..middle.len()).map(both).collect();
        let place: HashMap<Index, usize> = terms.iter().copied().zip(0..).collect();
        let parts = |axis: usize| {
            let of_term = |(large, n): (usize, &Index)| {
                let part = |degree: u8| {
                    let mut small = *n;
                    small[axis] = degree;
                    (large, place[&small], n[axis] as usize * (order + 1) + degree as usize)
                };
                (0..=n[axis]).map(part).collect::<Vec<_>>()
            };
            terms.iter().enumerate().flat_map(of_term).collect()
        };
        Thirds {
            up: axes.map(|is_periodic| if is_periodic { periodic.clone() } else { middle.clone() }),
            middle,
            parts: [0, 1, 2].map(parts),
        }
    }

    /// From the matrix between two super-cells to that between the smaller ones in their middles, with the multipole that all smaller
    /// ones have.
    fn apply(&self, matrix: &mut [f64], terms: usize) {
        let mut columns = vec![0.0; matrix.len()];
        for (parts, up) in self.parts.iter().zip(&self.up) {
            // A sum over terms of the larger source cell, and one over those of the larger target cell.
            columns.fill(0.0);
            for (to, from) in columns.chunks_exact_mut(terms).zip(matrix.chunks_exact(terms)) {
                parts.iter().for_each(|(large, small, k)| to[*small] += up[*k] * from[*large]);
            }
            matrix.fill(0.0);
            for (large, small, k) in parts {
                let (factor, from) = (self.middle[*k], &columns[large * terms..][..terms]);
                matrix[small * terms..][..terms].iter_mut().zip(from).for_each(|(to, x)| *to += factor * x);
            }
        }
    }
}

/// Adds to the local expansion of the root what its multipole gives by a matrix.
pub fn act<T: Real>(matrix: &[f64], m: &[T], l: &mut [T]) {
    for (l, row) in l.iter_mut().zip(matrix.chunks_exact(m.len())) {
        *l += T::of(row.iter().zip(m).map(|(x, m)| x * m.f64()).sum());
    }
}
