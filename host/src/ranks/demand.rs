//! What a rank needs of others: which multipoles and which particles its lists name, who has them, and what the work is.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, exchange};
use super::essential::{Essential, Node, place_of};
use super::partition::{Partition, Summary};
use crate::expansion::basis::Basis;
use crate::fmm::FmmOptions;
use crate::fmm::stats::Pairs;
use crate::fmm::tune::cost::{Costs, terms_of};
use crate::tree::lists::Lists;
use crate::tree::octants::Octants;
use crate::tree::{Cell, Tree};
use rayon::prelude::*;
use std::ops::Range;

/// Sorted sources of the whole: (first, count).
pub type Stretch = (u32, u32);

/// What follows from the lists of a rank.
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

/// What lists are looked at with.
pub struct Eye<'a> {
    pub options: &'a FmmOptions,
    pub near2: u64,
    pub partition: &'a Partition,
    pub me: usize,
    /// Sources of the whole that are the rank's own.
    pub own: Range<u32>,
    /// Whether M2L streams all children of the cells in a list, also those that are near and masked: kernels do.
    pub streams: bool,
}

/// What is known of all cells.
#[derive(Clone, Copy)]
struct Known<'a> {
    nodes: &'a [Node],
    foreign: &'a [bool],
    present: &'a [u8],
    tree: &'a Tree,
    lists: &'a Lists,
    octants: &'a Octants,
    prices: &'a Prices,
}

/// Of one cell.
#[derive(Default)]
struct Found {
    pairs: Pairs,
    streamed: u64,
    work: f64,
    multipoles: Vec<u32>,
    copies: Vec<Stretch>,
}

