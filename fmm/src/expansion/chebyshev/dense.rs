//! The operators of an order as plain tables, for a machine that has its own loops: a GPU.

use super::tables::{Alike, SHARE, beyond};
use super::{Chebyshev, Function, Symmetry, polynomials};
use crate::expansion::basis::{Index, indices_of};
use crate::expansion::solid::dense::{Dense, Offset, by_columns, lists, places};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The tables that all kernels have in common. Offsets have no matrices: those are a kernel's own, see [`Matrices`].
pub fn operators(order: usize, near2: u64) -> Dense {
    let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
    let shifts = |octant| polynomials::shifts(&terms, order, octant).map(|rows| by_columns(rows, terms.len()));
    let (up, down) = (0..8).map(shifts).map(|[up, down]| (up, down)).unzip();
    let at = places(near2);
    let offset =
        |at: &[i64; 3]| Offset { at: *at, order, terms: terms.len(), matrix: Vec::new(), derivatives: Vec::new() };
    Dense {
        order,
        near2,
        weights: Vec::new(),
        sectors: Vec::new(),
        steps: Vec::new(),
        up,
        down,
        slopes: [0, 1, 2].map(|axis| terms.iter().map(|n| slope(&terms, axis, n)).collect()),
        offsets: at.iter().map(offset).collect(),
        lists: lists(&at, near2),
    }
}

/// The terms of a potential that a term of its derivative by a coordinate in units of the cell's edge is made of:
/// `T_n(2x)' = 4 n (T_(n-1) + T_(n-3) + ...)`, of which T_0 counts half.
fn slope(terms: &[Index], axis: usize, n: &Index) -> Vec<(usize, f64)> {
    let is_above = |of: &Index| {
        let is_beside = (0..3).all(|a| a == axis || of[a] == n[a]);
        is_beside && of[axis] > n[axis] && (of[axis] - n[axis]) % 2 == 1
    };
    let half = if n[axis] == 0 { 2.0 } else { 4.0 };
    let above = terms.iter().enumerate().filter(|(_, of)| is_above(of));
    above.map(|(place, of)| (place, half * of[axis] as f64)).collect()
}

/// M2L of a kernel on some levels: its matrices at a few offsets, from which those at all others follow.
pub struct Matrices {
    /// The matrices of a set, one after the other, each row after row.
    pub sets: Vec<Vec<f64>>,
    /// For each level the number of its set, and the factor of potentials from that.
    pub levels: Vec<(usize, f64)>,
    /// For each offset of [`operators`] where its matrix is.
    pub offsets: Vec<Placed>,
    /// For each offset the terms of sources that matter there on some level, by the rule of the compression ([`super::compress`]): the
    /// first ones, and above these so few of a matrix are left out as may be at all offsets.
    pub columns: Vec<usize>,
    /// For each exchange of axes that occurs, for each term the one that it is.
    pub exchanges: Vec<Vec<usize>>,
    /// For each term the axes along which its degree is odd, x the most significant of three bits.
    pub odd: Vec<u32>,
}

/// The place of an offset's matrix in a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placed {
    /// The number of the matrix.
    pub matrix: usize,
    /// The number of the exchange of axes.
    pub exchange: usize,
    /// The axes that are mirrored, as bits: entries between terms with another parity along these have the other sign.
    pub mirrored: u32,
}

