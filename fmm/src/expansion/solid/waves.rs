//! M2L by plane waves, for theta 1/2 (Greengard and Rokhlin, Acta Numerica 6, 1997; Cheng, Greengard and Rokhlin, J. Comput. Phys. 155,
//! 1999).
//!
//! `1/r = 1/(2 pi) int_0^inf int_0^2pi exp(-l z + i l (x cos a + y sin a)) da dl` for z > 0. A quadrature of it turns a
//! multipole expansion into exponentials, which a translation multiplies by numbers of their own. Cells two or more apart along z take
//! this; of the others those two or more apart along y, in coordinates whose third axis is y; what is left is that far apart along x.
//!
//! Siblings share translations. Along z, the exponentials of the four children of a parent in a plane are added about the
//! parent's axis, then those of nine parents beside each other, and the sum is given to four children. Along y and x, only children at
//! most one apart along the axes before take part; these are sums as well, of one or both rows of a parent's children. Of 189
//! translations for a cell about 25 are left.

mod convert;
mod frames;
mod modes;
mod nodes;
mod shifts;
mod table;
mod translate;

use crate::arith::lanes::Real;
use crate::arith::vector::{Isa, Vector, Vectors, vectorised};
use crate::expansion::mirrored::lanes::{MOST, NONE};
use crate::parallel::prelude::*;
use crate::tree::Cell;
use convert::{Room, WIDE, arrive, depart};
use frames::Frame;
use modes::Modes;
use shifts::Shifts;
use std::ops::Range;
use std::sync::Mutex;
use translate::{Beside, translate};

/// Targets whose sources have exponentials at a time: a parent has 100 kB of them at high orders.
const TOGETHER: usize = 4096;

/// The tables of an order.
pub struct Waves<T> {
    isa: Isa,
    /// The order of terms by degree and class, for each term in its usual place, and for each term by m its place in that order.
    places: Vec<u32>,
    by_column: Vec<u32>,
    /// Of the first two axes.
    frames: [Frame<T>; 2],
    modes: Modes<T>,
    shifts: Shifts<T>,
}

/// The axis that exponentials fall along, and of the two axes across which ones are limited: those of which an offset of two or more
/// goes along that axis instead.
#[derive(Clone, Copy)]
struct Plane {
    axis: usize,
}

impl Plane {
    /// The axes across.
    fn across(self) -> [usize; 2] {
        [(self.axis + 1) % 3, (self.axis + 2) % 3]
    }

    fn is_limited(self) -> [bool; 2] {
        self.across().map(|b| b > self.axis)
    }

    /// Rows of a parent's children that are kept apart, along each axis across.
    fn rows(self) -> [usize; 2] {
        self.is_limited().map(|is| 1 + is as usize)
    }

    /// Planes and rows of children.
    fn slots(self) -> usize {
        2 * self.rows()[0] * self.rows()[1]
    }

    /// Numbers of a parent.
    fn numbers<T>(self, of: &Waves<T>) -> usize {
        4 * self.slots() * of.modes.exponentials
    }

    /// The first number of a slot in a direction.
    fn place<T>(self, of: &Waves<T>, is_up: bool, slot: usize) -> usize {
        2 * of.modes.exponentials * (slot + if is_up { 0 } else { self.slots() })
    }

    /// The children in a slot.
    fn octants(self, slot: usize) -> impl Iterator<Item = usize> {
        let bit = |octant: usize, axis: usize| octant >> (2 - axis) & 1;
        let ([p, q], [rows, columns], [limited_p, limited_q]) = (self.across(), self.rows(), self.is_limited());
        let own = move |octant: usize| {
            let row = if limited_p { bit(octant, p) } else { 0 };
            let column = if limited_q { bit(octant, q) } else { 0 };
            (bit(octant, self.axis) * rows + row) * columns + column
        };
        (0..8).filter(move |octant| own(*octant) == slot)
    }

    /// The place of a child's move in [`Shifts::in_parent`].
    fn shift(self, octant: usize) -> usize {
        let [p, q] = self.across().map(|axis| octant >> (2 - axis) & 1);
        2 * p + q
    }
}

