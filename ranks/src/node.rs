//! Cells of the global tree, and the ranks near one.

use super::partition::{Partition, below};
use fmm::data::periodic::Periodic;
use fmm::tree::lists::{is_near, reach};
use fmm::tree::{contracted, dilated};

/// A cell of the global tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    pub level: u32,
    pub prefix: u64,
    /// Its sources in the whole, and where they stand in the order of the whole.
    pub count: u32,
    pub first: u32,
    /// Its targets in the whole.
    pub targets: u32,
    /// The place of its first target among the rank's own, of a leaf of the rank.
    pub first_target: u32,
    pub is_split: bool,
    /// Whether the rank has particles in it.
    pub is_here: bool,
}

impl Node {
    pub(super) fn place(&self) -> (u32, u64) {
        (self.level, self.prefix)
    }

    /// The least Morton key in it.
    pub fn first_key(&self) -> u64 {
        self.prefix << below(self.level)
    }

    /// Level and prefix as one number: the prefix behind a leading one, as in hashed octrees (Warren and Salmon, 1993).
    pub fn key(&self) -> u64 {
        1 << (3 * self.level) | self.prefix
    }

    pub(super) fn at(&self) -> [i32; 3] {
        at(self.prefix)
    }
}

/// Level and prefix of a cell by its [`Node::key`], which may come from elsewhere.
pub fn place_of(key: u64) -> (u32, u64) {
    let level = key.checked_ilog2().unwrap_or(0) / 3;
    (level, key & !(1 << (3 * level)))
}

/// Integer coordinates of a cell.
pub fn at(prefix: u64) -> [i32; 3] {
    [prefix >> 2, prefix >> 1, prefix].map(|bits| contracted(bits) as i32)
}

/// The Morton prefix of integer coordinates.
#[cfg(test)]
pub fn prefix(at: [u64; 3]) -> u64 {
    let [x, y, z] = at.map(dilated);
    x << 2 | y << 1 | z
}

/// The offsets of near cells in a box that may be periodic.
pub struct NeighbourOffsets {
    /// The farthest along an axis.
    most: i64,
    /// Offsets along each axis, counted from the least one.
    offsets: Vec<[usize; 3]>,
    axes: [bool; 3],
}

/// The ranks whose part of the box is near a cell, and scratch memory to find them.
#[derive(Default)]
pub struct Marked {
    pub ranks: Vec<usize>,
    /// The bits of neighbours' coordinates along each axis in a Morton prefix.
    along: [Vec<u64>; 3],
}

/// In the place of such bits: there is no neighbour. It stays when others are added.
const OUTSIDE: u64 = u64::MAX;

impl NeighbourOffsets {
    pub fn new(near2: u64, periodic: Option<&Periodic>) -> NeighbourOffsets {
        let most = reach(near2);
        let axis = || -most..=most;
        let all = axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| [x, y, z])));
        let offsets = all.filter(|d| is_near(*d, near2)).map(|d| d.map(|x| (x + most) as usize)).collect();
        NeighbourOffsets { most, offsets, axes: periodic.map_or([false; 3], |p| p.axes) }
    }

    /// Marks the ranks whose part of the box is near a cell.
    pub fn mark(&self, partition: &Partition, level: u32, of: u64, marked: &mut Marked) {
        let (at, edge, shift) = (at(of).map(i64::from), 1i64 << level, below(level));
        let Marked { ranks, along } = marked;
        for (a, along) in along.iter_mut().enumerate() {
            let bits = |d: i64| match at[a] + d {
                there if !(0..edge).contains(&there) && !self.axes[a] => OUTSIDE,
                there => dilated(there.rem_euclid(edge) as u64) << (2 - a),
            };
            along.clear();
            along.extend((-self.most..=self.most).map(bits));
        }
        ranks.clear();
        // Most neighbours are of the rank that was found last.
        let mut known = 0..0;
        for [x, y, z] in &self.offsets {
            let prefix = along[0][*x] | along[1][*y] | along[2][*z];
            if prefix == OUTSIDE || known.start <= prefix << shift && (prefix + 1) << shift <= known.end {
                continue;
            }
            let [first, last] = partition.ranks_of(level, prefix);
            ranks.extend(first..=last);
            if first == last {
                known = partition.cuts[first]..partition.cuts[first + 1];
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
    }
}
