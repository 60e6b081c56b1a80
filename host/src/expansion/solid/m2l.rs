//! M2L by products of dense matrices, with offsets that mirror each other taken together.
//!
//! Mirroring at a coordinate plane keeps a harmonic or changes its sign, so that the terms fall into eight classes by
//! parity in x, y and z, and the matrix of an offset into blocks `T[A, B]` between classes. The matrix of a mirrored offset
//! has the same blocks with other signs: for the eight offsets (±x, ±y, ±z),
//! `L_A += sum over B of T[A, B] (sum over the mirrorings s of sign(A, s) sign(B, s) M_B(s))`.
//! So eight products of matrices become one, after a Walsh-Hadamard transform of the eight sources (`combine`). Where a
//! coordinate of the offset is 0, blocks between unlike classes vanish, which halves the work as well. In the list of 189
//! cells 39.5 products are left of 189.
//!
//! Far offsets need a lower order than near ones (`orders`); they use the leading rows and columns of each class. Of the
//! 189 (P+1)^4 products of full matrices for a cell, mirroring and lower orders leave a sixth at P = 6, a twelfth at P = 14.
//! Rotating each offset to the z axis, with the same lower orders, would take 2.2 times as many as are left at P = 6, 1.3 at
//! 12, 0.8 at 20 and 0.55 at 30, in smaller matrices.
//!
//! The lanes of vectors are target cells: the same child of up to two vectors of parents of one level, in the order of the
//! tree. Their sources are gathered into lanes once for each offset of two parents (`gather`). What a lane computes does
//! not depend on the others, nor on how parents are grouped.

mod combine;
mod gather;
mod pairwise;
mod product;
mod tables;

use super::orders::Orders;
use super::terms::{count, terms};
use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, Vectors, vectorised};
use crate::tree::Cell;
use crate::tree::lists::reach;
use gather::{Sources, Targets};
use pairwise::Pairwise;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Mutex;
use tables::{Layout, Orbit, Tables};

/// Offsets of parents along an axis up to which there are tables: an angle of 1/8.
const FARTHEST: i64 = 7;

/// Tables of the M2L of an order and an opening angle.
pub struct M2l<T> {
    isa: Isa,
    layout: Layout,
    tables: Tables<T>,
    /// Set where there are too many offsets for tables.
    pairwise: Option<Pairwise>,
}

/// The parents that one task works on, and the local expansions of all their children.
struct Block<'a, T> {
    parents: Range<usize>,
    l: &'a mut [T],
}

/// What the tasks share.
struct Stage<'a, T> {
    m2l: &'a M2l<T>,
    cells: &'a [Cell],
    m: &'a [T],
}

/// Room for one block, used again for the next.
#[derive(Default)]
struct Room<T> {
    sources: Sources<T>,
    targets: Targets<T>,
    /// The combined sources of an orbit.
    combined: Vec<T>,
    /// A matrix that is not kept.
    matrix: Vec<T>,
}

impl<T: Vectors> M2l<T> {
    /// For cells that are near below `near2`.
    pub fn new(order: usize, near2: u64, isa: Isa, weights: &[f64]) -> M2l<T> {
        M2l::with_orders(order, near2, isa, weights, Orders::new(order, near2))
    }

    /// With other orders than those that offsets need.
    pub fn with_orders(order: usize, near2: u64, isa: Isa, weights: &[f64], orders: Orders) -> M2l<T> {
        let layout = Layout::new(order);
        let tables = Tables::new(&layout, near2, isa.rows::<T>(), weights, &orders);
        let pairwise = (reach(near2) > FARTHEST).then(|| Pairwise { orders, weights: weights.to_vec(), near2 });
        M2l { isa, layout, tables, pairwise }
    }

