//! Pairs of particles so close that integer coordinates do not hold their difference well enough (RULES H5).
//!
//! Particles are in the order of their cells on the deepest level, whose edge is a few times the distance. So the partners
//! of a particle are in its own cell and in those around it. Where two cells hold many particles, these are put into
//! [clusters](Cluster), so that most pairs are counted without a look at each of them. Along a periodic axis, the first cell
//! lies beside the last one.

mod cluster;

use crate::parallel::prelude::*;
use crate::tree::boxmap::GRID_BITS;
use crate::tree::sorted::Sorted;
use crate::tree::{MAX_LEVEL, Tree, morton};
use cluster::Cluster;
use std::ops::Range;

/// Pairs at up to this distance in steps of the integer coordinates are close: beyond it, the rounding of coordinates changes a
/// distance by less than one part in 150.
pub const STEPS: i64 = 256;

/// A cell on the deepest level has an edge of 2^`STEP` steps.
const STEP: u32 = GRID_BITS - MAX_LEVEL;

/// Particles in two cells up to whose product each pair is looked at.
const FEW: usize = 4096;

/// The close pairs of some targets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Close {
    /// Pairs of a target and a source at different places; two particles that are both make two pairs.
    pub pairs: u64,
    /// The sorted targets in them, ascending.
    pub targets: Vec<usize>,
}

/// Looks for close pairs of targets and sources.
pub struct Finder<'a> {
    tree: &'a Tree,
    /// The Morton key of each sorted target, where these are not the sources.
    apart: Option<Vec<u64>>,
    /// The same of each source.
    sources: Vec<u64>,
    /// The axes that are periodic.
    axes: [bool; 3],
    /// Pairs at up to this distance are close.
    steps: i64,
}

/// Sources of a cell, and by how many periods they are moved.
type Moved = (Range<usize>, [i32; 3]);

