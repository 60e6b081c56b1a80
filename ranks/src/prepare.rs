//! From slices of the input to what each rank works on: the common box, the sort, cuts of equal work, and the exchange plan.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, agree, exchange, gather_f64, gather_u64};
use super::demand::{Context, Demand, Sides};
use super::essential::{self, Essential, NeighbourOffsets};
use super::layout::{Known, Local, leaves_in};
use super::measured::Clock;
use super::partition::{self, END, Settled};
use super::points::{Points, Stretch};
use fmm::arith::vector::Vectors;
use fmm::data::particles::Columns;
use fmm::data::problem::{Geometry, Sources};
use fmm::direct::p2p::tasks::{Cutter, Section, are_worth_at};
use fmm::octree::executor::{Executor, Stage};
use fmm::octree::field::beyond;
use fmm::octree::kernel::Kernel;
use fmm::octree::options::Wanted;
use fmm::octree::stats::Pairs;
use fmm::octree::tune::cost::Costs;
use fmm::octree::{FmmOptions, MOST_PARTICLES, Plan, Precision, list_options, options, periodic};
use fmm::tree::boxmap::BoxMap;
use fmm::tree::sorted::Sorted;
use fmm::tree::{Tree, TreePart, lists};

/// A rank's slice of the input. The slices of all ranks, one behind the other, are the whole.
pub struct Slice<'a> {
    pub geometry: Geometry<'a>,
    /// The charges and moments of the sources, set by set: the same columns on every rank.
    pub sets: Vec<Sources<'a>>,
    pub hessian: bool,
    pub options: &'a FmmOptions,
    pub costs: &'a Costs,
    /// The kernel of P2P, if one runs it.
    pub kernel: Option<&'a dyn Kernel>,
    /// The arithmetic of P2P in native code.
    pub p2p: Precision,
}

/// Ranks whose work is this much above the mean are cut again: building all cells and lists once more takes longer than what is lost
/// below it.
const UNEVEN: f64 = 1.03;

/// Up to so many leaves a rank, cuts are the best that there are with whole leaves, which takes the work of all leaves. With more, an
/// even cut is off by less than a leaf.
const FEW: usize = 256;

/// The state of a rank before the first stage.
pub struct Prepared {
    pub map: BoxMap,
    pub settled: Settled,
    pub essential: Essential,
    pub sides: Sides,
    pub local: Local,
    /// Where P2P goes in both directions.
    pub section: Option<Section>,
    /// Where each rank's slices of the sources and of the targets begin, and where the last ones end.
    pub starts: [Vec<u64>; 2],
    pub pairs: Pairs,
    pub streamed_m2l: u64,
    /// The rank's work by the model of costs, in seconds.
    pub work: f64,
    /// Levels of the whole tree.
    pub levels: usize,
}

impl<'a> Slice<'a> {
    /// The same with other options.
    pub fn with<'b>(&self, options: &'b FmmOptions) -> Slice<'b>
    where
        'a: 'b,
    {
        let Slice { geometry, hessian, costs, kernel, .. } = *self;
        Slice { geometry, sets: self.sets.clone(), hessian, options, costs, kernel, p2p: options.precision }
    }

    /// Refuses options that no rank can compute.
    pub(super) fn check(&self, executors: &[&mut dyn Executor<Plan>]) -> Result<(), RankError> {
        self.options.check()?;
        let wanted = Wanted { dipoles: self.sets.iter().any(|s| s.dipoles.is_some()), hessian: self.hessian };
        options::check_executors(self.options, wanted, executors)?;
        options::check_positions(self.geometry)?;
        let n = self.geometry.sources[0].len();
        let columns = || self.sets.iter().flat_map(|s| s.charges.into_iter().chain(s.dipoles.into_iter().flatten()));
        if columns().any(|column| column.len() != n) {
            return Err(RankError::Range("there must be as many charges as sources".into()));
        }
        if beyond(&columns().collect::<Vec<_>>()).is_some() {
            return Err(RankError::Range("coordinates and charges must be finite numbers".into()));
        }
        Ok(())
    }
}

