//! Taylor expansions of order P in units of the cell (RULES H4).
//!
//! `M_n = sum of q (c-x)^n / n!` and `L_k`, the k-th derivative of the potential at c, in the order 1, x, y, z, xx, xy,
//! xz, yy, yz, zz, ... Positions are in units of the cell's edge h: M' = M / h^|n|, L' = L h^(|k|+1). With D_n the n-th
//! derivative of 1/r, `L'_k = sum of M'_n D_{n+k}(c_target - c_source)`.
//!
//! There are |n| < P, |k| <= P, and the products with |n| + |k| <= P are taken: Fig. 3 of Ukawa and Narumi is P = 2.

mod derivatives;
pub mod m2l;
mod operators;
mod recurrence;
mod shift;

pub use operators::Operators;

use crate::arith::lanes::{Real, madd};
use crate::expansion::basis::{Index, degree, indices_of, raised, sum, terms};
use crate::expansion::sparse::Product;
use recurrence::{Recurrence, Step, recurrence, step};
use shift::Shift;
use std::collections::HashMap;

/// Target octants, or particles, that are worked on together.
pub const LANES: usize = 8;

/// One value for each lane.
pub type Lane<T> = [T; LANES];

/// The tables of one order.
#[derive(Clone, Debug)]
pub struct Taylor {
    pub order: usize,
    /// Terms of M.
    pub m: usize,
    /// Terms of L, of orders 0 to P, and derivatives of 1/r.
    pub l: usize,
    /// The indices of the L terms; those of M are the first `m`.
    pub indices: Vec<Index>,
    /// For each M term the places of n + e_x, n + e_y, n + e_z.
    pub raised: Vec<[u32; 3]>,
    steps: Vec<Step>,
    recurrences: Vec<Recurrence>,
    /// For each L term the (M term, derivative) pairs of M2L: `rows[row_ends[k-1]..row_ends[k]]`.
    pub rows: Vec<(u32, u32)>,
    pub row_ends: Vec<u32>,
    /// M2M from each octant's child to its parent, and L2L the other way.
    pub m2m: [Vec<Product<f64>>; 8],
    pub l2l: [Vec<Product<f64>>; 8],
}

impl Taylor {
    /// Tables for an order of at least 1.
    pub fn new(order: usize) -> Taylor {
        let indices: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        let place: HashMap<Index, u32> = indices.iter().copied().zip(0..).collect();
        let m = terms(order - 1);
        let mut rows = Vec::new();
        let mut row_ends = Vec::new();
        for k in &indices {
            let pairs = indices[..m].iter().zip(0..).filter(|(n, _)| degree(**n) + degree(*k) <= order);
            rows.extend(pairs.map(|(n, at)| (at, place[&sum(*n, *k)])));
            row_ends.push(rows.len() as u32);
        }
        let shift = Shift { indices: &indices, order, place: &place };
        Taylor {
            order,
            m,
            l: indices.len(),
            raised: indices[..m].iter().map(|n| [0, 1, 2].map(|a| place[&raised(*n, a)])).collect(),
            steps: indices.iter().map(|n| step(*n, &place)).collect(),
            recurrences: indices.iter().map(|n| recurrence(*n, &place)).collect(),
            rows,
            row_ends,
            m2m: std::array::from_fn(|o| shift.m2m(m, o)),
            l2l: std::array::from_fn(|o| shift.l2l(o)),
            indices,
        }
    }

    /// The (M term, derivative) pairs of L term `k`.
    pub fn row(&self, k: usize) -> &[(u32, u32)] {
        let start = if k == 0 { 0 } else { self.row_ends[k - 1] };
        &self.rows[start as usize..self.row_ends[k] as usize]
    }

    /// `x^n / n!` for every index of `out`: what a unit charge at `-x` gives to each term of M, and a unit term of L to the
    /// potential at `x`.
    #[inline(always)]
    pub fn powers<T: Real>(&self, x: &[Lane<T>; 3], out: &mut [Lane<T>]) {
        out[0] = [T::ONE; LANES];
        for (k, step) in self.steps.iter().enumerate().take(out.len()).skip(1) {
            let (from, along, inverse) = (out[step.from as usize], &x[step.axis as usize], T::of(step.inverse));
            for i in 0..LANES {
                out[k][i] = from[i] * (along[i] * inverse);
            }
        }
    }

    /// The derivatives of 1/r at `x`, as many as `out` has terms; all zero where `x` is 0 or `mask` is false.
    #[inline(always)]
    pub fn derivatives<T: Real, const FMA: bool>(&self, x: &[Lane<T>; 3], mask: [bool; LANES], out: &mut [Lane<T>]) {
        let zero = T::default();
        let mut minus_inverse2 = [zero; LANES];
        for i in 0..LANES {
            let r2 = x[0][i] * x[0][i] + x[1][i] * x[1][i] + x[2][i] * x[2][i];
            let keep = mask[i] && r2 > zero;
            out[0][i] = if keep { T::ONE / r2.sqrt() } else { zero };
            minus_inverse2[i] = if keep { -(T::ONE / r2) } else { zero };
        }
        for (k, recurrence) in self.recurrences.iter().enumerate().take(out.len()).skip(1) {
            let mut sum = [zero; LANES];
            for (axis, from, a) in &recurrence.once {
                let (along, from, a) = (&x[*axis as usize], &out[*from as usize], T::of(*a));
                for i in 0..LANES {
                    sum[i] = madd::<T, FMA>(a * along[i], from[i], sum[i]);
                }
            }
            for (from, b) in &recurrence.twice {
                let (from, b) = (&out[*from as usize], T::of(*b));
                for i in 0..LANES {
                    sum[i] = madd::<T, FMA>(b, from[i], sum[i]);
                }
            }
            for i in 0..LANES {
                out[k][i] = sum[i] * minus_inverse2[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_in_graded_order() {
        let e = Taylor::new(8);
        assert_eq!(e.indices.len(), 165);
        assert_eq!((e.m, e.l), (120, 165));
        assert_eq!(e.indices[4..10], [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]);
    }

    #[test]
    fn fig_3_is_order_two() {
        // The products of Fig. 3, lines 21 to 34.
        let e = Taylor::new(2);
        assert_eq!(e.row(0), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(e.row(2), [(0, 2), (1, 5), (2, 7), (3, 8)]);
        assert_eq!(e.row(9), [(0, 9)]);
    }

    #[test]
    fn derivatives_are_those_of_one_over_r() {
        // Each derivative against a central difference of the one before it.
        let e = Taylor::new(5);
        let at = |p: [f64; 3]| {
            let mut out = vec![[0.0; LANES]; e.l];
            e.derivatives::<f64, false>(&p.map(|x| [x; LANES]), [true; LANES], &mut out);
            out
        };
        let (x, step) = ([1.1, -0.7, 0.4], 1e-5);
        let here = at(x);
        assert!((here[0][0] - 1.0 / (1.21f64 + 0.49 + 0.16).sqrt()).abs() < 1e-15);
        for axis in 0..3 {
            let shifted = |s: f64| {
                let mut p = x;
                p[axis] += s;
                at(p)
            };
            let (up, down) = (shifted(step), shifted(-step));
            for (k, raised) in e.raised.iter().enumerate() {
                let slope = (up[k][3] - down[k][3]) / (2.0 * step);
                let value = here[raised[axis] as usize][3];
                assert!((slope - value).abs() <= 1e-5 * (1.0 + value.abs()), "{k} {slope} {value}");
            }
        }
    }
}
