//! The black-box expansion: Chebyshev polynomials in place of harmonics, for any kernel that is smooth away from 0 (Fong and
//! Darve, J. Comput. Phys. 228, 2009).
//!
//! For x in a cell and y in a far cell, each in units of half the cell's edge from its centre,
//! `K(x, y) = sum of K_ab T_a(x) T_b(y)` with products T_a of Chebyshev polynomials along the axes. So
//! `M_b = sum of q T_b(y)`, `L_a = sum of K_ab M_b` and `phi(x) = sum of L_a T_a(x)`. Instead of all products up to order P
//! along each axis only those of total degree up to P are kept, (P+1)(P+2)(P+3)/6 of (P+1)^3: since K is analytic, what is left
//! out is as small as what the highest degree kept gives.
//!
//! The coefficients K_ab come from values of K at Chebyshev nodes (`coefficients`). Only these depend on the kernel, and on the
//! level where it is not homogeneous. For M2L alone, terms are replaced by the combinations that matter, the singular vectors
//! of all K_ab together (`compress`), as Fong and Darve do. They keep the parity of the terms, so that M2L takes mirrored offsets together
//! ([`super::mirrored`]) where the kernel is symmetric.

mod coefficients;
mod compress;
mod derivatives;
pub mod images;
mod operators;
mod points;
mod polynomials;
pub mod softened;
mod tables;

use crate::arith::vector::{Isa, Vectors};
use crate::expansion::basis::{Index, indices_of, terms};
use crate::expansion::shift::Shifts;
use crate::tree::lists::reach;
use coefficients::Series;
use images::Lattice;
use points::Nested;
use polynomials::Nodes;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tables::{Between, Table};

/// The symmetries of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    None,
    /// Mirroring each axis.
    Mirrored,
    /// Mirroring and exchanging axes.
    Full,
}

/// A pairwise function that depends on the difference of positions alone.
pub trait Function: Send + Sync {
    /// The potential of a unit charge, and its gradient, at targets at `d` from the charge, in boxes. Where the function gives no
    /// gradient, those are 0.
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]);

    /// The potential and gradient of several charges at a target at `d` from them, axis by axis.
    fn sum(&self, d: &[Vec<f64>; 3], charges: &[f64]) -> [f64; 4] {
        sum_of_values(|d, out| self.values(d, out), d, charges)
    }

    /// The symmetry of the potential.
    fn symmetry(&self) -> Symmetry {
        Symmetry::None
    }

    /// The factor of the potential at half of any distance, where it is one for all.
    fn halving(&self) -> Option<f64> {
        None
    }

    /// Second derivatives of the potential of a unit charge at targets at `d` from it, in boxes, where the function has them. Its dipoles
    /// are known then too.
    fn seconds(&self, _d: &[[f64; 3]]) -> Option<Vec<[f64; 6]>> {
        None
    }

    /// The gradient of the function's results in units of the potential's gradient, such as -1 for a force.
    fn slope(&self) -> f64 {
        1.0
    }
}

/// [`Function::sum`] from values for charges of 1.
pub fn sum_of_values(values: impl Fn(&[[f64; 3]], &mut [[f64; 4]]), d: &[Vec<f64>; 3], charges: &[f64]) -> [f64; 4] {
    let places: Vec<[f64; 3]> = (0..charges.len()).map(|k| [d[0][k], d[1][k], d[2][k]]).collect();
    let mut out = vec![[0.0; 4]; places.len()];
    values(&places, &mut out);
    std::array::from_fn(|a| out.iter().zip(charges).map(|(out, q)| q * out[a]).sum())
}

/// The tables of one order and kernel.
pub struct Chebyshev<T> {
    kernel: Arc<dyn Function>,
    order: usize,
    isa: Isa,
    /// How coefficients are made, with the exponents of the terms by total degree.
    series: Series,
    nodes: Nodes,
    shifts: Shifts<T>,
    nested: Nested,
    /// M2L by level.
    levels: Vec<OnceLock<Table<T>>>,
    /// The same where there are too many offsets for these.
    pairs: Vec<OnceLock<HashMap<[i64; 3], Vec<T>>>>,
    near2: u64,
}

/// The coarsest level that M2L goes over.
const COARSEST: u32 = 2;