/// Where slices of some lengths begin.
fn starts(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut starts = vec![0];
    lengths.for_each(|n| starts.push(starts[starts.len() - 1] + n));
    starts
}

/// Does all that depends on positions alone.
pub fn prepare(
    comm: &dyn Comm,
    slice: &Slice,
    executors: &[&mut dyn Executor<Plan>],
    clock: &mut Clock,
) -> Result<Prepared, RankError> {
    agree(comm, slice.check(executors))?;
    let takes = |stage: Stage| executors.iter().any(|e| e.takes(stage));
    let (options, near2) = (slice.options, lists::near2(slice.options.theta));
    let periodic = options.periodic.as_ref();
    let Sort { map, starts, mut settled } = sort(comm, slice)?;
    clock.lap("sort");

    let offsets_of_neighbours = NeighbourOffsets::new(near2, periodic);
    let streams = takes(Stage::M2l);
    let view = View { comm, slice, near2, offsets_of_neighbours: &offsets_of_neighbours, map: &map, streams };
    let (mut essential, mut demand) = view.of(&settled, clock)?;
    if let Some(cuts) = view.even_cuts(&settled, &essential, &demand)? {
        settled = settled.recut(comm, &cuts, options.leaf)?;
        clock.lap("sort");
        (essential, demand) = view.of(&settled, clock)?;
    }
    clock.lap("boxes");
    let sides = Sides::agree(comm, &demand, &essential, &settled.partition, &settled.summaries)?;
    let of_leaves = demand.pairs_of_leaves(&essential);
    let (pairs, streamed_m2l, work) = (demand.pairs, demand.streamed_m2l, demand.work.iter().sum());
    let known =
        Known { map: &map, sources: settled.sources.places(), targets: settled.targets.as_ref().map(|t| t.places()) };
    let mut local = Local::new(&mut essential, demand.lists, &demand.copies, settled.own(comm.rank()), &known);
    if let Some(p) = periodic {
        local.tree.repeat(p.axes, near2);
    }
    clock.lap("plan");
    clock.wait(comm)?;
    let section = section(comm, slice, &essential, &sides, &local, &of_leaves)?;
    let depth = essential.nodes.iter().filter(|n| n.is_here).map(|n| n.level as u64 + 1).max().unwrap_or(0);
    let levels = gather_u64(comm, &[depth])?.iter().map(|one| one[0] as usize).max().unwrap_or(0);
    clock.lap("plan");
    Ok(Prepared { map, settled, essential, sides, local, section, starts, pairs, streamed_m2l, work, levels })
}

/// The particles of all ranks in the order of their keys.
struct Sort {
    map: BoxMap,
    starts: [Vec<u64>; 2],
    settled: Settled,
}

/// Brings the particles into one box, and each one to the rank that owns its part of it.
fn sort(comm: &dyn Comm, slice: &Slice) -> Result<Sort, RankError> {
    let Slice { geometry, options, .. } = slice;
    let periodic = options.periodic.as_ref();
    let wrapped = |columns: Columns| periodic.map(|p| periodic::wrapped(columns, p));
    let (sources, targets) = (wrapped(geometry.sources), geometry.targets.and_then(wrapped));
    let sources = sources.as_ref().map_or(geometry.sources, columns);
    let targets = targets.as_ref().map_or(geometry.targets, |t| Some(columns(t)));
    let lengths = gather_u64(comm, &[sources[0].len() as u64, targets.map_or(sources, |t| t)[0].len() as u64])?;
    let starts = [0, 1].map(|k| starts(lengths.iter().map(|n| n[k])));
    let (most, limit) = (starts.iter().map(|s| s[comm.size()]).max().unwrap_or(0), MOST_PARTICLES);
    if most > limit as u64 {
        return Err(RankError::Range(format!("{most} particles are more than the {limit} that are possible")));
    }
    let map = partition::common_box(comm, &[sources, targets.unwrap_or(sources)], periodic, options.enlarge)?;

    let mut carried: Vec<&[f64]> = sources.to_vec();
    carried.extend(slice.sets.iter().flat_map(|s| s.charges.into_iter().chain(s.dipoles.into_iter().flatten())));
    let both: Vec<Columns> = std::iter::once(sources).chain(targets).collect();
    let cuts = partition::cuts_by_count(comm, &both, &map)?;
    let first = |set: usize| starts[set][comm.rank()] as u32;
    let shared_out = |stretch: Stretch| Points::shared_out(comm, &stretch, &map, &cuts);
    let sources = shared_out(Stretch { columns: carried, first: first(0) })?;
    let targets = targets.map(|t| shared_out(Stretch { columns: t.to_vec(), first: first(1) })).transpose()?;
    let settled = partition::settle(comm, (sources, targets), options.leaf)?;
    Ok(Sort { map, starts, settled })
}

