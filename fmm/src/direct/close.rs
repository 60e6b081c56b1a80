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
    /// The tree of the targets and sources.
    pub tree: &'a Tree,
    /// The Morton key of each sorted target, where these are not the sources.
    apart: Option<Vec<u64>>,
    /// The same of each source.
    sources: Vec<u64>,
    /// The axes that are periodic.
    pub axes: [bool; 3],
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
    pub fn is_close(&self, i: usize, (j, shift): (usize, [i32; 3])) -> bool {
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
