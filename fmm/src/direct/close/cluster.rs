//! Points of the integer grid in a tree of boxes, for counting those within a distance.

use crate::parallel::prelude::*;
use crate::tree::boxmap::GRID_BITS;
use std::ops::Range;

/// Points in a box that is not divided.
const LEAF: usize = 8;

/// A point of the grid and the particles on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    pub at: [i32; 3],
    first: usize,
    pub count: u32,
}

impl Point {
    /// Its particles in sorted order.
    pub fn particles(&self) -> Range<usize> {
        self.first..self.first + self.count as usize
    }
}

/// A box and the points in it.
struct Node {
    low: [i32; 3],
    high: [i32; 3],
    /// A range of [`Cluster::points`].
    points: Range<usize>,
    particles: u64,
    /// The second of its two parts; the first one follows it. 0 if it is not divided.
    second: usize,
}

/// The particles of one cell.
pub(super) struct Cluster {
    pub points: Vec<Point>,
    /// The whole first.
    nodes: Vec<Node>,
}

/// The particles within reach of the points of a cluster.
pub(super) struct Reached {
    /// Particles, summed over the particles of all points.
    pub count: u64,
    /// For each point whether there is another one among them.
    pub has_other: Vec<bool>,
}

impl Cluster {
    /// The particles of a range, of which those on one point stand together. Moved by whole periods, they still lie beside the box.
    pub fn new(grid: &[[i32; 3]], range: Range<usize>, shift: [i32; 3]) -> Cluster {
        let moved = |at: [i32; 3]| [0, 1, 2].map(|a| (at[a] as i64 + ((shift[a] as i64) << GRID_BITS)) as i32);
        let mut points = Vec::new();
        let mut first = range.start;
        for same in grid[range].chunk_by(|a, b| a == b) {
            points.push(Point { at: moved(same[0]), first, count: same.len() as u32 });
            first += same.len();
        }
        let mut cluster = Cluster { points, nodes: Vec::new() };
        cluster.divide(0..cluster.points.len());
        cluster
    }

    /// Makes the node of some points, and those below it.
    fn divide(&mut self, range: Range<usize>) -> usize {
        let points = &mut self.points[range.clone()];
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for point in &*points {
            low = std::array::from_fn(|a| low[a].min(point.at[a]));
            high = std::array::from_fn(|a| high[a].max(point.at[a]));
        }
        let particles = points.iter().map(|p| p.count as u64).sum();
        let place = self.nodes.len();
        let middle = points.len() / 2;
        let axis = (0..3).max_by_key(|a| high[*a] as i64 - low[*a] as i64).unwrap_or(0);
        if points.len() > LEAF {
            points.select_nth_unstable_by_key(middle, |p| p.at[axis]);
        }
        self.nodes.push(Node { low, high, points: range.clone(), particles, second: 0 });
        if range.len() > LEAF {
            self.divide(range.start..range.start + middle);
            self.nodes[place].second = self.divide(range.start + middle..range.end);
        }
        place
    }

    /// Adds what of `others`, which may be this cluster itself, is within so many steps of its points.
    pub fn reach(&self, others: &Cluster, steps: i64, reached: &mut Reached) {
        let leaves: Vec<&Node> = self.nodes.iter().filter(|n| n.second == 0).collect();
        let mut parts = Vec::with_capacity(leaves.len());
        let mut rest = &mut reached.has_other[..];
        for leaf in leaves {
            // Leaves are in the order of their points.
            let (part, after) = rest.split_at_mut(leaf.points.len());
            parts.push((leaf, part));
            rest = after;
        }
        let one = |(leaf, has_other): (&Node, &mut [bool])| {
            let mut walk =
                Walk { targets: &self.points[leaf.points.clone()], others, square: steps * steps, count: 0, has_other };
            walk.visit(leaf, 0);
            walk.count
        };
        reached.count += parts.into_par_iter().map(one).reduce(|| 0, |a, b| a + b);
    }
}

/// The way of the points of one leaf through another cluster.
struct Walk<'a> {
    targets: &'a [Point],
    others: &'a Cluster,
    /// The square of the distance that is within reach.
    square: i64,
    count: u64,
    has_other: &'a mut [bool],
}

impl Walk<'_> {
    fn visit(&mut self, leaf: &Node, place: usize) {
        let node = &self.others.nodes[place];
        let (nearest, farthest) = distances(leaf, node);
        if nearest > self.square {
            return;
        }
        if farthest <= self.square && node.points.len() > 1 {
            self.count += leaf.particles * node.particles;
            self.has_other.fill(true);
            return;
        }
        if node.second > 0 {
            self.visit(leaf, place + 1);
            return self.visit(leaf, node.second);
        }
        let others = &self.others.points[node.points.clone()];
        for (target, has_other) in self.targets.iter().zip(&mut *self.has_other) {
            let mut count = 0;
            for other in others {
                // They lie in cells side by side, so that the squares fit.
                let (a, b) = (&target.at, &other.at);
                let (x, y, z) = (a[0] - b[0], a[1] - b[1], a[2] - b[2]);
                if ((x * x + y * y + z * z) as i64) <= self.square {
                    count += other.count as u64;
                    *has_other |= target.at != other.at;
                }
            }
            self.count += target.count as u64 * count;
        }
    }
}

/// The squares of the least and the greatest distance between points of two boxes.
fn distances(a: &Node, b: &Node) -> (i64, i64) {
    let mut squares = (0, 0);
    for k in 0..3 {
        let (below, above) = ((a.low[k] - b.high[k]) as i64, (b.low[k] - a.high[k]) as i64);
        let (nearest, farthest) = (below.max(above).max(0), (-below).max(-above));
        squares = (squares.0 + nearest * nearest, squares.1 + farthest * farthest);
    }
    squares
}
