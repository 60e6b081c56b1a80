//! The adaptive octree: particles sorted by Morton key, cells level by level (RULES H3, H5).

pub mod boxmap;
pub mod charges;
mod images;
pub mod lists;
mod octants;
mod sort;

pub use sort::morton;

use crate::arith::lanes::fastest;
use crate::arith::scale::ldexp;
use crate::data::particles::Columns;
use boxmap::BoxMap;
use images::Images;
use rayon::prelude::*;
use std::ops::Range;

/// The deepest level: a cell there stays a leaf however full it is.
pub const MAX_LEVEL: u32 = 20;

/// A cell: a cube of edge 2^-level of the box that holds at least one particle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Integer coordinates on its level: from 0 to below 2^level, beyond that for an image.
    pub at: [i32; 3],
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

    /// By how many periods it is moved: all 0 but for an image.
    pub fn shift(&self) -> [i32; 3] {
        self.at.map(|a| a >> self.level)
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
    /// For each sorted particle the number of particles at exactly its coordinates, itself included.
    pub twins: Vec<u32>,
    /// Level by level, in Morton order within a level; the root first. Empty without particles.
    pub cells: Vec<Cell>,
    /// The cells of each level.
    pub levels: Vec<Range<usize>>,
    /// Indices of the leaves in the order of their particles.
    pub leaves: Vec<u32>,
    /// With periodic boundaries.
    images: Option<Images>,
}

impl Tree {
    /// Sorts the particles and splits every cell with more than `leaf` of them.
    pub fn build(columns: Columns, leaf: usize) -> Tree {
        let map = BoxMap::new(columns);
        let (keys, order) = sort::sorted(columns, &map);
        let scaled = columns.map(|c| order.par_iter().map(|k| map.scaled(c[*k as usize])).collect::<Vec<f64>>());
        let (unit, grid) = placed(&map, &scaled);
        let input = (!map.exact).then(|| columns.map(|c| order.iter().map(|k| c[*k as usize]).collect()));
        let mut tree = Tree {
            map,
            order,
            scaled,
            input,
            unit,
            grid,
            twins: Vec::new(),
            cells: Vec::new(),
            levels: Vec::new(),
            leaves: Vec::new(),
            images: None,
        };
        tree.twins = tree.counted_twins();
        tree.split(leaf.max(1), &keys);
        tree.leaves = (0..tree.cells.len() as u32).filter(|k| tree.cells[*k as usize].is_leaf()).collect();
        tree.leaves.par_sort_unstable_by_key(|k| tree.cells[*k as usize].first);
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

    fn counted_twins(&self) -> Vec<u32> {
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

    /// Builds the cells of one level after the other, given the Morton keys.
    fn split(&mut self, leaf: usize, keys: &[u64]) {
        if self.is_empty() {
            return;
        }
        let root =
            Cell { at: [0; 3], level: 0, first: 0, count: self.len() as u32, parent: 0, first_child: 0, children: 0 };
        self.cells.push(root);
        self.levels.push(0..1);
        for level in 0..MAX_LEVEL {
            let parents = self.levels[level as usize].clone();
            let first = self.cells.len();
            let is_full = |parent: &usize| self.cells[*parent].count as usize > leaf;
            let ends: Vec<(usize, [u32; 8])> =
                parents.into_par_iter().filter(is_full).map(|p| (p, octant_ends(&self.cells[p], keys))).collect();
            for (parent, ends) in ends {
                self.split_cell(parent, &ends);
            }
            if self.cells.len() == first {
                break;
            }
            self.levels.push(first..self.cells.len());
        }
    }

    fn split_cell(&mut self, parent: usize, ends: &[u32; 8]) {
        let cell = self.cells[parent];
        let first_child = self.cells.len() as u32;
        let mut first = cell.first;
        for (octant, end) in ends.iter().enumerate().filter(|(_, end)| **end > cell.first) {
            let bit = |b: u32| (octant >> b & 1) as i32;
            if *end > first {
                self.cells.push(Cell {
                    at: [cell.at[0] << 1 | bit(2), cell.at[1] << 1 | bit(1), cell.at[2] << 1 | bit(0)],
                    level: cell.level + 1,
                    first,
                    count: end - first,
                    parent: parent as u32,
                    first_child: 0,
                    children: 0,
                });
            }
            first = *end;
        }
        self.cells[parent].first_child = first_child;
        self.cells[parent].children = self.cells.len() as u32 - first_child;
    }
}

/// Where the particles of each octant of a cell end.
fn octant_ends(cell: &Cell, keys: &[u64]) -> [u32; 8] {
    let digit = 3 * (MAX_LEVEL - cell.level - 1);
    let mut end = cell.first;
    std::array::from_fn(|octant| {
        let rest = &keys[end as usize..cell.particles().end];
        end += rest.partition_point(|k| k >> digit & 7 == octant as u64) as u32;
        end
    })
}

/// Box and integer coordinates of scaled ones.
fn placed(map: &BoxMap, scaled: &[Vec<f64>; 3]) -> ([Vec<f64>; 3], Vec<[i32; 3]>) {
    const TASK: usize = 1 << 12;
    let mut unit = [0, 1, 2].map(|_| vec![0.0; scaled[0].len()]);
    let mut grid = vec![[0; 3]; scaled[0].len()];
    for (axis, (unit, scaled)) in unit.iter_mut().zip(scaled).enumerate() {
        let parts = unit.par_chunks_mut(TASK).zip(scaled.par_chunks(TASK));
        parts.zip(grid.par_chunks_mut(TASK)).for_each(|((unit, scaled), grid)| place(map, axis, scaled, unit, grid));
    }
    (unit, grid)
}

fastest! {
    fn place(map: &BoxMap, axis: usize, scaled: &[f64], unit: &mut [f64], grid: &mut [[i32; 3]]) = place_body
}

#[inline(always)]
fn place_body<const FMA: bool>(map: &BoxMap, axis: usize, scaled: &[f64], unit: &mut [f64], grid: &mut [[i32; 3]]) {
    for ((unit, scaled), grid) in unit.iter_mut().zip(scaled).zip(grid) {
        *unit = map.unit(axis, *scaled);
        grid[axis] = BoxMap::grid(*unit);
    }
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
}
