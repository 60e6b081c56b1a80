//! All stages of an FMM on the GPUs of many ranks: from slices of the input to slices of the results, with the bits of one process.
//!
//! A rank's slice of the input goes to its own GPUs, which have the results of its targets in the end, and each GPU computes for its part
//! of the leaves (`gpu::cuda::octree`). GPUs of different ranks send each other counts, the particles of these leaves, expansions at the
//! edges of their parts, and results. Ranks take all decisions by numbers that all of them have. A failure is reported in the next
//! exchange, which all ranks come to: so all end, or turn to another way, together.

use super::RankError;
use super::bytes::cut;
use super::comm::{Comm, Tag, agree, barrier, gather_f64, gather_u64};
use super::measured::{RankCount, RanksReport, spread};
use super::prepare::Slice;
use super::solve::{Answer, collected};
use super::tune::{Engine, Search, Tuned};
use fmm::data::particles::Field;
use fmm::octree::budget::{Fields, is_direct};
use fmm::octree::executor::BackendError;
use fmm::octree::options::Wanted;
use fmm::octree::stats::{OnGpu, Seconds, Stats};
use fmm::octree::tune::Problem;
use fmm::octree::{FmmError, FmmOptions, MOST_PARTICLES, Precision};
use gpu::cuda::CudaError;
use gpu::cuda::driver::Outcome;
use gpu::cuda::octree::communicator::Communicator;
use gpu::cuda::octree::{MOST_GPUS, Run, STAGES};
use gpu::octree::Gpu;
use gpu::octree::all_stages::search::search;
use gpu::octree::all_stages::{Found, Task};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// The rows of the report: what comes before the stages of the GPUs, these, and what comes behind them. `kernels` is what compiles or loads
/// them and makes their tables, `link` what lets GPUs of different ranks read each other's memory, `input` the way
/// of slices to the GPUs of their ranks, `exchange` that of counts, particles, expansions and results between GPUs of different ranks, with
/// what a GPU waits for there, and `results` the way from the GPUs to the ranks.
const ROWS: [&str; STAGES.len() + 7] = {
    let mut rows = ["kernels"; STAGES.len() + 7];
    (rows[1], rows[2]) = ("link", "input");
    let mut k = 0;
    while k < STAGES.len() {
        rows[k + 3] = STAGES[k];
        k += 1;
    }
    (rows[k + 3], rows[k + 4], rows[k + 5], rows[k + 6]) = ("exchange", "results", "waiting", "total");
    rows
};

/// Runs all stages on so many of the GPUs, together with those of others.
pub(super) type RunStages<'a> = dyn FnMut(&dyn Communicator, usize, &Task) -> Result<Outcome<Found>, CudaError> + 'a;

/// The GPUs that a rank computes on besides its CPU.
pub(super) struct Runner<'a> {
    pub name: &'a str,
    pub devices: usize,
    /// Runs all stages on so many of the GPUs, together with those of others.
    pub run: &'a mut RunStages<'a>,
}

/// Computes potential and gradient at every target with all stages on the GPUs of the ranks, or says why the problem is one for P2P on
/// GPUs beside the CPUs: the same on all ranks. `leaf` bounds the particles that a leaf has in the mean.
pub fn solve(
    comm: &dyn Comm,
    slice: &Slice,
    gpu: &mut Gpu,
    leaf: Option<usize>,
) -> Result<Result<Answer, String>, RankError> {
    if let Some(why) = gpu.refuses(slice.options) {
        return Ok(Err(why));
    }
    let (name, devices) = (gpu.name(), gpu.devices());
    let mut run = |others: &dyn Communicator, devices: usize, task: &Task| gpu.among(others, devices, task);
    let answer = solve_by(comm, slice, Runner { name, devices, run: &mut run }, leaf);
    match answer {
        // Also where all leave the problem to their CPUs.
        Ok(_) => gpu.unlink(|| barrier(comm))?,
        Err(_) => gpu.abandon_links(),
    }
    let answer = answer?;
    if answer.is_err() {
        // P2P alone takes its own memory.
        gpu.forget();
    }
    Ok(answer)
}