impl Finder<'_> {
    pub fn new(tree: &Tree) -> Finder<'_> {
        Finder::periodic(tree, [false; 3], STEPS)
    }

    /// The same with periodic axes, for pairs at up to a distance of so many steps: no more than a cell's edge on the deepest level.
    pub fn periodic(tree: &Tree, axes: [bool; 3], steps: i64) -> Finder<'_> {
        debug_assert!(steps <= 1 << STEP);
        let keys = |points: &Sorted| -> Vec<u64> { points.grid.par_iter().map(morton).collect() };
        let apart = tree.is_apart().then(|| keys(tree.targets()));
        Finder { tree, apart, sources: keys(&tree.sources), axes, steps }
    }

    /// Finds all close pairs of the tree's own targets.
    pub fn find(&self) -> Close {
        let mut cells = Vec::new();
        let own = self.tree.own_targets();
        let mut first = own.start;
        for cell in self.targets()[own].chunk_by(|a, b| a == b) {
            cells.push(first..first + cell.len());
            first += cell.len();
        }
        let parts: Vec<Close> =
            cells.into_par_iter().flat_map_iter(|cell| Some(self.cell(cell)).filter(|c| c.pairs > 0)).collect();
        Close {
            pairs: parts.iter().map(|c| c.pairs).sum::<u64>(),
            targets: parts.into_iter().flat_map(|c| c.targets).collect(),
        }
    }

    /// The sorted sources that are close to target `i`, or images of which are, moved by so many periods; unless these are more
    /// than `most`.
    pub fn partners(&self, i: usize, most: usize) -> Option<Vec<(usize, [i32; 3])>> {
        let key = self.targets()[i];
        let first = self.targets().partition_point(|k| *k < key);
        let cell = first..first + self.targets()[first..].partition_point(|k| *k == key);
        let all = self.around(cell).into_iter().flat_map(|(sources, shift)| sources.map(move |j| (j, shift)));
        let found: Vec<_> = all.filter(|source| self.is_close(i, *source)).take(most + 1).collect();
        (found.len() <= most).then_some(found)
    }

    fn targets(&self) -> &[u64] {
        self.apart.as_ref().unwrap_or(&self.sources)
    }

    /// The targets of one cell that have partners, and how many these are in all.
    fn cell(&self, own: Range<usize>) -> Close {
        let around = self.around(own.clone());
        let others = around.iter().map(|(sources, _)| sources.len()).sum::<usize>();
        if others == 0 || own.len() == 1 && others == 1 && !self.tree.is_apart() {
            return Close::default();
        }
        if own.len() * others > FEW {
            return self.many(own, &around);
        }
        let mut found = Close::default();
        for i in own {
            let near = |(sources, shift): &Moved| sources.clone().filter(|j| self.is_close(i, (*j, *shift))).count();
            let partners = around.iter().map(near).sum::<usize>();
            if partners > 0 {
                found.targets.push(i);
            }
            found.pairs += partners as u64;
        }
        found
    }

    /// The sources of the cells that the distance reaches from the targets of a cell, that one included.
    fn around(&self, own: Range<usize>) -> Vec<Moved> {
        let grid = &self.tree.targets().grid;
        let ends: [(i64, i64); 3] = std::array::from_fn(|a| {
            let along = || grid[own.clone()].iter().map(|g| g[a] as i64);
            let (low, high) = (along().min().unwrap_or(0), along().max().unwrap_or(0));
            let half = 1i64 << (GRID_BITS - 1);
            let cell = |x: i64| if self.axes[a] { x } else { x.clamp(-half, half - 1) } >> STEP;
            (cell(low - self.steps), cell(high + self.steps))
        });
        let mut found = Vec::new();
        for x in ends[0].0..=ends[0].1 {
            for y in ends[1].0..=ends[1].1 {
                for z in ends[2].0..=ends[2].1 {
                    // Cells are counted from the middle of the box.
                    let cells = [x, y, z];
                    let shift = cells.map(|c| (c + (1 << (MAX_LEVEL - 1))) >> MAX_LEVEL);
                    let key = morton(&[0, 1, 2].map(|a| ((cells[a] - (shift[a] << MAX_LEVEL)) << STEP) as i32));
                    let shift = shift.map(|s| s as i32);
                    let is_own = !self.tree.is_apart() && shift == [0; 3] && key == self.targets()[own.start];
                    let cell = if is_own { own.clone() } else { self.with_key(key) };
                    if !cell.is_empty() {
                        found.push((cell, shift));
                    }
                }
            }
        }
        found
    }

    /// The sources in the cell of a Morton key on the deepest level.
    fn with_key(&self, key: u64) -> Range<usize> {
        let first = self.sources.partition_point(|k| *k < key);
        first..first + self.sources[first..].partition_point(|k| *k == key)
    }

    /// As [`Finder::cell`], for cells that hold many points.
    fn many(&self, own: Range<usize>, around: &[Moved]) -> Close {
        let (tree, sources) = (self.tree, &self.tree.sources);
        let targets = Cluster::new(&tree.targets().grid, own.clone(), [0; 3]);
        let mut found = cluster::Reached { count: 0, has_other: vec![false; targets.points.len()] };
        for (cell, shift) in around {
            if *cell == own && *shift == [0; 3] && !tree.is_apart() {
                targets.reach(&targets, self.steps, &mut found);
            } else {
                targets.reach(&Cluster::new(&sources.grid, cell.clone(), *shift), self.steps, &mut found);
            }
        }
        // Of points on one point of the grid, those at exactly one place are no pairs.
        let coincident = &tree.targets().coincident;
        let same: u64 = own.map(|k| coincident[k] as u64).sum();
        let mut close = Close { pairs: found.count - same, targets: Vec::new() };
        for (point, has_other) in targets.points.iter().zip(found.has_other) {
            let here = if tree.is_apart() { sources.on_grid(&point.at).len() as u32 } else { point.count };
            close.targets.extend(point.particles().filter(|k| has_other || coincident[*k] < here));
        }
        close.targets.sort_unstable();
        close
    }

    /// Whether target `i` and a source that is moved by whole periods are close, and not at one place. An image lies on another
    /// point of the grid even where f64 knows no difference.
    fn is_close(&self, i: usize, (j, shift): (usize, [i32; 3])) -> bool {
        let tree = self.tree;
        let source = [0, 1, 2].map(|a| tree.sources.grid[j][a] as i64 + ((shift[a] as i64) << GRID_BITS));
        let square = square(tree.targets().grid[i].map(i64::from), source);
        square <= self.steps * self.steps && (square > 0 || tree.targets().position(i) != tree.sources.position(j))
    }
}

