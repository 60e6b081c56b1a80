//! Expansions in coordinates whose third axis is any of the three.
//!
//! Where axes change places, the terms of a degree change by an orthogonal matrix, in blocks between classes of parity.

use super::modes::Packed;
use crate::arith::lanes::Real;
use crate::expansion::solid::harmonics::regular_at;
use crate::expansion::solid::terms::{Term, count, terms};
use std::f64::consts::PI;

/// The terms of one degree and class, and the matrices to and from the coordinates where the third axis is another one.
pub struct Block<T> {
    /// The first term of both sides, in the order of their own.
    pub own: usize,
    pub turned: usize,
    pub to: Packed<T>,
    pub from: Packed<T>,
}

/// All blocks of an axis, and the order of terms that they need: by degree and class.
pub struct Frame<T> {
    pub blocks: Vec<Block<T>>,
}

/// For each term in its usual place the place by degree, then class, then m.
pub fn places(order: usize) -> Vec<u32> {
    let mut by_class: Vec<Term> = terms(order);
    by_class.sort_by_key(|t| (t.n, t.class()));
    let mut places = vec![0; by_class.len()];
    by_class.iter().zip(0..).for_each(|(t, k)| places[t.place()] = k);
    places
}

/// A point's coordinates where the third axis is `axis`, those after it the first and the second.
fn turned(x: [f64; 3], axis: usize) -> [f64; 3] {
    [x[(axis + 1) % 3], x[(axis + 2) % 3], x[axis]]
}

/// Points and weights on an octant of the sphere by which the mean of even functions of a degree up to twice the order is exact.
fn octant(order: usize) -> Vec<([f64; 3], f64)> {
    let (rings, around) = (order + 1 + (order + 1) % 2, (2 * order + 2).next_multiple_of(4));
    let mut all = Vec::new();
    for ring in 0..rings / 2 {
        let (z, weight) = gauss(rings, ring);
        for j in 0..around / 4 {
            let (sin, cos) = (2.0 * PI * (j as f64 + 0.5) / around as f64).sin_cos();
            let rho = (1.0 - z * z).sqrt();
            all.push(([rho * cos, rho * sin, z], weight * 4.0 / around as f64));
        }
    }
    all
}

/// A root of a Legendre polynomial, the largest first, and its weight in the mean over [-1, 1] of both it and its negative.
fn gauss(degree: usize, k: usize) -> (f64, f64) {
    let mut z = (PI * (k as f64 + 0.75) / (degree as f64 + 0.5)).cos();
    let mut slope = 0.0;
    for _ in 0..20 {
        let (mut before, mut value) = (1.0, z);
        for n in 2..=degree {
            (before, value) = (value, ((2 * n - 1) as f64 * z * value - (n - 1) as f64 * before) / n as f64);
        }
        slope = degree as f64 * (z * value - before) / (z * z - 1.0);
        z -= value / slope;
    }
    (z, 2.0 / ((1.0 - z * z) * slope * slope))
}

impl<T: Real> Frame<T> {
    /// For products of matrices in tiles of at most so many rows.
    pub fn new(order: usize, axis: usize, rows: usize) -> Frame<T> {
        let points = octant(order);
        let usual: Vec<Vec<f64>> = points.iter().map(|(x, _)| regular_at(order, *x)).collect();
        let other: Vec<Vec<f64>> = points.iter().map(|(x, _)| regular_at(order, turned(*x, axis))).collect();
        let all = terms(order);
        let places = places(order);
        let mut blocks = Vec::new();
        for n in 0..=order {
            let of = |class: usize| -> Vec<usize> {
                all[n * n..count(n)].iter().filter(|t| t.class() == class).map(|t| t.place()).collect()
            };
            for class in 0..8 {
                let parity = [4, 2, 1].map(|bit| (class & bit != 0) as usize as f64);
                let [x, y, z] = turned(parity, axis).map(|p| p as usize);
                let (own, new) = (of(class), of(x << 2 | y << 1 | z));
                assert_eq!(own.len(), new.len(), "axes change places");
                let Some(first) = own.first() else { continue };
                let entry = |row: usize, column: usize| {
                    let at = usual.iter().zip(&other).zip(&points);
                    let mean: f64 =
                        at.map(|((own_at, new_at), (_, w))| w * own_at[own[column]] * new_at[new[row]]).sum();
                    (2 * n + 1) as f64 * mean
                };
                let matrix: Vec<f64> =
                    (0..own.len() * own.len()).map(|k| entry(k / own.len(), k % own.len())).collect();
                let size = [own.len(); 2];
                blocks.push(Block {
                    own: places[*first] as usize,
                    turned: places[new[0]] as usize,
                    to: Packed::new(size, rows, |row, column| matrix[row * own.len() + column]),
                    from: Packed::new(size, rows, |row, column| matrix[column * own.len() + row]),
                });
            }
        }
        Frame { blocks }
    }
}
