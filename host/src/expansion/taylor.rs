//! Taylor expansions of order P in units of the cell (RULES H4).
//!
//! `M_n = sum of q (c-x)^n / n!` and `L_k`, the k-th derivative of the potential at c, in the order 1, x, y, z, xx, xy,
//! xz, yy, yz, zz, ... Positions are in units of the cell's edge h: M' = M / h^|n|, L' = L h^(|k|+1). With D_n the n-th
//! derivative of 1/r, `L'_k = sum of M'_n D_{n+k}(c_target - c_source)`.
//!
//! The Cartesian basis has |n| < P, |k| <= P and takes the products with |n| + |k| <= P: Fig. 3 of Ukawa and Narumi is
//! P = 2. The solid basis keeps 2n+1 terms of an order, those with at most one x: since 1/r is harmonic, every
//! derivative is a sum of such ones (D_xx = -D_yy - D_zz), so that they span the solid harmonics; |n|, |k| <= P, and all
//! products are taken.

pub mod m2l;
mod operators;
mod recurrence;
mod shift;

pub use operators::Operators;

use crate::arith::lanes::{Real, madd};
use crate::expansion::basis::{self, Basis, Index, degree, indices_of, raised, reduced, sum};
use recurrence::{Recurrence, Step, recurrence, step};
use shift::{Product, Shift};
use std::collections::HashMap;

/// Target octants, or particles, that are worked on together.
pub const LANES: usize = 8;

/// One value for each lane.
pub type Lane<T> = [T; LANES];

/// The tables of one order.
#[derive(Clone, Debug)]
pub struct Taylor {
    pub basis: Basis,
    pub order: usize,
    /// Terms of M.
    pub m: usize,
    /// Terms of L, of orders 0 to P.
    pub l: usize,
    /// Derivatives of 1/r that M2L needs.
    pub d: usize,
    /// The first of them, which M2P and P2L need.
    pub d_point: usize,
    /// The indices of the L terms; those of M are the first `m`.
    pub indices: Vec<Index>,
    /// For each M term the places of the derivatives n + e_x, n + e_y, n + e_z.
    pub raised: Vec<[u32; 3]>,
    /// For each L term the place of its derivative.
    pub derivative: Vec<u32>,
    /// All derivatives up to order P of a local expansion from its terms.
    pub extend: Vec<Product>,
    /// How many L terms have a raised one.
    pub slopes: usize,
    /// Monomials up to order P, and how terms are made of them; empty where terms are monomials.
    pub monomials: usize,
    combine: Vec<Product>,
    steps: Vec<Step>,
    recurrences: Vec<Recurrence>,
    /// For each L term the (M term, derivative) pairs of M2L: `rows[row_ends[k-1]..row_ends[k]]`.
    pub rows: Vec<(u32, u32)>,
    pub row_ends: Vec<u32>,
    /// M2M from each octant's child to its parent, and L2L the other way.
    pub m2m: [Vec<Product>; 8],
    pub l2l: [Vec<Product>; 8],
}