    /// Adds to the local expansions `l` of all cells what the multipoles `m` give. `list` has for each split cell the split
    /// cells of its level whose children it takes, near ones included.
    pub fn run<'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        m: &[T],
        l: &mut [T],
    ) {
        if let Some(pairwise) = &self.pairwise {
            return pairwise.run(cells, self.layout.size, list, m, l);
        }
        let rooms: Mutex<Vec<Room<T>>> = Mutex::new(Vec::new());
        let stage = Stage { m2l: self, cells, m };
        let blocks = self.blocks(cells, levels, list, l);
        blocks.into_par_iter().for_each(|mut block| {
            let room = rooms.lock().expect("no task panics with it").pop();
            let mut room = room.unwrap_or_default();
            room.sources.list(&self.tables, cells, &block.parents, list);
            work::<T>(self.isa, &stage, &mut block, &mut room);
            rooms.lock().expect("no task panics with it").push(room);
        });
    }

    /// Runs of parents of one level, with their children's local expansions.
    fn blocks<'l, 'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        l: &'l mut [T],
    ) -> Vec<Block<'l, T>> {
        let size = self.layout.size;
        // The root is nobody's child; all other cells stand in the order of their parents.
        let mut rest = l.split_at_mut(size.min(l.len())).1;
        let mut blocks = Vec::new();
        let together = 2 * self.isa.lanes::<T>();
        for level in levels {
            let mut first = level.start;
            while first < level.end {
                let mut end = first;
                let (mut split, mut children) = (0, 0);
                while end < level.end && split < together {
                    split += !cells[end].is_leaf() as usize;
                    children += cells[end].children as usize;
                    end += 1;
                }
                let (l, after) = rest.split_at_mut(children * size);
                rest = after;
                if (first..end).any(|p| !list(p).is_empty()) {
                    blocks.push(Block { parents: first..end, l });
                }
                first = end;
            }
        }
        blocks
    }
}

vectorised! {
    fn work<T>(stage: &Stage<T>, block: &mut Block<T>, room: &mut Room<T>) = work_in
}

#[inline(always)]
unsafe fn work_in<V: Vector>(stage: &Stage<V::Item>, block: &mut Block<V::Item>, room: &mut Room<V::Item>) {
    // SAFETY: as for the caller.
    unsafe {
        if room.sources.parents.len() <= V::LANES {
            work_wide::<V, 1>(stage, block, room);
        } else {
            work_wide::<V, 2>(stage, block, room);
        }
    }
}

/// One block, in lanes of `W` vectors.
#[inline(always)]
unsafe fn work_wide<V: Vector, const W: usize>(
    stage: &Stage<V::Item>,
    block: &mut Block<V::Item>,
    room: &mut Room<V::Item>,
) {
    let Stage { m2l, cells, m } = *stage;
    let Room { sources, targets, combined, matrix } = room;
    let (layout, tables) = (&m2l.layout, &m2l.tables);
    // SAFETY: as for the caller.
    unsafe {
        sources.start(layout, W * V::LANES);
        targets.start(layout, W * V::LANES, cells, &sources.parents);
        for orbit in &tables.orbits {
            let factors = tables.matrix(layout, orbit, matrix);
            sources.make_room();
            let has = targets.has;
            for octant in (0..8).filter(|o| has[*o]) {
                for source in &orbit.mirrored[octant] {
                    sources.gather::<V, W>(layout, cells, m, source.parent);
                }
                if !combine::combine::<V, W>(layout, orbit, octant, sources, combined) {
                    continue;
                }
                multiply::<V, W>(layout, orbit, octant, factors, combined, targets.of(layout, octant));
            }
        }
        targets.add_to(layout, cells, &sources.parents, block.l);
    }
}

/// The products of an orbit for one octant of targets.
#[inline(always)]
unsafe fn multiply<V: Vector, const W: usize>(
    layout: &Layout,
    orbit: &Orbit<V::Item>,
    octant: usize,
    factors: &[V::Item],
    combined: &[V::Item],
    sums: &mut [V::Item],
) {
    let lanes = W * V::LANES;
    for class in 0..8 {
        let columns = orbit.columns(layout, class);
        let first = orbit.group(class) * lanes;
        let sources = &combined[first..first + columns * lanes];
        let rows = layout.count(class, orbit.order);
        let sums = &mut sums[layout.starts[class] * lanes..][..rows * lanes];
        let sign = V::Item::of(orbit.sign(class, octant));
        // SAFETY: as for the caller.
        unsafe {
            product::product::<V, W>(&factors[orbit.starts[class]..], sources, sign, sums, orbit.tile(rows));
        }
    }
}
