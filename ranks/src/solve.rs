//! An FMM on many ranks from slices of the input to slices of the results, and what it reports.

use super::RankError;
use super::bytes::{Reader, Writer};
use super::comm::{Comm, Tag, agree, barrier, gather_f64, gather_u64};
use super::partition::Partition;
use super::prepare::{Prepared, Slice, prepare};
use super::report::{Clock, RankCount, RanksReport, STAGES, spread};
use super::stages::{self, Found};
use fmm::data::particles::Field;
use fmm::expansion::basis::Basis;
use fmm::octree::FmmError;
use fmm::octree::executor::{CPU, Executor, Stage, Words, Work, flag_names};
use fmm::octree::field::{beyond, is_beyond};
use fmm::octree::rounding::Rounding;
use fmm::octree::softening;
use fmm::octree::stats::{Pairs, PerKernel, Seconds, Stats};

/// The results on every rank: its slice of the results, in the order of the input, and the report of all ranks.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub fields: Vec<Field>,
    pub stats: Stats,
    pub report: RanksReport,
}

/// Computes potential and gradient, and the Hessian where it is asked for, at every target, to the bits of one rank.
/// Executors are those of this rank, of one kind on all ranks.
pub fn solve(comm: &dyn Comm, slice: &Slice, executors: &mut [&mut dyn Executor]) -> Result<Answer, RankError> {
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
        let Prepared { essential, settled, plan, .. } = self;
        let mut count = RankCount { sources: settled.sources.len() as u64, work: self.work, ..RankCount::default() };
        let mut kind = vec![Kind::Other; essential.nodes.len()];
        for (kind, node) in kind.iter_mut().zip(&essential.nodes).filter(|n| n.1.is_here) {
            let is_shared = settled.partition.is_shared(node.level, node.prefix);
            *kind = if is_shared { Kind::Root } else { Kind::Domestic };
        }
        let exported = plan.exports.iter().flat_map(|side| &side.multipoles);
        exported.for_each(|k| {
            if kind[*k as usize] == Kind::Domestic {
                kind[*k as usize] = Kind::Export;
            }
        });
        let imported = plan.imports.iter().flat_map(|side| &side.multipoles);
        imported.for_each(|k| {
            if kind[*k as usize] == Kind::Other {
                kind[*k as usize] = Kind::Import;
            }
        });
        for kind in kind {
            *match kind {
                Kind::Domestic => &mut count.domestic,
                Kind::Export => &mut count.export,
                Kind::Import => &mut count.import,
                Kind::Root => &mut count.root,
                Kind::Other => &mut count.other,
            } += 1;
        }
        let copies = plan.imports.iter().flat_map(|side| &side.copies);
        count.copies = copies.map(|s| s.1 as u64).sum();
        count.neighbours = plan.imports.iter().filter(|side| side.rank != me).count() as u64;
        count
    }
}

/// The types of boxes, as Hu, Gumerov and Duraiswami name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
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

/// The work of the kernels of all ranks in one stage.
#[derive(Default)]
struct Together {
    streamed: u64,
    cycles: Option<u64>,
    utilisation: Option<f64>,
    words: Words,
    flags: u8,
}

impl Together {
    /// Ranks run at the same time: the cycles are those of the slowest one.
    fn of(comm: &dyn Comm, work: &Work) -> Result<Together, RankError> {
        let Work { streamed, cycles, words, flags, pipelines, ii, .. } = work;
        // What engines did, and could have done: those of ranks may have other numbers of lanes.
        let slots = [streamed * (*ii).max(1) as u64, cycles.unwrap_or(0) * *pipelines as u64];
        let own = [*streamed, cycles.unwrap_or(0), words.j, words.i, words.result, *flags as u64, slots[0], slots[1]];
        let all = gather_u64(comm, &own)?;
        let sum = |k: usize| all.iter().map(|one| one[k]).sum::<u64>();
        let slowest = all.iter().map(|one| one[1]).max().filter(|cycles| *cycles > 0);
        Ok(Together {
            streamed: sum(0),
            cycles: slowest,
            utilisation: (sum(7) > 0).then(|| sum(6) as f64 / sum(7) as f64),
            words: Words { j: sum(2), i: sum(3), result: sum(4) },
            flags: all.iter().fold(0, |flags, one| flags | one[5] as u8),
        })
    }
}

/// The report of one rank's run, with what all ranks did.
fn stats(comm: &dyn Comm, slice: &Slice, prepared: &Prepared, ran: Ran) -> Result<Stats, RankError> {
    let Ran { found, executor, report } = ran;
    let (work, m2l) = (Work::sum(found.work), Work::sum(found.m2l));
    let Pairs { p2p, m2l: pairs_m2l, m2p, p2l } = prepared.pairs;
    let recomputed = work.recomputed + m2l.recomputed;
    let missing = gather_f64(comm, &work.left_out.unwrap_or_default().numbers())?;
    let missing = missing.iter().map(|of| Rounding::of_numbers(of)).fold(Rounding::default(), Rounding::join);
    let cell = prepared.map.edge() * 0.5f64.powi(prepared.levels.max(1) as i32 - 1);
    let rounding = gather_f64(comm, &work.rounding.numbers())?;
    let rounding = rounding.iter().map(|of| Rounding::of_numbers(of)).fold(Rounding::default(), Rounding::join);
    let rounding = rounding.assessed().map_err(FmmError::from)?;
    let own = [p2p, pairs_m2l, m2p, p2l, prepared.streamed_m2l, recomputed, work.close, work.shared];
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
    };
    let sets = slice.sets.len() as u64;
    let [p2p, far] = [Together::of(comm, &work)?, Together::of(comm, &m2l)?];
    let words = |of: fn(&Words) -> u64| of(&p2p.words) + of(&far.words);
    let pairs = Pairs { p2p: sum(0), m2l: sum(1), m2p: sum(2), p2l: sum(3) };
    Ok(Stats {
        backend: executor.unwrap_or(CPU).to_string(),
        n: prepared.starts[0][comm.size()] as usize,
        targets: is_apart.then(|| prepared.starts[1][comm.size()] as usize),
        order: options.order,
        lower_beyond: options.lower_beyond,
        theta: options.theta,
        leaf: options.leaf,
        enlarge: Some(options.enlarge).filter(|times| *times > 1.0),
        levels: prepared.levels,
        seconds,
        pairs,
        softened: (options.basis == Basis::Softened).then_some(options.order),
        // Several ranks stream to the cells that they share; each pair counts once.
        streamed: PerKernel { p2p: p2p.streamed, m2l: if options.near_only { 0 } else { sum(4) * sets } },
        recomputed: sum(5),
        // Pairs of particles that are sources and targets were seen from both ends.
        close_pairs: if is_apart { sum(6) } else { sum(6).div_ceil(2) },
        shared_grid_points: sum(7),
        cycles: PerKernel { p2p: p2p.cycles, m2l: far.cycles },
        utilisation: PerKernel { p2p: p2p.utilisation, m2l: far.utilisation },
        words: Words { j: words(|w| w.j), i: words(|w| w.i), result: words(|w| w.result) },
        flags: flag_names(p2p.flags | far.flags),
        left_out: missing.left_out(cell, work.has_gradient),
        coincident: work.coincident,
        rounding,
        has_gradient: work.has_gradient,
        ..Stats::default()
    })
}
