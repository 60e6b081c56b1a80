//! The adaptive octree: particles sorted by Morton key, cells level by level (RULES H3, H5).

pub mod boxmap;
pub mod charges;
pub mod lists;

use crate::arith::scale::ldexp;
use crate::data::particles::Columns;
use boxmap::BoxMap;
use rayon::prelude::*;
use std::ops::Range;

/// The deepest level: a cell there stays a leaf however full it is.
pub const MAX_LEVEL: u32 = 20;

/// A cell: a cube of edge 2^-level of the box that holds at least one particle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Integer coordinates on its level.
    pub at: [u32; 3],
    pub level: u32,
    /// Its particles, in sorted order.
    pub first: u32,
    pub count: u32,
    pub parent: u32,
    /// Its children stand one behind the other; none for a leaf.
    pub first_child: u32,
    pub children: u32,
}

impl Cell {
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }

    /// Its particles in sorted order.
    pub fn particles(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    /// Indices of its children.
    pub fn child_range(&self) -> Range<usize> {
        self.first_child as usize..(self.first_child + self.children) as usize
    }

    /// Edge in box units.
    pub fn edge(&self) -> f64 {
        2f64.powi(-(self.level as i32))
    }

    /// Centre in box units.
    pub fn centre(&self) -> [f64; 3] {
        self.at.map(|a| (a as f64 + 0.5) * self.edge() - 0.5)
    }

    /// Which of its parent's eight places it takes: x is the most significant bit.
    pub fn octant(&self) -> usize {
        ((self.at[0] & 1) << 2 | (self.at[1] & 1) << 1 | (self.at[2] & 1)) as usize
    }
}

/// Particles in Morton order and the cells over them.
#[derive(Clone, Debug)]
pub struct Tree {
    pub map: BoxMap,
    /// For each sorted particle its index in the input.
    pub order: Vec<u32>,
    /// Scaled coordinates (see [`BoxMap`]): differences are as exact as the input's where [`BoxMap::exact`] holds.
    pub scaled: [Vec<f64>; 3],
    /// The coordinates of the input, kept where scaled ones have lost bits.
    input: Option<[Vec<f64>; 3]>,
    /// Box coordinates in [-0.5, 0.5).
    pub unit: [Vec<f64>; 3],
    /// Integer coordinates X.
    pub grid: Vec<[i32; 3]>,
    /// Level by level, in Morton order within a level; the root first. Empty without particles.
    pub cells: Vec<Cell>,
    /// The cells of each level.
    pub levels: Vec<Range<usize>>,
    /// Indices of the leaves in the order of their particles.
    pub leaves: Vec<u32>,
}