fn columns(points: &[Vec<f64>; 3]) -> Columns<'_> {
    points.each_ref().map(|column| &column[..])
}

impl Settled {
    /// The sources of the whole that are a rank's.
    pub fn own(&self, rank: usize) -> std::ops::Range<u32> {
        let first: u64 = self.summaries[..rank].iter().map(|s| s.count[0]).sum();
        first as u32..(first + self.summaries[rank].count[0]) as u32
    }
}

/// The inputs from which cells and lists are made.
struct View<'a> {
    comm: &'a dyn Comm,
    slice: &'a Slice<'a>,
    near2: u64,
    offsets_of_neighbours: &'a NeighbourOffsets,
    map: &'a BoxMap,
    streams: bool,
}

impl View<'_> {
    fn of(&self, settled: &Settled, clock: &mut Clock) -> Result<(Essential, Demand), RankError> {
        let (comm, options) = (self.comm, self.slice.options);
        let own = essential::own_nodes(settled, comm.rank(), options.leaf);
        let direct = list_options(options, self.near2).m2p_above;
        let mut essential = essential::gather(comm, &settled.partition, own, self.offsets_of_neighbours, direct)?;
        let nothing = || Sorted::in_order([&[]; 3], Vec::new(), self.map);
        let part = TreePart {
            map: *self.map,
            sources: nothing(),
            targets: settled.targets.is_some().then(nothing),
            cells: std::mem::take(&mut essential.cells),
            leaves: Vec::new(),
            own: 0..0,
        };
        let mut tree = Tree::of_part(part);
        if let Some(p) = &options.periodic {
            tree.repeat(p.axes, self.near2);
        }
        let own = settled.own(comm.rank());
        let (partition, me) = (&settled.partition, comm.rank());
        let context = Context { options, near2: self.near2, partition, me, own, streams: self.streams };
        clock.lap("boxes");
        let lists = lists::build(&tree, &list_options(options, self.near2));
        clock.lap("lists");
        let demand = context.look(&essential, &tree, lists, self.slice.costs);
        essential.cells = tree.cells;
        clock.lap("boxes");
        clock.wait(comm)?;
        Ok((essential, demand))
    }

    /// Cuts at leaves so that ranks have equal work; none if they have it.
    fn even_cuts(
        &self,
        settled: &Settled,
        essential: &Essential,
        demand: &Demand,
    ) -> Result<Option<Vec<u64>>, RankError> {
        let (comm, ranks) = (self.comm, self.comm.size());
        let all = gather_f64(comm, &[demand.work.iter().sum(), demand.work.len() as f64])?;
        let (total, most) = all.iter().fold((0.0, 0.0), |(sum, most): (f64, f64), w| (sum + w[0], most.max(w[0])));
        if ranks == 1 || most * ranks as f64 <= UNEVEN * total {
            return Ok(None);
        }
        let nodes = demand.leaves.iter().map(|leaf| &essential.nodes[*leaf as usize]);
        // Each cut comes from the rank whose work it falls into, as its number and its key.
        let mut own = Vec::new();
        let mut cuts = settled.partition.cuts.clone();
        if all.iter().map(|one| one[1]).sum::<f64>() <= (FEW * ranks) as f64 {
            let works = gather_f64(comm, &demand.work)?;
            let firsts = partition::even_shares(&works.concat(), ranks);
            let before: usize = works[..comm.rank()].iter().map(Vec::len).sum();
            for (k, node) in nodes.enumerate() {
                let begins = (1..ranks).filter(|rank| firsts[*rank] == before + k);
                own.extend(begins.flat_map(|rank| [rank as u64, node.first_key()]));
            }
            cuts.fill(END);
        } else {
            let mut sum: f64 = all[..comm.rank()].iter().map(|w| w[0]).sum();
            let mut next = (sum * ranks as f64 / total).floor() as usize + 1;
            for (node, work) in nodes.zip(&demand.work) {
                while next < ranks && next as f64 * total / ranks as f64 <= sum + work {
                    let is_in_first_half = next as f64 * total / ranks as f64 - sum < 0.5 * work;
                    let behind = (node.prefix + 1) << partition::below(node.level);
                    own.extend([next as u64, if is_in_first_half { node.first_key() } else { behind }]);
                    next += 1;
                }
                sum += work;
            }
        }
        for found in gather_u64(comm, &own)? {
            found.as_chunks::<2>().0.iter().for_each(|[k, key]| cuts[*k as usize] = *key);
        }
        (cuts[0], cuts[ranks]) = (0, END);
        // Rounding may leave a cut where it was.
        (1..=ranks).for_each(|k| cuts[k] = cuts[k].max(cuts[k - 1]));
        Ok(Some(cuts))
    }
}

