//! An FMM shared out among ranks, with the choices that one process makes: who runs the stages, leaf size, order for a tolerance,
//! errors and their budget.
//!
//! Every rank gives its slice of the particles, and the first one gets the fields of all:
//!
//! ```
//! use pairforge::fmm::ranks::{Job, RankSlice, slice};
//! use pairforge::fmm::{Options, Problem};
//! use pairforge::ranks::threads;
//!
//! let particles = pairforge::random::uniform(1000, 1);
//! let job = Job::new(&Options::default().order(6), 2)?;
//! let found = threads::run(2, |rank| {
//!     let own = slice(1000, rank);
//!     let geometry = particles.columns().map(|column| &column[own.clone()]).into();
//!     let part = RankSlice { own: Problem { geometry, sets: vec![particles.q[own].into()] }, n: 1000, whole: None };
//!     job.open(rank, 0)?.solve(rank, &part)
//! });
//! let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(pairforge::Error::from)?;
//! let solved = found.into_iter().flatten().next().expect("the first rank has it");
//! assert_eq!(solved.fields[0].potential.len(), 1000);
//! # Ok::<(), pairforge::Error>(())
//! ```
//!
//! Ranks of MPI are [`ranks::mpi::Mpi::begin`], and what connects them otherwise is a [`Comm`] of the caller's.

pub mod same;

use super::costs::{self, Known};
use super::kernels::Kernels;
use super::route::Route;
use super::task::Task;
use super::{Options, Problem, whole};
use crate::Error;
use crate::backends::BackendOptions;
use fmm::data::particles::Field;
use fmm::octree::budget::Fields;
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::stats::Stats;
use fmm::octree::tune::Problem as Searched;
use fmm::octree::{FmmError, FmmOptions, Plan};
use gpu::octree::{Gpu, Share};
use pg2::graph::Graph;
use pipelines::job::Backend;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;
use ranks::RankError;
use ranks::comm::{Comm, agree, broadcast, on_machine};
use ranks::gpus::OnGpus;
use ranks::measured::RanksReport;
use ranks::prepare::Slice;
use ranks::solve::Answer;
use ranks::tune::{self, Engine, OnCpus, Tuned};
use std::ops::Range;

/// A rank's part of `n` things in a row.
pub fn slice(n: usize, comm: &dyn Comm) -> Range<usize> {
    let start = |rank: usize| (n as u128 * rank as u128 / comm.size() as u128) as usize;
    start(comm.rank())..start(comm.rank() + 1)
}

/// Costs of the stages that the machine of the first rank has kept: they count on all ranks, so that these choose the same leaves.
pub fn costs_of_first(comm: &dyn Comm) -> Result<Known, RankError> {
    let (own, warning) = match costs::kept() {
        _ if comm.rank() > 0 => (None, None),
        Ok(bytes) => (bytes, None),
        Err(why) => (None, Some(why)),
    };
    Ok(Known { warning, ..Known::of(Some(&broadcast(comm, own.unwrap_or_default())?)) })
}

/// The work of all ranks for any particles: options, the route that follows from them, and kernels.
pub struct Job {
    asked: Options,
    route: Route,
    kernels: Option<Kernels>,
    /// Threads of the engine of a rank, where it is simulated.
    threads: usize,
    known: Known,
}

/// A rank's part of a problem.
pub struct RankSlice<'a> {
    /// Its slice of the sources, and of the targets where these are others.
    pub own: Problem<'a>,
    /// Number of sources of all ranks.
    pub n: usize,
    /// All of it, on the first rank, which searches the order for a [tolerance](Options::tolerance).
    pub whole: Option<&'a Problem<'a>>,
}

/// The results of all ranks, on the first one.
pub struct Solved {
    pub fields: Vec<Field>,
    pub stats: Stats,
    pub report: RanksReport,
    /// The options with which, and what splits the error where that is asked for.
    options: FmmOptions,
    split: Option<Fields>,
}

impl Job {
    /// Checks the options, and compiles the kernels that they name. So many `ranks` share the cores of this process.
    pub fn new(asked: &Options, ranks: usize) -> Result<Job, Error> {
        let route = Route::new(asked)?;
        route.check(asked)?;
        Job::on(asked.clone(), route, costs::known(), ranks)
    }