/// Parents, one a lane.
#[derive(Clone, Copy)]
struct Parents<'a> {
    cells: &'a [Cell],
    parents: &'a [u32],
}

impl Parents<'_> {
    /// Their children in an octant.
    fn children(&self, octant: usize) -> [u32; MOST] {
        let mut all = [NONE; MOST];
        for (to, parent) in all.iter_mut().zip(self.parents) {
            let found = self.cells[*parent as usize].child_range().find(|c| self.cells[*c].octant() == octant);
            *to = found.map_or(NONE, |c| c as u32);
        }
        all
    }
}

/// Parents of one task as targets, and their children's local expansions.
struct Block<'a, T> {
    parents: Vec<u32>,
    first: usize,
    l: &'a mut [T],
}

/// The exponentials of all parents of a level along an axis.
struct Departed<'a, T> {
    of: &'a Waves<T>,
    plane: Plane,
    cells: &'a [Cell],
    waves: &'a [T],
}

impl<T: Vectors> Waves<T> {
    pub fn new(order: usize, isa: Isa) -> Waves<T> {
        let rows = isa.rows::<T>();
        let modes = Modes::new(order, rows);
        let places = frames::places(order);
        let by_column = modes.terms.iter().map(|t| places[t.place()]).collect();
        let shifts = Shifts::new(&modes);
        Waves { isa, places, by_column, frames: [0, 1].map(|axis| Frame::new(order, axis, rows)), modes, shifts }
    }

    /// As [`M2l::run`](super::m2l::M2l::run), with cells that are near below 4.
    pub fn run<'v>(
        &self,
        cells: &[Cell],
        levels: &[Range<usize>],
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
        m: &[T],
        l: &mut [T],
    ) {
        let (mut waves, rooms) = (Vec::new(), Rooms::default());
        let lanes = WIDE * self.isa.lanes::<T>();
        for level in levels {
            let is_target = |p: &usize| !cells[*p].is_leaf() && !list(*p).is_empty();
            let targets: Vec<u32> = level.clone().filter(is_target).map(|p| p as u32).collect();
            for targets in targets.chunks(TOGETHER) {
                let mut blocks = blocks(cells, targets.chunks(lanes), (self.places.len(), &mut *l));
                let sources = Sources::new(cells, level, targets.iter().flat_map(|p| list(*p as usize)));
                for axis in [2, 1, 0] {
                    let plane = Plane { axis };
                    self.depart(&sources, (plane, cells), m, (&mut waves, &rooms));
                    let departed = Departed { of: self, plane, cells, waves: &waves };
                    blocks.par_iter_mut().for_each(|block| {
                        let of_parent = |p: &u32| sources.beside(plane, cells, (*p, list(*p as usize)));
                        let beside: Vec<[Beside; 2]> = block.parents.iter().map(of_parent).collect();
                        rooms.with(|room| arrived::<T>(self.isa, &departed, &beside, block, room));
                    });
                }
            }
        }
    }

    /// The exponentials of sources along an axis.
    fn depart(
        &self,
        sources: &Sources,
        (plane, cells): (Plane, &[Cell]),
        m: &[T],
        (waves, rooms): (&mut Vec<T>, &Rooms<T>),
    ) {
        let (lanes, numbers) = (WIDE * self.isa.lanes::<T>(), plane.numbers(self));
        waves.resize(sources.parents.len() * numbers, T::default());
        waves.par_chunks_mut(lanes * numbers).zip(sources.parents.par_chunks(lanes)).for_each(|(out, parents)| {
            let task = (plane, Parents { cells, parents });
            rooms.with(|room| departed::<T>(self.isa, self, task, m, out, room));
        });
    }
}

/// The tasks of targets in their order, with the local expansions of their children, which have so many terms each.
fn blocks<'a, T>(cells: &[Cell], tasks: std::slice::Chunks<u32>, (size, l): (usize, &'a mut [T])) -> Vec<Block<'a, T>> {
    let (mut rest, mut first, mut blocks) = (l, 0, Vec::new());
    for parents in tasks {
        let start = cells[parents[0] as usize].child_range().start;
        let end = cells[parents[parents.len() - 1] as usize].child_range().end;
        let (_, after) = rest.split_at_mut((start - first) * size);
        let (l, after) = after.split_at_mut((end - start) * size);
        (rest, first) = (after, end);
        blocks.push(Block { parents: parents.to_vec(), first: start, l });
    }
    blocks
}

