//! All stages of an FMM on the cards of many ranks: from slices of the input to slices of the results, with the bits of one process.
//!
//! Every card has all particles, and computes for its part of the leaves (`crate::cuda::whole`). Ranks send each other the particles
//! first, then counts, expansions at the edges of their parts, and results, and take all decisions by numbers that all of them have. A
//! failure is told in the next exchange, which all ranks come to: so all end, or turn to another way, together.

use super::RankError;
use super::bytes::{Number, cut, push_each};
use super::comm::{Comm, Tag, agree, barrier, gather_f64, gather_u64};
use super::prepare::Slice;
use super::report::{RankCount, RanksReport, spread};
use super::solve::Answer;
use crate::cuda::CudaError;
use crate::cuda::whole::others::{Others, both, bytes_of, push};
use crate::cuda::whole::{MOST_CARDS, Run, STAGES};
use crate::data::particles::Field;
use crate::fmm::gpu::Gpu;
use crate::fmm::gpu::whole::{Found, Part, Task};
use crate::fmm::stats::{OnCard, Seconds, Stats};
use crate::fmm::{FmmError, MOST_PARTICLES};
use crate::job::BackendError;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Instant;

/// The rows of the report: what comes before the stages of the cards, these, and what comes behind them. `input` is the way of the
/// particles to the cards of all ranks, `exchange` that of counts, expansions and results between cards of different ranks, and
/// `results` that from the cards to the ranks.
const ROWS: [&str; STAGES.len() + 5] = {
    let mut rows = ["input"; STAGES.len() + 5];
    let mut k = 0;
    while k < STAGES.len() {
        rows[k + 1] = STAGES[k];
        k += 1;
    }
    (rows[k + 1], rows[k + 2], rows[k + 3], rows[k + 4]) = ("exchange", "results", "waiting", "total");
    rows
};

/// What a rank computes on besides its CPU.
pub(super) struct Runner<'a> {
    pub name: &'a str,
    pub cards: usize,
    /// Runs all stages on so many of the cards, together with those of others.
    pub run: &'a mut dyn FnMut(&dyn Others, usize, &Task) -> Result<Part, CudaError>,
}

/// Computes potential and gradient at every target with all stages on the cards of the ranks, or says why the problem is one for P2P on
/// cards beside the CPUs: the same on all ranks. `leaf` bounds the particles that a leaf has in the mean.
pub fn solve(
    comm: &dyn Comm,
    slice: &Slice,
    gpu: &mut Gpu,
    leaf: Option<usize>,
) -> Result<Result<Answer, String>, RankError> {
    if let Some(why) = gpu.refuses(slice.options) {
        return Ok(Err(why));
    }
    let (name, cards) = (gpu.name(), gpu.cards());
    let mut run = |others: &dyn Others, cards: usize, task: &Task| gpu.among(others, cards, task);
    let answer = solve_by(comm, slice, Runner { name, cards, run: &mut run }, leaf)?;
    if answer.is_err() {
        // P2P alone takes its own room.
        gpu.forget();
    }
    Ok(answer)
}

/// The same by whatever runs the stages.
pub(super) fn solve_by(
    comm: &dyn Comm,
    slice: &Slice,
    runner: Runner,
    leaf: Option<usize>,
) -> Result<Result<Answer, String>, RankError> {
    let before = comm.traffic();
    agree(comm, slice.check(&[]))?;
    let lengths = |of: fn(&Slice) -> usize| gather_u64(comm, &[of(slice) as u64]).map(|all| starts(&all));
    let sources = lengths(|s| s.geometry.sources[0].len())?;
    let targets = lengths(|s| s.geometry.targets.unwrap_or(s.geometry.sources)[0].len())?;
    let (most, limit) = (sources[comm.size()].max(targets[comm.size()]), MOST_PARTICLES);
    if most > limit {
        return Err(RankError::Range(format!("{most} particles are more than the {limit} that are possible")));
    }
    let cards = gather_u64(comm, &[runner.cards as u64])?.iter().map(|one| one[0] as usize).min().unwrap_or(0);
    if cards * comm.size() > MOST_CARDS {
        return Ok(Err(format!("{} GPUs in all are more than {MOST_CARDS}", cards * comm.size())));
    }
    let sets: Option<Vec<&[f64]>> = slice.sets.iter().map(|s| s.charges.filter(|_| s.dipoles.is_none())).collect();
    let Some(sets) = sets else { return Ok(Err("the particles have dipole moments".into())) };
    let (name, options) = (runner.name, slice.options);
    let task = Task { name, geometry: slice.geometry, sets: &sets, options, leaf };

    // Ranks may have read their input at other speeds.
    barrier(comm)?;
    let (over, start) = (Over::new(comm), Instant::now());
    let found = over.together(|| {
        let found = match (runner.run)(&over, cards, &task)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let (back, waited) = (Instant::now(), over.waited());
        let (found, fields) = to_slices(&over, found, &targets)?;
        Ok(Ok((found, fields, back.elapsed().as_secs_f64() - (over.waited() - waited))))
    })?;
    let (found, fields, returned) = match found {
        Ok(Ok(found)) => found,
        Ok(Err(why)) | Err(CudaError::TooLarge(why)) => return Ok(Err(why)),
        Err(e) => return Err(FmmError::from(BackendError::from(e)).into()),
    };
    let times = found.stats.on_card.unwrap_or_default();
    let sum = |of: &dyn Fn(&Run) -> f64| found.runs.iter().map(of).sum::<f64>();
    let mut seconds = vec![times.sent];
    seconds.extend((0..STAGES.len()).map(|stage| sum(&|run| run.seconds[stage])));
    seconds.push(sum(&|run| run.travelled) - found.waited);
    seconds.extend([times.fetched + returned, over.waited(), start.elapsed().as_secs_f64(), times.computed]);
    let mut count = RankCount {
        sources: found.runs.first().map_or(0, |run| run.targets),
        work: sum(&|run| run.work),
        neighbours: comm.size() as u64 - 1,
        ..RankCount::default()
    };
    count.traffic(comm.traffic() - before);
    let (report, computed) = report(comm, &seconds, count)?;
    Ok(Ok(Answer { fields, stats: stats(found.stats, &report, computed), report }))
}

