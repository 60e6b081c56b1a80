//! Expansions of the far field: what the FMM asks of one, and the kinds there are.
//!
//! Lengths are in units of the edge h of the cell that an expansion belongs to. For 1/r one set of tables then serves all levels:
//! a potential in these units is h times that in box units. Other kernels are given the level. Every operator works on slices. What the
//! tree has to do with it (which cell meets which) stays with the caller, apart from M2L, which an expansion orders as it computes best.

pub mod basis;
pub mod chebyshev;
pub mod lattice;
mod mirrored;
mod shift;
pub mod softened;
pub mod solid;
pub mod sparse;
pub mod taylor;

use crate::arith::lanes::Real;
use crate::arith::vector::Vectors;
use crate::parallel::prelude::*;
use crate::tree::lists::{Lists, is_near};
use crate::tree::{Cell, Tree};
use basis::Basis;
use chebyshev::Function;
use solid::m2l::M2lBy;
use std::sync::Arc;

/// Coordinates of points relative to a cell's centre, in units of its edge.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a, T> {
    pub x: [&'a [T]; 3],
}

/// Potential and gradient at a point, in units of a cell.
pub type Values<T> = [T; 4];

/// The second derivatives xx, xy, xz, yy, yz and zz at a point, in units of a cell.
pub type SecondDerivatives<T> = [T; 6];

/// The axes of the second derivatives.
pub const PAIRS: [[usize; 2]; 6] = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]];

/// The cells between which M2L goes.
#[derive(Clone, Copy)]
pub struct Far<'a> {
    pub tree: &'a Tree,
    pub lists: &'a Lists,
    /// Two cells of one level at integer offset d are far when d.d is at least this.
    pub near2: u64,
}

impl Far<'_> {
    /// M2L for one cell, pair by pair.
    pub fn m2l_cell<T: Real>(&self, e: &dyn Expansion<T>, m: &[T], target: usize, l: &mut [T]) {
        let (tree, terms) = (self.tree, e.multipole_terms());
        let cell = &tree.cells[target];
        if cell.targets == 0 {
            return;
        }
        for s in &self.lists.v[cell.parent as usize] {
            let first = tree.first_acting_child(*s);
            for source in first..first + tree.acting()[*s as usize].children {
                let Cell { at, count, .. } = tree.acting()[source as usize];
                let offset: [i64; 3] = std::array::from_fn(|a| cell.at[a] as i64 - at[a] as i64);
                if count > 0 && !is_near(offset, self.near2) {
                    let original = tree.original(source);
                    e.m2l_pair(cell.level, offset, &m[original * terms..(original + 1) * terms], l);
                }
            }
        }
    }
}

/// The operators of an expansion in the arithmetic of `T`.
///
/// Each adds to its target. `scratch` is memory that keeps no values from one call to the next.
pub trait Expansion<T: Real>: Send + Sync {
    /// Terms of a multipole expansion.
    fn multipole_terms(&self) -> usize;

    /// Terms of a local expansion.
    fn local_terms(&self) -> usize;

    /// The factors from units of a cell of `level` to box units, of a potential and of a gradient.
    fn units(&self, level: u32) -> [f64; 2] {
        let scale = 2f64.powi(level as i32);
        [scale, scale * scale]
    }

    /// P2M: the multipole expansion of charges at `points`.
    fn p2m(&self, points: Points<T>, charges: &[T], m: &mut [T], scratch: &mut Vec<T>);

    /// M2M: from the child in `octant` to its parent.
    fn m2m(&self, octant: usize, child: &[T], parent: &mut [T]);

    /// M2M for all cells, from the deepest level up: `m` has one expansion a cell, and those of the leaves are there.
    fn m2m_all(&self, tree: &Tree, m: &mut [T]) {
        let terms = self.multipole_terms();
        for level in tree.levels.iter().rev() {
            let (upper, lower) = m.split_at_mut(level.end * terms);
            let own = &mut upper[level.start * terms..];
            own.par_chunks_exact_mut(terms).zip(&tree.cells[level.clone()]).for_each(|(m, cell)| {
                for child in cell.child_range() {
                    let at = (child - level.end) * terms;
                    self.m2m(tree.cells[child].octant(), &lower[at..at + terms], m);
                }
            });
        }
    }

    /// M2L between two cells of `level`, the target's centre at `offset` from the source's: what [`Expansion::m2l`] does for
    /// every pair.
    fn m2l_pair(&self, level: u32, offset: [i64; 3], m: &[T], l: &mut [T]);

