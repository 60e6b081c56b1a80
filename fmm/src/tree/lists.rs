//! The U, V, W and X lists by dual descent: every pair of particles is covered exactly once (RULES H2, H3).
//!
//! Two cells of one level are near when their integer offset d has d.d < near2. A leaf and a smaller cell are near
//! when any cell of the smaller size inside the leaf would be.

pub use super::flat::Flat;

use super::octants::Octants;
use crate::parallel::prelude::*;
use crate::tree::{Cell, Tree};
use std::ops::Range;

/// Where P2P replaces M2P or P2L: up to so many particles it costs less.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ListOptions {
    /// ceil(1 / theta^2).
    pub near2: u64,
    /// Sources in a cell up to which P2P is cheaper than M2P from it.
    pub m2p_above: usize,
    /// Targets in a cell up to which P2P is cheaper than P2L to it.
    pub p2l_above: usize,
}

/// Sorted particles of an image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shifted {
    /// By how many periods their places are moved.
    pub shift: [i32; 3],
    pub first: u32,
    pub count: u32,
}

/// The U, V, W and X lists of every cell, as Ying, Biros and Zorin name them (J. Comput. Phys. 196, 2004); sources are
/// those of [`Tree::acting`].
#[derive(Clone, Default, Debug)]
pub struct Lists {
    /// U, for P2P: the ranges of sorted sources that act directly on a leaf's, (first, count), ascending and merged.
    /// It also holds what W and X would have, where P2P costs less.
    pub u: Flat<(u32, u32)>,
    /// The same for particles of images, by shift.
    pub u_images: Flat<Shifted>,
    /// V, for M2L, kept with the parent, since siblings share it: for a split cell, the other split cells of its level.
    /// Those of their children that are not near a child of the cell are in the child's V list.
    pub v: Flat<u32>,
    /// W, for M2P: for a leaf, the smaller cells whose multipoles act on its particles.
    pub w: Flat<u32>,
    /// X, for P2L: for any cell, the coarser leaves whose particles act on its local expansion.
    pub x: Flat<u32>,
    /// Whether U holds one leaf at another one exactly where it holds that one at the first.
    pub is_mutual: bool,
}

impl Lists {
    /// Whether P2P of other lists is the same.
    pub fn has_p2p_of(&self, other: &Lists) -> bool {
        self.u == other.u && self.u_images == other.u_images && self.is_mutual == other.is_mutual
    }
}

/// The sources that act directly on the particles of a leaf.
#[derive(Clone, Copy)]
pub struct Direct<'a> {
    /// Sorted particles: (first, count).
    pub own: &'a [(u32, u32)],
    pub images: &'a [Shifted],
}

impl Direct<'_> {
    /// The number of sources.
    pub fn count(&self) -> usize {
        let (own, images) = (self.own.iter().map(|s| s.1 as usize), self.images.iter().map(|s| s.count as usize));
        own.sum::<usize>() + images.sum::<usize>()
    }
}

impl Lists {
    pub fn direct(&self, leaf: usize) -> Direct<'_> {
        Direct { own: &self.u[leaf], images: &self.u_images[leaf] }
    }

    fn append(&mut self, others: &[(Near, Lists)]) {
        self.u.append(&others.iter().map(|o| &o.1.u).collect::<Vec<_>>());
        self.u_images.append(&others.iter().map(|o| &o.1.u_images).collect::<Vec<_>>());
        let of = |list: fn(&Lists) -> &Flat<u32>| others.iter().map(|o| list(&o.1)).collect::<Vec<_>>();
        self.v.append(&of(|lists| &lists.v));
        self.w.append(&of(|lists| &lists.w));
        self.x.append(&of(|lists| &lists.x));
    }
}

/// The lists that the cells of a level hand down to their children.
#[derive(Default)]
struct Near {
    /// Near cells of the same level, itself included.
    same: Flat<u32>,
    /// Near leaves of coarser levels.
    coarse: Flat<u32>,
    /// Cells all of whose particles act directly on everything below.
    direct: Flat<u32>,
}

impl Near {
    fn joined(parts: &[(Near, Lists)]) -> Near {
        let all = |list: fn(&Near) -> &Flat<u32>| {
            let mut all = Flat::default();
            all.append(&parts.iter().map(|part| list(&part.0)).collect::<Vec<_>>());
            all
        };
        Near { same: all(|n| &n.same), coarse: all(|n| &n.coarse), direct: all(|n| &n.direct) }
    }
}

/// The near2 of an opening angle. The rounding of 1/theta^2 must not lift 9 to 10 for a theta of 1/3.
pub fn near2(theta: f64) -> u64 {
    ((1.0 / (theta * theta)) * (1.0 - 1e-12)).ceil() as u64
}

