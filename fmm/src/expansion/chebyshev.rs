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
pub mod dense;
mod derivatives;
pub mod images;
pub mod kept;
mod operators;
pub mod points;
mod polynomials;
pub mod softened;
mod tables;

use crate::arith::vector::{Isa, Vectors};
use crate::expansion::basis::{Index, indices_of, terms};
use crate::expansion::shift::Shifts;
use crate::tree::lists::reach;
use coefficients::Series;
use images::Lattice;
use kept::{Kept, Key};
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

    /// Adds the potentials of a charge at targets that are at `d` from it, axis by axis.
    fn add_potentials(&self, d: &[Vec<f64>; 3], charge: f64, to: &mut [f64]) {
        let places: Vec<[f64; 3]> = (0..to.len()).map(|k| [d[0][k], d[1][k], d[2][k]]).collect();
        let mut out = vec![[0.0; 4]; to.len()];
        self.values(&places, &mut out);
        to.iter_mut().zip(&out).for_each(|(to, out)| *to += charge * out[0]);
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

    /// Softened 1/r, where the function is that.
    fn softened(&self) -> Option<&softened::Softened> {
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

/// The tables of one kernel, or of one for each level.
pub struct Chebyshev<T> {
    order: usize,
    isa: Isa,
    /// The exponents of the terms by total degree.
    terms: Vec<Index>,
    shifts: Shifts<T>,
    nested: Nested,
    levels: Vec<OfLevel<T>>,
    near2: u64,
    units: Units,
    /// Tables that outlive the expansion.
    kept: Option<Arc<Kept>>,
}

/// The function that is expanded on a level.
struct OfLevel<T> {
    kernel: Arc<dyn Function>,
    order: Arc<OfOrder>,
    /// M2L.
    table: OnceLock<Arc<Table<T>>>,
    /// The same where there are too many offsets for it.
    pairs: OnceLock<HashMap<[i64; 3], Vec<T>>>,
}

/// The extent of a level's expansion: up to the order of the expansion, or to a lower one, whose terms are the first.
struct OfOrder {
    order: usize,
    /// The way in which coefficients are made.
    series: Series,
    nodes: Nodes,
}

/// The units of lengths in potentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Units {
    Box,
    /// As for harmonics, the cell's edge.
    Cell,
}

/// The coarsest level that M2L goes over.
const COARSEST: u32 = 2;

impl<T: Vectors> Chebyshev<T> {
    /// For an order of at least 1 and cells that are near below `near2`.
    pub fn new(order: usize, near2: u64, kernel: Arc<dyn Function>) -> Chebyshev<T> {
        let levels = (0..=crate::tree::MAX_LEVEL).map(|_| (kernel.clone(), order)).collect();
        Chebyshev::by_level(levels, near2, Units::Box)
    }

    /// For the kernel of each level, and the order that it is expanded up to: where that is 0, it gives nothing.
    pub fn by_level(levels: Vec<(Arc<dyn Function>, usize)>, near2: u64, units: Units) -> Chebyshev<T> {
        let order = levels.iter().map(|(_, order)| *order).max().unwrap_or(0).max(1);
        let terms: Vec<Index> = (0..=order).flat_map(indices_of).collect();
        let isa = Isa::best();
        // A potential in units of a child's edge is half of what it is in its parent's.
        let down = if units == Units::Cell { 0.5 } else { 1.0 };
        let shifts = |octant: usize| {
            let [up, mut to_child] = polynomials::shifts(&terms, order, octant);
            to_child.iter_mut().for_each(|x| *x *= down);
            [up, to_child]
        };
        let mut orders: HashMap<usize, Arc<OfOrder>> = HashMap::new();
        let mut of_level = |(kernel, order): (Arc<dyn Function>, usize)| OfLevel {
            kernel,
            order: orders.entry(order).or_insert_with(|| Arc::new(OfOrder::new(order))).clone(),
            table: OnceLock::new(),
            pairs: OnceLock::new(),
        };
        Chebyshev {
            shifts: Shifts::new(isa, terms.len(), shifts),
            nested: Nested::new(&terms, order),
            levels: levels.into_iter().map(&mut of_level).collect(),
            terms,
            isa,
            order,
            near2,
            units,
            kept: None,
        }
    }

    /// With tables that other expansions of the same kernels made, and for them.
    pub fn sharing(self, kept: Arc<Kept>) -> Chebyshev<T> {
        Chebyshev { kept: Some(kept), ..self }
    }

    fn level(&self, level: u32) -> &OfLevel<T> {
        &self.levels[level as usize]
    }

    fn kernel(&self, level: u32) -> &dyn Function {
        &*self.level(level).kernel
    }

    /// A potential of 1 in the expansion's units, in boxes.
    fn unit(&self, level: u32) -> f64 {
        if self.units == Units::Cell { 2f64.powi(level as i32) } else { 1.0 }
    }

    /// The level whose tables serve a level, and the factor of potentials from these. On that level all offsets of M2L lie within the
    /// box: a kernel's coordinates do not reach farther.
    fn scaled(&self, level: u32) -> (u32, f64) {
        let all = (2 * reach(self.near2) as u32 + 2).next_power_of_two().ilog2();
        match self.kernel(level).halving() {
            Some(factor) => (all, factor.powi(level as i32 - all as i32)),
            None => (level, 1.0),
        }
    }

    fn between(&self, level: u32) -> Between<'_> {
        let of = self.level(level);
        Between {
            kernel: &*of.kernel,
            series: &of.order.series,
            level,
            near2: self.near2,
            is_beside: self.units == Units::Cell,
        }
    }

    /// The tables of a level, and the factor of potentials from these.
    fn table(&self, level: u32) -> (&Table<T>, T) {
        let (own, factor) = self.scaled(level);
        let new = || Table::new(&self.between(own), self.isa);
        let key = Key { level: own, order: self.level(own).order.order, near2: self.near2 };
        let table = self.level(own).table.get_or_init(|| match &self.kept {
            Some(kept) => kept.get(key, new),
            None => Arc::new(new()),
        });
        (table, T::of(factor / self.unit(level)))
    }

    /// Matrices of a level for all offsets.
    fn pairs(&self, level: u32) -> &HashMap<[i64; 3], Vec<T>> {
        self.level(level).pairs.get_or_init(|| self.between(level).all())
    }
}

impl OfOrder {
    fn new(order: usize) -> OfOrder {
        let terms = (0..=order).flat_map(indices_of).collect();
        OfOrder { order, series: Series::new(order, terms), nodes: Nodes::new(order + 2, order) }
    }
}

impl<T> Chebyshev<T> {
    fn terms(&self) -> &[Index] {
        &self.terms
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