impl<T: Vectors> Chebyshev<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64, kernel: Arc<dyn Function>) -> Chebyshev<T> {
        let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        let isa = Isa::best();
        let levels = 0..=crate::tree::MAX_LEVEL;
        Chebyshev {
            nodes: Nodes::new(order + 2, order),
            shifts: Shifts::new(isa, terms.len(), |octant| polynomials::shifts(&terms, order, octant)),
            nested: Nested::new(&terms, order),
            levels: levels.clone().map(|_| OnceLock::new()).collect(),
            pairs: levels.map(|_| OnceLock::new()).collect(),
            series: Series::new(order, terms),
            isa,
            kernel,
            order,
            near2,
        }
    }

    /// The level whose tables serve a level, and the factor of potentials from these. On that level all offsets of M2L lie within the
    /// box: a kernel's coordinates do not reach farther.
    fn scaled(&self, level: u32) -> (u32, f64) {
        let all = (2 * reach(self.near2) as u32 + 2).next_power_of_two().ilog2();
        match self.kernel.halving() {
            Some(factor) => (all, factor.powi(level as i32 - all as i32)),
            None => (level, 1.0),
        }
    }

    fn between(&self, level: u32) -> Between<'_> {
        Between { kernel: &*self.kernel, series: &self.series, level, near2: self.near2 }
    }

    /// The tables of a level, and the factor of potentials from these.
    fn table(&self, level: u32) -> (&Table<T>, T) {
        let (level, factor) = self.scaled(level);
        (self.levels[level as usize].get_or_init(|| Table::new(&self.between(level), self.isa)), T::of(factor))
    }

    /// Matrices of a level for all offsets.
    fn pairs(&self, level: u32) -> &HashMap<[i64; 3], Vec<T>> {
        self.pairs[level as usize].get_or_init(|| self.between(level).all())
    }
}

impl<T> Chebyshev<T> {
    fn terms(&self) -> &[Index] {
        &self.series.terms
    }
}

/// About how many bytes the matrices of a level take.
pub fn table_bytes(order: usize, near2: u64) -> f64 {
    let edge = 4.0 * reach(near2) as f64 + 3.0;
    8.0 * edge.powi(3) * (terms(order) as f64).powi(2)
}

/// Whether f32 holds what a kernel gives between far cells on all levels of a tree, and what follows from it.
pub fn suits_f32(kernel: &dyn Function, levels: usize, lattice: Option<Lattice>) -> bool {
    // What so many images give together may cancel.
    if lattice.is_some_and(|lattice| lattice.extent(kernel).is_none_or(|extent| extent.weight > MOST_F32)) {
        return false;
    }
    // Far images act in f64.
    let coarsest = if lattice.is_some() { COARSEST - 1 } else { COARSEST };
    (coarsest..levels as u32).all(|level| {
        let edge = 2f64.powi(-(level as i32));
        let places = [[2.0, 0.5, 0.25], [-0.5, 2.0, 0.5], [0.25, -0.5, -2.0]].map(|d| d.map(|x| x * edge));
        let mut out = [[0.0; 4]; 3];
        kernel.values(&places, &mut out);
        let largest = out.iter().fold(0.0, |a: f64, o| a.max(o[0].abs()));
        largest == 0.0 || RANGE_F32.contains(&largest)
    })
}

/// Sums over many charges and products with factors of both signs stay in the range of f32.
const RANGE_F32: std::ops::Range<f64> = 1e-20..1e20;

/// The greatest weight of far images for f32.
const MOST_F32: f64 = 100.0;

/// How far an expansion is from its kernel between two cells at the nearest offsets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Misfit {
    /// The largest difference of potentials among some points in both.
    pub off: f64,
    /// The same between cells as far apart as the largest ones of a box can be, which no larger cells see; else 0.
    pub farthest: f64,
    /// The largest potential.
    pub largest: f64,
}

/// How far the expansion of an order is from the kernel between two cells of an edge, in boxes.
pub fn misfit(order: usize, near2: u64, kernel: &Arc<dyn Function>, edge: f64) -> Misfit {
    operators::misfit(&Chebyshev::<f64>::new(order, near2, kernel.clone()), edge)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// r^-n exp(-k r) times a factor.
    struct Power {
        n: i32,
        k: f64,
        factor: f64,
    }

    impl Function for Power {
        fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]) {
            for (d, out) in d.iter().zip(out) {
                let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
                *out = [self.factor * (-self.k * r).exp() * r.powi(-self.n), 0.0, 0.0, 0.0];
            }
        }

        fn symmetry(&self) -> Symmetry {
            Symmetry::Full
        }
    }

    #[test]
    fn kernels_beyond_the_range_of_f32_are_known() {
        let suits = |n, factor, levels| suits_f32(&Power { n, k: 0.0, factor }, levels, None);
        assert!(suits(1, 1.0, 20) && suits(12, 1.0, 5) && suits(6, 1e-9, 3));
        assert!(!suits(12, 1.0, 20) && !suits(1, 1e-30, 3) && !suits(1, 1e30, 3));
    }
}
