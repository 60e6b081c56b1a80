//! The black-box expansion: Chebyshev polynomials in place of harmonics, for any kernel that is smooth away from 0 (Fong and
//! Darve, J. Comput. Phys. 228, 2009).
//!
//! For x in a cell and y in a far cell, each in units of half the cell's edge from its centre,
//! `K(x, y) = sum of K_ab T_a(x) T_b(y)` with products T_a of Chebyshev polynomials along the axes. So
//! `M_b = sum of q T_b(y)`, `L_a = sum of K_ab M_b` and `phi(x) = sum of L_a T_a(x)`. Instead of all products up to order P
//! along each axis only those of total degree up to P are kept, (P+1)(P+2)(P+3)/6 of (P+1)^3: since K is analytic, what is left
//! out is as small as what the highest degree kept gives. That takes the place of the singular value decomposition that Fong
//! and Darve compress with, and lower orders stay the heads of higher ones.
//!
//! The coefficients K_ab come from values of K at Chebyshev nodes. Only these depend on the kernel, and on the level where it
//! is not homogeneous.

mod operators;
mod polynomials;
mod tables;

use crate::arith::lanes::Real;
use crate::expansion::basis::{Index, indices_of, terms};
use crate::expansion::sparse::{Product, rounded};
use crate::tree::lists::reach;
use polynomials::Nodes;
use std::sync::{Arc, OnceLock};
use tables::Table;

/// A pairwise function that depends on the difference of positions alone.
pub trait Function: Send + Sync {
    /// The potential of a unit charge, and its gradient, at targets at `d` from the charge, in boxes. Where the function gives no
    /// gradient, those are 0.
    fn values(&self, d: &[[f64; 3]], out: &mut [[f64; 4]]);

    /// Whether the potential stays the same when axes are mirrored or exchanged, so that one table serves up to 48 offsets.
    fn is_symmetric(&self) -> bool {
        false
    }

    /// The gradient of the function's results in units of the potential's gradient, such as -1 for a force.
    fn slope(&self) -> f64 {
        1.0
    }
}

/// The tables of one order and kernel.
pub struct Chebyshev<T> {
    kernel: Arc<dyn Function>,
    /// Exponents of the terms, by total degree.
    terms: Vec<Index>,
    order: usize,
    nodes: Nodes,
    /// L2L to the child in each octant, and the other way round M2M.
    shifts: [Vec<Product<f64>>; 8],
    /// The derivatives of a series along each axis.
    slopes: [Vec<Product<T>>; 3],
    /// M2L by level.
    levels: Vec<OnceLock<Table<T>>>,
    near2: u64,
}

impl<T: Real> Chebyshev<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64, kernel: Arc<dyn Function>) -> Chebyshev<T> {
        let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        Chebyshev {
            nodes: Nodes::new(order + 2, order),
            shifts: std::array::from_fn(|octant| polynomials::shifts(&terms, order, octant)),
            slopes: std::array::from_fn(|axis| rounded(&polynomials::slopes(&terms, axis))),
            levels: (0..=crate::tree::MAX_LEVEL).map(|_| OnceLock::new()).collect(),
            kernel,
            terms,
            order,
            near2,
        }
    }

    fn build_table(&self, level: u32) {
        let build = || Table::new(&*self.kernel, &self.nodes, &self.terms, level, self.near2);
        self.levels[level as usize].get_or_init(build);
    }
}

/// About how many bytes the matrices of a level take.
pub fn table_bytes(order: usize, near2: u64) -> f64 {
    let edge = 4.0 * reach(near2) as f64 + 3.0;
    8.0 * edge.powi(3) * (terms(order) as f64).powi(2)
}

/// How far the expansion of an order is from the kernel between two cells of `level` at the nearest offset: the largest
/// difference of potentials among some points in both, relative to the largest potential.
pub fn misfit(order: usize, near2: u64, kernel: &Arc<dyn Function>, level: u32) -> f64 {
    operators::misfit(&Chebyshev::<f64>::new(order, near2, kernel.clone()), level)
}
