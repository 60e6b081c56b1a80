//! The U, V, W and X lists by dual descent: every pair of particles is covered exactly once (RULES H2, H3).
//!
//! Two cells of one level are near when their integer offset d has d.d < near2. A leaf and a smaller cell are near
//! when any cell of the smaller size inside the leaf would be.

use crate::arith::ranges;
use crate::tree::{Cell, Tree};
use rayon::prelude::*;

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

/// The U, V, W and X lists of every cell, as Ying, Biros and Zorin name them (J. Comput. Phys. 196, 2004); indices are
/// those of [`Tree::cells`].
#[derive(Clone, Default, Debug)]
pub struct Lists {
    /// U, for P2P: the ranges of sorted particles that act directly on a leaf's, (first, count), ascending and merged.
    /// It also holds what W and X would have, where P2P costs less.
    pub u: Vec<Vec<(u32, u32)>>,
    /// V, for M2L, kept with the parent, since siblings share it: for a split cell, the other split cells of its level.
    /// Those of their children that are not near a child of the cell are in the child's V list.
    pub v: Vec<Vec<u32>>,
    /// W, for M2P: for a leaf, the smaller cells whose multipoles act on its particles.
    pub w: Vec<Vec<u32>>,
    /// X, for P2L: for any cell, the coarser leaves whose particles act on its local expansion.
    pub x: Vec<Vec<u32>>,
}

/// What a cell hands down to its children.
#[derive(Clone, Default)]
struct Near {
    /// Near cells of the same level, itself included.
    same: Vec<u32>,
    /// Near leaves of coarser levels.
    coarse: Vec<u32>,
    /// Cells all of whose particles act directly on everything below.
    direct: Vec<u32>,
}

/// The near2 of an opening angle. The rounding of 1/theta^2 must not lift 9 to 10 for a theta of 1/3.
pub fn near2(theta: f64) -> u64 {
    ((1.0 / (theta * theta)) * (1.0 - 1e-12)).ceil() as u64
}