/// The GPUs of all ranks. `leaf` bounds the particles that a leaf has in the mean.
pub struct OnGpus<'a> {
    pub gpu: &'a mut Gpu,
    pub leaf: Option<usize>,
}

impl Engine for OnGpus<'_> {
    fn solve(&mut self, comm: &dyn Comm, slice: &Slice) -> Result<Result<Answer, String>, RankError> {
        solve(comm, slice, self.gpu, self.leaf)
    }

    fn split(
        &mut self,
        comm: &dyn Comm,
        slice: &Slice,
        found: Option<&Tuned>,
    ) -> Result<Result<Option<Fields>, String>, RankError> {
        let options = slice.options;
        let with = |fields: [Field; 2], found: &Tuned| {
            let [without_p2p, in_f64] = fields;
            Fields { on_grid: None, without_p2p, in_f64, is_direct: is_direct(options, &found.answer.stats.pairs) }
        };
        if options.precision == Precision::F64 {
            return Ok(Ok(found.map(|found| with([&found.fields[0]; 2].map(Field::clone), found))));
        }
        // All runs are in the tree of the one that is split.
        let leaf = match self.leaf {
            Some(leaf) => leaf,
            None => Gpu::whole_leaf(particles(comm, slice)?.iter().sum::<u64>() as usize, options),
        };
        let runs = self.gpu.split_runs(options, &mut |gpu, options| {
            let answer = solve(comm, &slice.with(options), gpu, Some(leaf))?;
            Ok::<_, RankError>(answer.map(|mut answer| answer.fields.remove(0)))
        })?;
        let runs = match runs {
            Ok(runs) => collected(comm, &runs)?,
            Err(why) => return Ok(Err(why)),
        };
        let whole = |all: Vec<Field>| all.try_into().expect("there are two");
        Ok(Ok(found.zip(runs).map(|(found, runs)| with(whole(runs), found))))
    }

    fn check(&self, slice: &Slice) -> Result<(), RankError> {
        slice.check(&[])
    }

    fn search(&self) -> Search {
        search
    }

    fn reference(
        &mut self,
        problem: &Problem,
        options: &FmmOptions,
        (set, targets): (usize, &[usize]),
    ) -> Option<Result<Vec<[f64; 10]>, FmmError>> {
        Some(self.gpu.reference((problem, set), options, targets))
    }
}

/// The numbers of sources of all ranks, and of targets where they are no sources.
fn particles(comm: &dyn Comm, slice: &Slice) -> Result<[u64; 2], RankError> {
    let own = [Some(slice.geometry.sources), slice.geometry.targets];
    let all = gather_u64(comm, &own.map(|columns| columns.map_or(0, |columns| columns[0].len() as u64)))?;
    Ok([0, 1].map(|k| all.iter().map(|n| n[k]).sum()))
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
    let ([sources, targets], limit) = (particles(comm, slice)?, MOST_PARTICLES as u64);
    let most = sources.max(targets);
    if most > limit {
        return Err(RankError::Range(format!("{most} particles are more than the {limit} that are possible")));
    }
    let devices = gather_u64(comm, &[runner.devices as u64])?.iter().map(|one| one[0] as usize).min().unwrap_or(0);
    if devices * comm.size() > MOST_GPUS {
        return Ok(Err(format!("{} GPUs in all are more than {MOST_GPUS}", devices * comm.size())));
    }
    let (name, options) = (runner.name, slice.options);
    let wanted = Wanted { dipoles: slice.sets.iter().any(|s| s.dipoles.is_some()), hessian: slice.hessian };
    if let Some(why) = Gpu::refuses_wanted(options, wanted) {
        return Ok(Err(why));
    }
    let task = Task { name, geometry: slice.geometry, sets: &slice.sets, options, wanted, leaf };

    // Ranks may have read their input at other speeds.
    barrier(comm)?;
    let (over, start) = (Over::new(comm), Instant::now());
    let found = over.together(|| (runner.run)(&over, devices, &task))?;
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(why)) | Err(CudaError::TooLarge(why)) => return Ok(Err(why)),
        Err(e) => return Err(FmmError::from(BackendError::from(e)).into()),
    };
    let times = found.stats.on_gpu.unwrap_or_default();
    let sum = |of: &dyn Fn(&Run) -> f64| found.runs.iter().map(of).sum::<f64>();
    let mut seconds = vec![found.kernels, found.linked, times.sent];
    seconds.extend((0..STAGES.len()).map(|stage| sum(&|run| run.times.stages[stage])));
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