impl Tree {
    /// Sorts the particles and splits every cell with more than `leaf` of them.
    pub fn build(columns: Columns, leaf: usize) -> Tree {
        let map = BoxMap::new(columns);
        let order = sorted(columns, &map);
        let scaled = columns.map(|c| order.par_iter().map(|k| map.scaled(c[*k as usize])).collect::<Vec<f64>>());
        let unit = [0, 1, 2].map(|a| scaled[a].par_iter().map(|s| map.unit(a, *s)).collect::<Vec<f64>>());
        let input = (!map.exact).then(|| columns.map(|c| order.iter().map(|k| c[*k as usize]).collect()));
        let grid = (0..order.len()).into_par_iter().map(|k| [0, 1, 2].map(|a| BoxMap::grid(unit[a][k]))).collect();
        let mut tree =
            Tree { map, order, scaled, input, unit, grid, cells: Vec::new(), levels: Vec::new(), leaves: Vec::new() };
        tree.split(leaf.max(1));
        tree.leaves = (0..tree.cells.len() as u32).filter(|k| tree.cells[*k as usize].is_leaf()).collect();
        tree.leaves.sort_unstable_by_key(|k| tree.cells[*k as usize].first);
        tree
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The position of a sorted particle in the input, to the bit.
    pub fn position(&self, k: usize) -> [f64; 3] {
        match &self.input {
            Some(input) => [0, 1, 2].map(|a| input[a][k]),
            None => [0, 1, 2].map(|a| ldexp(self.scaled[a][k], self.map.shift)),
        }
    }

    /// For each sorted particle the number of particles at exactly its coordinates, itself included.
    pub fn twins(&self) -> Vec<u32> {
        let mut twins = vec![1; self.len()];
        let mut first = 0;
        for group in self.grid.chunk_by(|a, b| a == b) {
            if group.len() > 1 {
                // Adding 0 makes -0 and 0 one key.
                let key = |k: &usize| self.position(*k).map(|x| (x + 0.0).to_bits());
                let mut members: Vec<usize> = (first..first + group.len()).collect();
                members.sort_unstable_by_key(key);
                for same in members.chunk_by(|a, b| key(a) == key(b)) {
                    same.iter().for_each(|k| twins[*k] = same.len() as u32);
                }
            }
            first += group.len();
        }
        twins
    }

    /// Pairs every leaf with the part of `out` that belongs to its particles.
    pub fn by_leaf<'o, T>(&self, mut out: &'o mut [T]) -> Vec<(usize, &'o mut [T])> {
        let mut parts = Vec::with_capacity(self.leaves.len());
        for leaf in &self.leaves {
            let (part, rest) = out.split_at_mut(self.cells[*leaf as usize].count as usize);
            parts.push((*leaf as usize, part));
            out = rest;
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

    /// Builds the cells of one level after the other.
    fn split(&mut self, leaf: usize) {
        if self.is_empty() {
            return;
        }
        let keys: Vec<u64> = self.grid.par_iter().map(morton).collect();
        let root =
            Cell { at: [0; 3], level: 0, first: 0, count: self.len() as u32, parent: 0, first_child: 0, children: 0 };
        self.cells.push(root);
        self.levels.push(0..1);
        for level in 0..MAX_LEVEL {
            let parents = self.levels[level as usize].clone();
            let first = self.cells.len();
            for parent in parents {
                if self.cells[parent].count as usize > leaf {
                    self.split_cell(parent, &keys);
                }
            }
            if self.cells.len() == first {
                break;
            }
            self.levels.push(first..self.cells.len());
        }
    }

    fn split_cell(&mut self, parent: usize, keys: &[u64]) {
        let cell = self.cells[parent];
        let level = cell.level + 1;
        let first_child = self.cells.len() as u32;
        let digit = 3 * (MAX_LEVEL - level);
        let mut first = cell.first as usize;
        let end = first + cell.count as usize;
        while first < end {
            let octant = keys[first] >> digit & 7;
            let count = keys[first..end].partition_point(|k| k >> digit & 7 == octant);
            let bit = |b: u64| (octant >> b & 1) as u32;
            self.cells.push(Cell {
                at: [cell.at[0] << 1 | bit(2), cell.at[1] << 1 | bit(1), cell.at[2] << 1 | bit(0)],
                level,
                first: first as u32,
                count: count as u32,
                parent: parent as u32,
                first_child: 0,
                children: 0,
            });
            first += count;
        }
        self.cells[parent].first_child = first_child;
        self.cells[parent].children = self.cells.len() as u32 - first_child;
    }
}

/// The 60-bit Morton key of a grid point: three bits a level, x the most significant of each.
pub fn morton(grid: &[i32; 3]) -> u64 {
    let spread = |x: i32| {
        let mut v = ((x + (1 << 30)) as u64) >> (31 - MAX_LEVEL);
        v = (v | v << 32) & 0x001f_0000_0000_ffff;
        v = (v | v << 16) & 0x001f_0000_ff00_00ff;
        v = (v | v << 8) & 0x100f_00f0_0f00_f00f;
        v = (v | v << 4) & 0x10c3_0c30_c30c_30c3;
        (v | v << 2) & 0x1249_2492_4924_9249
    };
    spread(grid[0]) << 2 | spread(grid[1]) << 1 | spread(grid[2])
}

/// Input indices in the order of Morton key, then of X, then of the input: particles of one X stand together.
fn sorted(columns: Columns, map: &BoxMap) -> Vec<u32> {
    let grid = |k: u32| [0, 1, 2].map(|a| BoxMap::grid(map.unit(a, map.scaled(columns[a][k as usize]))));
    let keys: Vec<(u64, u32)> = (0..columns[0].len() as u32).into_par_iter().map(|k| (morton(&grid(k)), k)).collect();
    let mut keyed = radix_sorted(keys);
    for group in keyed.chunk_by_mut(|a, b| a.0 == b.0) {
        if group.len() > 1 {
            group.sort_by_cached_key(|e| (grid(e.1), e.1));
        }
    }
    keyed.into_iter().map(|e| e.1).collect()
}

/// Sorts by key, and by index among equal keys: buckets by the upper bits in one stable pass, then each on its own.
fn radix_sorted(keys: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    const BITS: u32 = 12;
    let bucket = |key: u64| (key >> (3 * MAX_LEVEL - BITS)) as usize;
    let mut ends = vec![0usize; 1 << BITS];
    keys.iter().for_each(|k| ends[bucket(k.0)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum - *end;
    }
    let mut sorted = vec![(0, 0); keys.len()];
    for k in &keys {
        let place = &mut ends[bucket(k.0)];
        sorted[*place] = *k;
        *place += 1;
    }
    let mut parts = Vec::new();
    let (mut rest, mut start) = (&mut sorted[..], 0);
    for end in ends {
        let (part, after) = rest.split_at_mut(end - start);
        parts.push(part);
        (rest, start) = (after, end);
    }
    parts.into_par_iter().for_each(|part| part.par_sort_unstable());
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;
    use crate::data::random::{Distribution, generate};

    fn check(particles: &Particles, leaf: usize) -> Tree {
        let tree = Tree::build(particles.columns(), leaf);
        let mut seen: Vec<u32> = tree.order.clone();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..particles.len() as u32), "the order is a permutation");
        for (k, cell) in tree.cells.iter().enumerate() {
            let (centre, half) = (cell.centre(), 0.5 * cell.edge());
            for i in cell.particles() {
                assert!((0..3).all(|a| (tree.unit[a][i] - centre[a]).abs() <= half), "inside its cell");
            }
            assert!(tree.levels[cell.level as usize].contains(&k));
            if cell.is_leaf() {
                assert!(cell.count as usize <= leaf || cell.level == MAX_LEVEL);
            } else {
                assert!(cell.count as usize > leaf);
                let children = &tree.cells[cell.child_range()];
                assert!(children.iter().all(|c| c.parent as usize == k && c.count > 0));
                assert_eq!(children.iter().map(|c| c.count).sum::<u32>(), cell.count);
                assert!(children.windows(2).all(|w| w[0].octant() < w[1].octant()));
            }
        }
        let covered: u32 = tree.leaves.iter().map(|k| tree.cells[*k as usize].count).sum();
        assert_eq!(covered as usize, particles.len());
        tree
    }

    #[test]
    fn cells_hold_their_particles() {
        for (_, d) in Distribution::ALL {
            for (n, leaf) in [(0, 8), (1, 8), (2, 1), (3000, 16)] {
                check(&generate(n, d, d.default_charge(), 1), leaf);
            }
        }
    }

    #[test]
    fn one_point_makes_a_leaf_at_the_deepest_level() {
        let mut p = Particles::default();
        (0..40).for_each(|_| p.push([0.3, 0.3, 0.3], 1.0));
        assert_eq!(check(&p, 8).levels.len() as u32, MAX_LEVEL + 1);
        p.push([0.9, 0.1, 0.2], 1.0);
        assert_eq!(check(&p, 8).levels.len() as u32, MAX_LEVEL + 1);
    }

    #[test]
    fn morton_keys_interleave_the_upper_twenty_bits() {
        assert_eq!(morton(&[-(1 << 30); 3]), 0);
        assert_eq!(morton(&[(1 << 30) - 1; 3]), (1 << 60) - 1);
        assert_eq!(morton(&[0, -(1 << 30), -(1 << 30)]), 1 << 59);
        assert_eq!(morton(&[-(1 << 30), -(1 << 30), -(1 << 30) + (1 << 11)]), 1);
        assert_eq!(morton(&[-(1 << 30), -(1 << 30) + (1 << 12), -(1 << 30)]), 1 << 4);
    }
}
