//! All stages of an FMM on the cards of many ranks: from slices of the input to slices of the results, with the bits of one process.
//!
//! A rank's slice of the input goes to its own cards, which have the results of its targets in the end, and each card computes for its part
//! of the leaves (`crate::cuda::whole`). Cards of different ranks send each other counts, the particles of these leaves, expansions at the
//! edges of their parts, and results. Ranks take all decisions by numbers that all of them have. A failure is told in the next exchange,
//! which all ranks come to: so all end, or turn to another way, together.

use super::RankError;
use super::bytes::cut;
use super::comm::{Comm, Tag, agree, barrier, gather_f64, gather_u64};
use super::prepare::Slice;
use super::report::{RankCount, RanksReport, spread};
use super::solve::Answer;
use crate::cuda::CudaError;
use crate::cuda::whole::others::Others;
use crate::cuda::whole::{MOST_CARDS, Run, STAGES};
use crate::fmm::gpu::Gpu;
use crate::fmm::gpu::whole::{Part, Task};
use crate::fmm::stats::{OnCard, Seconds, Stats};
use crate::fmm::{FmmError, MOST_PARTICLES};
use crate::job::BackendError;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// The rows of the report: what comes before the stages of the cards, these, and what comes behind them. `input` is the way of slices to
/// the cards of their ranks, `exchange` that of counts, particles, expansions and results between cards of different ranks, and `results`
/// that from the cards to the ranks.
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

/// Runs all stages on so many of the cards, together with those of others.
pub(super) type RunStages<'a> = dyn FnMut(&dyn Others, usize, &Task) -> Result<Part, CudaError> + 'a;

/// What a rank computes on besides its CPU.
pub(super) struct Runner<'a> {
    pub name: &'a str,
    pub cards: usize,
    /// Runs all stages on so many of the cards, together with those of others.
    pub run: &'a mut RunStages<'a>,
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
    let own = [slice.geometry.sources, slice.geometry.targets.unwrap_or(slice.geometry.sources)];
    let all = gather_u64(comm, &own.map(|columns| columns[0].len() as u64))?;
    let (most, limit) = ([0, 1].map(|k| all.iter().map(|n| n[k]).sum::<u64>()), MOST_PARTICLES as u64);
    let most = most[0].max(most[1]);
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
    let found = over.together(|| (runner.run)(&over, cards, &task))?;
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(why)) | Err(CudaError::TooLarge(why)) => return Ok(Err(why)),
        Err(e) => return Err(FmmError::from(BackendError::from(e)).into()),
    };
    let times = found.stats.on_card.unwrap_or_default();
    let sum = |of: &dyn Fn(&Run) -> f64| found.runs.iter().map(of).sum::<f64>();
    let mut seconds = vec![times.sent];
    seconds.extend((0..STAGES.len()).map(|stage| sum(&|run| run.seconds[stage])));
    seconds.push(sum(&|run| run.travelled) - found.waited);
    seconds.extend([times.fetched, over.waited(), start.elapsed().as_secs_f64(), times.computed]);
    let mut count = RankCount {
        sources: found.runs.first().map_or(0, |run| run.targets),
        work: sum(&|run| run.work),
        neighbours: comm.size() as u64 - 1,
        ..RankCount::default()
    };
    count.traffic(comm.traffic() - before);
    let (report, computed) = report(comm, &seconds, count)?;
    Ok(Ok(Answer { fields: found.fields, stats: stats(found.stats, &report, computed), report }))
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