/// Where slices begin, and where the last one ends.
fn starts(lengths: &[Vec<u64>]) -> Vec<usize> {
    let mut starts = vec![0];
    lengths.iter().for_each(|n| starts.push(starts[starts.len() - 1] + n[0] as usize));
    starts
}

/// Brings results from the ranks whose cards have them to those whose slices of the targets they are of.
fn to_slices(over: &Over, mut found: Found, starts: &[usize]) -> Result<(Found, Vec<Field>), CudaError> {
    let fields = std::mem::take(&mut found.fields);
    let slices: Vec<Range<usize>> = starts.windows(2).map(|w| w[0]..w[1]).collect();
    if found.shares == slices {
        return Ok((found, fields));
    }
    let (me, columns) = (over.number(), |field: &Field| -> Vec<Vec<f64>> {
        std::iter::once(&field.potential).chain(field.gradient.iter().flatten()).cloned().collect()
    });
    let columns: Vec<Vec<f64>> = fields.iter().flat_map(columns).collect();
    let own = |part: &Range<usize>| part.start - found.shares[me].start..part.end - found.shares[me].start;
    let out = slices.iter().enumerate().map(|(to, slice)| {
        let (part, mut bytes) = (both(&found.shares[me], slice), Vec::new());
        if to != me && !part.is_empty() {
            bytes.reserve_exact(columns.len() * size_of_val(&columns[0][own(&part)]) + 1);
            columns.iter().for_each(|column| push(&mut bytes, bytes_of(&column[own(&part)])));
        }
        bytes
    });
    let arrived = over.exchange(out.collect())?;
    let mut whole = vec![Vec::with_capacity(slices[me].len()); columns.len()];
    for (from, share) in found.shares.iter().enumerate() {
        let part = both(share, &slices[me]);
        for (k, column) in whole.iter_mut().enumerate().filter(|_| !part.is_empty()) {
            if from == me {
                column.extend_from_slice(&columns[k][own(&part)]);
            } else {
                let values = arrived[from].as_chunks::<8>().0;
                push_each(column, &values[k * part.len()..(k + 1) * part.len()], |bytes| f64::of(*bytes));
            }
        }
    }
    let mut whole = whole.into_iter();
    let mut next = || whole.next().expect("four columns a field");
    let fields =
        fields.iter().map(|_| Field { potential: next(), gradient: Some([next(), next(), next()]), hessian: None });
    let fields = fields.collect();
    Ok((found, fields))
}

/// The report of all ranks from the seconds of each one, and the longest time that cards computed.
fn report(comm: &dyn Comm, seconds: &[f64], count: RankCount) -> Result<(RanksReport, f64), RankError> {
    let all = gather_f64(comm, seconds)?;
    let column = |k: usize| all.iter().map(|of| of[k]).collect::<Vec<f64>>();
    let stages = ROWS.iter().enumerate().map(|(k, row)| spread(row, &column(k))).collect();
    let counts: Vec<RankCount> =
        gather_f64(comm, &count.numbers())?.iter().filter_map(|numbers| RankCount::of(numbers)).collect();
    let imbalance = spread("", &counts.iter().map(|c| c.work).collect::<Vec<f64>>()).imbalance;
    let report = RanksReport { ranks: comm.size(), stages, imbalance, counts, ..RanksReport::default() };
    Ok((report, spread("", &column(ROWS.len())).slowest))
}