impl Eye<'_> {
    /// `lists` are those over the cells that the rank knows, of which `tree` is made: what they need.
    pub fn look(&self, essential: &Essential, tree: &Tree, lists: Lists, costs: &Costs) -> Demand {
        let nodes = &essential.nodes;
        let octants = Octants::new(self.near2);
        let prices = Prices::new(self.options, costs);
        // Those whose multipoles another rank has.
        let foreign: Vec<bool> = nodes.par_iter().map(|n| self.partition.owner(n.level, n.prefix) != self.me).collect();
        // The octants of a cell's children with sources.
        let octants_of = |cell: &Cell| {
            let there = tree.cells[cell.child_range()].iter().filter(|c| c.count > 0);
            there.fold(0u8, |bits, c| bits | 1 << c.octant())
        };
        let present: Vec<u8> = tree.cells.par_iter().map(octants_of).collect();
        let (foreign, present) = (&foreign[..], &present[..]);
        let known = Known { nodes, foreign, present, tree, lists: &lists, octants: &octants, prices: &prices };
        let of_cell = |k: usize| self.cell(k, &known);
        let found: Vec<Found> = (0..nodes.len()).into_par_iter().map(of_cell).collect();
        let (mut pairs, mut streamed_m2l) = (Pairs::default(), 0);
        for one in &found {
            pairs.p2p += one.pairs.p2p;
            pairs.m2l += one.pairs.m2l;
            pairs.m2p += one.pairs.m2p;
            pairs.p2l += one.pairs.p2l;
            streamed_m2l += one.streamed;
        }
        let mut multipoles: Vec<u32> = found.iter().flat_map(|one| &one.multipoles).copied().collect();
        let has_far_images = self.options.periodic.is_some() && !self.options.near_only;
        if has_far_images && !nodes.is_empty() && self.partition.owner(0, 0) != self.me {
            multipoles.push(0);
        }
        multipoles.sort_unstable();
        multipoles.dedup();
        let copies = merged(found.iter().flat_map(|one| one.copies.iter().copied()).collect());
        let mut leaves: Vec<u32> = (0..nodes.len() as u32).collect();
        leaves.retain(|k| nodes[*k as usize].is_here && !nodes[*k as usize].is_split);
        leaves.sort_unstable_by_key(|k| nodes[*k as usize].first_key());
        let work = shares(nodes, tree, &found, &leaves);
        Demand { lists, pairs, streamed_m2l, multipoles, copies, leaves, work }
    }

    fn cell(&self, k: usize, known: &Known) -> Found {
        let Known { nodes, foreign, present, tree, lists, octants, prices } = *known;
        let (cell, node, acting) = (&tree.cells[k], &nodes[k], tree.acting());
        let mut found = Found::default();
        if cell.targets == 0 {
            if node.is_here && !node.is_split {
                found.work = prices.particle * node.count as f64;
            }
            return found;
        }
        let far = !self.options.near_only;
        // M2L of the cell's children.
        for s in lists.v[k].iter().filter(|_| far) {
            let source = &acting[*s as usize];
            let offset = std::array::from_fn(|a| source.at[a] - cell.at[a]);
            let mut taken = 0u8;
            if !foreign[k] {
                found.streamed += cell.children as u64 * source.children as u64;
            }
            let there = |c: &usize| tree.cells[*c].count > 0;
            let present = present[tree.original(*s)];
            for t in cell.child_range().filter(|t| tree.cells[*t].targets > 0) {
                let accepted = present & !octants.near(offset, tree.cells[t].octant());
                taken |= accepted;
                found.work += accepted.count_ones() as f64 * prices.m2l;
                if !foreign[t] {
                    found.pairs.m2l += accepted.count_ones() as u64;
                }
            }
            let is_taken = |c: &usize| (self.streams || taken >> tree.cells[*c].octant() & 1 == 1) && there(c);
            found.multipoles.extend(source.child_range().filter(|c| foreign[*c] && is_taken(c)).map(|c| c as u32));
        }
        let by_points = lists.w[k].iter().filter(|_| far).map(|s| tree.original(*s));
        found.multipoles.extend(by_points.filter(|c| foreign[*c]).map(|c| c as u32));
        for s in lists.x[k].iter().filter(|_| far).map(|s| &acting[*s as usize]) {
            found.copies.extend(self.outside((s.first, s.count)));
            found.work += prices.point * s.count as f64;
            if !foreign[k] {
                found.pairs.p2l += s.count as u64;
            }
        }
        if node.is_here && !node.is_split {
            let direct = lists.direct(k);
            let images = direct.images.iter().map(|s| (s.first, s.count));
            found.copies.extend(direct.own.iter().copied().chain(images).flat_map(|s| self.outside(s)));
            let targets = cell.targets as u64;
            found.pairs.p2p = targets * direct.count() as u64;
            found.pairs.m2p = if far { targets * lists.w[k].len() as u64 } else { 0 };
            found.work += prices.pair * found.pairs.p2p as f64 + prices.point * found.pairs.m2p as f64;
            found.work += prices.particle * (node.count as u64 + targets) as f64;
        }
        found.work += prices.shift;
        found
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
fn shares(nodes: &[Node], tree: &Tree, found: &[Found], leaves: &[u32]) -> Vec<f64> {
    let weight = |k: usize| (nodes[k].count as u64 + nodes[k].targets as u64).max(1) as f64;
    // What a cell hands down for each of its particles.
    let mut above = vec![0.0; nodes.len()];
    for k in (0..nodes.len()).filter(|k| nodes[*k].is_here) {
        let parent = tree.cells[k].parent as usize;
        let from = if k == 0 { 0.0 } else { above[parent] };
        above[k] = from + found[k].work / weight(k);
    }
    leaves.iter().map(|k| above[*k as usize] * weight(*k as usize)).collect()
}

/// Stretches ascending, and those that touch or overlap as one.
pub fn merged(mut all: Vec<Stretch>) -> Vec<Stretch> {
    all.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for (first, count) in all {
        match merged.last_mut() {
            Some(last) if first <= last.0 + last.1 => last.1 = last.1.max(first + count - last.0),
            _ => merged.push((first, count)),
        }
    }
    merged
}

/// Who sends what to whom: cells by their places among the sender's or the receiver's, particles by their places in the whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    pub rank: usize,
    pub multipoles: Vec<u32>,
    pub copies: Vec<Stretch>,
}

/// One exchange for all levels, from one rank's view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub imports: Vec<Side>,
    pub exports: Vec<Side>,
}

impl Plan {
    /// Tells the owners of what is needed.
    pub fn agree(
        comm: &dyn Comm,
        demand: &Demand,
        essential: &Essential,
        partition: &Partition,
        summaries: &[Summary],
    ) -> Result<Plan, RankError> {
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
        Ok(Plan { imports, exports })
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