/// A run of particles that are made on the GPUs of all ranks. Seconds are those of the slowest rank.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TimedRun {
    /// From the first kernel to the last, with all exchanges and what ranks wait for in them.
    pub total: f64,
    /// Of the stages on the GPUs.
    pub stages: Vec<(&'static str, f64)>,
    /// Exchanges between GPUs, and the time that ranks wait for each other besides.
    pub exchange: f64,
    pub waiting: f64,
}

/// Runs an FMM of `n` particles (uniform in the unit cube, charges in [0, 1)) some times on the GPUs of the ranks, after a first run that
/// allocates memory: the same on all ranks. Or says why GPUs do not take it.
pub fn timed(
    comm: &dyn Comm,
    gpu: &mut Gpu,
    n: usize,
    options: &FmmOptions,
    repeat: u32,
) -> Result<Result<Vec<TimedRun>, String>, RankError> {
    if let Some(why) = gpu.refuses(options) {
        return Ok(Err(why));
    }
    let devices = gather_u64(comm, &[gpu.devices() as u64])?.iter().map(|one| one[0] as usize).min().unwrap_or(0);
    if devices * comm.size() > MOST_GPUS {
        return Ok(Err(format!("{} GPUs in all are more than {MOST_GPUS}", devices * comm.size())));
    }
    let over = Over::new(comm);
    let found = over.together(|| gpu.timed(&over, devices, n, options, repeat));
    match found {
        Ok(Ok(_) | Err(CudaError::TooLarge(_))) => gpu.unlink(|| barrier(comm))?,
        _ => gpu.abandon_links(),
    }
    match found? {
        Ok(Ok(runs)) => runs.iter().map(|(run, waited)| of_all(comm, run, *waited)).collect::<Result<_, _>>().map(Ok),
        Ok(Err(why)) | Err(CudaError::TooLarge(why)) => Ok(Err(why)),
        Err(e) => Err(FmmError::from(BackendError::from(e)).into()),
    }
}

/// A run of all ranks.
pub(super) fn of_all(comm: &dyn Comm, run: &Run, waited: f64) -> Result<TimedRun, RankError> {
    let own = [&run.times.stages[..], &[run.times.total + run.travelled, run.travelled - waited, waited]].concat();
    let all = gather_f64(comm, &own)?;
    let slowest = |k: usize| all.iter().map(|of| of[k]).fold(0.0, f64::max);
    Ok(TimedRun {
        stages: STAGES.iter().enumerate().map(|(k, stage)| (*stage, slowest(k))).collect(),
        total: slowest(STAGES.len()),
        exchange: slowest(STAGES.len() + 1),
        waiting: slowest(STAGES.len() + 2),
    })
}

/// The report of all ranks from the seconds of each one, and the longest time that GPUs computed.
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

/// The statistics of all ranks, from those of one of them and the slowest of each stage.
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
    let on_gpu = OnGpu { sent: slowest("input"), computed, fetched: slowest("results") };
    Stats { seconds, on_gpu: Some(on_gpu), ..own }
}

/// The ranks as their GPUs see them.
pub(super) struct Over<'a> {
    comm: &'a dyn Comm,
    /// Whether all ranks know of a failure.
    is_over: Cell<bool>,
    /// How what connects ranks has failed.
    lost: RefCell<Option<RankError>>,
    waited: Cell<f64>,
}

/// The kind of an exchange, by the reason for which a rank comes to it.
enum Exchange {
    /// With messages for all.
    With(Vec<Vec<u8>>),
    /// To wait for the others.
    ToWait,
    /// To wait for the others while its GPUs may be at work, which counts as no waiting.
    BesideGpus,
}