    /// M2L for all cells: `m` and `l` have one expansion a cell, in the order of the tree.
    fn m2l(&self, far: Far, m: &[T], l: &mut [T]);

    /// P2L: the local expansion of a cell of `level` from charges at far `points`. A point at the centre itself gives nothing.
    fn p2l(&self, level: u32, points: Points<T>, charges: &[T], l: &mut [T], scratch: &mut Vec<T>);

    /// L2L: from a parent to its child in `octant`.
    fn l2l(&self, octant: usize, parent: &[T], child: &mut [T]);

    /// L2L for all cells, from the root down: `l` has one expansion a cell.
    fn l2l_all(&self, tree: &Tree, l: &mut [T]) {
        let terms = self.local_terms();
        for level in tree.levels.iter().skip(1) {
            let (upper, lower) = l.split_at_mut(level.start * terms);
            let own = &mut lower[..level.len() * terms];
            own.par_chunks_exact_mut(terms).zip(&tree.cells[level.clone()]).for_each(|(l, cell)| {
                let at = cell.parent as usize * terms;
                self.l2l(cell.octant(), &upper[at..at + terms], l);
            });
        }
    }

    /// L2P: a local expansion at `points`.
    fn l2p(&self, l: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>);

    /// M2P: the multipole expansion of a cell of `level` at far `points`.
    fn m2p(&self, level: u32, m: &[T], points: Points<T>, out: &mut [Values<T>], scratch: &mut Vec<T>);

    /// The operators of dipoles and second derivatives, where the expansion has them.
    fn derivatives(&self) -> Option<&dyn Derivatives<T>> {
        None
    }
}

/// Operators of dipoles and second derivatives. Moments are in units of charge times the cell's edge.
pub trait Derivatives<T: Real>: Send + Sync {
    /// P2M of dipoles.
    fn p2m_dipoles(&self, points: Points<T>, dipoles: [&[T]; 3], m: &mut [T], scratch: &mut Vec<T>);

    /// P2L of dipoles. A point at the centre itself gives nothing.
    fn p2l_dipoles(&self, level: u32, points: Points<T>, dipoles: [&[T]; 3], l: &mut [T], scratch: &mut Vec<T>);

    /// L2P of second derivatives.
    fn l2p_hessian(&self, l: &[T], points: Points<T>, out: &mut [SecondDerivatives<T>], scratch: &mut Vec<T>);

    /// M2P of second derivatives.
    fn m2p_hessian(
        &self,
        level: u32,
        m: &[T],
        points: Points<T>,
        out: &mut [SecondDerivatives<T>],
        scratch: &mut Vec<T>,
    );
}

/// M2L of solid harmonics.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Translated {
    /// The order below at far offsets, see [`FmmOptions::lower_beyond`](crate::octree::FmmOptions::lower_beyond).
    pub lower_beyond: Option<f64>,
    pub m2l_by: M2lBy,
}

/// The operators of a basis and order: for 1/r, or a black-box expansion of a kernel.
pub fn operators<T: Vectors>(
    basis: Basis,
    order: usize,
    far: Translated,
    near2: u64,
    kernel: Option<&Arc<dyn Function>>,
) -> Box<dyn Expansion<T>> {
    let softened = kernel.and_then(|kernel| kernel.softened());
    match (basis, kernel) {
        (_, Some(_)) if softened.is_some() => {
            let kernel = softened.expect("it is softened 1/r");
            Box::new(softened::Softened::<T>::new(order, far, near2, kernel))
        }
        (_, Some(kernel)) => Box::new(chebyshev::Chebyshev::<T>::new(order, near2, kernel.clone())),
        (Basis::Solid, None) => {
            let solid = solid::Solid::<T>::new(order, near2);
            Box::new(solid.lower_beyond(far.lower_beyond).m2l_by(far.m2l_by))
        }
        (_, None) => Box::new(taylor::Operators::<T>::new(order, near2)),
    }
}

/// About how many direct pairs one evaluation of a multipole expansion at a point costs: measured on AVX-512 for the Cartesian
/// expansion, and for the others by their operations.
pub fn pairs_of_a_point(basis: Basis, order: usize) -> usize {
    match basis {
        Basis::Cartesian => 8 + 3 * basis::terms(order) / 10,
        Basis::Solid => 8 + 4 * solid::terms_at_a_point(order) / 10,
        // The change by softening, at all nodes of an order that many levels have.
        Basis::Softened => 8 + 4 * solid::terms_at_a_point(order) / 10 + (order / 2 + 2).pow(3),
        // The kernel's real-arithmetic values at all nodes.
        Basis::Chebyshev => 8 * (order + 2).pow(3),
    }
}
