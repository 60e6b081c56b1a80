//! The part of the global tree that a rank's targets meet: its own cells, cells of others near them, and the shared ones above.
//!
//! A cell is known by its level and the Morton prefix of its keys. Cells of which several ranks have a part are shared; these and
//! their children are known to all ranks. Of any other cell that is split, its owner sends the children to the ranks whose part
//! of the box is near it.

#[cfg(test)]
pub use super::node::prefix;
pub use super::node::{Marked, NeighbourOffsets, Node, at, place_of};

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use super::partition::{Keys, Partition, Settled, Summary, below, totals};
use fmm::data::parts as parts_of;
use fmm::parallel::prelude::*;
use fmm::tree::{Cell, MAX_LEVEL, octant_ends};
use std::mem::MaybeUninit;
use std::ops::Range;

/// Cells of one task.
const TASK: usize = 1 << 10;

/// The rank's own cells level by level, in Morton order.
pub fn own_nodes(settled: &Settled, me: usize, leaf: usize) -> Vec<Node> {
    let keys = settled.keys();
    let offset: u64 = settled.summaries[..me].iter().map(|s| s.count[0]).sum();
    let Some(ends) = keys.ends() else { return Vec::new() };
    let grow = Grow { keys, offset, summaries: &settled.summaries, me, ends, leaf };
    let root = grow.node(0, 0, &[0..keys.sources.len() as u32, 0..keys.targets().len() as u32]);
    // Parts of each level in their order.
    let mut parts = vec![vec![root]];
    let mut level = 0..1;
    while !level.is_empty() {
        let below = |some: &[Node]| {
            let mut found = Vec::with_capacity(some.len());
            some.iter().filter(|n| n.is_split).for_each(|node| grow.children(node, &mut found));
            Some(found).filter(|part| !part.is_empty())
        };
        let tasks: Vec<&[Node]> = parts[level.clone()].iter().flat_map(|part| part.chunks(TASK)).collect();
        let found: Vec<Vec<Node>> = tasks.into_par_iter().flat_map_iter(below).collect();
        level = level.end..level.end + found.len();
        parts.extend(found);
    }
    joined(&parts)
}

/// Parts one behind the other.
fn joined(parts: &[Vec<Node>]) -> Vec<Node> {
    let mut all: Vec<Node> = Vec::new();
    let counts: Vec<usize> = parts.iter().map(Vec::len).collect();
    let rooms: Vec<_> = parts_of(&mut all, &counts).collect();
    parts.par_iter().zip(rooms).for_each(|(part, room)| {
        room.iter_mut().zip(part).for_each(|(to, node)| *to = MaybeUninit::new(*node));
    });
    // SAFETY: all parts have been written.
    unsafe { all.set_len(counts.iter().sum()) };
    all
}

/// A rank's sources and targets in a cell.
type Ranges = [Range<u32>; 2];

/// The inputs from which cells are built.
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
    /// The rank's own points in one of its cells.
    fn points(&self, node: &Node) -> [Range<usize>; 2] {
        let both = [self.keys.sources, self.keys.targets()];
        if self.is_at_end(node.level, node.prefix) {
            let shift = below(node.level);
            let place = |keys: &[u64], prefix: u64| keys.partition_point(|key| key >> shift < prefix);
            return both.map(|keys| place(keys, node.prefix)..place(keys, node.prefix + 1));
        }
        let first = [(node.first as u64 - self.offset) as usize, node.first_target as usize];
        [first[0]..first[0] + node.count as usize, first[1]..first[1] + node.targets as usize]
    }

    /// Whether a cell has the rank's first or last key: other ranks may have points in it.
    fn is_at_end(&self, level: u32, prefix: u64) -> bool {
        self.ends.iter().any(|key| key >> below(level) == prefix)
    }

    fn children(&self, node: &Node, out: &mut Vec<Node>) {
        let points = self.points(node);
        let mut starts = points.each_ref().map(|points| points.start as u32);
        let [points, of_targets] = points;
        let sources = octant_ends(points, node.level, self.keys.sources);
        let targets = self.keys.targets.map_or(sources, |keys| octant_ends(of_targets, node.level, keys));
        for (octant, ends) in sources.into_iter().zip(targets).enumerate() {
            let own = [starts[0]..ends.0, starts[1]..ends.1];
            if own.iter().any(|range| !range.is_empty()) {
                let prefix = node.prefix << 3 | octant as u64;
                out.push(self.node(node.level + 1, prefix, &own));
            }
            starts = [ends.0, ends.1];
        }
    }

    fn node(&self, level: u32, prefix: u64, own: &Ranges) -> Node {
        let mut count = [own[0].len() as u64, own[1].len() as u64];
        let mut before = 0;
        if self.is_at_end(level, prefix) {
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
            first_target: own[1].start,
            is_split: level < MAX_LEVEL && count.max(targets) as usize > self.leaf,
            is_here: true,
        }
    }
}