/// The square of the distance between points of the grid; more than that of all that is close if it would not fit.
fn square(a: [i64; 3], b: [i64; 3]) -> i64 {
    (0..3).map(|k| (a[k] - b[k]).saturating_pow(2).min(1 << 60)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::particles::Particles;
    use crate::data::periodic::Periodic;
    use crate::data::problem::Geometry;
    use crate::data::random::{Charge, Distribution, generate};

    /// All sources and, along periodic axes, their images beside the box.
    fn all(finder: &Finder) -> Vec<(usize, [i32; 3])> {
        let along = |a: usize| if finder.axes[a] { -1..=1 } else { 0..=0 };
        let mut all = Vec::new();
        for x in along(0) {
            for y in along(1) {
                all.extend(along(2).flat_map(|z| (0..finder.tree.len()).map(move |j| (j, [x, y, z]))));
            }
        }
        // Others are far beyond reach.
        let is_beside = |x: i64| x.abs() < (1 << 30) + (1 << 14);
        let grid = &finder.tree.sources.grid;
        all.retain(|(j, shift)| (0..3).all(|a| is_beside(grid[*j][a] as i64 + ((shift[a] as i64) << 31))));
        all
    }

    /// Every pair, one after the other.
    fn plain(finder: &Finder) -> Close {
        let (n, all) = (finder.tree.targets().len(), all(finder));
        let of = |i: usize| all.iter().filter(|source| finder.is_close(i, **source)).count() as u64;
        let of: Vec<u64> = (0..n).into_par_iter().map(of).collect();
        Close { pairs: of.iter().sum::<u64>(), targets: (0..n).filter(|i| of[*i] > 0).collect() }
    }

    /// Some targets' partners, one after the other.
    fn check_partners(finder: &Finder) {
        let mut all = all(finder);
        all.sort_unstable();
        for i in (0..finder.tree.targets().len()).step_by(7) {
            let mut partners = finder.partners(i, all.len()).expect("no more than all");
            partners.sort_unstable();
            assert!(partners.iter().copied().eq(all.iter().copied().filter(|j| finder.is_close(i, *j))), "{i}");
            let fewer = partners.len().checked_sub(1);
            assert!(fewer.is_none_or(|fewer| finder.partners(i, fewer).is_none()));
        }
    }

    fn found(p: &Particles) -> (Tree, Close) {
        let tree = Tree::build(p.columns(), 8);
        let close = Finder::new(&tree).find();
        (tree, close)
    }

    /// Particles with 0 and 1 at the ends of the box, so that its size is known.
    fn in_box() -> Particles {
        let mut p = Particles::default();
        p.push([-0.5; 3], 1.0);
        p.push([0.5; 3], 1.0);
        p
    }

    #[test]
    fn pairs_across_cells_are_found() {
        // Clouds about corners of cells of every size, as wide as the distance asked for, and coincident ones. Few of them are looked
        // at pair by pair, many in clusters.
        for (n, wide) in [(150, 1.5e-6), (300, 1.5e-6), (2000, 1.5e-6), (2000, 3e-7), (1500, 1e-8)] {
            let cloud = generate(n, Distribution::Uniform, Charge::Random, 3);
            let mut p = in_box();
            for k in 0..cloud.len() {
                let centre = [0.0, 0.25, 0.125 + 2f64.powi(-20), -0.5, 0.4999][k % 5];
                p.push(cloud.position(k).map(|x| (centre + (x - 0.5) * wide).clamp(-0.5, 0.5)), 1.0);
            }
            for k in 0..20 {
                p.push(p.position(k * 2), 1.0);
            }
            let (tree, close) = found(&p);
            let finder = Finder::new(&tree);
            assert_eq!(close, plain(&finder), "{n} {wide}");
            check_partners(&finder);
            assert!(close.pairs > 5 && close.targets.len() > 5, "{} {}", close.pairs, close.targets.len());
            // Every third one a target, some of them at the places of sources, the others sources.
            let (mut sources, mut targets) = (in_box(), Particles::default());
            for k in 0..p.len() {
                if k % 3 == 0 {
                    targets.push(p.position(k), 1.0);
                }
                if k % 3 != 0 || k % 33 == 0 {
                    sources.push(p.position(k), 1.0);
                }
            }
            let geometry = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
            let tree = Tree::over(geometry, 8);
            let close = Finder::new(&tree).find();
            let finder = Finder::new(&tree);
            assert_eq!(close, plain(&finder), "{n} {wide}");
            check_partners(&finder);
            assert!(close.pairs > 5 && close.targets.len() > 5, "{} {}", close.pairs, close.targets.len());
        }
    }

    #[test]
    fn pairs_across_a_periodic_face_are_found() {
        // Clouds about a face, an edge and a corner of the box, and points on them; twice as far as in a free space.
        let places = [[0.5, 0.2, 0.3], [0.5, -0.5, 0.1], [0.5, 0.5, -0.5], [0.25, 0.2, 0.3]];
        for (n, wide) in [(100, 6e-7), (400, 1.5e-6), (300, 1e-8)] {
            let cloud = generate(n, Distribution::Uniform, Charge::Random, 3);
            for axes in [[true; 3], [true, false, true], [false, true, false]] {
                let periodic = Periodic { length: 1.0, axes };
                let mut all = Particles::default();
                (0..4).for_each(|k| all.push(places[k], 1.0));
                for k in 0..n {
                    let at = cloud.position(k);
                    let at = [0, 1, 2].map(|a| places[k % 4][a] + (at[a] - 0.5) * wide);
                    // The box is as long along the other axes.
                    all.push([0, 1, 2].map(|a| if axes[a] { at[a] } else { at[a].clamp(-0.5, 0.5) }), 1.0);
                }
                (0..20).for_each(|k| all.push(all.position(k * 3), 1.0));
                let wrapped = |every: &dyn Fn(usize) -> bool| {
                    let mut p = Particles::default();
                    for k in (0..all.len()).filter(|k| every(*k)) {
                        let at = all.position(k);
                        p.push([0, 1, 2].map(|a| periodic.wrap(a, at[a])), 1.0);
                    }
                    p
                };
                let (whole, targets, sources) =
                    (wrapped(&|_| true), wrapped(&|k| k % 3 == 0), wrapped(&|k| k % 3 != 0 || k % 33 == 0));
                let apart = Geometry { sources: sources.columns(), targets: Some(targets.columns()) };
                for geometry in [whole.columns().into(), apart] {
                    let tree = Tree::with_period(geometry, 8, Some(&periodic));
                    for steps in [STEPS, 2 * STEPS, 8 * STEPS] {
                        let finder = Finder::periodic(&tree, axes, steps);
                        let close = finder.find();
                        assert_eq!(close, plain(&finder), "{n} {wide} {axes:?} {steps}");
                        check_partners(&finder);
                        // Some lie on different sides of a face.
                        let inside = Finder::periodic(&tree, [false; 3], steps).find();
                        let is_more = close.pairs > inside.pairs && inside.pairs > 5;
                        assert!(is_more || steps < 8 * STEPS, "{n} {wide} {axes:?} {steps}");
                    }
                }
            }
        }
    }

    #[test]
    fn coincident_are_no_pairs() {
        let mut p = Particles::default();
        (0..9).for_each(|_| p.push([0.25; 3], 1.0));
        p.push([0.25, 0.25, 0.25 + 1e-12], 1.0);
        p.push([1.0; 3], 1.0);
        assert_eq!(found(&p).1.pairs, 2 * 9);
        // More of them, some on the same point of the grid at other places and some beside it.
        (0..3000).for_each(|_| p.push([0.25; 3], 1.0));
        let close = found(&p).1;
        assert_eq!((close.pairs, close.targets.len()), (2 * 3009, 3010));
        p.push([0.25, 0.25, 0.25 + 1e-8], 1.0);
        let close = found(&p).1;
        assert_eq!((close.pairs, close.targets.len()), (2 * (3009 + 3010), 3011));
    }

    /// Close pairs and their particles of a lattice of `edge`^3 places in one cell, `spacing` steps apart.
    fn lattice(edge: i64, spacing: f64) -> (i64, i64) {
        let mut p = in_box();
        for k in 0..edge.pow(3) {
            let at = [k / (edge * edge), k / edge % edge, k % edge];
            p.push(at.map(|x| (x + 1) as f64 * spacing * 2f64.powi(-31)), 1.0);
        }
        let close = found(&p).1;
        (close.pairs as i64 / 2, close.targets.len() as i64)
    }

    #[test]
    fn very_many_particles_in_one_cell_are_counted_at_once() {
        // 2e10 pairs cannot be looked at one after the other: all in one point, and all within reach of each other.
        let n = 58i64.pow(3);
        assert_eq!(lattice(58, 0.0), (0, 0));
        assert_eq!(lattice(58, 2.0), (n * (n - 1) / 2, n));
        // Within reach are 8 places of the lattice.
        let mut pairs = 0;
        for v in (0..17 * 17 * 17).map(|k| [k / 289 - 8, k / 17 % 17 - 8, k % 17 - 8i64]) {
            if v != [0; 3] && v.iter().map(|x| x * x).sum::<i64>() <= 64 {
                pairs += v.iter().map(|x| 40 - x.abs()).product::<i64>();
            }
        }
        assert_eq!(lattice(40, 32.0), (pairs / 2, 64_000));
    }
}
