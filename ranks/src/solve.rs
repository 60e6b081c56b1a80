//! An FMM on many ranks from slices of the input to slices of the results, and what it reports.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, agree, barrier, gather_f64, gather_u64};
use super::measured::{Clock, RankCount, RanksReport, STAGES, spread};
use super::partition::Partition;
use super::prepare::{Prepared, Slice, prepare};
use super::stages::{self, Found};
use fmm::data::particles::Field;
use fmm::expansion::basis::Basis;
use fmm::octree::executor::{Executor, Stage, Words, Work};
use fmm::octree::field::{beyond, is_beyond};
use fmm::octree::rounding::Rounding;
use fmm::octree::softening;
use fmm::octree::stats::{Pairs, PerKernel, Seconds, Stats};
use fmm::octree::{FmmError, Plan};

/// The results on every rank: its slice of the results, in the order of the input, and the report of all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub fields: Vec<Field>,
    pub stats: Stats,
    pub report: RanksReport,
}

/// Computes potential and gradient, and the Hessian where it is asked for, at every target, to the bits of one rank.
/// Executors are those of this rank, of one role on all ranks.
pub fn solve(comm: &dyn Comm, slice: &Slice, executors: &mut [&mut dyn Executor<Plan>]) -> Result<Answer, RankError> {
    let before = comm.traffic();
    // Ranks may have read their input at other speeds.
    barrier(comm)?;
    let mut clock = Clock::default();
    let mut prepared = prepare(comm, slice, executors, &mut clock)?;
    let eps = prepared.map.length(slice.options.eps);
    if let Some(other) = softening::other(slice.options, eps, prepared.levels) {
        let other = Slice { p2p: slice.p2p, ..slice.with(&other) };
        let Answer { fields, stats, report } = solve(comm, &other, executors)?;
        return Ok(Answer { fields, stats: Stats { order: slice.options.order, ..stats }, report });
    }
    let found = stages::run(comm, slice, executors, &mut prepared, &mut clock)?;
    clock.wait(comm)?;
    let fields = returned(comm, &prepared, &found)?;
    clock.lap("results");
    clock.end();
    let mut count = prepared.count(comm.rank());
    count.traffic(comm.traffic() - before);
    let report = report(comm, &prepared, &clock, count)?;
    let executor = executors.iter().find(|e| e.takes(Stage::P2p)).map(|e| e.name());
    let stats = stats(comm, slice, &prepared, Ran { found, executor, report: &report })?;
    Ok(Answer { fields, stats, report })
}

/// Sends results to where the targets came from. A result beyond the range of f64 is an error.
fn returned(comm: &dyn Comm, prepared: &Prepared, found: &Found) -> Result<Vec<Field>, RankError> {
    let (points, starts) = match &prepared.settled.targets {
        Some(targets) => (targets, &prepared.starts[1]),
        None => (&prepared.settled.sources, &prepared.starts[0]),
    };
    let mut fields = Vec::new();
    for (columns, work) in found.columns.iter().zip(&found.work) {
        let columns: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let back = points.returned(comm, &columns, starts)?;
        let wrong = beyond(&back.iter().map(|column| &column[..]).collect::<Vec<_>>());
        let own = wrong.map_or(Vec::new(), |(column, k)| vec![column as u64, starts[comm.rank()] + k as u64]);
        if let Some(first) = gather_u64(comm, &own)?.iter().filter(|at| at.len() == 2).min() {
            return Err(is_beyond(first[0] as usize, first[1] as usize).into());
        }
        let mut back = back.into_iter();
        let mut next = || back.next().unwrap_or_default();
        let potential = next();
        let gradient = Some([next(), next(), next()]).filter(|_| work.has_gradient);
        let hessian = (columns.len() == 10).then(|| [next(), next(), next(), next(), next(), next()]);
        fields.push(Field { potential, gradient, hessian });
    }
    agree(comm, Ok(fields))
}

/// The results of all ranks on the first one, in the order of the input; on others nothing.
pub fn collected(comm: &dyn Comm, fields: &[Field]) -> Result<Option<Vec<Field>>, RankError> {
    let columns = |field: &Field| -> Vec<Vec<f64>> {
        let more = field.gradient.iter().flatten().chain(field.hessian.iter().flatten());
        std::iter::once(&field.potential).chain(more).cloned().collect()
    };
    if comm.rank() > 0 {
        let mut bytes = Writer::default();
        fields.iter().flat_map(columns).for_each(|column| bytes.f64s(&column));
        comm.send(0, Tag::Results, bytes.take())?;
        return Ok(None);
    }
    let mut all = fields.to_vec();
    for from in 1..comm.size() {
        let bytes = comm.receive(from, Tag::Results)?;
        let mut bytes = Reader::new(&bytes);
        for field in &mut all {
            let more = field.gradient.iter_mut().flatten().chain(field.hessian.iter_mut().flatten());
            for column in std::iter::once(&mut field.potential).chain(more) {
                column.extend(bytes.f64s()?);
            }
        }
    }
    Ok(Some(all))
}

