//! Multipoles from cells into lanes, and sums from lanes into local expansions.

use super::lanes::{MOST, NONE, to_lanes};
use super::tables::{Layout, Mirrored, Tables};
use crate::arith::lanes::Real;
use crate::arith::vector::Vector;
use crate::tree::Cell;
use std::ops::Range;

/// Bytes of gathered sources that are kept for other offsets.
const KEPT: usize = 32 << 20;

/// Parents whose children one orbit can take, at most.
const OF_ORBIT: usize = 64;

/// The state of the parents at one offset.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// No lane has one.
    Empty,
    Listed,
    /// Gathered at this slot.
    At(usize),
}

/// The sources of one block of targets.
#[derive(Default)]
pub struct Sources<T> {
    /// The parents of the targets, one a lane.
    pub parents: Vec<u32>,
    /// For each offset of two parents the source's parent in each lane.
    listed: Vec<[u32; MOST]>,
    state: Vec<State>,
    /// Slots of eight children, each with rows of lanes.
    slots: Vec<T>,
    /// The children of a slot that exist, as bits.
    children: Vec<u8>,
    used: usize,
    most: usize,
    lanes: usize,
    pub zeros: Vec<T>,
}

impl<T: Real> Sources<T> {
    /// Takes the split cells among `parents` as targets, and lists their sources.
    pub fn list<'v>(
        &mut self,
        tables: &Tables<T>,
        cells: &[Cell],
        parents: &Range<usize>,
        list: &(dyn Fn(usize) -> &'v [u32] + Sync),
    ) {
        self.parents.clear();
        self.parents.extend(parents.clone().filter(|p| !cells[*p].is_leaf()).map(|p| p as u32));
        self.listed.clear();
        self.listed.resize(tables.offsets(), [NONE; MOST]);
        self.state.clear();
        self.state.resize(tables.offsets(), State::Empty);
        for (lane, parent) in self.parents.iter().enumerate() {
            let at = cells[*parent as usize].at;
            for source in list(*parent as usize) {
                let from = cells[*source as usize].at;
                let offset = tables.place(std::array::from_fn(|a| at[a] as i64 - from[a] as i64));
                self.listed[offset][lane] = *source;
                self.state[offset] = State::Listed;
            }
        }
    }

    /// Begins a block of so many lanes.
    pub fn start(&mut self, layout: &Layout, lanes: usize) {
        self.lanes = lanes;
        self.used = 0;
        let slot = 8 * layout.size * lanes * size_of::<T>();
        self.most = (KEPT / slot).clamp(OF_ORBIT, self.listed.len().max(OF_ORBIT));
        // In one piece: memory that grows step by step is fresh from the system again and again.
        let slots = self.state.iter().filter(|s| **s == State::Listed).count().min(self.most);
        let wanted = slots * 8 * layout.size * lanes;
        if self.slots.capacity() < wanted {
            self.slots = Vec::with_capacity(wanted);
        }
        self.zeros.clear();
        self.zeros.resize(layout.size * lanes, T::default());
    }

    /// Gives up slots unless all parents of another orbit find one.
    pub fn make_room(&mut self) {
        if self.listed.len() > self.most && self.used + OF_ORBIT > self.most {
            self.used = 0;
            let taken = self.state.iter_mut().filter(|s| matches!(s, State::At(_)));
            taken.for_each(|s| *s = State::Listed);
        }
    }

    /// The rows of a gathered source; `None` where no lane has one.
    #[inline(always)]
    pub fn of(&self, layout: &Layout, mirrored: &Mirrored) -> Option<&[T]> {
        match self.state[mirrored.parent as usize] {
            State::At(slot) if self.children[slot] >> mirrored.octant & 1 == 1 => {
                let size = layout.size * self.lanes;
                let first = (8 * slot + mirrored.octant as usize) * size;
                Some(&self.slots[first..first + size])
            }
            _ => None,
        }
    }

    /// Gathers the children of the parents at an offset, unless this was done or there are none. `m` begins with the
    /// expansion of cell `first`.
    ///
    /// # Safety
    /// The machine must have the instructions of the vector.
    #[inline(always)]
    pub unsafe fn gather<V: Vector<Item = T>, const W: usize>(
        &mut self,
        layout: &Layout,
        cells: &[Cell],
        (m, first): (&[T], usize),
        parent: u32,
    ) {
        let offset = parent as usize;
        if self.state[offset] != State::Listed {
            return;
        }
        let slot = self.used;
        self.used += 1;
        self.state[offset] = State::At(slot);
        let child = layout.size * W * V::LANES;
        if self.slots.len() < (slot + 1) * 8 * child {
            self.slots.resize((slot + 1) * 8 * child, T::default());
        }
        if self.children.len() <= slot {
            self.children.resize(slot + 1, 0);
        }
        let mut of_octant = [[NONE; MOST]; 8];
        let mut exist = 0;
        for (lane, source) in self.listed[offset].iter().enumerate().filter(|s| *s.1 != NONE) {
            for (octant, child) in children(cells, *source) {
                of_octant[octant][lane] = child - first as u32;
                exist |= 1 << octant;
            }
        }
        self.children[slot] = exist;
        for (octant, sources) in of_octant.iter().enumerate().filter(|o| exist >> o.0 & 1 == 1) {
            let rows = &mut self.slots[(8 * slot + octant) * child..][..child];
            // SAFETY: as for this function.
            unsafe { to_lanes::<V, W>(&layout.places, m, sources, rows) };
        }
    }
}

/// The octants and places of a cell's children.
#[inline(always)]
fn children<'a>(cells: &'a [Cell], parent: u32) -> impl Iterator<Item = (usize, u32)> + 'a {
    let parent = &cells[parent as usize];
    let is_full = parent.children == 8;
    // All eight stand in the order of their octants.
    let octant = move |k: usize, child: usize| if is_full { k } else { cells[child].octant() };
    parent.child_range().enumerate().map(move |(k, child)| (octant(k, child), child as u32))
}

/// The targets of a block: the children of its parents.
#[derive(Default)]
pub struct Targets<T> {
    /// Whether any parent has a child in an octant.
    pub has: [bool; 8],
    sums: Vec<T>,
    lanes: usize,
}

impl<T: Real> Targets<T> {
    /// Begins a block of so many lanes.
    pub fn start(&mut self, layout: &Layout, lanes: usize, cells: &[Cell], parents: &[u32]) {
        self.lanes = lanes;
        self.sums.clear();
        self.sums.resize(8 * layout.size * lanes, T::default());
        self.has = [false; 8];
        for parent in parents {
            cells[cells[*parent as usize].child_range()].iter().for_each(|c| self.has[c.octant()] = true);
        }
    }

    /// The sums of an octant in rows.
    #[inline(always)]
    pub fn of(&mut self, layout: &Layout, octant: usize) -> &mut [T] {
        let size = layout.size * self.lanes;
        &mut self.sums[octant * size..(octant + 1) * size]
    }

    /// Adds the sums to the local expansions of the parents' children.
    #[inline(always)]
    pub fn add_to(&self, layout: &Layout, cells: &[Cell], parents: &[u32], l: &mut [T]) {
        let children = parents
            .iter()
            .enumerate()
            .flat_map(|(lane, p)| cells[cells[*p as usize].child_range()].iter().map(move |c| (lane, c.octant())));
        for ((lane, octant), l) in children.zip(l.chunks_exact_mut(layout.size)) {
            let sums = &self.sums[octant * layout.size * self.lanes + lane..];
            for (l, row) in l.iter_mut().zip(&layout.places) {
                *l += sums[*row as usize * self.lanes];
            }
        }
    }
}
