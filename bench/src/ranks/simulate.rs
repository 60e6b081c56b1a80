//! Thousands of ranks on one machine: partition, types of boxes, messages and bytes, without the physics.

use fmm::data::particles::Columns;
use fmm::octree::tune::cost::Costs;
use fmm::octree::{FmmOptions, list_options};
use fmm::parallel::prelude::*;
use fmm::tree::boxmap::BoxMap;
use fmm::tree::lists::{self, near2};
use fmm::tree::octants::Octants;
use fmm::tree::sorted::Sorted;
use fmm::tree::{Tree, TreePart};
use ranks::RankError;
use ranks::demand::{Context, Demand, Prices, merged};
use ranks::essential::{self, Essential, NeighbourOffsets};
use ranks::partition::{self, END, Partition, below};
use ranks::points::Points;
use ranks::solve::levels;
use ranks::threads;
use serde::Serialize;

/// A rank that receives, and one that it receives from.
type Pair = (u32, u32);

/// The whole tree with its lists.
pub struct SimulatedProblem {
    options: FmmOptions,
    near2: u64,
    essential: Essential,
    tree: Tree,
    demand: Demand,
    /// Terms of a multipole, and bytes of each.
    terms: usize,
}

/// Bytes of a particle that travels: its place and its charge.
const PARTICLE: u64 = 32;

/// The simulated run on a number of ranks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Simulated {
    pub ranks: usize,
    /// The most work of a rank over the mean, less 1.
    pub imbalance: f64,
    /// The work of the heaviest leaf over the mean of a rank: leaves are whole, so that the imbalance is at least this less 1.
    pub heaviest_leaf: f64,
    pub partition_level: u32,
    pub critical_level: u32,
    /// Boxes of all levels, by type, over all ranks. Root boxes are counted on each rank that has a part of them.
    pub boxes: u64,
    pub domestic: u64,
    pub export: u64,
    pub import: u64,
    pub root: u64,
    /// The most boxes that one rank imports, and copies of particles.
    pub most_import: u64,
    pub copies: u64,
    pub most_copies: u64,
    /// Ranks that the busiest one gets data from.
    pub most_neighbours: u64,
    /// Messages and bytes with direct exchange: multipoles, particles, and shared boxes on their way up.
    pub messages: u64,
    pub multipole_bytes: u64,
    pub copy_bytes: u64,
    pub shared_bytes: u64,
    /// The same multipoles by way of a manager, as the paper does it, with the broadcast of all boxes at the critical level.
    pub manager_messages: u64,
    pub manager_bytes: u64,
    pub most_bytes: u64,
}

impl SimulatedProblem {
    pub fn new(sources: Columns, options: &FmmOptions, costs: &Costs) -> Result<SimulatedProblem, RankError> {
        options.check()?;
        let mut found = threads::run(1, |comm| {
            let near2 = near2(options.theta);
            let map = partition::common_box(comm, &[sources], None, options.enlarge)?;
            let points = Points::sorted(&sources, &map, 0);
            let settled = partition::settle(comm, (points, None), options.leaf)?;
            let own = essential::own_nodes(&settled, 0, options.leaf);
            let essential = essential::gather(comm, &settled.partition, own, &NeighbourOffsets::new(near2, None), 0)?;
            let part = TreePart {
                map,
                sources: Sorted::in_order([&[]; 3], Vec::new(), &BoxMap::default()),
                targets: None,
                cells: essential.cells.clone(),
                leaves: Vec::new(),
                own: 0..0,
            };
            let tree = Tree::of_part(part);
            let own = settled.own(0);
            let context = Context { options, near2, partition: &settled.partition, me: 0, own, streams: false };
            let lists = lists::build(&tree, &list_options(options, near2));
            let demand = context.look(&essential, &tree, lists, costs);
            let terms = Prices::terms(options);
            Ok(SimulatedProblem { options: options.clone(), near2, essential, tree, demand, terms })
        });
        found.pop().expect("there is one rank")
    }

