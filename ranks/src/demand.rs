//! The data that a rank needs of others: which multipoles and which particles its lists name, who has them, and what the work is.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use super::essential::{Essential, Node, place_of};
use super::partition::{Partition, Summary};
use fmm::expansion::basis::Basis;
use fmm::octree::FmmOptions;
use fmm::octree::stats::Pairs;
use fmm::octree::tune::cost::{Costs, terms_of};
use fmm::parallel::prelude::*;
use fmm::tree::Tree;
use fmm::tree::lists::Lists;
use fmm::tree::octants::Octants;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Sorted sources of the whole: (first, count).
pub type Stretch = (u32, u32);

/// The demand that follows from the lists of a rank.
pub struct Demand {
    pub lists: Lists,
    /// Interactions of the cells that the rank answers for, and cell pairs in their M2L lists.
    pub pairs: Pairs,
    pub streamed_m2l: u64,
    /// Cells of others whose multipoles act on the rank's targets.
    pub multipoles: Vec<u32>,
    /// Particles of others that act on the rank's targets, ascending and merged.
    pub copies: Vec<Stretch>,
    /// The work of each of the rank's own leaves with targets or sources, in Morton order, and these leaves' places.
    pub leaves: Vec<u32>,
    pub work: Vec<f64>,
}

/// The context in which lists are evaluated.
pub struct Context<'a> {
    pub options: &'a FmmOptions,
    pub near2: u64,
    pub partition: &'a Partition,
    pub me: usize,
    /// Sources of the whole that are the rank's own.
    pub own: Range<u32>,
    /// Whether M2L streams all children of the cells in a list, also those that are near and masked: kernels do.
    pub streams: bool,
}

/// The data that is known of all cells.
#[derive(Clone, Copy)]
struct Known<'a> {
    nodes: &'a [Node],
    children: &'a [Octets],
    /// Octants of a cell's children whose multipoles are needed.
    needed: &'a [AtomicU8],
    tree: &'a Tree,
    lists: &'a Lists,
    octants: &'a Octants,
    prices: &'a Prices,
}

/// Octants of a cell's children: those that another rank answers for, those with sources and those with targets; and whether the
/// cell itself is another rank's.
#[derive(Clone, Copy, Default)]
struct Octets {
    foreign: u8,
    sources: u8,
    targets: u8,
    is_foreign: bool,
}

/// Of some cells.
#[derive(Default)]
struct Found {
    pairs: Pairs,
    streamed: u64,
    /// Cells of others whose multipoles act on points.
    multipoles: Vec<u32>,
    copies: Vec<Stretch>,
}

/// Cells of one task.
const TASK: usize = 1 << 9;