/// How a rank is; behind the others what failed.
const FINE: u8 = 0;
const FAILED: u8 = 1;
const TOO_LARGE: u8 = 2;

impl Over<'_> {
    pub fn new(comm: &dyn Comm) -> Over<'_> {
        Over { comm, is_over: Cell::new(false), lost: RefCell::new(None), waited: Cell::new(0.0) }
    }

    /// Does what all ranks do. If it fails on one of them, between two exchanges or in one, it has failed on all.
    pub fn together<R>(&self, work: impl FnOnce() -> Result<R, CudaError>) -> Result<Result<R, CudaError>, RankError> {
        let done = match work() {
            Err(e) if self.is_over.get() => Err(e),
            // The others are in their next exchange, or in the last one.
            Err(e) => self.meet_with(Err(e)).and_then(|_| Err(CudaError::Failed("another rank has failed".into()))),
            Ok(done) => self.meet_with(Ok(Exchange::ToWait)).map(|_| done),
        };
        match self.lost.take() {
            Some(e) => Err(e),
            None => Ok(done),
        }
    }

    /// One exchange, to which each rank comes with messages or with a failure, or with nothing but to meet the others.
    fn meet_with(&self, own: Result<Exchange, CudaError>) -> Result<Vec<Vec<u8>>, CudaError> {
        let found = self.messages(own).unwrap_or_else(|e| {
            let failed = CudaError::Failed(e.to_string());
            self.lost.replace(Some(e));
            Err(failed)
        });
        self.is_over.set(found.is_err());
        found
    }

    /// First all ranks tell each other how they are, which is when they wait for each other, and then what they have for each other.
    fn messages(&self, own: Result<Exchange, CudaError>) -> Result<Result<Vec<Vec<u8>>, CudaError>, RankError> {
        let (me, size, start) = (self.comm.rank(), self.comm.size(), Instant::now());
        let others = || (0..size).filter(|rank| *rank != me);
        let mut failures = vec![None; size];
        let (said, come) = match own {
            Ok(come) => (vec![FINE], come),
            Err(e) => {
                let kind = if matches!(e, CudaError::TooLarge(_)) { TOO_LARGE } else { FAILED };
                let said = [&[kind], e.to_string().as_bytes()].concat();
                failures[me] = Some(e);
                (said, Exchange::ToWait)
            }
        };
        others().try_for_each(|to| self.comm.send(to, Tag::Gpus, said.clone()))?;
        for from in others() {
            let said = self.comm.receive(from, Tag::Gpus)?;
            let (kind, text) = said.split_first().ok_or_else(cut)?;
            let text = String::from_utf8_lossy(text).into_owned();
            failures[from] = match *kind {
                FINE => None,
                TOO_LARGE => Some(CudaError::TooLarge(text)),
                _ => Some(CudaError::Failed(text)),
            };
        }
        if let Some(failure) = failures.into_iter().flatten().next() {
            return Ok(Err(failure));
        }
        if !matches!(come, Exchange::BesideGpus) {
            self.waited.set(self.waited.get() + start.elapsed().as_secs_f64());
        }
        let Exchange::With(out) = come else { return Ok(Ok(Vec::new())) };
        let mut found = vec![Vec::new(); size];
        for (to, bytes) in out.into_iter().enumerate().filter(|(to, _)| *to != me) {
            self.comm.send(to, Tag::Gpus, bytes)?;
        }
        for from in others() {
            found[from] = self.comm.receive(from, Tag::Gpus)?;
        }
        Ok(Ok(found))
    }
}

impl Communicator for Over<'_> {
    fn number(&self) -> usize {
        self.comm.rank()
    }

    fn count(&self) -> usize {
        self.comm.size()
    }

    fn exchange(&self, out: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CudaError> {
        self.meet_with(Ok(Exchange::With(out)))
    }

    fn meet(&self) -> Result<(), CudaError> {
        self.meet_with(Ok(Exchange::BesideGpus)).map(drop)
    }

    fn waited(&self) -> f64 {
        self.waited.get()
    }
}
