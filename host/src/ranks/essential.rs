//! The part of the global tree that a rank's targets meet: its own cells, cells of others near them, and the shared ones above.
//!
//! A cell is known by its level and the Morton prefix of its keys. Cells of which several ranks have a part are shared; these and
//! their children are known to all ranks. Of any other cell that is split, its owner sends the children to the ranks whose part
//! of the box is near it.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use super::partition::{Keys, Partition, Settled, Summary, below, totals};
use crate::data::periodic::Periodic;
use crate::tree::lists::{is_near, reach};
use crate::tree::{Cell, MAX_LEVEL};
use std::collections::HashMap;
use std::ops::Range;

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
    fn place(&self) -> (u32, u64) {
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

    fn at(&self) -> [i32; 3] {
        at(self.level, self.prefix)
    }
}

/// Level and prefix of a cell by its [`Node::key`], which may come from elsewhere.
pub fn place_of(key: u64) -> (u32, u64) {
    let level = key.checked_ilog2().unwrap_or(0) / 3;
    (level, key & !(1 << (3 * level)))
}

/// Integer coordinates of a cell.
pub fn at(level: u32, prefix: u64) -> [i32; 3] {
    let mut at = [0; 3];
    for bit in (0..level).rev() {
        let digit = prefix >> (3 * bit);
        (0..3).for_each(|a| at[a] = at[a] << 1 | (digit >> (2 - a) & 1) as i32);
    }
    at
}

/// The Morton prefix of integer coordinates.
pub fn prefix(level: u32, at: [i64; 3]) -> u64 {
    (0..level).rev().fold(0, |p, bit| at.iter().fold(p, |p, x| p << 1 | (x >> bit & 1) as u64))
}

/// What is near in a box that may be periodic.
pub struct Vicinity {
    offsets: Vec<[i64; 3]>,
    axes: [bool; 3],
}

impl Vicinity {
    pub fn new(near2: u64, periodic: Option<&Periodic>) -> Vicinity {
        let most = reach(near2);
        let axis = || -most..=most;
        let all = axis().flat_map(|x| axis().flat_map(move |y| axis().map(move |z| [x, y, z])));
        let offsets = all.filter(|d| is_near(*d, near2)).collect();
        Vicinity { offsets, axes: periodic.map_or([false; 3], |p| p.axes) }
    }

    /// Marks the ranks whose part of the box is near a cell.
    pub fn mark(&self, partition: &Partition, level: u32, of: u64, ranks: &mut Vec<usize>) {
        ranks.clear();
        let (at, edge) = (at(level, of).map(i64::from), 1i64 << level);
        for d in &self.offsets {
            let mut there = [0, 1, 2].map(|a| at[a] + d[a]);
            let is_outside = |a: usize| !(0..edge).contains(&there[a]);
            if (0..3).any(|a| is_outside(a) && !self.axes[a]) {
                continue;
            }
            there = there.map(|x| x.rem_euclid(edge));
            let [first, last] = partition.ranks_of(level, prefix(level, there));
            ranks.extend(first..=last);
        }
        ranks.sort_unstable();
        ranks.dedup();
    }
}

/// The rank's own cells level by level, in Morton order.
pub fn own_nodes(settled: &Settled, me: usize, leaf: usize) -> Vec<Node> {
    let keys = settled.keys();
    let offset: u64 = settled.summaries[..me].iter().map(|s| s.count[0]).sum();
    let Some(ends) = keys.ends() else { return Vec::new() };
    let grow = Grow { keys, offset, summaries: &settled.summaries, me, ends, leaf };
    let all = [0..keys.sources.len(), 0..keys.targets().len()];
    let mut nodes = vec![grow.node(0, 0, &all)];
    let mut level = vec![(nodes[0], all)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (node, ranges) in level.iter().filter(|n| n.0.is_split) {
            grow.children(node, ranges, &mut next);
        }
        nodes.extend(next.iter().map(|n| n.0));
        level = next;
    }
    nodes
}

/// A rank's sources and targets in a cell.
type Ranges = [Range<usize>; 2];

/// What cells grow from.
struct Grow<'a> {
    keys: Keys<'a>,
    /// Sources of the ranks before.
    offset: u64,
    summaries: &'a [Summary],
    me: usize,
    ends: [u64; 2],
    leaf: usize,
}

