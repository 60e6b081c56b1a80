//! Cartesian Taylor expansions of order P in units of the cell (RULES H4).
//!
//! `M_n = sum of q (c-x)^n / n!` for |n| < P and `L_k`, the k-th derivative of the potential at c, for |k| <= P, in the
//! order 1, x, y, z, xx, xy, xz, yy, yz, zz, ... Positions are in units of the cell's edge h: M' = M / h^|n|,
//! L' = L h^(|k|+1). With D_n the n-th derivative of 1/r, `L'_k = sum of M'_n D_{n+k}(c_target - c_source)` over
//! |n| + |k| <= P: Fig. 3 of Ukawa and Narumi is P = 2.

use crate::lanes::{Real, madd};

/// Target octants, or particles, that are worked on together.
pub const LANES: usize = 8;

/// One value for each lane.
pub type Lane<T> = [T; LANES];

/// A multi-index (n_x, n_y, n_z).
pub type Index = [u8; 3];

/// Terms of orders 0 to `order`.
pub fn terms(order: usize) -> usize {
    (order + 1) * (order + 2) * (order + 3) / 6
}

/// The place of a multi-index.
pub fn place(n: Index) -> usize {
    let [x, _, z] = n.map(usize::from);
    let order: usize = n.iter().map(|k| *k as usize).sum();
    (if order == 0 { 0 } else { terms(order - 1) }) + (order - x) * (order - x + 1) / 2 + z
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
    pub order: usize,
    /// Terms of M: orders 0 to P-1.
    pub m: usize,
    /// Terms of L: orders 0 to P.
    pub l: usize,
    /// All multi-indices of orders 0 to P.
    pub indices: Vec<Index>,
    /// For each M term the places of n + e_x, n + e_y, n + e_z.
    pub raised: Vec<[u32; 3]>,
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
    pub fn new(order: usize) -> Expansion {
        let indices: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        let m = terms(order - 1);
        let l = terms(order);
        let mut rows = Vec::new();
        let mut row_ends = Vec::new();
        for k in &indices {
            let fits = |n: &&Index| degree(**n) + degree(*k) <= order;
            rows.extend(indices[..m].iter().filter(fits).map(|n| (place(*n) as u32, place(sum(*n, *k)) as u32)));
            row_ends.push(rows.len() as u32);
        }
        Expansion {
            order,
            m,
            l,
            raised: indices[..m].iter().map(|n| [0, 1, 2].map(|a| raised(*n, a) as u32)).collect(),
            steps: indices.iter().map(|n| step(*n)).collect(),
            recurrences: indices.iter().map(|n| recurrence(*n)).collect(),
            rows,
            row_ends,
            m2m: std::array::from_fn(|o| m2m(&indices[..m], o)),
            l2l: std::array::from_fn(|o| l2l(&indices, o)),
            indices,
        }
    }

    /// The (M term, derivative) pairs of L term `k`.
    pub fn row(&self, k: usize) -> &[(u32, u32)] {
        let start = if k == 0 { 0 } else { self.row_ends[k - 1] };
        &self.rows[start as usize..self.row_ends[k] as usize]
    }

    /// `x^n / n!` for every term of `out`.
    #[inline(always)]
    pub fn monomials(&self, x: &[Lane<f64>; 3], out: &mut [Lane<f64>]) {
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

/// The place of n + e_axis.
fn raised(n: Index, axis: usize) -> usize {
    let mut n = n;
    n[axis] += 1;
    place(n)
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

fn step(n: Index) -> Step {
    // The last axis with a power: its predecessor always stands earlier.
    match (0..3).rev().find(|a| n[*a] > 0) {
        Some(axis) => Step {
            from: place(lowered(n, axis, 1).expect("the power is positive")) as u32,
            axis: axis as u8,
            inverse: 1.0 / n[axis] as f64,
        },
        None => Step { from: 0, axis: 0, inverse: 1.0 },
    }
}

fn recurrence(n: Index) -> Recurrence {
    let order = degree(n) as f64;
    let mut r = Recurrence { once: Vec::new(), twice: Vec::new() };
    for axis in 0..3 {
        let power = n[axis] as f64;
        if let Some(from) = lowered(n, axis, 1) {
            r.once.push((axis as u8, place(from) as u32, (2.0 * order - 1.0) * power / order));
        }
        if let Some(from) = lowered(n, axis, 2) {
            r.twice.push((place(from) as u32, (order - 1.0) * power * (power - 1.0) / order));
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

fn difference(a: Index, b: Index) -> Option<Index> {
    Some([a[0].checked_sub(b[0])?, a[1].checked_sub(b[1])?, a[2].checked_sub(b[2])?])
}

/// `M'_n += sum over m <= n of 2^-|m| (c_parent - c_child)^(n-m) / (n-m)! M'_m`.
fn m2m(indices: &[Index], octant: usize) -> Vec<Term> {
    let d = offset(octant).map(|x| -x);
    let mut terms = Vec::new();
    for (dst, n) in indices.iter().enumerate() {
        for (src, m) in indices.iter().enumerate() {
            if let Some(rest) = difference(*n, *m) {
                let coefficient = 2f64.powi(-(degree(*m) as i32)) * power_over_factorial(d, rest);
                terms.push(Term { dst: dst as u32, src: src as u32, coefficient });
            }
        }
    }
    terms
}

/// `L'_k += 2^-(|k|+1) sum over m >= k of (c_child - c_parent)^(m-k) / (m-k)! L'_m`.
fn l2l(indices: &[Index], octant: usize) -> Vec<Term> {
    let mut terms = Vec::new();
    for (dst, k) in indices.iter().enumerate() {
        for (src, m) in indices.iter().enumerate() {
            if let Some(rest) = difference(*m, *k) {
                let coefficient = 2f64.powi(-(degree(*k) as i32) - 1) * power_over_factorial(offset(octant), rest);
                terms.push(Term { dst: dst as u32, src: src as u32, coefficient });
            }
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_stand_in_graded_order() {
        let e = Expansion::new(8);
        assert_eq!(e.indices.len(), 165);
        assert_eq!((e.m, e.l), (120, 165));
        assert!(e.indices.iter().enumerate().all(|(k, n)| place(*n) == k));
        assert_eq!(e.indices[4..10], [[2, 0, 0], [1, 1, 0], [1, 0, 1], [0, 2, 0], [0, 1, 1], [0, 0, 2]]);
    }

    #[test]
    fn fig_3_is_order_two() {
        // The products of Fig. 3, lines 21 to 34.
        let e = Expansion::new(2);
        assert_eq!(e.row(0), [(0, 0), (1, 1), (2, 2), (3, 3)]);
        assert_eq!(e.row(2), [(0, 2), (1, 5), (2, 7), (3, 8)]);
        assert_eq!(e.row(9), [(0, 9)]);
    }

    #[test]
    fn derivatives_are_those_of_one_over_r() {
        // Each derivative against a central difference of the one before it.
        let e = Expansion::new(7);
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
            for k in 0..terms(6) {
                let slope = (up[k][3] - down[k][3]) / (2.0 * step);
                let value = here[e.raised[k][axis] as usize][3];
                assert!((slope - value).abs() <= 1e-5 * (1.0 + value.abs()), "{k} {slope} {value}");
            }
        }
    }
}
