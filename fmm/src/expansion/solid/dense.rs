//! The operators of an order as plain tables, for a machine that has its own loops: a GPU.

use super::harmonics::Harmonics;
use super::matrices::{self, ShiftsOfOctants, Translation};
use super::orders::Orders;
use super::terms::{count, terms};
use crate::parallel::prelude::*;
use crate::tree::lists::{is_listed, is_near, reach};

/// M2L at one offset.
pub struct Offset {
    /// The target's centre from the source's, in cells.
    pub at: [i64; 3],
    /// The order there, and the leading rows and columns that are not 0.
    pub order: usize,
    pub terms: usize,
    /// Row after row of targets' terms, all of them.
    pub matrix: Vec<f64>,
    /// Instead of it, the derivatives of 1/r that its entries are made of, see [`Translation`].
    pub derivatives: Vec<f64>,
}

/// All tables. Matrices are the same on every level, since lengths are in units of cells.
pub struct Dense {
    pub order: usize,
    /// Cells at a squared offset below this are near.
    pub near2: u64,
    /// The weight of each term.
    pub weights: Vec<f64>,
    /// The factors of the recurrences of regular harmonics, see [`Harmonics`].
    pub sectors: Vec<f64>,
    pub steps: Vec<[f64; 2]>,
    /// M2M and L2L for each octant: column after column.
    pub up: Vec<Vec<f64>>,
    pub down: Vec<Vec<f64>>,
    /// For each axis and harmonic of a gradient the terms of the potential that it is made of, with factors.
    pub slopes: [Vec<Vec<(usize, f64)>>; 3],
    pub offsets: Vec<Offset>,
    /// For the targets of each octant: the offset in `offsets`.
    pub lists: [Vec<usize>; 8],
}

impl Dense {
    /// For an order and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64) -> Dense {
        Dense::mixed(order, near2, None)
    }

    /// The same with the order below for M2L at far offsets, see [`Orders::lower_beyond`].
    pub fn mixed(order: usize, near2: u64, lower_beyond: Option<f64>) -> Dense {
        Dense::of(order, near2, lower_beyond, true)
    }

    /// The same without the matrices of M2L, for a machine that makes them from their derivatives.
    pub fn of_derivatives(order: usize, near2: u64, lower_beyond: Option<f64>) -> Dense {
        Dense::of(order, near2, lower_beyond, false)
    }

    fn of(order: usize, near2: u64, lower_beyond: Option<f64>, has_matrices: bool) -> Dense {
        let (weights, size) = (matrices::weights(2 * order), count(order));
        let harmonics = Harmonics::<f64>::new(order);
        let (sectors, steps) = harmonics.factors();
        let mut slopes = [0; 3].map(|_| vec![Vec::new(); size]);
        for (to, products) in slopes.iter_mut().zip(matrices::local_slopes(order, &weights)) {
            products.iter().for_each(|p| to[p.dst as usize].push((p.src as usize, p.coefficient)));
        }
        let octants = ShiftsOfOctants::new(order, &weights);
        let shifts = |octant| octants.of(octant).map(|matrix| by_columns(matrix, size));
        let (up, down) = (0..8).map(shifts).map(|[up, down]| (up, down)).unzip();
        let orders = Orders::new(order, near2).lower_beyond(lower_beyond);
        let offsets = offsets((order, near2), orders, &weights, has_matrices);
        Dense {
            order,
            near2,
            weights: weights[..size].to_vec(),
            sectors: sectors.to_vec(),
            steps: steps.to_vec(),
            up,
            down,
            slopes,
            lists: lists(&places(near2), near2),
            offsets,
        }
    }
}

/// A square matrix column after column, from one row after row.
pub fn by_columns(rows: Vec<f64>, size: usize) -> Vec<f64> {
    (0..size * size).map(|k| rows[k % size * size + k / size]).collect()
}

fn offsets((order, near2): (usize, u64), orders: Orders, weights: &[f64], has_matrices: bool) -> Vec<Offset> {
    let all = terms(order);
    let one = |at: [i64; 3]| {
        let needed = orders.at(at);
        let place = at.map(|x| x as f64);
        if !has_matrices {
            let derivatives = Translation::new(order, place, weights).into_derivatives();
            return Offset { at, order: needed, terms: count(needed), matrix: Vec::new(), derivatives };
        }
        let translation = Translation::new(needed, place, weights);
        let entry = |a: usize, b: usize| {
            let (a, b) = (all[a], all[b]);
            if a.n.max(b.n) <= needed { translation.entry(a, b, weights) } else { 0.0 }
        };
        let matrix = (0..all.len()).flat_map(|a| (0..all.len()).map(move |b| (a, b))).map(|(a, b)| entry(a, b));
        Offset { at, order: needed, terms: count(needed), matrix: matrix.collect(), derivatives: Vec::new() }
    };
    places(near2).into_par_iter().map(one).collect()
}

/// All offsets of M2L.
pub(in crate::expansion) fn places(near2: u64) -> Vec<[i64; 3]> {
    let most = 2 * reach(near2) + 1;
    let axis = || -most..=most;
    let all = axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| [x, y, z])));
    all.filter(|at| is_listed(*at, near2)).collect()
}

/// For the targets of each octant the offsets in its list.
pub(in crate::expansion) fn lists(places: &[[i64; 3]], near2: u64) -> [Vec<usize>; 8] {
    std::array::from_fn(|octant| (0..places.len()).filter(|k| is_seen(places[*k], octant, near2)).collect())
}

/// Whether a target in an octant has a source at this offset in its list: their parents are near.
fn is_seen(at: [i64; 3], octant: usize, near2: u64) -> bool {
    let bits = [4, 2, 1].map(|bit| (octant & bit != 0) as i64);
    is_near(std::array::from_fn(|a| (bits[a] - at[a]).div_euclid(2)), near2)
}
