//! The adaptive octree: sources and targets sorted by Morton key, cells level by level (RULES H3, H5, H17).

pub mod boxmap;
pub mod charges;
mod flat;
mod images;
pub mod lists;
pub mod octants;
pub mod sort;
pub mod sorted;

pub use sort::{by_key, contracted, dilated, keys, morton, runs, sorted as sorted_keys};
pub use sort::{keys_of_some, sort_spread};

use crate::data::particles::Columns;
use crate::data::periodic::Periodic;
use crate::data::problem::Geometry;
use crate::parallel::prelude::*;
use boxmap::BoxMap;
use images::Images;
use sorted::Sorted;
use std::ops::Range;

/// The deepest level: a cell there stays a leaf however full it is.
pub const MAX_LEVEL: u32 = 20;

/// A cell: a cube of edge 2^-level of the box that holds at least one source or target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Integer coordinates on its level: from 0 to below 2^level, beyond that for an image.
    pub at: [i32; 3],
    pub level: u32,
    /// Its sources, in sorted order.
    pub first: u32,
    pub count: u32,
    /// Its targets, in sorted order.
    pub first_target: u32,
    pub targets: u32,
    pub parent: u32,
    /// Its children stand one behind the other; none for a leaf.
    pub first_child: u32,
    pub children: u32,
}

impl Cell {
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }

    /// Its sources in sorted order.
    pub fn sources(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Its targets in sorted order.
    pub fn targets(&self) -> Range<usize> {
        self.first_target as usize..(self.first_target + self.targets) as usize
    }

    /// Indices of its children.
    pub fn child_range(&self) -> Range<usize> {
        self.first_child as usize..(self.first_child + self.children) as usize
    }

    /// Edge in box units.
    pub fn edge(&self) -> f64 {
        // 2^-level, without the loop of a power.
        f64::from_bits((1023 - self.level as u64) << 52)
    }

    /// Centre in box units.
    pub fn centre(&self) -> [f64; 3] {
        self.at.map(|a| (a as f64 + 0.5) * self.edge() - 0.5)
    }

    /// By how many periods it is moved: all 0 but for an image.
    pub fn shift(&self) -> [i32; 3] {
        self.at.map(|a| a >> self.level)
    }

    /// The place among its parent's eight: x is the most significant bit.
    pub fn octant(&self) -> usize {
        ((self.at[0] & 1) << 2 | (self.at[1] & 1) << 1 | (self.at[2] & 1)) as usize
    }
}

/// Sources and targets in Morton order and the cells over both.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub map: BoxMap,
    pub sources: Sorted,
    /// Targets that are not the sources.
    apart: Option<Sorted>,
    /// Level by level, in Morton order within a level; the root first. Empty without particles.
    pub cells: Vec<Cell>,
    /// The cells of each level.
    pub levels: Vec<Range<usize>>,
    /// Indices of the leaves in Morton order.
    pub leaves: Vec<u32>,
    /// With periodic boundaries.
    images: Option<Images>,
    /// Of a part of a larger tree: the sorted sources that are its own. Others are copies from other parts; cells elsewhere have
    /// no targets, and places of sources only where these are here.
    own: Option<Range<u32>>,
}

/// The data of a part of a larger tree.
pub struct TreePart {
    pub map: BoxMap,
    pub sources: Sorted,
    pub targets: Option<Sorted>,
    /// Level by level, in Morton order within a level.
    pub cells: Vec<Cell>,
    /// Leaves whose sources or targets are here, in Morton order.
    pub leaves: Vec<u32>,
    pub own: Range<u32>,
}

impl Tree {
    /// Sorts particles that are sources and targets, and splits every cell with more than `leaf` of them.
    pub fn build(columns: Columns, leaf: usize) -> Tree {
        Tree::over(columns.into(), leaf)
    }

    /// Sorts sources and targets, and splits every cell with more than `leaf` sources or more than `leaf` targets.
    pub fn over(geometry: Geometry, leaf: usize) -> Tree {
        Tree::with_period(geometry, leaf, None)
    }

    /// The same with periodic boundaries, for points that lie in the box. Images are not there yet, see [`Tree::repeat`].
    pub fn with_period(geometry: Geometry, leaf: usize, periodic: Option<&Periodic>) -> Tree {
        let Geometry { sources, targets } = geometry;
        Tree::in_box(geometry, leaf, BoxMap::with_period(&[sources, targets.unwrap_or(sources)], periodic))
    }