/// How cells are sent: five numbers each.
fn write(nodes: &[Node], places: &[u32]) -> Vec<u8> {
    let nodes = || places.iter().map(|k| &nodes[*k as usize]);
    let mut bytes = Writer::default();
    bytes.u64s(&nodes().map(|n| n.key() << 1 | n.is_split as u64).collect::<Vec<_>>());
    bytes.u32s(&nodes().flat_map(|n| [n.count, n.first, n.targets]).collect::<Vec<_>>());
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
    own: Vec<Node>,
    offsets_of_neighbours: &NeighbourOffsets,
    direct: usize,
) -> Result<Essential, RankError> {
    let children = children(&own);
    let top = top(&own, partition, |k| places(children[k]));
    let is_mine = |k: &u32| partition.owner(own[*k as usize].level, own[*k as usize].prefix) == comm.rank();
    let mine: Vec<u32> = top.iter().copied().filter(is_mine).collect();
    let mut others = Vec::new();
    for bytes in comm.all_gather(write(&own, &mine))? {
        read(&bytes, &mut others)?;
    }
    let descent = Descent { own: &own, children: &children, partition, offsets_of_neighbours, direct, me: comm.rank() };
    let out = descent.from(&top).into_iter().enumerate().filter(|sent| !sent.1.is_empty());
    let out = out.map(|(rank, places)| (rank, write(&own, &places))).collect();
    for (_, bytes) in exchange(comm, Tag::Cells, out)? {
        read(&bytes, &mut others)?;
    }
    let nodes = merged(own, others);
    let cells = cells(&nodes);
    let top = self::top(&nodes, partition, |k| cells[k].child_range());
    Ok(Essential { nodes, top, cells })
}

/// The shared cells and their children, level by level.
fn top(nodes: &[Node], partition: &Partition, children: impl Fn(usize) -> Range<usize>) -> Vec<u32> {
    let mut top: Vec<u32> = if nodes.is_empty() { Vec::new() } else { vec![0] };
    let mut next = 0;
    while let Some(k) = top.get(next).map(|k| *k as usize) {
        if partition.is_shared(nodes[k].level, nodes[k].prefix) {
            top.extend(children(k).map(|child| child as u32));
        }
        next += 1;
    }
    top
}

/// Own cells, which are in order, and others: of what is there twice the rank's own one.
fn merged(own: Vec<Node>, mut others: Vec<Node>) -> Vec<Node> {
    // They come rank by rank in order.
    others.sort_by_key(Node::place);
    others.dedup_by_key(|n| n.place());
    if others.is_empty() {
        return own;
    }
    // Own cells task by task, each with the others from its first cell on to that of the next task.
    let first = |task: &[Node]| others.partition_point(|n| n.place() < task[0].place());
    let starts: Vec<usize> = own.par_chunks(MERGED).map(first).collect();
    let before = others[..starts.first().copied().unwrap_or(others.len())].to_vec();
    let one = |(task, own): (usize, &[Node])| {
        let end = starts.get(task + 1).copied().unwrap_or(others.len());
        merged_part(own, &others[starts[task]..end])
    };
    let mut parts = vec![before];
    own.par_chunks(MERGED).enumerate().map(one).extend_into(&mut parts);
    joined(&parts)
}

/// Own cells of a task that brings others in.
const MERGED: usize = 1 << 14;

fn merged_part(own: &[Node], others: &[Node]) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(own.len() + others.len());
    let mut rest = own;
    for other in others {
        // What is looked for is seldom far ahead.
        let far = (0..).map(|k| 8 << k).find(|n| rest.get(*n).is_none_or(|n| n.place() >= other.place()));
        let near = &rest[..far.map_or(rest.len(), |n| n.min(rest.len()))];
        let before = near.partition_point(|n| n.place() < other.place());
        nodes.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        if rest.first().is_none_or(|n| n.place() != other.place()) {
            nodes.push(*other);
        }
    }
    nodes.extend_from_slice(rest);
    nodes
}

/// A cell's children among the cells: the first one's place, and how many there are.
type Children = (u32, u32);

fn places((first, count): Children) -> Range<usize> {
    first as usize..(first + count) as usize
}

/// The children of each cell. These stand in the order of their parents.
fn children(nodes: &[Node]) -> Vec<Children> {
    let mut children = vec![(0, 0); nodes.len()];
    let tasks = children.par_chunks_mut(TASK).zip(nodes.par_chunks(TASK));
    tasks.for_each(|(children, parents)| {
        let first = (parents[0].level + 1, parents[0].prefix << 3);
        let mut next = nodes.partition_point(|n| n.place() < first);
        for (children, parent) in children.iter_mut().zip(parents) {
            let is_child = |n: &Node| n.level == parent.level + 1 && n.prefix >> 3 == parent.prefix;
            let count = nodes[next..].iter().take_while(|n| is_child(n)).count();
            *children = (next as u32, count as u32);
            next += count;
        }
    });
    children
}

/// The way down from cells whose particles are all the rank's.
struct Descent<'a> {
    own: &'a [Node],
    children: &'a [Children],
    partition: &'a Partition,
    offsets_of_neighbours: &'a NeighbourOffsets,
    direct: usize,
    me: usize,
}

/// A cell whose children are sent, and the ranks that get them.
type Sent = (u32, Vec<usize>);