impl Matrices {
    /// For cells that are near below `near2`, on some levels.
    pub fn new(order: usize, near2: u64, kernel: &Arc<dyn Function>, levels: RangeInclusive<u32>) -> Matrices {
        let expansion = Chebyshev::<f64>::new(order, near2, kernel.clone());
        let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        let odd = |n: &Index| n.iter().fold(0, |bits, k| 2 * bits + *k as u32 % 2);
        let mut matrices = Matrices {
            sets: Vec::new(),
            levels: Vec::new(),
            offsets: Vec::new(),
            columns: Vec::new(),
            exchanges: Vec::new(),
            odd: terms.iter().map(odd).collect(),
        };
        let (mut known, mut found) = (HashMap::new(), HashMap::<[i64; 3], (Placed, usize)>::new());
        for level in levels {
            let (own, factor) = expansion.scaled(level);
            let set = *known.entry(own).or_insert_with(|| {
                let alike = expansion.between(own).matrices();
                let most = left_out(&alike, &terms);
                for (matrix, alike) in alike.iter().enumerate() {
                    let squares = squares_of_columns(&alike.matrix, terms.len());
                    for of in &alike.offsets {
                        let exchange = matrices.exchange(&of.terms);
                        let squares = of.terms.iter().map(|term| squares[*term]);
                        let columns = needed(&squares.collect::<Vec<f64>>(), most);
                        for (at, mirrored) in images(of.offset, kernel.symmetry()) {
                            let placed = Placed { matrix, exchange, mirrored };
                            let (_, most) = found.entry(at).or_insert((placed, columns));
                            *most = columns.max(*most);
                        }
                    }
                }
                matrices.sets.push(alike.into_iter().flat_map(|alike| alike.matrix).collect());
                matrices.sets.len() - 1
            });
            matrices.levels.push((set, factor));
        }
        (matrices.offsets, matrices.columns) = places(near2).iter().filter_map(|at| found.get(at).copied()).unzip();
        matrices
    }

    /// The matrices of several functions of the same symmetry together: each set has that of each of them, one after the other.
    pub fn joined(all: Vec<Matrices>) -> Option<Matrices> {
        all.into_iter().reduce(|mut joined, one| {
            joined.sets.iter_mut().zip(one.sets).for_each(|(set, own)| set.extend(own));
            joined.columns.iter_mut().zip(one.columns).for_each(|(columns, own)| *columns = own.max(*columns));
            joined
        })
    }

    /// The number of an exchange.
    fn exchange(&mut self, terms: &[usize]) -> usize {
        let known = self.exchanges.iter().position(|known| known == terms);
        known.unwrap_or_else(|| {
            self.exchanges.push(terms.to_vec());
            self.exchanges.len() - 1
        })
    }

    /// The entry of an offset's matrix, by the numbers of the offset, of the row and of the column.
    pub fn entry(&self, set: usize, offset: usize, [row, column]: [usize; 2]) -> f64 {
        let (Placed { matrix, exchange, mirrored }, terms) = (self.offsets[offset], self.odd.len());
        let [a, b] = [row, column].map(|term| self.exchanges[exchange][term]);
        let is_odd = ((self.odd[row] ^ self.odd[column]) & mirrored).count_ones() % 2 == 1;
        let entry = self.sets[set][(matrix * terms + a) * terms + b];
        if is_odd { -entry } else { entry }
    }
}

/// The sum of squares that may be left out of the matrix of each offset.
fn left_out(alike: &[Alike], terms: &[Index]) -> f64 {
    let all: f64 = alike.iter().flat_map(|alike| &alike.offsets).map(|of| of.serves).sum();
    (SHARE * beyond(alike, terms)).powi(2) / all
}

fn squares_of_columns(matrix: &[f64], terms: usize) -> Vec<f64> {
    let mut sums = vec![0.0; terms];
    let rows = matrix.chunks_exact(terms);
    rows.for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x * x));
    sums
}

/// The first columns of which the rest have a sum of squares of at most `most`.
fn needed(squares: &[f64], most: f64) -> usize {
    let mut rest = 0.0;
    let is_left_out = |square: &&f64| {
        rest += **square;
        rest <= most
    };
    squares.len() - squares.iter().rev().take_while(is_left_out).count()
}