impl<T> Waves<T> {
    /// What the coordinates of a plane need, unless they are the usual ones.
    fn frame(&self, plane: Plane) -> Option<&Frame<T>> {
        self.frames.get(plane.axis)
    }
}

/// The cell of which a source is, or is an image.
fn original(cells: &[Cell], source: u32) -> usize {
    cells[cells[source as usize].first_child as usize].parent as usize
}

/// Parents whose children act on some.
struct Sources {
    parents: Vec<u32>,
    /// The first cell of their level, and for each cell of it the place among these parents.
    first: usize,
    places: Vec<u32>,
}

impl Sources {
    fn new<'v>(cells: &[Cell], level: &Range<usize>, acting: impl Iterator<Item = &'v u32>) -> Sources {
        let mut places = vec![NONE; level.len()];
        for source in acting.filter(|s| !cells[**s as usize].is_leaf()) {
            places[original(cells, *source) - level.start] = 0;
        }
        let mut parents = Vec::new();
        for (parent, place) in level.clone().zip(&mut places).filter(|p| *p.1 != NONE) {
            *place = parents.len() as u32;
            parents.push(parent as u32);
        }
        Sources { parents, first: level.start, places }
    }

    /// The sources that act on a parent along an axis, from below and from above.
    fn beside(&self, plane: Plane, cells: &[Cell], (parent, list): (u32, &[u32])) -> [Beside; 2] {
        let mut both = [[NONE; 9]; 2];
        let at = cells[parent as usize].at;
        for source in list.iter().filter(|s| !cells[**s as usize].is_leaf()) {
            let offset: [i32; 3] = std::array::from_fn(|a| at[a] - cells[*source as usize].at[a]);
            let [p, q] = plane.across().map(|axis| (offset[axis] + 1) as usize);
            let place = self.places[original(cells, *source) - self.first];
            match offset[plane.axis] {
                1 => both[0][3 * p + q] = place,
                -1 => both[1][3 * p + q] = place,
                _ => {}
            }
        }
        both
    }
}

vectorised! {
    fn departed<T>(
        of: &Waves<T>,
        task: (Plane, Parents),
        m: &[T],
        out: &mut [T],
        room: &mut Room<T>,
    ) = depart
}

vectorised! {
    fn arrived<T>(
        from: &Departed<T>,
        beside: &[[Beside; 2]],
        block: &mut Block<T>,
        room: &mut Room<T>,
    ) = arrived_in
}

#[inline(always)]
unsafe fn arrived_in<V: Vector>(
    from: &Departed<V::Item>,
    beside: &[[Beside; 2]],
    block: &mut Block<V::Item>,
    room: &mut Room<V::Item>,
) {
    let Departed { of, plane, cells, .. } = *from;
    let numbers = plane.numbers(of);
    let Room { arriving, beside: sums, .. } = room;
    arriving.resize(beside.len() * numbers, V::Item::default());
    // SAFETY: as for the caller.
    unsafe {
        for (beside, out) in beside.iter().zip(arriving.chunks_exact_mut(numbers)) {
            translate::<V>(from, beside, out, sums);
        }
        let parents = Parents { cells, parents: &block.parents };
        arrive::<V>(of, (plane, parents), (&mut *block.l, block.first), room);
    }
}

/// Scratch memory of all threads.
struct Rooms<T>(Mutex<Vec<Room<T>>>);

impl<T> Default for Rooms<T> {
    fn default() -> Rooms<T> {
        Rooms(Mutex::default())
    }
}

impl<T: Real> Rooms<T> {
    fn with(&self, work: impl FnOnce(&mut Room<T>)) {
        let room = self.0.lock().expect("no task panics with it").pop();
        let mut room = room.unwrap_or_default();
        work(&mut room);
        self.0.lock().expect("no task panics with it").push(room);
    }
}
