//! The tables of M2M and L2L: shifts of expansions between a cell and its parent.

use crate::expansion::basis::{Index, degree, sum};
use crate::expansion::sparse::Product;
use std::collections::HashMap;

/// The offset of an octant's centre from its parent's, in units of the parent's edge.
fn offset(octant: usize) -> [f64; 3] {
    [4, 2, 1].map(|bit| if octant & bit == 0 { -0.25 } else { 0.25 })
}

/// `d^n / n!`.
fn power_over_factorial(d: [f64; 3], n: Index) -> f64 {
    let one = |x: f64, n: u8| (1..=n).fold(1.0, |a, k| a * x / k as f64);
    one(d[0], n[0]) * one(d[1], n[1]) * one(d[2], n[2])
}

/// Shifts of expansions between a cell and its parent.
pub(super) struct Shift<'a> {
    pub(super) indices: &'a [Index],
    pub(super) order: usize,
    pub(super) place: &'a HashMap<Index, u32>,
}

impl Shift<'_> {
    /// The Taylor shift by `d` as (term k, term b = k + j, d^j / j!), in the order of k, then of b.
    fn taylor(&self, d: [f64; 3]) -> Vec<(usize, u32, f64)> {
        let mut list = Vec::new();
        for (k, index) in self.indices.iter().enumerate() {
            let fits = self.indices.iter().filter(|j| degree(**j) + degree(*index) <= self.order);
            list.extend(fits.map(|j| (k, self.place[&sum(*index, *j)], power_over_factorial(d, *j))));
        }
        list.sort_unstable_by_key(|(k, b, _)| (*k, *b));
        list
    }

    /// `M'_b += 2^-|k| T_kb(c_parent - c_child) M'_k`.
    pub(super) fn m2m(&self, m: usize, octant: usize) -> Vec<Product<f64>> {
        let all = self.taylor(offset(octant).map(|x| -x)).into_iter().filter(|(k, b, _)| (*k).max(*b as usize) < m);
        let scale = |k: usize| 2f64.powi(-(degree(self.indices[k]) as i32));
        all.map(|(k, b, c)| Product { dst: b, src: k as u32, coefficient: scale(k) * c }).collect()
    }

    /// `L'_k += 2^-(|k|+1) T_kb(c_child - c_parent) L'_b`.
    pub(super) fn l2l(&self, octant: usize) -> Vec<Product<f64>> {
        let scale = |k: usize| 2f64.powi(-(degree(self.indices[k]) as i32) - 1);
        let all = self.taylor(offset(octant)).into_iter();
        all.map(|(k, b, c)| Product { dst: k as u32, src: b, coefficient: scale(k) * c }).collect()
    }
}