impl Context<'_> {
    /// `lists` are those over the cells that the rank knows, of which `tree` is made: what they need.
    pub fn look(&self, essential: &Essential, tree: &Tree, lists: Lists, costs: &Costs) -> Demand {
        let nodes = &essential.nodes[..];
        let octants = Octants::new(self.near2);
        let prices = Prices::new(self.options, costs);
        let is_foreign = |k: usize| self.partition.owner(nodes[k].level, nodes[k].prefix) != self.me;
        let octets = |k: usize| {
            let mut octets = Octets { is_foreign: is_foreign(k), ..Octets::default() };
            for c in tree.cells[k].child_range() {
                let (cell, bit) = (&tree.cells[c], 1 << tree.cells[c].octant());
                octets.foreign |= if is_foreign(c) { bit } else { 0 };
                octets.sources |= if cell.count > 0 { bit } else { 0 };
                octets.targets |= if cell.targets > 0 { bit } else { 0 };
            }
            octets
        };
        let children: Vec<Octets> = (0..nodes.len()).into_par_iter().map(octets).collect();
        let needed: Vec<AtomicU8> = (0..nodes.len()).into_par_iter().map(|_| AtomicU8::new(0)).collect();
        let (lists, octants, prices) = (lists, &octants, &prices);
        let known = Known { nodes, children: &children, needed: &needed, tree, lists: &lists, octants, prices };
        let mut work = vec![0.0; nodes.len()];
        let some = |(task, work): (usize, &mut [f64])| {
            let mut found = Found::default();
            for (k, work) in work.iter_mut().enumerate() {
                *work = self.cell(task * TASK + k, &known, &mut found);
            }
            found
        };
        let found: Vec<Found> = work.par_chunks_mut(TASK).enumerate().map(some).collect();
        let (mut pairs, mut streamed_m2l) = (Pairs::default(), 0);
        for one in &found {
            pairs.p2p += one.pairs.p2p;
            pairs.m2l += one.pairs.m2l;
            pairs.m2p += one.pairs.m2p;
            pairs.p2l += one.pairs.p2l;
            streamed_m2l += one.streamed;
        }
        let needed_of = |k: usize| {
            let bits = needed[k].load(Relaxed);
            let children = if bits == 0 { 0..0 } else { tree.cells[k].child_range() };
            children.filter(move |c| bits >> tree.cells[*c].octant() & 1 == 1).map(|c| c as u32)
        };
        let mut multipoles: Vec<u32> = (0..nodes.len()).into_par_iter().flat_map_iter(needed_of).collect();
        multipoles.extend(found.iter().flat_map(|one| &one.multipoles));
        let has_far_images = self.options.periodic.is_some() && !self.options.near_only;
        if has_far_images && !nodes.is_empty() && self.partition.owner(0, 0) != self.me {
            multipoles.push(0);
        }
        multipoles.par_sort_unstable();
        multipoles.dedup();
        let copies = merged(found.iter().flat_map(|one| one.copies.iter().copied()).collect());
        let is_own_leaf = |k: &u32| nodes[*k as usize].is_here && !nodes[*k as usize].is_split;
        let mut leaves: Vec<u32> = (0..nodes.len() as u32).into_par_iter().filter(is_own_leaf).collect();
        // Those of each level are in order.
        leaves.par_sort_by_key(|k| nodes[*k as usize].first_key());
        let work = shares(nodes, tree, &work, &leaves);
        Demand { lists, pairs, streamed_m2l, multipoles, copies, leaves, work }
    }

    /// Adds what a cell needs; its work.
    fn cell(&self, k: usize, known: &Known, found: &mut Found) -> f64 {
        let Known { nodes, children, needed, tree, lists, octants, prices } = *known;
        let (cell, node, acting) = (&tree.cells[k], &nodes[k], tree.acting());
        let is_leaf = node.is_here && !node.is_split;
        if cell.targets == 0 {
            return if is_leaf { prices.particle * node.count as f64 } else { 0.0 };
        }
        let (far, is_mine) = (!self.options.near_only, !children[k].is_foreign);
        let mut work = 0.0;
        // M2L of the cell's children: octants of sources by octants of targets, a byte for each.
        let targets = bytes(children[k].targets);
        let own_targets = bytes(children[k].targets & !children[k].foreign);
        let mut m2l = 0;
        for s in lists.v[k].iter().filter(|_| far) {
            let source = &acting[*s as usize];
            let offset = std::array::from_fn(|a| source.at[a] - cell.at[a]);
            let original = tree.original(*s);
            let there = children[original];
            let accepted = (there.sources as u64 * EACH) & !u64::from_le_bytes(octants.near_all(offset)) & targets;
            m2l += accepted.count_ones() as u64;
            found.pairs.m2l += (accepted & own_targets).count_ones() as u64;
            if is_mine {
                found.streamed += cell.children as u64 * source.children as u64;
            }
            let foreign = there.foreign & there.sources;
            if foreign != 0 {
                let taken = accepted.to_le_bytes().into_iter().fold(0, |all, some| all | some);
                let wanted = if self.streams { foreign } else { foreign & taken };
                if wanted & !needed[original].load(Relaxed) != 0 {
                    needed[original].fetch_or(wanted, Relaxed);
                }
            }
        }
        work += m2l as f64 * prices.m2l;
        let by_points = lists.w[k].iter().filter(|_| far).map(|s| tree.original(*s));
        found.multipoles.extend(by_points.filter(|c| children[*c].is_foreign).map(|c| c as u32));
        for s in lists.x[k].iter().filter(|_| far).map(|s| &acting[*s as usize]) {
            found.copies.extend(self.outside((s.first, s.count)));
            work += prices.point * s.count as f64;
            if is_mine {
                found.pairs.p2l += s.count as u64;
            }
        }
        if is_leaf {
            let direct = lists.direct(k);
            let images = direct.images.iter().map(|s| (s.first, s.count));
            let mut count = 0;
            for s in direct.own.iter().copied().chain(images) {
                count += s.1 as u64;
                // Most are the rank's own.
                if s.0 < self.own.start || s.0 + s.1 > self.own.end {
                    found.copies.extend(self.outside(s));
                }
            }
            let targets = cell.targets as u64;
            let p2p = targets * count;
            let m2p = if far { targets * lists.w[k].len() as u64 } else { 0 };
            (found.pairs.p2p, found.pairs.m2p) = (found.pairs.p2p + p2p, found.pairs.m2p + m2p);
            work += prices.pair * p2p as f64 + prices.point * m2p as f64;
            work += prices.particle * (node.count as u64 + targets) as f64;
        }
        work + prices.shift
    }

    /// The parts of a stretch that are not the rank's own.
    fn outside(&self, (first, count): Stretch) -> impl Iterator<Item = Stretch> {
        let (end, own) = (first + count, &self.own);
        let before = (first, end.min(own.start).max(first) - first);
        let behind = (first.max(own.end), end - end.min(first.max(own.end)));
        let pair = if own.is_empty() { [(first, count), (0, 0)] } else { [before, behind] };
        pair.into_iter().filter(|s| s.1 > 0)
    }
}

/// One in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Bits as bytes that are full or empty.
fn bytes(bits: u8) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| if bits >> k & 1 == 1 { u8::MAX } else { 0 }))
}

/// Seconds of what the stages do, by the model of costs.
pub struct Prices {
    pair: f64,
    m2l: f64,
    point: f64,
    particle: f64,
    shift: f64,
}