impl Prepared {
    /// Boxes by type and what travels, for one rank.
    pub fn count(&self, me: usize) -> RankCount {
        let Prepared { essential, settled, sides, .. } = self;
        let mut count = RankCount { sources: settled.sources.len() as u64, work: self.work, ..RankCount::default() };
        let mut role = vec![CellRole::Other; essential.nodes.len()];
        for (role, node) in role.iter_mut().zip(&essential.nodes).filter(|n| n.1.is_here) {
            let is_shared = settled.partition.is_shared(node.level, node.prefix);
            *role = if is_shared { CellRole::Root } else { CellRole::Domestic };
        }
        let exported = sides.exports.iter().flat_map(|side| &side.multipoles);
        exported.for_each(|k| {
            if role[*k as usize] == CellRole::Domestic {
                role[*k as usize] = CellRole::Export;
            }
        });
        let imported = sides.imports.iter().flat_map(|side| &side.multipoles);
        imported.for_each(|k| {
            if role[*k as usize] == CellRole::Other {
                role[*k as usize] = CellRole::Import;
            }
        });
        for role in role {
            *match role {
                CellRole::Domestic => &mut count.domestic,
                CellRole::Export => &mut count.export,
                CellRole::Import => &mut count.import,
                CellRole::Root => &mut count.root,
                CellRole::Other => &mut count.other,
            } += 1;
        }
        let copies = sides.imports.iter().flat_map(|side| &side.copies);
        count.copies = copies.map(|s| s.1 as u64).sum();
        count.neighbours = sides.imports.iter().filter(|side| side.rank != me).count() as u64;
        count
    }
}

/// The types of boxes, as Hu, Gumerov and Duraiswami name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellRole {
    /// All of its particles are the rank's, and no other rank asks for it.
    Domestic,
    /// The same, and another rank needs its multipole.
    Export,
    /// Another rank's, whose multipole this one needs.
    Import,
    /// Several ranks have a part of it: above the partition level.
    Root,
    /// Known to the rank, and not needed.
    Other,
}

/// The levels of the paper: on and below the first no box is shared; the second is the one above it, 2 at least.
pub fn levels(shared: impl Iterator<Item = u32>) -> [u32; 2] {
    let partition = shared.map(|level| level + 1).max().unwrap_or(0);
    [partition, partition.saturating_sub(1).max(2)]
}

fn shared_levels<'p>(prepared: &'p Prepared, partition: &'p Partition) -> impl Iterator<Item = u32> + 'p {
    let nodes = prepared.essential.top.iter().map(|k| &prepared.essential.nodes[*k as usize]);
    nodes.filter(|n| partition.is_shared(n.level, n.prefix)).map(|n| n.level)
}

fn report(comm: &dyn Comm, prepared: &Prepared, clock: &Clock, count: RankCount) -> Result<RanksReport, RankError> {
    let seconds = gather_f64(comm, &clock.seconds)?;
    let column = |k: usize| seconds.iter().map(|of| of[k]).collect::<Vec<f64>>();
    let stages = STAGES.iter().enumerate().map(|(k, stage)| spread(stage, &column(k))).collect();
    let counts: Vec<RankCount> =
        gather_f64(comm, &count.numbers())?.iter().filter_map(|numbers| RankCount::of(numbers)).collect();
    let [partition_level, critical_level] = levels(shared_levels(prepared, &prepared.settled.partition));
    let imbalance = spread("", &counts.iter().map(|c| c.work).collect::<Vec<f64>>()).imbalance;
    let ranks = comm.size();
    Ok(RanksReport { ranks, by: String::new(), stages, imbalance, partition_level, critical_level, counts })
}

/// The run, and its executor.
struct Ran<'a> {
    found: Found,
    executor: Option<&'a str>,
    report: &'a RanksReport,
}