    /// The same in a box that holds all points.
    pub fn in_box(geometry: Geometry, leaf: usize, map: BoxMap) -> Tree {
        let Geometry { sources, targets } = geometry;
        let (mut sources, keys) = Sorted::new(sources, &map);
        sources.count_coincident();
        let (apart, target_keys) = match targets.map(|t| Sorted::new(t, &map)) {
            Some((mut targets, keys)) => {
                targets.count_coincident_among(&sources);
                (Some(targets), Some(keys))
            }
            None => (None, None),
        };
        let mut tree = Tree {
            map,
            sources,
            apart,
            cells: Vec::new(),
            levels: Vec::new(),
            leaves: Vec::new(),
            images: None,
            own: None,
        };
        tree.split(leaf.max(1), &keys, target_keys.as_deref());
        tree.leaves = (0..tree.cells.len() as u32).filter(|k| tree.cells[*k as usize].is_leaf()).collect();
        // Of two leaves the later one has more before it, of sources or of targets.
        let before = |cell: &Cell| cell.first as u64 + cell.first_target as u64;
        tree.leaves.par_sort_unstable_by_key(|k| before(&tree.cells[*k as usize]));
        tree
    }

    /// A part of a larger tree, see [`TreePart`].
    pub fn of_part(part: TreePart) -> Tree {
        let TreePart { map, sources, targets: apart, cells, leaves, own } = part;
        let end = |level: u32| cells.partition_point(|cell| cell.level <= level);
        let of_level = |level: u32| level.checked_sub(1).map_or(0, end)..end(level);
        let levels = cells.last().map_or(Vec::new(), |deepest| (0..=deepest.level).map(of_level).collect());
        Tree { map, sources, apart, cells, levels, leaves, images: None, own: Some(own) }
    }

    /// Counts coincident particles in a part of a tree that has all its sources.
    pub fn count_coincident(&mut self) {
        self.sources.count_coincident();
        self.apart.iter_mut().for_each(|targets| targets.count_coincident_among(&self.sources));
    }

    /// Whether the sources of a leaf are of this tree: of a part, its own.
    pub fn has_sources_of(&self, leaf: &Cell) -> bool {
        self.own.as_ref().is_none_or(|own| own.contains(&leaf.first))
    }

    /// The targets that are this tree's: of a part, not those of copies.
    pub fn own_targets(&self) -> Range<usize> {
        match &self.own {
            Some(own) if self.apart.is_none() => own.start as usize..own.end as usize,
            _ => 0..self.targets().len(),
        }
    }

    /// The sources that are this tree's: of a part, not copies.
    pub fn own_sources(&self) -> Range<usize> {
        self.own.as_ref().map_or(0..self.len(), |own| own.start as usize..own.end as usize)
    }

    pub fn targets(&self) -> &Sorted {
        self.apart.as_ref().unwrap_or(&self.sources)
    }

    /// Whether targets are points of their own, not the sources.
    pub fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// From target `k` to a source that is moved by whole periods, in box units. The place of an image is rounded to f64.
    pub fn difference(&self, k: usize, (source, shift): (usize, [i32; 3])) -> [f64; 3] {
        self.difference_from(self.target(k), (source, shift))
    }

    /// The same from any place in the units of [`Tree::target`].
    pub fn difference_from(&self, target: [f64; 3], (source, shift): (usize, [i32; 3])) -> [f64; 3] {
        let (from, size) = (&self.sources.scaled, self.map.size);
        std::array::from_fn(|a| {
            // A multiple of 0 leaves the place as it is, to the bit.
            (from[a][source] + shift[a] as f64 * size - target[a]) / size
        })
    }

    /// The place of target `k`, in units that are the same in all parts of a tree.
    pub fn target(&self, k: usize) -> [f64; 3] {
        self.targets().scaled.each_ref().map(|column| column[k])
    }

    /// The same along an axis for a stretch of sources.
    pub fn differences(
        &self,
        axis: usize,
        k: usize,
        (sources, shift): (Range<usize>, [i32; 3]),
    ) -> impl Iterator<Item = f64> {
        let (target, size) = (self.targets().scaled[axis][k], self.map.size);
        let moved = shift[axis] as f64 * size;
        self.sources.scaled[axis][sources].iter().map(move |from| (from + moved - target) / size)
    }

    /// The number of sources.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is no source.
    pub fn is_empty(&self) -> bool {
        self.sources.len() == 0
    }

    /// Ascending targets by leaf.
    pub fn leaves_of(&self, targets: &[usize]) -> Vec<(usize, Vec<usize>)> {
        // In a part of a tree, leaves of others have no targets and no place among these.
        let leaves: Vec<u32> =
            self.leaves.iter().copied().filter(|leaf| self.cells[*leaf as usize].targets > 0).collect();
        let leaf_of = |k: &usize| {
            let after = leaves.partition_point(|leaf| self.cells[*leaf as usize].first_target as usize <= *k);
            leaves[after - 1] as usize
        };
        targets.chunk_by(|a, b| leaf_of(a) == leaf_of(b)).map(|part| (leaf_of(&part[0]), part.to_vec())).collect()
    }

