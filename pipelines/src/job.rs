//! The backend trait: where a pairwise kernel runs.

use fmm::octree::executor::Work;
pub use fmm::octree::executor::{BackendError, Words};
use hdl::{Flags, Format};
use pg2::graph::Graph;

/// A piece of the sources of a job: records `first .. first + count`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRange {
    pub first: usize,
    pub count: usize,
}

/// Targets `first .. first + count` and the sources that act on each of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub first: usize,
    pub count: usize,
    /// A range of [`Job::segments`].
    pub segments: std::ops::Range<usize>,
}

/// Records as bit patterns: `elements` patterns a record, record by record. Their formats are those that the backend
/// [holds](Backend::held).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    pub elements: usize,
    pub bits: Vec<u64>,
}

impl Table {
    /// The number of records.
    pub fn len(&self) -> usize {
        self.bits.len().checked_div(self.elements).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The patterns of record `k`.
    pub fn record(&self, k: usize) -> &[u64] {
        &self.bits[k * self.elements..(k + 1) * self.elements]
    }
}

/// Work for a backend: evaluate `graph` for every run's targets against its segments of sources.
pub struct Job<'a> {
    pub graph: &'a Graph,
    /// i records, elements in record order (see [`hdl::engine::Layout`]).
    pub targets: &'a Table,
    /// j records.
    pub sources: &'a Table,
    /// Parameter patterns.
    pub params: &'a [u64],
    /// Runs in the order in which they should go through; their targets do not overlap. A target in no run
    /// gets the identities.
    pub runs: &'a [Run],
    pub segments: &'a [SourceRange],
}

impl Job<'_> {
    /// Pairs of a target and a source.
    pub fn pairs(&self) -> u64 {
        let sources = |run: &Run| self.segments[run.segments.clone()].iter().map(|s| s.count as u64).sum::<u64>();
        self.runs.iter().map(|run| run.count as u64 * sources(run)).sum()
    }
}

/// The work of the pipelines behind filters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filtered {
    /// Filters in front of each pipeline.
    pub filters: u32,
    /// Pairs that the pipelines took, of those that the filters had.
    pub passed: u64,
}

/// The results of a job.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One record of output patterns for each target.
    pub results: Table,
    /// The flags of each target.
    pub flags: Vec<Flags>,
    /// Engine counters; `None` where there is no clock.
    pub cycles: Option<u64>,
    /// Occupied lanes times sources, as the engine counts.
    pub pairs: u64,
    /// Lanes of the engine; 0 where there is none. With filters, each of these is a lane.
    pub lanes: u32,
    /// Of an engine with filters, their part.
    pub filtered: Option<Filtered>,
    /// Clocks from one pair to the next on a lane; 0 where there is none.
    pub ii: u32,
    /// Record words sent and received over the link: j, i, result; zeros where there is no link.
    pub words: Words,
}

impl Outcome {
    /// Adds this to what a stage did.
    pub fn add_to(&self, work: &mut Work) {
        work.streamed = work.streamed.saturating_add(self.pairs);
        work.pipelines = self.lanes;
        work.ii = self.ii;
        work.flags |= self.flags.iter().fold(Flags::NONE, |a, f| a | *f).0;
        if let Some(cycles) = self.cycles {
            work.cycles = Some(work.cycles.unwrap_or(0).saturating_add(cycles));
        }
        work.words.j += self.words.j;
        work.words.i += self.words.i;
        work.words.result += self.words.result;
    }

    /// Pairs over those that the lanes could take in as many cycles; `None` where there is no clock.
    pub fn utilisation(&self) -> Option<f64> {
        let cycles = self.cycles.filter(|c| *c > 0)?;
        Some(self.pairs as f64 * self.ii.max(1) as f64 / (cycles as f64 * self.lanes as f64))
    }

    /// Pairs that the pipelines behind filters took, over those that they could take in as many cycles; `None` without filters or
    /// a clock.
    pub fn busy(&self) -> Option<f64> {
        let (Filtered { filters, passed }, cycles) = (self.filtered?, self.cycles.filter(|c| *c > 0)?);
        Some(passed as f64 * filters as f64 / (cycles as f64 * self.lanes as f64))
    }
}

/// A place to run kernels.
pub trait Backend: Send {
    /// The name on the command line.
    fn name(&self) -> &str;

    /// The format whose patterns the records of a job and its results hold for a pin of a format: that one itself, but where
    /// the backend rounds to none.
    fn held(&self, format: Format) -> Format {
        format
    }

    /// Whether results are the bits that the language defines; otherwise they have real-arithmetic semantics (RULES N10).
    fn is_exact(&self) -> bool {
        true
    }

    /// Whether it takes kernels whose sums are numbers of f64 (`in_numbers` of the real-arithmetic reference).
    fn takes_numbers(&self) -> bool {
        false
    }

    /// Whether it computes beside the CPU, which can do other stages meanwhile.
    fn is_device(&self) -> bool {
        false
    }

    /// Builds or finds what a kernel runs on, so that a missing tool or device is known before there is work for it. `pairs`
    /// is about how many are to come: a simulation of few is compiled quickly, one of many to run fast.
    fn prepare(&mut self, _graph: &Graph, _pairs: u64) -> Result<(), BackendError> {
        Ok(())
    }

    /// Targets that one stream of sources serves: the lanes of a group of a kernel's engine, which is [prepared](Backend::prepare) where
    /// it is not yet. `None` where there are no engines.
    fn lanes(&mut self, _graph: &Graph, _pairs: u64) -> Result<Option<u32>, BackendError> {
        Ok(None)
    }

    /// Runs a job. `progress` is called now and then with the number of finished targets.
    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError>;

    /// Whether jobs of these kernels can run at the same time.
    fn runs_together(&self, _graphs: &[&Graph]) -> bool {
        false
    }

    /// Runs jobs, those of different kernels at the same time where that can be. Those of one kernel keep their order. The
    /// outcomes are in the order of the jobs, and are those of [`Backend::run`].
    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        one_by_one(jobs, &mut |job, done| self.run(job, done), progress)
    }
}

/// Runs a job; its second argument is called with the number of finished targets.
type RunJob<'a> = dyn FnMut(&Job, &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> + 'a;

/// Runs jobs one after the other.
pub fn one_by_one(
    jobs: &[Job],
    run: &mut RunJob,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<Outcome>, BackendError> {
    let mut before = 0;
    let mut one = |job: &Job| {
        let outcome = run(job, &mut |done| progress(before + done))?;
        before += job.targets.len();
        Ok(outcome)
    };
    jobs.iter().map(&mut one).collect()
}