impl Taylor {
    /// Tables for an order of at least 1.
    pub fn new(order: usize, basis: Basis) -> Taylor {
        let solid = basis == Basis::Solid;
        let up_to = |order: usize, most_x: usize| -> Vec<Index> {
            (0..=order).flat_map(indices_of).filter(|n| n[0] as usize <= most_x).collect()
        };
        let all = up_to(order, order);
        let (indices, derivatives) =
            if solid { (up_to(order, 1), up_to(2 * order, 2)) } else { (all.clone(), all.clone()) };
        let places = |list: &[Index]| -> HashMap<Index, u32> { list.iter().copied().zip(0..).collect() };
        let (of_term, of_derivative, of_all) = (places(&indices), places(&derivatives), places(&all));
        let below = |list: &[Index], order: usize| list.iter().filter(|n| degree(**n) < order).count();
        let m = if solid { indices.len() } else { below(&indices, order) };
        let mut rows = Vec::new();
        let mut row_ends = Vec::new();
        for k in &indices {
            let pairs = indices[..m].iter().zip(0..).filter(|(n, _)| solid || degree(**n) + degree(*k) <= order);
            rows.extend(pairs.map(|(n, place)| (place, of_derivative[&sum(*n, *k)])));
            row_ends.push(rows.len() as u32);
        }
        let reduced = |n: Index| -> Vec<(u32, f64)> {
            let terms = if solid { reduced(n) } else { vec![(n, 1.0)] };
            terms.into_iter().map(|(n, c)| (of_term[&n], c)).collect()
        };
        let local = &derivatives[..below(&derivatives, order + 1)];
        let from = |list: &[Index]| -> Vec<Product> {
            let one = |(n, place): (&Index, u32)| -> Vec<Product> {
                reduced(*n).iter().map(|(src, c)| Product { dst: place, src: *src, coefficient: *c }).collect()
            };
            list.iter().zip(0..).flat_map(one).collect()
        };
        let shift = Shift { indices: &indices, all: &all, order, reduced: &reduced };
        Taylor {
            basis,
            order,
            m,
            l: indices.len(),
            d: derivatives.len(),
            d_point: below(&derivatives, if solid { order + 2 } else { order + 1 }),
            raised: indices[..m].iter().map(|n| [0, 1, 2].map(|a| of_derivative[&raised(*n, a)])).collect(),
            derivative: indices.iter().map(|n| of_derivative[n]).collect(),
            extend: from(local),
            slopes: below(&indices, order),
            monomials: all.len(),
            combine: if solid {
                from(&all).iter().map(|t| Product { dst: t.src, src: t.dst, ..*t }).collect()
            } else {
                Vec::new()
            },
            steps: all.iter().map(|n| step(*n, &of_all)).collect(),
            recurrences: derivatives.iter().map(|n| recurrence(*n, &of_derivative)).collect(),
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

    /// What a unit charge at `-x` gives to each term of M, and a unit term of L to the potential at `x`: `x^n / n!`, or
    /// harmonic sums of these. `scratch` has room for the monomials.
    #[inline(always)]
    pub fn powers<T: Real>(&self, x: &[Lane<T>; 3], scratch: &mut [Lane<T>], out: &mut [Lane<T>]) {
        if self.combine.is_empty() {
            return self.monomials_at(x, out);
        }
        self.monomials_at(x, scratch);
        out.fill([T::default(); LANES]);
        for t in &self.combine {
            let (from, to, coefficient) = (&scratch[t.src as usize], &mut out[t.dst as usize], T::of(t.coefficient));
            for i in 0..LANES {
                to[i] += coefficient * from[i];
            }
        }
    }

    /// `x^n / n!` for every index of `out`.
    #[inline(always)]
    fn monomials_at<T: Real>(&self, x: &[Lane<T>; 3], out: &mut [Lane<T>]) {
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

/// Derivatives of 1/r that M2P and P2L need: those up to one order above the multipoles'.
pub fn derivatives_at_a_point(basis: Basis, order: usize) -> usize {
    match basis {
        Basis::Cartesian | Basis::Chebyshev => basis::terms(order),
        // Of order 0 one index; of each order n above it the 3n with at most two x.
        Basis::Solid => 1 + (1..=order + 1).map(|n| 3 * n).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_in_graded_order() {
        let e = Taylor::new(8, Basis::Cartesian);
        assert_eq!(e.indices.len(), 165);
        assert_eq!((e.m, e.l), (120, 165));
        assert!(e.derivative.iter().enumerate().all(|(k, d)| k as u32 == *d));
        let solid = Taylor::new(8, Basis::Solid);
        assert_eq!((solid.m, solid.l), (81, 81));
        for order in 1..12 {
            for basis in [Basis::Cartesian, Basis::Solid] {
                assert_eq!(
                    Taylor::new(order, basis).d_point,
                    derivatives_at_a_point(basis, order),
                    "{basis:?} {order}"
                );
            }
        }
        assert_eq!(e.indices[4..10], [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]);
    }

    #[test]
    fn fig_3_is_order_two() {
        // The products of Fig. 3, lines 21 to 34.
        let e = Taylor::new(2, Basis::Cartesian);
        assert_eq!(e.row(0), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(e.row(2), [(0, 2), (1, 5), (2, 7), (3, 8)]);
        assert_eq!(e.row(9), [(0, 9)]);
    }

    #[test]
    fn derivatives_are_those_of_one_over_r() {
        // Each derivative against a central difference of the one before it.
        for basis in [Basis::Cartesian, Basis::Solid] {
            check_derivatives(&Taylor::new(5, basis));
        }
    }

    fn check_derivatives(e: &Taylor) {
        let at = |p: [f64; 3]| {
            let mut out = vec![[0.0; LANES]; e.d];
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
                let k = e.derivative[k] as usize;
                let slope = (up[k][3] - down[k][3]) / (2.0 * step);
                let value = here[raised[axis] as usize][3];
                assert!((slope - value).abs() <= 1e-5 * (1.0 + value.abs()), "{k} {slope} {value}");
            }
        }
    }
}