impl Prices {
    /// Terms of an expansion.
    pub fn terms(options: &FmmOptions) -> usize {
        terms_of(options.basis, options.order) as usize
    }

    fn new(options: &FmmOptions, costs: &Costs) -> Prices {
        let (native, terms) = (costs.native(options.precision), terms_of(options.basis, options.order));
        let far = native.far(options.basis);
        let pair = if options.basis == Basis::Chebyshev { native.kernel_pair } else { native.pair };
        let [particle, shift] = [far.particle, 2.0 * far.shift].map(|cost| cost * terms);
        Prices { pair, m2l: far.m2l(options.basis, options.order), point: far.point * terms, particle, shift }
    }
}

/// The work of leaves: their own, and their shares of that of the cells above, by particles.
fn shares(nodes: &[Node], tree: &Tree, work: &[f64], leaves: &[u32]) -> Vec<f64> {
    let weight = |k: usize| (nodes[k].count as u64 + nodes[k].targets as u64).max(1) as f64;
    // What a cell hands down for each of its particles.
    let mut above = vec![0.0; nodes.len()];
    for level in tree.levels.iter().cloned() {
        let (coarser, rest) = above.split_at_mut(level.start);
        let all = level.clone().into_par_iter().zip(&mut rest[..level.len()]).with_min_len(TASK);
        all.filter(|(k, _)| nodes[*k].is_here).for_each(|(k, above)| {
            let from = if k == 0 { 0.0 } else { coarser[tree.cells[k].parent as usize] };
            *above = from + work[k] / weight(k);
        });
    }
    leaves.par_iter().with_min_len(TASK).map(|k| above[*k as usize] * weight(*k as usize)).collect()
}

/// Stretches ascending, and those that touch or overlap as one.
pub fn merged(mut all: Vec<Stretch>) -> Vec<Stretch> {
    all.par_sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for (first, count) in all {
        match merged.last_mut() {
            Some(last) if first <= last.0 + last.1 => last.1 = last.1.max(first + count - last.0),
            _ => merged.push((first, count)),
        }
    }
    merged
}

/// Cells and particles that are exchanged with one rank: cells by their places among the sender's or the receiver's, particles by their
/// places in the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub rank: usize,
    pub multipoles: Vec<u32>,
    pub copies: Vec<Stretch>,
}

/// One exchange for all levels, from one rank's view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sides {
    pub imports: Vec<Side>,
    pub exports: Vec<Side>,
}

impl Sides {
    /// Tells the owners of what is needed.
    pub fn agree(
        comm: &dyn Comm,
        demand: &Demand,
        essential: &Essential,
        partition: &Partition,
        summaries: &[Summary],
    ) -> Result<Sides, RankError> {
        let nodes = &essential.nodes;
        let mut imports: Vec<Side> = (0..comm.size()).map(|rank| Side { rank, ..Side::default() }).collect();
        for k in &demand.multipoles {
            let node = &nodes[*k as usize];
            imports[partition.owner(node.level, node.prefix)].multipoles.push(*k);
        }
        let mut start = 0;
        let mut stretches = demand.copies.iter().copied().peekable();
        for (rank, summary) in summaries.iter().enumerate() {
            let end = start + summary.count[0] as u32;
            while let Some((first, count)) = stretches.peek().copied().filter(|s| s.0 < end) {
                // A stretch may go on with the next rank's particles.
                let part = (first + count).min(end) - first.max(start);
                imports[rank].copies.push((first.max(start), part));
                if first + count > end {
                    break;
                }
                stretches.next();
            }
            start = end;
        }
        imports.retain(|side| !side.multipoles.is_empty() || !side.copies.is_empty());
        let request = |side: &Side| {
            let mut bytes = Writer::default();
            bytes.u64s(&side.multipoles.iter().map(|k| nodes[*k as usize].key()).collect::<Vec<_>>());
            bytes.u32s(&side.copies.iter().flat_map(|s| [s.0, s.1]).collect::<Vec<_>>());
            (side.rank, bytes.take())
        };
        let mut exports = Vec::new();
        for (rank, bytes) in exchange(comm, Tag::Requests, imports.iter().map(request).collect())? {
            let mut bytes = Reader::new(&bytes);
            let find = |key: &u64| {
                let found = nodes.binary_search_by_key(&place_of(*key), |n| (n.level, n.prefix));
                let unknown = || RankError::Lost(format!("rank {rank} asks for a cell that is not there"));
                found.map(|k| k as u32).map_err(|_| unknown())
            };
            let multipoles = bytes.u64s()?.iter().map(find).collect::<Result<_, _>>()?;
            let copies = bytes.u32s()?.as_chunks::<2>().0.iter().map(|s| (s[0], s[1])).collect();
            exports.push(Side { rank, multipoles, copies });
        }
        Ok(Sides { imports, exports })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_merged() {
        assert_eq!(merged(vec![(5, 2), (0, 3), (3, 1), (6, 4), (20, 1)]), [(0, 4), (5, 5), (20, 1)]);
    }
}