    /// Boxes that are not empty.
    pub fn boxes(&self) -> usize {
        self.essential.nodes.len()
    }

    /// Cuts at leaves for equal work, and the work of each rank.
    fn cut(&self, ranks: usize) -> (Partition, Vec<f64>) {
        let Demand { leaves, work, .. } = &self.demand;
        let firsts = partition::even_shares(work, ranks);
        let key =
            |first: &usize| leaves.get(*first).map_or(END, |leaf| self.essential.nodes[*leaf as usize].first_key());
        let mut cuts: Vec<u64> = firsts.iter().map(key).collect();
        (cuts[0], cuts[ranks]) = (0, END);
        (Partition { cuts }, firsts.windows(2).map(|w| work[w[0]..w[1]].iter().sum()).collect())
    }

    /// Simulates the run on so many ranks.
    pub fn on(&self, ranks: usize) -> Simulated {
        let (partition, work) = self.cut(ranks);
        self.of(&partition, &work)
    }

    /// The same for given cuts and the work of each rank.
    fn of(&self, partition: &Partition, work: &[f64]) -> Simulated {
        let ranks = partition.ranks();
        let nodes = &self.essential.nodes;
        let owner: Vec<u32> = nodes.iter().map(|n| partition.owner(n.level, n.prefix) as u32).collect();
        // The first rank with particles in each cell: that of its first child's.
        let mut first: Vec<u32> = nodes.iter().map(|n| partition.rank_of(n.first_key()) as u32).collect();
        for k in (0..nodes.len()).rev().filter(|k| nodes[*k].is_split) {
            first[k] = first[self.tree.cells[k].first_child as usize];
        }
        let ranges = Ranges { first, owner };
        let imports = self.imports(&ranges);
        let (pairs_of_copies, copies) = self.copies(partition, &ranges);
        let is_shared = |k: &usize| partition.is_shared(nodes[*k].level, nodes[*k].prefix);
        let shared: Vec<usize> = (0..nodes.len()).filter(is_shared).collect();
        let parts = |k: usize| (ranges.owner[k] - ranges.first[k] + 1) as u64;
        let [partition_level, critical_level] = levels(shared.iter().map(|k| nodes[*k].level));
        let bytes = (self.terms * 8) as u64;

        let mut exported: Vec<u32> = imports.iter().map(|(_, k)| *k).filter(|k| !is_shared(&(*k as usize))).collect();
        exported.sort_unstable();
        exported.dedup();
        let mut neighbours: Vec<(u32, u32)> = imports.iter().map(|(to, k)| (*to, ranges.owner[*k as usize])).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let by_message = neighbours.len() as u64 + pairs_of_copies.len() as u64;
        neighbours.extend(&pairs_of_copies);
        neighbours.sort_unstable();
        neighbours.dedup();
        let most = |ranks: &mut dyn Iterator<Item = (u32, u64)>| {
            let mut counts = vec![0u64; work.len()];
            ranks.for_each(|(rank, count)| counts[rank as usize] += count);
            counts
        };
        let most_of = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0);
        let of_import = most(&mut imports.iter().map(|i| (i.0, 1)));
        let of_copies = most(&mut copies.iter().copied());
        let of_neighbours = most(&mut neighbours.iter().map(|n| (n.0, 1)));
        // Children of shared boxes on their way up to the rank that answers for the parent.
        let up = shared.iter().flat_map(|k| self.tree.cells[*k].child_range().map(move |c| (*k, c)));
        let mut up: Vec<(u32, u32, u32)> = up
            .filter(|(k, c)| ranges.owner[*k] != ranges.owner[*c])
            .map(|(k, c)| (nodes[k].level, ranges.owner[c], ranges.owner[k]))
            .collect();
        let shared_bytes = up.len() as u64 * bytes;
        up.sort_unstable();
        up.dedup();
        let at_critical = nodes.iter().filter(|n| n.level == critical_level).count() as u64;
        let (sum, all_copies) = (work.iter().sum::<f64>(), of_copies.iter().sum::<u64>());
        let most_of_work = |work: &[f64]| work.iter().copied().fold(0.0, f64::max);
        let (slowest, heaviest) = (most_of_work(work), most_of_work(&self.demand.work));
        let over_mean = |work: f64| work * ranks as f64 / sum.max(f64::MIN_POSITIVE);
        let p = ranks as u64;
        let each = of_import.iter().zip(&of_copies).map(|(i, c)| i * bytes + c * PARTICLE).max().unwrap_or(0);
        Simulated {
            ranks,
            imbalance: over_mean(slowest) - 1.0,
            heaviest_leaf: over_mean(heaviest),
            partition_level,
            critical_level,
            boxes: nodes.len() as u64,
            domestic: (nodes.len() - shared.len() - exported.len()) as u64,
            export: exported.len() as u64,
            import: imports.len() as u64,
            root: shared.iter().map(|k| parts(*k)).sum(),
            most_import: most_of(&of_import),
            copies: all_copies,
            most_copies: most_of(&of_copies),
            most_neighbours: most_of(&of_neighbours),
            messages: by_message + up.len() as u64,
            multipole_bytes: imports.len() as u64 * bytes,
            copy_bytes: all_copies * PARTICLE,
            shared_bytes,
            manager_messages: 3 * (p - 1),
            manager_bytes: (imports.len() as u64 + exported.len() as u64 + at_critical * (p - 1)) * bytes,
            most_bytes: each,
        }
    }

    /// For each rank the cells whose multipoles it needs from another one, ascending.
    fn imports(&self, ranges: &Ranges) -> Vec<(u32, u32)> {
        if self.options.near_only {
            return Vec::new();
        }
        let (tree, lists) = (&self.tree, &self.demand.lists);
        let octants = Octants::new(self.near2);
        let of_cell = |k: usize| {
            let cell = &tree.cells[k];
            let mut wanted: Vec<(u32, u32)> = Vec::new();
            let mut want = |target: usize, source: usize| {
                let ranks = ranges.first[target]..=ranges.owner[target];
                wanted.extend(ranks.filter(|r| *r != ranges.owner[source]).map(|r| (r, source as u32)));
            };
            for s in &lists.v[k] {
                let source = &tree.cells[*s as usize];
                let offset = std::array::from_fn(|a| source.at[a] - cell.at[a]);
                for t in cell.child_range() {
                    let near = octants.near(offset, tree.cells[t].octant());
                    let far = |c: &usize| near >> tree.cells[*c].octant() & 1 == 0;
                    source.child_range().filter(far).for_each(|c| want(t, c));
                }
            }
            lists.w[k].iter().for_each(|s| want(k, *s as usize));
            wanted.sort_unstable();
            wanted.dedup();
            wanted
        };
        let mut all: Vec<(u32, u32)> = (0..tree.cells.len()).into_par_iter().flat_map_iter(of_cell).collect();
        all.par_sort_unstable();
        all.dedup();
        all
    }

    /// For each rank the ranks from which it gets particles, and how many each rank gets.
    fn copies(&self, partition: &Partition, ranges: &Ranges) -> (Vec<Pair>, Vec<(u32, u64)>) {
        let (tree, lists, nodes) = (&self.tree, &self.demand.lists, &self.essential.nodes);
        let leaves = &self.demand.leaves;
        let starts: Vec<u32> = leaves.iter().map(|k| nodes[*k as usize].first).collect();
        let rank = |place: usize| {
            let node = &nodes[leaves[place] as usize];
            partition.rank_of(node.prefix << below(node.level)) as u32
        };
        let mut of_rank: Vec<Vec<(u32, u32)>> = vec![Vec::new(); partition.ranks()];
        for k in 0..tree.cells.len() {
            let ranks = ranges.first[k]..=ranges.owner[k];
            let direct = lists.direct(k).own.iter().copied();
            let through = lists.x[k].iter().map(|s| (nodes[*s as usize].first, nodes[*s as usize].count));
            let all: Vec<(u32, u32)> = direct.chain(through).collect();
            ranks.for_each(|r| of_rank[r as usize].extend(&all));
        }
        let one = |(me, stretches): (usize, Vec<(u32, u32)>)| {
            let (mut from, mut count) = (Vec::new(), 0u64);
            for (first, length) in merged(stretches) {
                let places = starts.partition_point(|s| *s < first)..starts.partition_point(|s| *s < first + length);
                for place in places.filter(|place| rank(*place) != me as u32) {
                    count += nodes[leaves[place] as usize].count as u64;
                    from.push((me as u32, rank(place)));
                }
            }
            from.dedup();
            (from, (me as u32, count))
        };
        let found: Vec<_> = of_rank.into_par_iter().enumerate().map(one).collect();
        let (pairs, counts): (Vec<Vec<_>>, Vec<_>) = found.into_iter().unzip();
        (pairs.into_iter().flatten().collect(), counts)
    }
}