impl Descent<'_> {
    /// For each rank the cells that are sent to it, ascending, given the shared cells and their children.
    fn from(&self, top: &[u32]) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.partition.ranks()];
        let mut level = Vec::new();
        let mut marked = Marked::default();
        let is_shared = |n: &Node| self.partition.is_shared(n.level, n.prefix);
        for (k, node) in top.iter().map(|k| (*k, &self.own[*k as usize])).filter(|n| !is_shared(n.1)) {
            // Cells that are small act as their parents' other children do; so do the cells above that are small too.
            let mut around = node.place();
            while around.0 > 0 && self.is_small(around) {
                around = (around.0 - 1, around.1 >> 3);
            }
            self.offsets_of_neighbours.mark(self.partition, around.0, around.1, &mut marked);
            self.send(k, &marked.ranks, &mut level);
        }
        while !level.is_empty() {
            let found: Vec<_> = level.par_chunks(TASK / 8).map(|some| self.below(some)).collect();
            for (k, ranks) in &level {
                ranks.iter().for_each(|r| out[*r].extend(places(self.children[*k as usize]).map(|c| c as u32)));
            }
            level = found.concat();
        }
        out.iter_mut().for_each(|places| places.sort_unstable());
        out
    }

    /// Whether one of the own cells is small.
    fn is_small(&self, place: (u32, u64)) -> bool {
        let found = self.own.binary_search_by_key(&place, Node::place);
        found.is_ok_and(|k| self.own[k].count as usize <= self.direct)
    }

    /// Cells without sources act on nothing, and those without children have nothing to send.
    fn send(&self, k: u32, ranks: &[usize], to: &mut Vec<Sent>) {
        let node = &self.own[k as usize];
        let others: Vec<usize> = ranks.iter().copied().filter(|rank| *rank != self.me).collect();
        if node.is_split && node.count > 0 && !others.is_empty() {
            to.push((k, others));
        }
    }

    fn below(&self, level: &[Sent]) -> Vec<Sent> {
        let (mut next, mut marked) = (Vec::new(), Marked::default());
        for (k, ranks) in level {
            for child in places(self.children[*k as usize]) {
                let node = &self.own[child];
                if node.count as usize <= self.direct {
                    self.send(child as u32, ranks, &mut next);
                } else if node.is_split {
                    self.offsets_of_neighbours.mark(self.partition, node.level, node.prefix, &mut marked);
                    self.send(child as u32, &marked.ranks, &mut next);
                }
            }
        }
        next
    }
}

/// Nodes as the cells of a tree: those elsewhere have no targets.
fn cells(nodes: &[Node]) -> Vec<Cell> {
    let cell = |(n, (first_child, children)): (&Node, Children)| Cell {
        at: n.at(),
        level: n.level,
        first: n.first,
        count: n.count,
        first_target: n.first_target,
        targets: if n.is_here { n.targets } else { 0 },
        parent: 0,
        first_child: if children == 0 { 0 } else { first_child },
        children,
    };
    let mut cells: Vec<Cell> = nodes.par_iter().zip(children(nodes)).map(cell).collect();
    cells.par_chunks_mut(TASK).zip(nodes.par_chunks(TASK)).for_each(|(cells, some)| {
        let above = |n: &Node| (n.level - 1, n.prefix >> 3);
        let first = some.iter().find(|n| n.level > 0).map(above);
        let mut parent = first.map_or(0, |first| nodes.partition_point(|n| n.place() < first));
        for (cell, node) in cells.iter_mut().zip(some).filter(|n| n.1.level > 0) {
            while nodes[parent].place() < above(node) {
                parent += 1;
            }
            cell.parent = parent as u32;
        }
    });
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::data::periodic::Periodic;

    #[test]
    fn prefixes_and_coordinates_go_both_ways() {
        for place in [[0, 0, 0], [1, 0, 1], [5, 2, 7], [1_000_000, 3, 777_777]] {
            assert_eq!(at(prefix(place)).map(|x| x as u64), place);
        }
        assert_eq!((prefix([1, 0, 0]), prefix([0, 3, 0])), (4, 0o22));
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
        read(&write(&nodes, &(0..nodes.len() as u32).collect::<Vec<_>>()), &mut found).unwrap();
        assert_eq!(found, nodes);
    }

    #[test]
    fn the_ranks_near_a_cell_are_those_with_a_part_of_a_neighbour() {
        // Two halves along x.
        let partition = Partition { cuts: vec![0, 4 << below(1), 1 << 60] };
        let mut found = Marked::default();
        let plain = NeighbourOffsets::new(4, None);
        plain.mark(&partition, 3, prefix([3, 0, 0]), &mut found);
        assert_eq!(found.ranks, [0, 1]);
        plain.mark(&partition, 3, prefix([1, 0, 0]), &mut found);
        assert_eq!(found.ranks, [0]);
        let periodic = NeighbourOffsets::new(4, Some(&Periodic { length: 1.0, axes: [true, false, false] }));
        periodic.mark(&partition, 3, prefix([0, 0, 0]), &mut found);
        assert_eq!(found.ranks, [0, 1]);
    }
}
