//! How monomials and derivatives of 1/r follow from those of lower orders.

use crate::expansion::basis::{Index, degree, lowered};
use std::collections::HashMap;

/// How a term of a monomial table follows from an earlier one: times the coordinate of `axis`, times `inverse`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) from: u32,
    pub(super) axis: u8,
    pub(super) inverse: f64,
}

/// One derivative of 1/r from earlier ones: `D_n = -(sum a x_i D_{n-e_i} + sum b D_{n-2e_i}) / r^2`.
#[derive(Clone, Debug)]
pub(super) struct Recurrence {
    /// (axis, place of n - e_i, (2|n|-1) n_i / |n|).
    pub(super) once: Vec<(u8, u32, f64)>,
    /// (place of n - 2 e_i, (|n|-1) n_i (n_i-1) / |n|).
    pub(super) twice: Vec<(u32, f64)>,
}

pub(super) fn step(n: Index, place: &HashMap<Index, u32>) -> Step {
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

pub(super) fn recurrence(n: Index, place: &HashMap<Index, u32>) -> Recurrence {
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
