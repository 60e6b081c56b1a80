//! M2L by products of dense matrices, with offsets that mirror each other taken together.
//!
//! Mirroring at a coordinate plane keeps a term of an expansion or changes its sign, so that the terms fall into eight classes
//! by parity in x, y and z, and the matrix of an offset into blocks `T[A, B]` between classes. If the kernel does not change,
//! the matrix of a mirrored offset has the same blocks with other signs: for the eight offsets (±x, ±y, ±z),
//! `L_A += sum over B of T[A, B] (sum over the mirrorings s of sign(A, s) sign(B, s) M_B(s))`.
//! So eight products of matrices become one, after a Walsh-Hadamard transform of the eight sources (`combine`). Where a
//! coordinate of the offset is 0, blocks between unlike classes vanish, which halves the work as well. In the list of 189
//! cells 39.5 products are left of 189.
//!
//! Far offsets need a lower order than near ones; they use the leading rows and columns of each class. Of the
//! 189 (P+1)^4 products of full matrices of solid harmonics for a cell, mirroring and lower orders leave a sixth at P = 6, a
//! twelfth at P = 14. Rotating each offset to the z axis, with the same lower orders, would take 2.2 times as many as are left
//! at P = 6, 1.3 at 12, 0.8 at 20 and 0.55 at 30, in smaller matrices.
//!
//! If mirroring changes the kernel, each offset has a matrix of its own, and all terms are in one class.
//!
//! The lanes of vectors are target cells: the same child of up to two vectors of parents of one level, in the order of the
//! tree. Their sources are gathered into lanes once for each offset of two parents (`gather`). What a lane computes does
//! not depend on the others, nor on how parents are grouped.

mod combine;
mod gather;
pub mod lanes;
pub mod product;
mod tables;

use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, Vectors, vectorised};
use crate::parallel::prelude::*;
use crate::tree::Cell;
use gather::{Sources, Targets};
use std::ops::Range;
use std::sync::Mutex;
pub use tables::{Block as MatrixBlock, FARTHEST, Matrices, Term};
use tables::{Layout, Orbit, Tables};

/// Tables of the M2L between cells of one level, or of all levels.
pub struct Mirrored<T> {
    isa: Isa,
    layout: Layout,
    tables: Tables<T>,
}

/// Parents of one level, and the expansions of their children.
pub struct Level<'a, T> {
    pub tables: &'a Mirrored<T>,
    pub parents: Range<usize>,
    /// The cell of the first expansion in `m`.
    pub first: usize,
    pub m: &'a [T],
    /// The local expansions of the children alone.
    pub l: &'a mut [T],
}

/// The cells of a tree, and for each split cell the split cells of its level whose children it takes, near ones included.
#[derive(Clone, Copy)]
pub struct Cells<'a, 'v> {
    pub cells: &'a [Cell],
    pub list: &'a (dyn Fn(usize) -> &'v [u32] + Sync),
}

/// The parents that one task works on, and the local expansions of all their children.
struct Block<'a, T> {
    m2l: &'a Mirrored<T>,
    first: usize,
    m: &'a [T],
    parents: Range<usize>,
    l: &'a mut [T],
}

/// Scratch memory for one block, used again for the next.
#[derive(Default)]
struct Room<T> {
    sources: Sources<T>,
    targets: Targets<T>,
    /// The combined sources of an orbit.
    combined: Vec<T>,
    /// A matrix that is not kept.
    matrix: Vec<T>,
}

impl<T: Vectors> Mirrored<T> {
    /// For an expansion of these terms, and cells that are near below `near2`, no farther than [`FARTHEST`].
    pub fn new(terms: &[Term], near2: u64, isa: Isa, matrices: impl Matrices + 'static) -> Mirrored<T> {
        let layout = Layout::new(terms);
        let tables = Tables::new(&layout, near2, isa.rows::<T>(), Box::new(matrices));
        Mirrored { isa, layout, tables }
    }

    /// Terms of a cell.
    pub fn size(&self) -> usize {
        self.layout.size
    }
}

/// Adds to the local expansions of all levels what the multipoles give.
pub fn run<'v, T: Vectors>(of: Cells<'_, 'v>, levels: Vec<Level<T>>) {
    let rooms: Mutex<Vec<Room<T>>> = Mutex::new(Vec::new());
    let blocks: Vec<Block<T>> = levels.into_iter().flat_map(|level| blocks(of, level)).collect();
    blocks.into_par_iter().for_each(|mut block| {
        let room = rooms.lock().expect("no task panics with it").pop();
        let mut room = room.unwrap_or_default();
        room.sources.list(&block.m2l.tables, of.cells, &block.parents, of.list);
        work::<T>(block.m2l.isa, of.cells, &mut block, &mut room);
        rooms.lock().expect("no task panics with it").push(room);
    });
}

/// Runs of parents of one level, with their children's local expansions.
fn blocks<'a, T: Vectors>(Cells { cells, list }: Cells, level: Level<'a, T>) -> Vec<Block<'a, T>> {
    let Level { tables: m2l, parents: level, first: of_m, m, l: mut rest } = level;
    let mut blocks = Vec::new();
    let together = 2 * m2l.isa.lanes::<T>();
    let mut first = level.start;
    while first < level.end {
        let mut end = first;
        let (mut split, mut children) = (0, 0);
        while end < level.end && split < together {
            split += !cells[end].is_leaf() as usize;
            children += cells[end].children as usize;
            end += 1;
        }
        let (l, after) = rest.split_at_mut(children * m2l.layout.size);
        rest = after;
        if (first..end).any(|p| !list(p).is_empty()) {
            blocks.push(Block { m2l, first: of_m, m, parents: first..end, l });
        }
        first = end;
    }
    blocks
}

vectorised! {
    fn work<T>(cells: &[Cell], block: &mut Block<T>, room: &mut Room<T>) = work_in
}

#[inline(always)]
unsafe fn work_in<V: Vector>(cells: &[Cell], block: &mut Block<V::Item>, room: &mut Room<V::Item>) {
    // SAFETY: as for the caller.
    unsafe {
        if room.sources.parents.len() <= V::LANES {
            work_wide::<V, 1>(cells, block, room);
        } else {
            work_wide::<V, 2>(cells, block, room);
        }
    }
}

/// One block, in lanes of `W` vectors.
#[inline(always)]
unsafe fn work_wide<V: Vector, const W: usize>(cells: &[Cell], block: &mut Block<V::Item>, room: &mut Room<V::Item>) {
    let (m2l, first, m) = (block.m2l, block.first, block.m);
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
                    sources.gather::<V, W>(layout, cells, (m, first), source.parent);
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