/// What all ranks did, from what one of them knows and the slowest of each stage.
fn stats(own: Stats, report: &RanksReport, computed: f64) -> Stats {
    let slowest = |stage: &str| report.stages.iter().find(|s| s.stage == stage).map_or(0.0, |s| s.slowest);
    let seconds = Seconds {
        tree: slowest("box") + slowest("sort"),
        p2m: slowest("P2M"),
        m2m: slowest("M2M"),
        m2l: slowest("M2L"),
        l2l: slowest("L2L"),
        l2p: slowest("L2P"),
        p2p: slowest("P2P"),
        total: slowest("total"),
        ..Seconds::default()
    };
    let on_card = OnCard { sent: slowest("input"), computed, fetched: slowest("results") };
    Stats { seconds, on_card: Some(on_card), ..own }
}

/// The ranks as their cards see them.
struct Over<'a> {
    comm: &'a dyn Comm,
    /// Whether all ranks know of a failure.
    is_over: Cell<bool>,
    /// How what connects ranks has failed.
    lost: RefCell<Option<RankError>>,
    waited: Cell<f64>,
}

/// The last byte of a message: whether those before it are what was asked for, or say what failed.
const FINE: u8 = 0;
const FAILED: u8 = 1;
const TOO_LARGE: u8 = 2;

impl Over<'_> {
    fn new(comm: &dyn Comm) -> Over<'_> {
        Over { comm, is_over: Cell::new(false), lost: RefCell::new(None), waited: Cell::new(0.0) }
    }

    /// Does what all ranks do. If it fails on one of them, between two exchanges or in one, it has failed on all.
    fn together<R>(&self, work: impl FnOnce() -> Result<R, CudaError>) -> Result<Result<R, CudaError>, RankError> {
        let done = match work() {
            Err(e) if self.is_over.get() => Err(e),
            // The others are in their next exchange, or in the last one.
            Err(e) => self.meet(Err(e)).and_then(|_| Err(CudaError::Failed("another rank has failed".into()))),
            Ok(done) => self.meet(Ok(vec![Vec::new(); self.comm.size()])).map(|_| done),
        };
        match self.lost.take() {
            Some(e) => Err(e),
            None => Ok(done),
        }
    }

    /// One exchange, to which each rank comes with messages or with a failure.
    fn meet(&self, own: Result<Vec<Vec<u8>>, CudaError>) -> Result<Vec<Vec<u8>>, CudaError> {
        let found = self.messages(own).unwrap_or_else(|e| {
            let failed = CudaError::Failed(e.to_string());
            self.lost.replace(Some(e));
            Err(failed)
        });
        self.is_over.set(found.is_err());
        found
    }

    fn messages(&self, own: Result<Vec<Vec<u8>>, CudaError>) -> Result<Result<Vec<Vec<u8>>, CudaError>, RankError> {
        let (me, size, start) = (self.comm.rank(), self.comm.size(), Instant::now());
        barrier(self.comm)?;
        self.waited.set(self.waited.get() + start.elapsed().as_secs_f64());
        let mut failures = vec![None; size];
        let (out, last) = match own {
            Ok(out) => (out, FINE),
            Err(e) => {
                let kind = if matches!(e, CudaError::TooLarge(_)) { TOO_LARGE } else { FAILED };
                let text = e.to_string().into_bytes();
                failures[me] = Some(e);
                (vec![text; size], kind)
            }
        };
        for (to, mut bytes) in out.into_iter().enumerate().filter(|(to, _)| *to != me) {
            bytes.push(last);
            self.comm.send(to, Tag::Cards, bytes)?;
        }
        let mut found = vec![Vec::new(); size];
        for from in (0..size).filter(|from| *from != me) {
            let mut bytes = self.comm.receive(from, Tag::Cards)?;
            let last = bytes.pop().ok_or_else(cut)?;
            let text = || String::from_utf8_lossy(&bytes).into_owned();
            match last {
                FINE => found[from] = bytes,
                TOO_LARGE => failures[from] = Some(CudaError::TooLarge(text())),
                _ => failures[from] = Some(CudaError::Failed(text())),
            }
        }
        Ok(failures.into_iter().flatten().next().map_or(Ok(found), Err))
    }
}

impl Others for Over<'_> {
    fn number(&self) -> usize {
        self.comm.rank()
    }

    fn count(&self) -> usize {
        self.comm.size()
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError> {
        self.meet(Ok(out))
    }

    fn waited(&self) -> f64 {
        self.waited.get()
    }
}