    /// Pairs every leaf that has targets with the part of `out` that belongs to these.
    pub fn by_leaf<'o, T>(&self, mut out: &'o mut [T]) -> Vec<(usize, &'o mut [T])> {
        let mut parts = Vec::with_capacity(self.leaves.len());
        let mut done = 0;
        for leaf in self.leaves.iter().filter(|leaf| self.cells[**leaf as usize].targets > 0) {
            let cell = &self.cells[*leaf as usize];
            // In a part of a tree, copies of other parts' particles may stand between.
            let rest = out.split_at_mut(cell.first_target as usize - done).1;
            let (part, rest) = rest.split_at_mut(cell.targets as usize);
            parts.push((*leaf as usize, part));
            (out, done) = (rest, cell.targets().end);
        }
        parts
    }

    /// Pairs every split cell with the part of `values` that belongs to its children, of which each has `terms`.
    pub fn by_parent<'v, T>(&self, values: &'v mut [T], terms: usize) -> Vec<(usize, &'v mut [T])> {
        let mut parts = Vec::new();
        // The root is nobody's child; all other cells stand in the order of their parents.
        let mut rest = values.split_at_mut(terms.min(values.len())).1;
        for (k, cell) in self.cells.iter().enumerate().filter(|c| !c.1.is_leaf()) {
            let (part, after) = rest.split_at_mut(cell.children as usize * terms);
            parts.push((k, part));
            rest = after;
        }
        parts
    }

    /// Builds the cells of one level after the other, given the Morton keys of sources and, where they are apart, targets.
    fn split(&mut self, leaf: usize, keys: &[u64], target_keys: Option<&[u64]>) {
        let (count, targets) = (self.len() as u32, self.targets().len() as u32);
        if count + targets == 0 {
            return;
        }
        let root = Cell {
            at: [0; 3],
            level: 0,
            first: 0,
            count,
            first_target: 0,
            targets,
            parent: 0,
            first_child: 0,
            children: 0,
        };
        self.cells.push(root);
        self.levels.push(0..1);
        for level in 0..MAX_LEVEL {
            let parents = self.levels[level as usize].clone();
            let first = self.cells.len();
            let is_full = |parent: &usize| {
                let cell = &self.cells[*parent];
                cell.count.max(cell.targets) as usize > leaf
            };
            let ends = |parent: usize| {
                let cell = &self.cells[parent];
                let sources = octant_ends(cell.sources(), level, keys);
                (parent, [sources, target_keys.map_or(sources, |keys| octant_ends(cell.targets(), level, keys))])
            };
            let ends: Vec<(usize, [[u32; 8]; 2])> =
                parents.into_par_iter().flat_map_iter(|parent| is_full(&parent).then(|| ends(parent))).collect();
            for (parent, ends) in ends {
                self.split_cell(parent, &ends);
            }
            if self.cells.len() == first {
                break;
            }
            self.levels.push(first..self.cells.len());
        }
    }

    /// Makes the children of a cell, given where the sources and the targets of each octant end.
    fn split_cell(&mut self, parent: usize, [sources, targets]: &[[u32; 8]; 2]) {
        let cell = self.cells[parent];
        let first_child = self.cells.len() as u32;
        let (mut first, mut first_target) = (cell.first, cell.first_target);
        for octant in 0..8 {
            let bit = |b: u32| (octant >> b & 1) as i32;
            let (end, target_end) = (sources[octant], targets[octant]);
            if end > first || target_end > first_target {
                self.cells.push(Cell {
                    at: [cell.at[0] << 1 | bit(2), cell.at[1] << 1 | bit(1), cell.at[2] << 1 | bit(0)],
                    level: cell.level + 1,
                    first,
                    count: end - first,
                    first_target,
                    targets: target_end - first_target,
                    parent: parent as u32,
                    first_child: 0,
                    children: 0,
                });
            }
            (first, first_target) = (end, target_end);
        }
        self.cells[parent].first_child = first_child;
        self.cells[parent].children = self.cells.len() as u32 - first_child;
    }
}

/// Where the points of each octant of a cell of `level` end.
pub fn octant_ends(points: Range<usize>, level: u32, keys: &[u64]) -> [u32; 8] {
    /// Up to so many keys, to look at each is faster than to search: they are read in a row.
    const FEW: usize = 1 << 9;
    let digit = 3 * (MAX_LEVEL - level - 1);
    let mut end = points.start as u32;
    if points.len() <= FEW {
        let mut ends = [end; 8];
        for (k, key) in keys[points].iter().enumerate() {
            ends[(key >> digit & 7) as usize] = end + k as u32 + 1;
        }
        (1..8).for_each(|octant| ends[octant] = ends[octant].max(ends[octant - 1]));
        return ends;
    }
    std::array::from_fn(|octant| {
        let rest = &keys[end as usize..points.end];
        end += rest.partition_point(|k| k >> digit & 7 <= octant as u64) as u32;
        end
    })
}