/// Whether two cells of one level at offset `d` are near.
pub fn is_near(d: [i64; 3], near2: u64) -> bool {
    d.iter().map(|x| (x * x) as u64).sum::<u64>() < near2
}

/// The farthest that near cells of one level are apart along an axis.
pub fn reach(near2: u64) -> i64 {
    ((near2 - 1) as f64).sqrt().floor() as i64
}

/// Whether M2L goes over an offset: the cells are far, and their parents may be near.
pub fn is_listed(d: [i64; 3], near2: u64) -> bool {
    !is_near(d, near2) && is_near(d.map(|x| x.abs() / 2), near2)
}

/// Whether `big` holds a cell of `small`'s level that is near `small`; `big` is on the same or a coarser level.
fn reaches(big: &Cell, small: &Cell, near2: u64) -> bool {
    let up = small.level - big.level;
    let gap = |a: usize| {
        let (low, x) = ((big.at[a] as i64) << up, small.at[a] as i64);
        (low - x).max(x - (low + (1 << up) - 1)).max(0)
    };
    is_near([gap(0), gap(1), gap(2)], near2)
}

/// Whether all children that two cells of one level may have are near each other. Siblings are, for every theta up to 0.5.
fn all_children_near(a: &Cell, b: &Cell, near2: u64) -> bool {
    is_near(std::array::from_fn(|k| 2 * (a.at[k] as i64 - b.at[k] as i64).abs() + 1), near2)
}

/// Cells of one task.
const TASK: usize = 128;

/// Builds all lists.
pub fn build(tree: &Tree, options: &ListOptions) -> Lists {
    // M2P and P2L then give way to P2P for the same pairs of cells.
    let is_mutual = options.m2p_above == options.p2l_above && !tree.is_apart();
    let mut lists = Lists { is_mutual, ..Lists::default() };
    let mut above = Near::default();
    let (octants, sources) = (Octants::new(options.near2), tree.acting());
    for (level, range) in tree.levels.iter().enumerate() {
        let parents = if level == 0 { 0 } else { tree.levels[level - 1].start };
        let tasks: Vec<Range<usize>> =
            range.clone().step_by(TASK).map(|first| first..(first + TASK).min(range.end)).collect();
        let one = |cells: &Range<usize>| {
            let mut part =
                CellLists { tree, sources, options, octants: &octants, near: Near::default(), lists: Lists::default() };
            let mut scratch = Scratch::default();
            for t in cells.clone() {
                match level {
                    0 if tree.cells[t].count > 0 && tree.cells[t].targets > 0 => {
                        part.near.same.items.extend(std::iter::once(0).chain(tree.images_of_root()));
                    }
                    0 => {}
                    _ => part.inherit(t, &above, tree.cells[t].parent as usize - parents),
                }
                part.finish(t, &mut scratch);
            }
            (part.near, part.lists)
        };
        let parts: Vec<(Near, Lists)> = tasks.par_iter().map(one).collect();
        lists.append(&parts);
        // What is near the cells of the last level is the most, and nothing is below them.
        above = if level + 1 < tree.levels.len() { Near::joined(&parts) } else { Near::default() };
    }
    lists
}

/// The lists of some cells that stand one behind the other.
struct CellLists<'a> {
    tree: &'a Tree,
    sources: &'a [Cell],
    options: &'a ListOptions,
    octants: &'a Octants,
    near: Near,
    lists: Lists,
}

/// Scratch memory for the lists of one leaf.
#[derive(Default)]
struct Scratch {
    direct: Vec<(u32, u32)>,
    images: Vec<Shifted>,
    open: Vec<u32>,
}

impl Scratch {
    /// Takes all particles of a source as direct ones.
    fn direct(&mut self, source: &Cell) {
        let (shift, first, count) = (source.shift(), source.first, source.count);
        match shift == [0; 3] {
            true => self.direct.push((first, count)),
            false => self.images.push(Shifted { shift, first, count }),
        }
    }
}