    /// The same for a route that was checked, by these costs, which must be equal on all ranks.
    pub fn on(asked: Options, mut route: Route, known: Known, ranks: usize) -> Result<Job, Error> {
        let kernels = match route.native {
            true => None,
            false => Some(Kernels::new(&asked, route.entry, &mut route.options)?),
        };
        let threads = (rayon::current_num_threads() / ranks).max(1);
        Ok(Job { asked, route, kernels, threads, known })
    }

    /// All kernels that run, which must be equal on all ranks.
    pub fn graphs(&self) -> impl Iterator<Item = &Graph> {
        self.kernels.iter().flat_map(Kernels::graphs).chain(&self.route.on_gpu)
    }

    /// Opens the devices that a rank computes on besides its CPU, and builds or finds what kernels run on, for about so many pairs.
    pub fn open(&self, comm: &dyn Comm, pairs: u64) -> Result<Opened<'_>, RankError> {
        let Route { entry, on_gpu, function, options, .. } = &self.route;
        let (turn, of) = on_machine(comm)?;
        let share = Share { turn, of, devices: self.asked.gpus };
        let gpu = on_gpu.as_ref().map(|kernel| Gpu::open_shared(entry.name, kernel, &share)).transpose();
        let gpu = agree(comm, gpu.map_err(RankError::from))?;
        let open = |kernel| Gpu::open_function(entry.name, kernel, &options.params, &share);
        let black_box = agree(comm, function.as_ref().map(open).transpose().map_err(RankError::from))?;
        let place = self.route.place_of_rank(comm.rank(), comm.size());
        let place = agree(comm, place.map_err(|e| RankError::Option(e.to_string())))?;
        let engine = BackendOptions { turn, place, threads: self.threads, ..self.asked.engine.clone() };
        let mut backend = (entry.open)(&engine);
        let mut prepare = || {
            let mut graphs = self.kernels.iter().flat_map(Kernels::graphs);
            graphs.try_for_each(|graph| backend.prepare(graph, pairs))
        };
        // What the first rank builds the others find.
        for is_first in [true, false] {
            let done = if (comm.rank() == 0) == is_first { prepare() } else { Ok(()) };
            agree(comm, done.map_err(|e| RankError::from(FmmError::from(e))))?;
        }
        Ok(Opened { job: self, gpu, black_box, backend })
    }

    /// Measures the errors and splits them, where that is asked for, of what ranks computed of a whole problem.
    pub fn complete(&self, problem: &Problem, solved: &mut Solved, progress: &mut Progress) -> Result<(), Error> {
        let task = self.task(&solved.options, problem);
        let plan = task.plan_of_sums()?;
        task.complete(&mut solved.stats, &solved.fields, plan.as_ref(), progress)?;
        if let Some(split) = solved.split.take() {
            solved.stats.budget = Some(task.split(plan.as_ref(), &solved.fields[0], &split)?);
        }
        Ok(())
    }

    /// The options of the method for so many sources.
    fn options_for(&self, n: usize) -> FmmOptions {
        let p2p = self.kernels.as_ref().map(|k| &k.p2p);
        self.route.options_for(&self.asked, &self.known, p2p, n)
    }

    /// The kernel of P2P, if one runs it.
    fn p2p(&self) -> Option<&Graph> {
        self.kernels.as_ref().map(|k| &k.p2p).or(self.route.on_gpu.as_ref())
    }

    /// As one process would have it.
    fn task<'a>(&'a self, options: &'a FmmOptions, problem: &'a Problem<'a>) -> Task<'a> {
        let Job { asked, route, known, .. } = self;
        Task { asked, options, problem, known, native: route.native, p2p: self.p2p().map(of_graph) }
    }
}

/// A job on one rank, whose devices are open.
pub struct Opened<'a> {
    job: &'a Job,
    gpu: Option<Gpu>,
    /// GPUs that run all stages with a kernel that is not 1/r.
    black_box: Option<Gpu>,
    backend: Box<dyn Backend>,
}