/// Whether two cells of one level at offset `d` are near.
pub fn is_near(d: [i64; 3], near2: u64) -> bool {
    d.iter().map(|x| (x * x) as u64).sum::<u64>() < near2
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

/// Builds all lists.
pub fn build(tree: &Tree, options: &ListOptions) -> Lists {
    let n = tree.cells.len();
    let mut lists =
        Lists { v: vec![Vec::new(); n], w: vec![Vec::new(); n], x: vec![Vec::new(); n], u: vec![Vec::new(); n] };
    let mut above: Vec<Near> = vec![Near { same: vec![0], ..Near::default() }];
    for (level, range) in tree.levels.iter().enumerate() {
        let near: Vec<(Near, Vec<u32>)> = if level == 0 {
            vec![(above[0].clone(), Vec::new())]
        } else {
            let parents = tree.levels[level - 1].start;
            range
                .clone()
                .into_par_iter()
                .map(|t| inherit(tree, options, t, &above[tree.cells[t].parent as usize - parents]))
                .collect()
        };
        let own: Vec<Own> = near.par_iter().zip(range.clone()).map(|(n, t)| finish(tree, options, t, &n.0)).collect();
        let mut next = Vec::with_capacity(range.len());
        for ((t, (near, x)), own) in range.clone().zip(near).zip(own) {
            lists.x[t] = x;
            lists.v[t] = own.v;
            lists.w[t] = own.w;
            lists.u[t] = own.u;
            next.push(near);
        }
        above = next;
    }
    lists
}

/// What `t` gets from its parent's near cells, and the leaves that act on it by P2L.
fn inherit(tree: &Tree, options: &ListOptions, t: usize, parent: &Near) -> (Near, Vec<u32>) {
    let target = &tree.cells[t];
    let mut near = Near { direct: parent.direct.clone(), ..Near::default() };
    let mut x = Vec::new();
    let mut leaf = |s: u32, near: &mut Near| {
        if reaches(&tree.cells[s as usize], target, options.near2) {
            near.coarse.push(s);
        } else if target.count as usize > options.p2l_above {
            x.push(s);
        } else {
            near.direct.push(s);
        }
    };
    for s in &parent.same {
        let source = &tree.cells[*s as usize];
        if source.is_leaf() {
            leaf(*s, &mut near);
        } else {
            let is_close = |c: &usize| reaches(target, &tree.cells[*c], options.near2);
            near.same.extend(source.child_range().filter(is_close).map(|c| c as u32));
        }
    }
    for s in &parent.coarse {
        leaf(*s, &mut near);
    }
    (near, x)
}

/// The lists that end at one cell.
struct Own {
    v: Vec<u32>,
    w: Vec<u32>,
    u: Vec<(u32, u32)>,
}

fn finish(tree: &Tree, options: &ListOptions, t: usize, near: &Near) -> Own {
    let target = &tree.cells[t];
    let mut own = Own { v: Vec::new(), w: Vec::new(), u: Vec::new() };
    if !target.is_leaf() {
        let split = |s: &&u32| {
            let source = &tree.cells[**s as usize];
            !source.is_leaf() && !all_children_near(target, source, options.near2)
        };
        own.v = near.same.iter().filter(split).copied().collect();
        return own;
    }
    let mut direct: Vec<u32> = near.coarse.iter().chain(&near.direct).copied().collect();
    let mut open: Vec<u32> = near.same.clone();
    while let Some(s) = open.pop() {
        let source = &tree.cells[s as usize];
        if reaches(target, source, options.near2) {
            if source.is_leaf() {
                direct.push(s);
            } else {
                open.extend(source.child_range().map(|c| c as u32));
            }
        } else if source.count as usize > options.m2p_above {
            own.w.push(s);
        } else {
            direct.push(s);
        }
    }
    own.w.sort_unstable();
    own.u =
        ranges::sorted(direct.iter().map(|s| (tree.cells[*s as usize].first, tree.cells[*s as usize].count)).collect());
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;
    use crate::data::random::{Charge, Distribution, generate};

    /// Adds one for every particle pair that a list covers.
    fn coverage(tree: &Tree, lists: &Lists, near2: u64) -> Vec<u8> {
        let n = tree.len();
        let mut seen = vec![0u8; n * n];
        let mut cover = |t: std::ops::Range<usize>, s: std::ops::Range<usize>| {
            for i in t {
                s.clone().for_each(|j| seen[i * n + j] += 1);
            }
        };
        for (k, cell) in tree.cells.iter().enumerate() {
            for s in &lists.u[k] {
                cover(cell.particles(), s.0 as usize..(s.0 + s.1) as usize);
            }
            for s in lists.w[k].iter().chain(&lists.x[k]) {
                cover(cell.particles(), tree.cells[*s as usize].particles());
            }
            for s in &lists.v[k] {
                for t in cell.child_range() {
                    for s in tree.cells[*s as usize].child_range() {
                        let (a, b) = (tree.cells[t].at, tree.cells[s].at);
                        if !is_near([0, 1, 2].map(|k| a[k] as i64 - b[k] as i64), near2) {
                            cover(tree.cells[t].particles(), tree.cells[s].particles());
                        }
                    }
                }
            }
        }
        seen
    }

    fn check(what: &str, particles: &Particles, leaf: usize, theta: f64, above: usize) {
        let tree = Tree::build(particles.columns(), leaf);
        let options = ListOptions { near2: near2(theta), m2p_above: above, p2l_above: above };
        let seen = coverage(&tree, &build(&tree, &options), options.near2);
        assert!(seen.iter().all(|c| *c == 1), "{what} leaf {leaf} theta {theta} above {above}");
    }

    #[test]
    fn every_pair_is_covered_exactly_once() {
        for (name, d) in Distribution::ALL {
            let particles = generate(700, d, Charge::Random, 5);
            for leaf in [1, 7, 40] {
                for theta in [0.5, 0.3, 0.15, 0.02, 1e-200] {
                    for above in [0, 20, 10000] {
                        check(name, &particles, leaf, theta, above);
                    }
                }
            }
        }
    }

    #[test]
    fn odd_clouds_are_covered_exactly_once() {
        for n in [0, 1, 2, 3] {
            check("few", &generate(n, Distribution::Uniform, Charge::Random, 2), 1, 0.5, 0);
        }
        let mut p = generate(60, Distribution::Uniform, Charge::Random, 2);
        (0..100).for_each(|_| p.push([0.25, 0.5, 0.75], 1.0));
        (0..100).for_each(|k| p.push([0.9 + 1e-7 * k as f64, 0.9, 0.9], 1.0));
        for above in [0, 15] {
            check("clumps", &p, 4, 0.5, above);
        }
    }

    #[test]
    fn an_inner_cell_of_a_full_tree_sees_189_cells() {
        let mut p = Particles::default();
        for k in 0..4096 {
            let at = |b: i32| ((k >> b & 15) as f64 + 0.5) / 16.0;
            p.push([at(0), at(4), at(8)], 1.0);
        }
        let tree = Tree::build(p.columns(), 1);
        assert_eq!([0.5, 1.0 / 3.0, 0.3, 0.25].map(near2), [4, 9, 12, 16]);
        let options = ListOptions { near2: near2(0.5), m2p_above: 0, p2l_above: 0 };
        let lists = build(&tree, &options);
        assert_eq!(options.near2, 4);
        let t = (tree.levels[4].clone()).find(|k| tree.cells[*k].at == [7, 7, 7]).expect("the tree is full");
        let far = lists.v[tree.cells[t].parent as usize].iter().flat_map(|s| tree.cells[*s as usize].child_range());
        let offset = |s: usize| [0, 1, 2].map(|k| tree.cells[t].at[k] as i64 - tree.cells[s].at[k] as i64);
        assert_eq!(far.filter(|s| !is_near(offset(*s), 4)).count(), 189);
        assert_eq!(lists.u[t].iter().map(|s| s.1).sum::<u32>(), 27);
    }
}