impl CellLists<'_> {
    /// Adds what `t` gets from the near cells of its parent, the place of which on its level is given, and the leaves that
    /// act on it by P2L. Cells without sources act on nothing, and nothing acts on cells without targets.
    fn inherit(&mut self, t: usize, above: &Near, parent: usize) {
        let target = &self.tree.cells[t];
        if target.targets == 0 {
            return;
        }
        let at = self.tree.cells[target.parent as usize].at;
        self.near.direct.items.extend_from_slice(&above.direct[parent]);
        for s in &above.same[parent] {
            let source = &self.sources[*s as usize];
            if source.is_leaf() {
                self.leaf(*s, target);
                continue;
            }
            let near = self.octants.near(offset(&source.at, &at), target.octant());
            let (same, first) = (&mut self.near.same.items, self.tree.first_acting_child(*s));
            if source.children == 8 && !self.tree.is_apart() {
                same.extend((0..8).filter(|octant| near >> octant & 1 == 1).map(|octant| first + octant));
            } else {
                let is_near = |c: &u32| {
                    let cell = &self.sources[*c as usize];
                    near >> cell.octant() & 1 == 1 && cell.count > 0
                };
                same.extend((first..first + source.children).filter(is_near));
            }
        }
        for s in &above.coarse[parent] {
            self.leaf(*s, target);
        }
    }

    /// Puts a coarser leaf where it acts on `target`.
    fn leaf(&mut self, s: u32, target: &Cell) {
        let list = if reaches(&self.sources[s as usize], target, self.options.near2) {
            &mut self.near.coarse
        } else if target.targets as usize > self.options.p2l_above {
            &mut self.lists.x
        } else {
            &mut self.near.direct
        };
        list.items.push(s);
    }

    /// Adds the lists that end at `t`, given what is near it.
    fn finish(&mut self, t: usize, scratch: &mut Scratch) {
        let Near { same, coarse, direct } = &mut self.near;
        [&mut *same, coarse, direct].into_iter().for_each(Flat::end);
        let k = same.starts.len() - 2;
        let (same, coarse, direct) = (&same[k], &coarse[k], &direct[k]);
        let (tree, near2, target) = (self.tree, self.options.near2, &self.tree.cells[t]);
        let sources = self.sources;
        let Lists { u, u_images, v, w, x, .. } = &mut self.lists;
        if !target.is_leaf() {
            let split = |s: &&u32| {
                let source = &sources[**s as usize];
                !source.is_leaf() && !all_children_near(target, source, near2)
            };
            v.items.extend(same.iter().filter(split));
        } else if target.targets > 0 {
            scratch.direct.clear();
            scratch.images.clear();
            coarse.iter().chain(direct).for_each(|s| scratch.direct(&sources[*s as usize]));
            scratch.open.clear();
            scratch.open.extend_from_slice(same);
            let first_w = w.items.len();
            while let Some(s) = scratch.open.pop() {
                let source = &sources[s as usize];
                if reaches(target, source, near2) {
                    if source.is_leaf() {
                        scratch.direct(source);
                    } else {
                        let first = tree.first_acting_child(s);
                        let has_sources = |c: &u32| sources[*c as usize].count > 0;
                        scratch.open.extend((first..first + source.children).filter(has_sources));
                    }
                } else if source.count as usize > self.options.m2p_above {
                    w.items.push(s);
                } else {
                    scratch.direct(source);
                }
            }
            w.items[first_w..].sort_unstable();
            scratch.direct.sort_unstable();
            let first_u = u.items.len();
            for next in &scratch.direct {
                match u.items[first_u..].last_mut() {
                    Some(last) if last.0 + last.1 == next.0 => last.1 += next.1,
                    _ => u.items.push(*next),
                }
            }
            scratch.images.sort_unstable();
            let first_image = u_images.items.len();
            for next in &scratch.images {
                match u_images.items[first_image..].last_mut() {
                    Some(last) if last.shift == next.shift && last.first + last.count == next.first => {
                        last.count += next.count;
                    }
                    _ => u_images.items.push(*next),
                }
            }
        }
        u.end();
        u_images.end();
        [v, w, x].into_iter().for_each(Flat::end);
    }
}

fn offset(source: &[i32; 3], target: &[i32; 3]) -> [i32; 3] {
    std::array::from_fn(|a| source[a] - target[a])
}

/// Pairs of the children of some cells by M2L: those that are accepted, and those that the lists of these cells hold, near ones included.
pub fn m2l_pairs(tree: &Tree, lists: &Lists, parents: Range<usize>, near2: u64) -> (u64, u64) {
    let octants = Octants::new(near2);
    let of_parent = |p: usize| {
        let target = &tree.cells[p];
        let mut pairs = (0, 0);
        for s in &lists.v[p] {
            let source = &tree.acting()[*s as usize];
            pairs.1 += target.children as u64 * source.children as u64;
            let sources = tree.cells[source.child_range()].iter().filter(|c| c.count > 0);
            let there = sources.fold(0u8, |bits, c| bits | 1 << c.octant());
            let o = offset(&source.at, &target.at);
            for t in tree.cells[target.child_range()].iter().filter(|c| c.targets > 0) {
                pairs.0 += (there & !octants.near(o, t.octant())).count_ones() as u64;
            }
        }
        pairs
    };
    parents.into_par_iter().map(of_parent).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}