impl Opened<'_> {
    /// Computes one rank's part. The first rank gets the results of all, and measures no errors yet, see [`Job::complete`].
    pub fn solve(&mut self, comm: &dyn Comm, part: &RankSlice) -> Result<Option<Solved>, RankError> {
        let Opened { job, gpu, black_box, backend } = self;
        let (options, asked) = (job.options_for(part.n), &job.asked);
        let own = job.task(&options, &part.own);
        agree(comm, own.check_budget().map_err(RankError::from))?;
        let slice = Slice {
            geometry: part.own.geometry,
            sets: part.own.sets.clone(),
            hessian: asked.hessian,
            options: &options,
            costs: &job.known.costs,
            kernel: own.expanded(),
            p2p: options.precision,
        };
        let first = part.whole.filter(|_| comm.rank() == 0).map(|problem| job.task(&options, problem));
        let problem = first.as_ref().map(Task::tuned);
        let on_gpus = gpu.as_mut().filter(|_| job.route.whole).or(black_box.as_mut()).filter(|_| part.n > 0);
        let left_to_cpu = match on_gpus.map(|gpu| job.run_on_gpus(comm, gpu, &slice, problem.as_ref())).transpose()? {
            Some(Ok(solved)) => return Ok(solved),
            Some(Err(why)) => Some(why),
            None => None,
        };
        let mut pipelines = job.kernels.as_ref().map(|k| Pipelines::new(&mut **backend, &k.p2p, k.m2l.as_ref()));
        let mut executors: Vec<&mut dyn Executor<Plan>> =
            pipelines.iter_mut().map(|p| p as &mut dyn Executor<Plan>).collect();
        let is_for_kernels = whole::is_for_kernels(asked, &part.own);
        executors.extend(gpu.iter_mut().filter(|_| is_for_kernels).map(|gpu| gpu as &mut dyn Executor<Plan>));
        let mut engine = OnCpus { p2p: job.p2p().map(of_graph), executors: &mut executors };
        let found = job.run(comm, &mut engine, &slice, problem.as_ref())?.map_err(RankError::Range)?;
        Ok(found.map(|solved| Solved { stats: Stats { left_to_cpu, ..solved.stats }, ..solved }))
    }
}

impl Job {
    /// The work that is asked for, by an engine: a run, or the search for the order that a tolerance takes, and the runs that split the error. The
    /// first rank has the results, and the problem of a search.
    fn run(
        &self,
        comm: &dyn Comm,
        engine: &mut dyn Engine,
        slice: &Slice,
        problem: Option<&Searched>,
    ) -> Result<Result<Option<Solved>, String>, RankError> {
        let found = match self.asked.tolerance {
            Some(wanted) => tune::within(comm, wanted, problem, slice, engine)?,
            None => tune::run(comm, slice, slice.options, engine)?.map(|(fields, answer)| {
                let tuned = fields.map(|fields| Tuned { fields, answer, errors: Vec::new() });
                (slice.options.clone(), tuned)
            }),
        };
        let (options, found) = match found {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let split = match self.asked.budget {
            true => engine.split(comm, &slice.with(&options), found.as_ref())?,
            false => Ok(None),
        };
        Ok(split.map(|split| {
            let Tuned { fields, answer: Answer { stats, report, .. }, errors } = found?;
            let stats = if errors.is_empty() { stats } else { stats.with_errors(errors) };
            Some(Solved { fields, stats, report, options, split })
        }))
    }

    /// The same with all stages on the GPUs of all ranks; or why they leave it to the CPUs.
    fn run_on_gpus(
        &self,
        comm: &dyn Comm,
        gpu: &mut Gpu,
        slice: &Slice,
        problem: Option<&Searched>,
    ) -> Result<Result<Option<Solved>, String>, RankError> {
        let asked = &self.asked;
        if let Some(why) = gpu.refuses(slice.options).filter(|_| asked.wants_gpu()) {
            return Err(RankError::Option(whole::refused(&why)));
        }
        match self.run(comm, &mut OnGpus { gpu, leaf: asked.leaf }, slice, problem)? {
            Err(why) if asked.wants_gpu() => Err(RankError::Range(whole::refused(&why))),
            answer => Ok(answer),
        }
    }
}