/// Where the whole takes pairs in both directions: the tasks of the leaves that are here.
fn section(
    comm: &dyn Comm,
    slice: &Slice,
    essential: &Essential,
    sides: &Sides,
    local: &Local,
    of_leaves: &[u64],
) -> Result<Option<Section>, RankError> {
    let all = gather_u64(comm, &[of_leaves.iter().sum(), of_leaves.len() as u64])?;
    let [pairs, leaves] = [0, 1].map(|k| all.iter().map(|one| one[k]).sum::<u64>());
    let is_worth = match slice.p2p {
        Precision::F32 => worth::<f32>(pairs, leaves),
        Precision::F64 => worth::<f64>(pairs, leaves),
    };
    let is_plain = !slice.hessian && slice.sets.iter().any(|s| s.dipoles.is_none());
    if !(local.lists.is_mutual && is_plain && is_worth) {
        return Ok(None);
    }
    // Tasks are cut leaf by leaf, so that each rank goes on where the one before has stopped.
    let mut cutter = Cutter::new(pairs);
    if comm.rank() > 0 {
        let state = Reader::new(&comm.receive(comm.rank() - 1, Tag::Chain)?).u64s()?;
        let state = state.try_into().map_err(|_| RankError::Lost("a message between ranks is cut".into()))?;
        cutter = Cutter::resume(pairs, state);
    }
    let own: Vec<u32> = of_leaves.iter().map(|pairs| cutter.next(*pairs)).collect();
    if comm.rank() + 1 < comm.size() {
        let mut bytes = Writer::default();
        bytes.u64s(&cutter.state());
        comm.send(comm.rank() + 1, Tag::Chain, bytes.take())?;
    }
    let mut tasks = vec![0; local.leaves.len()];
    tasks[local.own_leaves.clone()].copy_from_slice(&own);
    let of_side = |stretches: &[_]| leaves_in(stretches, &local.leaves, essential);
    let message = |side: &super::demand::Side| {
        let mut bytes = Writer::default();
        bytes.u32s(&of_side(&side.copies).iter().map(|place| tasks[*place]).collect::<Vec<u32>>());
        (side.rank, bytes.take())
    };
    let out = sides.exports.iter().filter(|side| !side.copies.is_empty()).map(message).collect();
    let found = exchange(comm, Tag::Tasks, out)?;
    for (side, (_, bytes)) in sides.imports.iter().filter(|side| !side.copies.is_empty()).zip(&found) {
        let (places, found) = (of_side(&side.copies), Reader::new(bytes).u32s()?);
        if places.len() != found.len() {
            return Err(RankError::Lost(format!("rank {} has other leaves than this one knows of", side.rank)));
        }
        places.iter().zip(found).for_each(|(place, task)| tasks[*place] = task);
    }
    Ok(Some(Section { tasks, own: local.own_leaves.clone(), large: Vec::new() }))
}

fn worth<T: Vectors>(pairs: u64, leaves: u64) -> bool {
    are_worth_at::<T>(pairs, leaves as usize)
}