/// For each cell the first rank with a part of it and the last one, which answers for it.
struct Ranges {
    first: Vec<u32>,
    owner: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmm::data::problem::Geometry;
    use fmm::data::random::{Distribution, generate};
    use ranks::measured::Clock;
    use ranks::prepare::{Slice, prepare};

    #[test]
    fn simulated_ranks_exchange_what_ranks_do() {
        let costs = Costs::default();
        for (distribution, leaf) in
            [(Distribution::Sphere, 12), (Distribution::Plummer, 8), (Distribution::Uniform, 20)]
        {
            let particles = generate(2500, distribution, distribution.default_charge(), 6);
            let options = FmmOptions { leaf, ..FmmOptions::default() };
            let whole = SimulatedProblem::new(particles.columns(), &options, &costs).unwrap();
            for ranks in [1, 2, 5] {
                let found = threads::run(ranks, |comm| {
                    let range = 2500 * comm.rank() / ranks..2500 * (comm.rank() + 1) / ranks;
                    let geometry = Geometry::from(particles.columns().map(|c| &c[range.clone()]));
                    let sets = vec![particles.q[range].into()];
                    let slice = Slice {
                        geometry,
                        sets,
                        hessian: false,
                        options: &options,
                        costs: &costs,
                        kernel: None,
                        p2p: options.precision,
                    };
                    let prepared = prepare(comm, &slice, &[], &mut Clock::default())?;
                    let asked: usize = prepared.sides.imports.iter().map(|side| side.multipoles.len()).sum();
                    Ok((prepared.settled.partition.clone(), prepared.count(comm.rank()), asked as u64))
                });
                let found: Vec<_> = found.into_iter().map(|one| one.unwrap()).collect();
                let work: Vec<f64> = found.iter().map(|one| one.1.work).collect();
                let simulated = whole.of(&found[0].0, &work);
                let (asked, copies) = found.iter().fold((0, 0), |(a, c), one| (a + one.2, c + one.1.copies));
                assert_eq!((simulated.import, simulated.copies), (asked, copies), "{distribution:?}");
                assert!(
                    ranks > 1
                        || (simulated.messages, simulated.import, simulated.imbalance.abs() < 1e-12) == (0, 0, true)
                );
            }
        }
    }

    #[test]
    fn work_is_cut_evenly_for_many_ranks() {
        for distribution in [Distribution::Uniform, Distribution::Sphere, Distribution::Plummer] {
            let particles = generate(20_000, distribution, distribution.default_charge(), 6);
            let options = FmmOptions { leaf: 8, ..FmmOptions::default() };
            let whole = SimulatedProblem::new(particles.columns(), &options, &Costs::default()).unwrap();
            let [few, many] = [4, 64].map(|ranks| whole.on(ranks));
            assert!(few.imbalance < 0.05 && few.boxes == many.boxes, "{distribution:?} {few:?}");
            for Simulated { imbalance, heaviest_leaf, .. } in [few, many] {
                assert!(
                    (heaviest_leaf - 1.0..=heaviest_leaf).contains(&(imbalance + 1e-9)),
                    "{distribution:?} {many:?}"
                );
            }
            assert!(many.import > few.import && many.messages > few.messages);
        }
    }
}