/// An offset and its mirror images, with the axes that are mirrored.
fn images(offset: [i64; 3], symmetry: Symmetry) -> Vec<([i64; 3], u32)> {
    let image = |mirrored: u32| {
        let at = std::array::from_fn(|a| if mirrored & 4 >> a != 0 { -offset[a] } else { offset[a] });
        (at, mirrored)
    };
    // A coordinate of 0 has no other image.
    let is_one = |mirrored: &u32| (0..3).all(|a| mirrored & 4 >> a == 0 || offset[a] != 0);
    let count = if symmetry == Symmetry::None { 1 } else { 8 };
    (0..count).filter(is_one).map(image).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::{Expansion, Points};

    /// `exp(-3 r) / r` with lengths stretched along each axis by another factor, and, if it is `skew`, moved.
    struct Stretched {
        along: [f64; 3],
        skew: f64,
        symmetry: Symmetry,
    }

    impl Function for Stretched {
        fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
            for (d, out) in d.iter().zip(out) {
                let r = (0..3).map(|a| (self.along[a] * d[a]).powi(2)).sum::<f64>().sqrt();
                *out = [(-3.0 * r).exp() / r * (1.0 + self.skew * d[0]), 0.0, 0.0, 0.0];
            }
        }

        fn symmetry(&self) -> Symmetry {
            self.symmetry
        }
    }

    #[test]
    fn matrices_at_all_offsets_are_those_of_the_expansion() {
        for (along, skew, symmetry) in [
            ([1.0; 3], 0.0, Symmetry::Full),
            ([1.0, 1.5, 0.75], 0.0, Symmetry::Mirrored),
            ([1.0, 1.5, 0.75], 0.5, Symmetry::None),
        ] {
            let kernel: Arc<dyn Function> = Arc::new(Stretched { along, skew, symmetry });
            let expansion = Chebyshev::<f64>::new(2, 4, kernel.clone());
            let matrices = Matrices::new(2, 4, &kernel, 2..=3);
            assert_eq!((matrices.levels.len(), matrices.sets.len()), (2, 2));
            let dense = operators(2, 4);
            assert_eq!(dense.offsets.len(), matrices.offsets.len());
            let columns = |at| matrices.columns[dense.offsets.iter().position(|of| of.at == at).expect("it is one")];
            assert!(columns([2, 0, 0]) == 10 && columns([-3, 3, 3]) < 10, "{:?}", matrices.columns);
            for (k, offset) in dense.offsets.iter().enumerate() {
                for column in 0..dense.offsets[0].terms {
                    let (mut m, mut l) = ([0.0; 10], [0.0; 10]);
                    m[column] = 1.0;
                    expansion.m2l_pair(3, offset.at, &m, &mut l);
                    for (row, wanted) in l.iter().enumerate() {
                        let found = matrices.entry(1, k, [row, column]);
                        assert!((found - wanted).abs() < 1e-12, "{symmetry:?} {:?}: {found} {wanted}", offset.at);
                    }
                }
            }
        }
    }

    #[test]
    fn slopes_are_the_derivatives_of_a_series() {
        let (dense, step) = (operators(4, 4), 1e-6);
        let kernel: Arc<dyn Function> = Arc::new(Stretched { along: [1.0; 3], skew: 0.0, symmetry: Symmetry::Full });
        let expansion = Chebyshev::<f64>::new(4, 4, kernel);
        let terms = dense.up[0].len().isqrt();
        let l: Vec<f64> = (0..terms).map(|k| 1.0 / (1.0 + (k * 7 % 11) as f64)).collect();
        let value = |l: &[f64], at: [f64; 3]| {
            let (x, mut out) = (at.map(|x| [x]), [[0.0; 4]]);
            expansion.l2p(l, Points { x: x.each_ref().map(|x| &x[..]) }, &mut out, &mut Vec::new());
            out[0][0]
        };
        for axis in 0..3 {
            let derived = |of: &Vec<(usize, f64)>| of.iter().map(|(term, factor)| factor * l[*term]).sum::<f64>();
            let series: Vec<f64> = dense.slopes[axis].iter().map(derived).collect();
            let at = [0.31, -0.2, 0.07];
            let moved = |by: f64| std::array::from_fn(|a| at[a] + if a == axis { by } else { 0.0 });
            let wanted = (value(&l, moved(step)) - value(&l, moved(-step))) / (2.0 * step);
            assert!((value(&series, at) - wanted).abs() < 1e-7 * wanted.abs(), "{axis}");
        }
    }
}