/// The work of a stage on all ranks, of engines as long as the slowest takes, with their utilisation: those of ranks may have other
/// numbers of lanes.
fn together(comm: &dyn Comm, work: &Work) -> Result<(Work, Option<f64>), RankError> {
    let Work { streamed, recomputed, close, shared, cycles, words, flags, pipelines, ii, .. } = work;
    // What engines did, and could have done.
    let slots = [streamed * (*ii).max(1) as u64, cycles.unwrap_or(0) * *pipelines as u64];
    let counts = [*streamed, *recomputed, *close, *shared, words.j, words.i, words.result];
    let own = [&counts[..], &slots, &[cycles.unwrap_or(0), *flags as u64]].concat();
    let all = gather_u64(comm, &own)?;
    let sum = |k: usize| all.iter().map(|one| one[k]).sum::<u64>();
    let work = Work {
        streamed: sum(0),
        recomputed: sum(1),
        close: sum(2),
        shared: sum(3),
        words: Words { j: sum(4), i: sum(5), result: sum(6) },
        cycles: all.iter().map(|one| one[9]).max().filter(|cycles| *cycles > 0),
        flags: all.iter().fold(0, |flags, one| flags | one[10] as u8),
        coincident: work.coincident,
        has_gradient: work.has_gradient,
        ..Work::default()
    };
    Ok((work, (sum(8) > 0).then(|| sum(7) as f64 / sum(8) as f64)))
}

/// The report of one rank's run, with what all ranks did.
fn stats(comm: &dyn Comm, slice: &Slice, prepared: &Prepared, ran: Ran) -> Result<Stats, RankError> {
    let Ran { found, executor, report } = ran;
    let (work, m2l) = (Work::sum(found.work), Work::sum(found.m2l));
    let Pairs { p2p, m2l: pairs_m2l, m2p, p2l } = prepared.pairs;
    let missing = gather_f64(comm, &work.left_out.unwrap_or_default().numbers())?;
    let missing = missing.iter().map(|of| Rounding::of_numbers(of)).fold(Rounding::default(), Rounding::join);
    let cell = prepared.map.edge() * 0.5f64.powi(prepared.levels.max(1) as i32 - 1);
    let rounding = gather_f64(comm, &work.rounding.numbers())?;
    let rounding = rounding.iter().map(|of| Rounding::of_numbers(of)).fold(Rounding::default(), Rounding::join);
    let rounding = rounding.assessed().map_err(FmmError::from)?;
    let own = [p2p, pairs_m2l, m2p, p2l, prepared.streamed_m2l];
    let all = gather_u64(comm, &own)?;
    let sum = |k: usize| all.iter().map(|one| one[k]).sum::<u64>();
    let options = slice.options;
    let is_apart = prepared.settled.targets.is_some();
    let slowest = |stage: &str| report.stages.iter().find(|s| s.stage == stage).map_or(0.0, |s| s.slowest);
    let seconds = Seconds {
        tree: ["sort", "boxes", "lists", "plan"].into_iter().map(slowest).sum(),
        p2m: slowest("P2M"),
        m2m: slowest("M2M"),
        m2l: slowest("M2L"),
        l2l: slowest("L2L"),
        l2p: slowest("L2P"),
        p2p: slowest("P2P"),
        m2p: slowest("M2P"),
        p2l: slowest("P2L"),
        total: slowest("total"),
        ..Seconds::default()
    };
    let sets = slice.sets.len() as u64;
    let ((p2p, of_p2p), (far, of_far)) = (together(comm, &work)?, together(comm, &m2l)?);
    Ok(Stats {
        n: prepared.starts[0][comm.size()] as usize,
        targets: is_apart.then(|| prepared.starts[1][comm.size()] as usize),
        order: options.order,
        lower_beyond: options.lower_beyond,
        theta: options.theta,
        leaf: options.leaf,
        enlarge: Some(options.enlarge).filter(|times| *times > 1.0),
        levels: prepared.levels,
        seconds,
        pairs: Pairs { p2p: sum(0), m2l: sum(1), m2p: sum(2), p2l: sum(3) },
        softened: (options.basis == Basis::Softened).then_some(options.order),
        // Several ranks stream to the cells that they share; each pair counts once.
        streamed: PerKernel { p2p: p2p.streamed, m2l: if options.near_only { 0 } else { sum(4) * sets } },
        // Pairs of particles that are sources and targets were seen from both ends.
        close_pairs: if is_apart { p2p.close } else { p2p.close.div_ceil(2) },
        utilisation: PerKernel { p2p: of_p2p, m2l: of_far },
        left_out: missing.left_out(cell, work.has_gradient),
        rounding,
        ..Stats::of_work(executor, &p2p, &far)
    })
}
