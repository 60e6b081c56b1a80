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

use crate::lanes::{Real, madd};
use std::collections::HashMap;

/// Target octants, or particles, that are worked on together.
pub const LANES: usize = 8;

/// One value for each lane.
pub type Lane<T> = [T; LANES];

/// A multi-index (n_x, n_y, n_z).
pub type Index = [u8; 3];

/// The basis of expansions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Basis {
    #[default]
    Cartesian,
    Solid,
}

/// Terms of all orders 0 to `order` of the Cartesian basis.
pub fn terms(order: usize) -> usize {
    (order + 1) * (order + 2) * (order + 3) / 6
}

/// How a term of a monomial table follows from an earlier one: times the coordinate of `axis`, times `inverse`.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: u32,
    axis: u8,
    inverse: f64,
}

/// `dst += coefficient * src`.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub dst: u32,
    pub src: u32,
    pub coefficient: f64,
}

/// One derivative of 1/r from earlier ones: `D_n = -(sum a x_i D_{n-e_i} + sum b D_{n-2e_i}) / r^2`.
#[derive(Clone, Debug)]
struct Recurrence {
    /// (axis, place of n - e_i, (2|n|-1) n_i / |n|).
    once: Vec<(u8, u32, f64)>,
    /// (place of n - 2 e_i, (|n|-1) n_i (n_i-1) / |n|).
    twice: Vec<(u32, f64)>,
}

/// The tables of one order.
#[derive(Clone, Debug)]
pub struct Expansion {
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
    pub extend: Vec<Term>,
    /// How many L terms have a raised one.
    pub slopes: usize,
    /// Monomials up to order P, and how terms are made of them; empty where terms are monomials.
    pub monomials: usize,
    combine: Vec<Term>,
    steps: Vec<Step>,
    recurrences: Vec<Recurrence>,
    /// For each L term the (M term, derivative) pairs of M2L: `rows[row_ends[k-1]..row_ends[k]]`.
    pub rows: Vec<(u32, u32)>,
    pub row_ends: Vec<u32>,
    /// M2M from each octant's child to its parent, and L2L the other way.
    pub m2m: [Vec<Term>; 8],
    pub l2l: [Vec<Term>; 8],
}