impl Grow<'_> {
    fn children(&self, node: &Node, ranges: &Ranges, out: &mut Vec<(Node, Ranges)>) {
        let shift = below(node.level + 1);
        let mut starts = [ranges[0].start, ranges[1].start];
        for octant in 0..8 {
            let prefix = node.prefix << 3 | octant;
            let end = |k: usize, keys: &[u64]| {
                starts[k] + keys[starts[k]..ranges[k].end].partition_point(|key| key >> shift <= prefix)
            };
            let sources = end(0, self.keys.sources);
            let ends = [sources, self.keys.targets.map_or(sources, |keys| end(1, keys))];
            let own = [starts[0]..ends[0], starts[1]..ends[1]];
            if own.iter().any(|range| !range.is_empty()) {
                out.push((self.node(node.level + 1, prefix, &own), own));
            }
            starts = ends;
        }
    }

    fn node(&self, level: u32, prefix: u64, own: &Ranges) -> Node {
        let mut count = [own[0].len() as u64, own[1].len() as u64];
        let mut before = 0;
        if self.ends.iter().any(|key| key >> below(level) == prefix) {
            let [earlier, all] = totals(self.summaries, self.me, level, prefix);
            (count, before) = (all, earlier[0]);
        }
        let [count, targets] = count.map(|n| n as u32);
        Node {
            level,
            prefix,
            count,
            first: (self.offset + own[0].start as u64 - before) as u32,
            targets,
            first_target: own[1].start as u32,
            is_split: level < MAX_LEVEL && count.max(targets) as usize > self.leaf,
            is_here: true,
        }
    }
}

/// How cells are sent: five numbers each.
fn write(nodes: &[Node]) -> Vec<u8> {
    let mut bytes = Writer::default();
    bytes.u64s(&nodes.iter().map(|n| n.key() << 1 | n.is_split as u64).collect::<Vec<_>>());
    bytes.u32s(&nodes.iter().flat_map(|n| [n.count, n.first, n.targets]).collect::<Vec<_>>());
    bytes.take()
}

fn read(bytes: &[u8], nodes: &mut Vec<Node>) -> Result<(), RankError> {
    let mut bytes = Reader::new(bytes);
    let (places, numbers) = (bytes.u64s()?, bytes.u32s()?);
    for (place, &[count, first, targets]) in places.iter().zip(numbers.as_chunks::<3>().0) {
        let ((level, prefix), is_split) = (place_of(place >> 1), place & 1 == 1);
        nodes.push(Node { level, prefix, count, first, targets, first_target: 0, is_split, is_here: false });
    }
    Ok(())
}

/// The cells that a rank knows.
pub struct Essential {
    /// Level by level, in Morton order; the root first.
    pub nodes: Vec<Node>,
    /// The shared cells and their children, which all ranks know: places among `nodes`.
    pub top: Vec<u32>,
    pub cells: Vec<Cell>,
}

/// Gathers the cells that a rank's targets can meet. Cells with up to `direct` sources act directly where their parents are near,
/// so that all below them comes along.
pub fn gather(
    comm: &dyn Comm,
    partition: &Partition,
    own: &[Node],
    vicinity: &Vicinity,
    direct: usize,
) -> Result<Essential, RankError> {
    let me = comm.rank();
    let is_mine = |n: &Node| partition.owner(n.level, n.prefix) == me;
    let is_shared = |n: &Node| partition.is_shared(n.level, n.prefix);
    let under_shared = |n: &Node| n.level == 0 || partition.is_shared(n.level - 1, n.prefix >> 3);
    let top: Vec<Node> = own.iter().filter(|n| under_shared(n) && is_mine(n)).copied().collect();
    let mut others = Vec::new();
    for bytes in comm.all_gather(write(&top))? {
        read(&bytes, &mut others)?;
    }
    let mut out: HashMap<usize, Vec<Node>> = HashMap::new();
    let mut room = Vec::new();
    let mut descent = Descent { own, partition, vicinity, direct, me, out: &mut out };
    let acts = |n: &Node| n.is_split && n.count > 0;
    for (k, node) in own.iter().enumerate().filter(|(_, n)| acts(n) && under_shared(n) && !is_shared(n)) {
        // Cells that are small act as their parents' other children do.
        let around = match node.level > 0 && node.count as usize <= direct {
            true => (node.level - 1, node.prefix >> 3),
            false => node.place(),
        };
        vicinity.mark(partition, around.0, around.1, &mut room);
        descent.down(k, &room);
    }
    let out = out.into_iter().map(|(rank, nodes)| (rank, write(&nodes))).collect();
    for (_, bytes) in exchange(comm, Tag::Cells, out)? {
        read(&bytes, &mut others)?;
    }
    let nodes = merged(own, others);
    let top = (0..nodes.len() as u32).filter(|k| under_shared(&nodes[*k as usize])).collect();
    let cells = cells(&nodes);
    Ok(Essential { nodes, top, cells })
}