impl Expansion {
    /// Tables for an order of at least 1.
    pub fn new(order: usize, basis: Basis) -> Expansion {
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
        let from = |list: &[Index]| -> Vec<Term> {
            let one = |(n, place): (&Index, u32)| -> Vec<Term> {
                reduced(*n).iter().map(|(src, c)| Term { dst: place, src: *src, coefficient: *c }).collect()
            };
            list.iter().zip(0..).flat_map(one).collect()
        };
        let shift = Shift { indices: &indices, all: &all, order, reduced: &reduced };
        Expansion {
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
                from(&all).iter().map(|t| Term { dst: t.src, src: t.dst, ..*t }).collect()
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
    pub fn powers(&self, x: &[Lane<f64>; 3], scratch: &mut [Lane<f64>], out: &mut [Lane<f64>]) {
        if self.combine.is_empty() {
            return self.monomials_at(x, out);
        }
        self.monomials_at(x, scratch);
        out.fill([0.0; LANES]);
        for t in &self.combine {
            let (from, to) = (&scratch[t.src as usize], &mut out[t.dst as usize]);
            for i in 0..LANES {
                to[i] += t.coefficient * from[i];
            }
        }
    }

    /// `x^n / n!` for every index of `out`.
    #[inline(always)]
    fn monomials_at(&self, x: &[Lane<f64>; 3], out: &mut [Lane<f64>]) {
        out[0] = [1.0; LANES];
        for (k, step) in self.steps.iter().enumerate().take(out.len()).skip(1) {
            let (from, along) = (out[step.from as usize], &x[step.axis as usize]);
            for i in 0..LANES {
                out[k][i] = from[i] * (along[i] * step.inverse);
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

/// n + e_axis.
fn raised(n: Index, axis: usize) -> Index {
    let mut n = n;
    n[axis] += 1;
    n
}

/// Order of a multi-index.
pub fn degree(n: Index) -> usize {
    n.iter().map(|k| *k as usize).sum()
}

fn sum(a: Index, b: Index) -> Index {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn lowered(n: Index, axis: usize, by: u8) -> Option<Index> {
    let mut n = n;
    n[axis] = n[axis].checked_sub(by)?;
    Some(n)
}

fn indices_of(order: usize) -> Vec<Index> {
    let order = order as u8;
    (0..=order).rev().flat_map(|x| (0..=order - x).rev().map(move |y| [x, y, order - x - y])).collect()
}

fn step(n: Index, place: &HashMap<Index, u32>) -> Step {
    // The last axis with a power: its predecessor always stands earlier.
    match (0..3).rev().find(|a| n[*a] > 0) {
        Some(axis) => Step {
            from: place[&lowered(n, axis, 1).expect("the power is positive")],
            axis: axis as u8,
            inverse: 1.0 / n[axis] as f64,
        },
        None => Step { from: 0, axis: 0, inverse: 1.0 },
    }
}

fn recurrence(n: Index, place: &HashMap<Index, u32>) -> Recurrence {
    let order = degree(n) as f64;
    let mut r = Recurrence { once: Vec::new(), twice: Vec::new() };
    for axis in 0..3 {
        let power = n[axis] as f64;
        if let Some(from) = lowered(n, axis, 1) {
            r.once.push((axis as u8, place[&from], (2.0 * order - 1.0) * power / order));
        }
        if let Some(from) = lowered(n, axis, 2) {
            r.twice.push((place[&from], (order - 1.0) * power * (power - 1.0) / order));
        }
    }
    r
}

/// The offset of an octant's centre from its parent's, in units of the parent's edge.
fn offset(octant: usize) -> [f64; 3] {
    [4, 2, 1].map(|bit| if octant & bit == 0 { -0.25 } else { 0.25 })
}

/// `d^n / n!`.
fn power_over_factorial(d: [f64; 3], n: Index) -> f64 {
    let one = |x: f64, n: u8| (1..=n).fold(1.0, |a, k| a * x / k as f64);
    one(d[0], n[0]) * one(d[1], n[1]) * one(d[2], n[2])
}

/// A derivative of a harmonic function as a sum of those with at most one x: D_xx^m = (-1)^m (D_yy + D_zz)^m.
fn reduced(n: Index) -> Vec<(Index, f64)> {
    let m = n[0] / 2;
    let mut coefficient = if m.is_multiple_of(2) { 1.0 } else { -1.0 };
    let mut sum = Vec::new();
    for i in 0..=m {
        sum.push(([n[0] % 2, n[1] + 2 * i, n[2] + 2 * (m - i)], coefficient));
        coefficient *= (m - i) as f64 / (i + 1) as f64;
    }
    sum
}

/// Shifts of expansions between a cell and its parent.
struct Shift<'a, F> {
    indices: &'a [Index],
    all: &'a [Index],
    order: usize,
    /// The terms that a derivative is a sum of.
    reduced: &'a F,
}

impl<F: Fn(Index) -> Vec<(u32, f64)>> Shift<'_, F> {
    /// The Taylor shift by `d` as (term k, term b, sum over j of d^j / j! times the share of b in k + j).
    fn taylor(&self, d: [f64; 3]) -> Vec<(usize, u32, f64)> {
        let mut list = Vec::new();
        for (k, index) in self.indices.iter().enumerate() {
            let mut row: std::collections::BTreeMap<u32, f64> = Default::default();
            for j in self.all.iter().filter(|j| degree(**j) + degree(*index) <= self.order) {
                for (b, share) in (self.reduced)(sum(*index, *j)) {
                    *row.entry(b).or_default() += share * power_over_factorial(d, *j);
                }
            }
            list.extend(row.into_iter().map(|(b, c)| (k, b, c)));
        }
        list
    }

    /// `M'_b += 2^-|k| T_kb(c_parent - c_child) M'_k`.
    fn m2m(&self, m: usize, octant: usize) -> Vec<Term> {
        let all = self.taylor(offset(octant).map(|x| -x)).into_iter().filter(|(k, b, _)| (*k).max(*b as usize) < m);
        let scale = |k: usize| 2f64.powi(-(degree(self.indices[k]) as i32));
        all.map(|(k, b, c)| Term { dst: b, src: k as u32, coefficient: scale(k) * c }).collect()
    }

    /// `L'_k += 2^-(|k|+1) T_kb(c_child - c_parent) L'_b`.
    fn l2l(&self, octant: usize) -> Vec<Term> {
        let scale = |k: usize| 2f64.powi(-(degree(self.indices[k]) as i32) - 1);
        let all = self.taylor(offset(octant)).into_iter();
        all.map(|(k, b, c)| Term { dst: k as u32, src: b, coefficient: scale(k) * c }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_in_graded_order() {
        let e = Expansion::new(8, Basis::Cartesian);
        assert_eq!(e.indices.len(), 165);
        assert_eq!((e.m, e.l), (120, 165));
        assert!(e.derivative.iter().enumerate().all(|(k, d)| k as u32 == *d));
        let solid = Expansion::new(8, Basis::Solid);
        assert_eq!((solid.m, solid.l), (81, 81));
        assert_eq!(e.indices[4..10], [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]);
    }

    #[test]
    fn fig_3_is_order_two() {
        // The products of Fig. 3, lines 21 to 34.
        let e = Expansion::new(2, Basis::Cartesian);
        assert_eq!(e.row(0), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(e.row(2), [(0, 2), (1, 5), (2, 7), (3, 8)]);
        assert_eq!(e.row(9), [(0, 9)]);
    }

    #[test]
    fn derivatives_are_those_of_one_over_r() {
        // Each derivative against a central difference of the one before it.
        for basis in [Basis::Cartesian, Basis::Solid] {
            check_derivatives(&Expansion::new(5, basis));
        }
    }

    fn check_derivatives(e: &Expansion) {
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