/// Own cells, which are in order, and others: of what is there twice the rank's own one.
fn merged(own: &[Node], mut others: Vec<Node>) -> Vec<Node> {
    others.sort_unstable_by_key(Node::place);
    others.dedup_by_key(|n| n.place());
    let mut nodes = Vec::with_capacity(own.len() + others.len());
    let mut rest = own;
    for other in others {
        let before = rest.partition_point(|n| n.place() < other.place());
        nodes.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        if rest.first().is_none_or(|n| n.place() != other.place()) {
            nodes.push(other);
        }
    }
    nodes.extend_from_slice(rest);
    nodes
}

/// The way down from a cell whose particles are all the rank's.
struct Descent<'a> {
    own: &'a [Node],
    partition: &'a Partition,
    vicinity: &'a Vicinity,
    direct: usize,
    me: usize,
    out: &'a mut HashMap<usize, Vec<Node>>,
}

impl Descent<'_> {
    /// Sends the children of a cell to some ranks, and goes on with those.
    fn down(&mut self, cell: usize, ranks: &[usize]) {
        if ranks.iter().all(|rank| *rank == self.me) {
            return;
        }
        let node = self.own[cell];
        let wanted = (node.level + 1, node.prefix << 3);
        let first = self.own.partition_point(|n| n.place() < wanted);
        let children = self.own[first..].iter().take_while(|n| n.level == wanted.0 && n.prefix >> 3 == node.prefix);
        let children: Vec<Node> = children.copied().collect();
        for rank in ranks.iter().filter(|rank| **rank != self.me) {
            self.out.entry(*rank).or_default().extend(&children);
        }
        let mut room = Vec::new();
        // Cells without sources act on nothing.
        for (k, child) in children.iter().enumerate().filter(|c| c.1.is_split && c.1.count > 0) {
            match child.count as usize <= self.direct {
                true => self.down(first + k, ranks),
                false => {
                    self.vicinity.mark(self.partition, child.level, child.prefix, &mut room);
                    self.down(first + k, &room);
                }
            }
        }
    }
}

/// Nodes as the cells of a tree: those elsewhere have no targets.
fn cells(nodes: &[Node]) -> Vec<Cell> {
    let cell = |n: &Node| Cell {
        at: n.at(),
        level: n.level,
        first: n.first,
        count: n.count,
        first_target: n.first_target,
        targets: if n.is_here { n.targets } else { 0 },
        parent: 0,
        first_child: 0,
        children: 0,
    };
    let mut cells: Vec<Cell> = nodes.iter().map(cell).collect();
    let mut parent = 0;
    for k in 1..nodes.len() {
        let above = (nodes[k].level - 1, nodes[k].prefix >> 3);
        while nodes[parent].place() != above {
            parent += 1;
        }
        cells[k].parent = parent as u32;
        if cells[parent].children == 0 {
            cells[parent].first_child = k as u32;
        }
        cells[parent].children += 1;
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_coordinates_go_both_ways() {
        for (level, place) in [(0, [0, 0, 0]), (1, [1, 0, 1]), (3, [5, 2, 7]), (20, [1_000_000, 3, 777_777])] {
            assert_eq!(at(level, prefix(level, place)).map(i64::from), place);
        }
        assert_eq!(prefix(1, [1, 0, 0]), 4);
    }

    #[test]
    fn cells_of_the_deepest_level_are_read_as_they_were_written() {
        let node = |level| Node {
            level,
            prefix: (1 << (3 * level)) - 1,
            count: u32::MAX,
            first: 7,
            targets: 9,
            first_target: 0,
            is_split: level % 2 == 0,
            is_here: false,
        };
        let nodes: Vec<Node> = (0..=MAX_LEVEL).map(node).collect();
        let mut found = Vec::new();
        read(&write(&nodes), &mut found).unwrap();
        assert_eq!(found, nodes);
    }

    #[test]
    fn the_ranks_near_a_cell_are_those_with_a_part_of_a_neighbour() {
        // Two halves along x.
        let partition = Partition { cuts: vec![0, 4 << below(1), 1 << 60] };
        let mut ranks = Vec::new();
        let plain = Vicinity::new(4, None);
        plain.mark(&partition, 3, prefix(3, [3, 0, 0]), &mut ranks);
        assert_eq!(ranks, [0, 1]);
        plain.mark(&partition, 3, prefix(3, [1, 0, 0]), &mut ranks);
        assert_eq!(ranks, [0]);
        let periodic = Vicinity::new(4, Some(&Periodic { length: 1.0, axes: [true, false, false] }));
        periodic.mark(&partition, 3, prefix(3, [0, 0, 0]), &mut ranks);
        assert_eq!(ranks, [0, 1]);
    }
}
