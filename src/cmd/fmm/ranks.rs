//! `pairforge fmm` on many ranks: processes of MPI, or threads of this one.

use super::same::Content;
use super::{Args, Chosen, costs, expected_pairs, failure, files, predict, same};
use fmm::data::input::Input;
use fmm::data::particles::Field;
use fmm::data::problem::{Geometry, Sources};
use fmm::octree::budget::Fields;
use fmm::octree::executor::Executor;
use fmm::octree::stats::Stats;
use fmm::octree::{FmmError, FmmOptions};
use gpu::octree::{Gpu, Share};
use pairforge::backends::BackendOptions;
use pairforge::fmm::costs::Known;
use pairforge::fmm::kernels::Kernels;
use pairforge::fmm::route::Route;
use pairforge::fmm::{Options, Problem, task, whole};
use pg2::graph::Graph;
use pipelines::job::Backend;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;
use ranks::comm::{Comm, Tag, agree, gather_u64, on_machine};
use ranks::mpi::{self, Mpi};
use ranks::prepare::Slice;
use ranks::report::RanksReport;
use ranks::solve::{Answer, collected, solve};
use ranks::tune::{self, Engine, Tuned};
use ranks::{RankError, threads};
use ranks::{budget, gpus};
use std::ops::Range;
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::output;
use terminal::progress::Stages;

/// How ranks are connected.
pub enum World {
    Threads(usize),
    Mpi,
}

impl Args {
    /// Whether this process is one of many ranks.
    pub fn on_ranks(&self) -> bool {
        matches!(asked(self), Some(World::Mpi))
    }
}

/// Whether ranks are asked for, by an option or by a launcher of MPI.
pub fn asked(args: &Args) -> Option<World> {
    match (args.ranks, mpi::launched()) {
        (_, Some(count)) if count != 1 => Some(World::Mpi),
        (Some(ranks), _) => Some(World::Threads(ranks as usize)),
        (None, _) => None,
    }
}

/// The process that reports a mistake in the options of a process.
pub enum ErrorReporter {
    /// The process itself.
    Own,
    /// Another rank, which has the same options.
    Other,
    /// Nobody: ranks have other options than each other, of which the first one tells.
    Instead(Failure),
}

/// The process that reports a mistake in the options, with which no command can begin. Ranks that can begin ask each other the same first.
pub fn error_reporter() -> ErrorReporter {
    let is_one_of_many =
        std::env::args_os().nth(1).is_some_and(|word| word == "fmm") && mpi::launched().is_some_and(|count| count != 1);
    let Some(mpi) = is_one_of_many.then(Mpi::begin).and_then(Result::ok) else { return ErrorReporter::Own };
    match same_options(&mpi) {
        _ if mpi.rank() > 0 => ErrorReporter::Other,
        Ok(()) => ErrorReporter::Own,
        Err(e) => ErrorReporter::Instead(e),
    }
}

/// Refuses options that so many ranks do not take.
fn check_ranks(args: &Args, world: &World, chosen: &Chosen, ranks: usize) -> Result<(), Failure> {
    if args.ranks.is_some() && matches!(world, World::Mpi) {
        return Err(Failure::Usage("mpirun says how many ranks there are; leave --ranks out".into()));
    }
    chosen.route.place_of_rank(0, ranks).map(drop).map_err(|e| Failure::Usage(e.to_string()))
}

/// Runs on all ranks. The first one writes and speaks.
pub fn run(args: &Args, world: World) -> Result<(), Failure> {
    let is_possible = |chosen: &Chosen, ranks: usize| {
        check_ranks(args, &world, chosen, ranks)?;
        chosen.route.check(&chosen.asked)?;
        args.files().check()?;
        args.tell_of_kernels();
        Ok(())
    };
    match world {
        World::Threads(ranks) => {
            let chosen = Chosen::new(args)?;
            is_possible(&chosen, ranks)?;
            if let Some(board) = &args.predict.predict {
                return predict::ranks::on_threads(args, board, ranks);
            }
            if args.tune {
                // They are threads of this process, and none has been started yet.
                return costs::measure();
            }
            let job = Job::load(args, chosen, ranks, costs::known())?;
            let input = files::input(args)?;
            let task = job.task(input.particles.len());
            let found = threads::run(ranks, |comm| {
                let is_first = comm.rank() == 0;
                let save = || if is_first { files::save_particles(args, &input) } else { Ok(()) };
                let whole = Some(&input).filter(|_| is_first);
                task.on(comm, &Feed { input: &input, slice: &|n| slice(n, comm), whole, save: &save })
            });
            let mut done = first(found)?;
            done.report.by = "threads".into();
            task.write(&input, done)
        }
        World::Mpi => {
            let mpi = Mpi::begin().map_err(failure_of)?;
            let on_all = || {
                same_options(&mpi)?;
                same::program(&mpi)?;
                let chosen = agreed(&mpi, Chosen::new(args))?;
                // Whether outputs can be written is the first one's matter.
                let first = if mpi.rank() == 0 { is_possible(&chosen, mpi.size()) } else { Ok(()) };
                agreed(&mpi, first)?;
                on_mpi(args, chosen, &mpi)
            };
            match on_all() {
                // All have failed alike, and the first one tells of it. A launcher ends the others as soon as one has another
                // status than 0.
                Err(_) if mpi.rank() > 0 => Ok(()),
                done => done,
            }
        }
    }
}

/// The rank's part of `n` things in a row.
pub(super) fn slice(n: usize, comm: &dyn Comm) -> Range<usize> {
    let start = |rank: usize| (n as u128 * rank as u128 / comm.size() as u128) as usize;
    start(comm.rank())..start(comm.rank() + 1)
}

/// The results of all ranks.
struct Done {
    fields: Vec<Field>,
    stats: Stats,
    report: RanksReport,
    /// With which options, and what splits the error where that is asked for.
    options: FmmOptions,
    split: Option<Fields>,
}

/// The end of a rank: the first one alone has the results of all.
type Ended = Result<Option<Done>, RankError>;

/// The results on the first rank, or the failure.
fn first(found: Vec<Ended>) -> Result<Done, Failure> {
    let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(failure_of)?;
    Ok(found.into_iter().flatten().next().expect("the first rank has it if none failed"))
}

pub(in crate::cmd) fn failure_of(e: RankError) -> Failure {
    match e {
        RankError::Option(text) => failure(FmmError::Option(text)),
        RankError::Range(text) => Failure::Input(text),
        RankError::Tool(text) | RankError::Lost(text) => Failure::Tool(text),
    }
}

/// As ranks tell each other of it.
pub(in crate::cmd) fn of_rank(e: Failure) -> RankError {
    as_of_rank(&e)
}

fn as_of_rank(e: &Failure) -> RankError {
    let text = e.text();
    let text = text.strip_prefix("error: ").unwrap_or(&text).to_string();
    match e.code() {
        1 => RankError::Range(text),
        2 => RankError::Option(text),
        _ => RankError::Tool(text),
    }
}

/// Returns the own result on every rank, if no rank failed; else the failure of the first one.
pub(in crate::cmd) fn agreed<T>(comm: &dyn Comm, own: Result<T, Failure>) -> Result<T, Failure> {
    let all = agree(comm, own.as_ref().map(drop).map_err(as_of_rank)).map_err(failure_of);
    match own {
        // As it is, with what diagnostics show.
        Err(e) if comm.rank() == 0 => Err(e),
        own => all.and(own),
    }
}

fn on_mpi(args: &Args, chosen: Chosen, mpi: &Mpi) -> Result<(), Failure> {
    if let Some(board) = &args.predict.predict {
        return predict::ranks::on_mpi(args, board, mpi);
    }
    if args.tune {
        // What the machine of the first rank takes counts on all.
        return first_alone(mpi, costs::measure);
    }
    let known = costs::known_on(mpi).map_err(failure_of)?;
    let job = agreed(mpi, Job::load(args, chosen, 1, known))?;
    same::kernels(mpi, job.kernels.iter().flat_map(Kernels::graphs).chain(&job.route.on_gpu))?;
    let files::Part { input, counts, read } = agreed(mpi, files::part(args, &|n| slice(n, mpi)))?;
    same_input(mpi, counts, &read)?;
    let save = || files::save_particles_of_ranks(args, &input, counts[0], mpi);
    let task = job.task(counts[0]);
    // What is right at some targets are sums over all particles.
    let is_whole = mpi.rank() == 0 && (args.check.is_some() || args.tol.is_some() || args.budget);
    let read = || is_whole.then(|| files::input(args)).transpose();
    let mut whole = agreed(mpi, if args.tol.is_some() { read() } else { Ok(None) })?;
    let found = task.on(mpi, &Feed { input: &input, slice: &|n| 0..n, whole: whole.as_ref(), save: &save });
    if let Err(RankError::Lost(text)) = &found {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    let found = found.map_err(failure_of)?;
    drop(input);
    let write = |mut done: Done| {
        if whole.is_none() {
            whole = read()?;
        }
        done.report.by = "MPI".into();
        task.write(whole.as_ref().unwrap_or(&Input::default()), done)
    };
    // The others end with the status of the one that writes.
    first_alone(mpi, || found.map_or(Ok(()), write))
}

/// Does some work on the first rank alone, with all cores of its machine: the others rest until it has done it, and know of its failure.
fn first_alone(comm: &dyn Comm, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    if comm.rank() == 0 {
        return agreed(comm, work());
    }
    comm.rest(0, Tag::Gather).map_err(failure_of)?;
    agreed(comm, Ok(()))
}

/// Whether all ranks were started with one command line.
fn same_options(comm: &dyn Comm) -> Result<(), Failure> {
    let own: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let all = comm.all_gather(own.join("\n").into_bytes()).map_err(failure_of)?;
    match all.iter().position(|other| *other != all[0]) {
        Some(rank) => Err(Failure::Usage(format!(
            "rank {rank} has other options than rank 0; start all ranks with one command line"
        ))),
        None => Ok(()),
    }
}

/// Whether all ranks have found the same sources and targets: as many, in files of these names and contents.
pub(super) fn same_input(comm: &dyn Comm, counts: [usize; 2], read: &[(PathBuf, Content)]) -> Result<(), Failure> {
    let all = gather_u64(comm, &counts.map(|n| n as u64)).map_err(failure_of)?;
    match all.iter().position(|other| *other != all[0]) {
        Some(rank) => Err(Failure::Input(format!(
            "rank {rank} has found another input than rank 0, of {:?} sources and {:?} targets; let all ranks read the same files",
            all[rank][0], all[rank][1]
        ))),
        None => same::files(comm, read),
    }
}

/// The work of all ranks for any particles.
struct Job<'a> {
    args: &'a Args,
    asked: Options,
    route: Route,
    kernels: Option<Kernels>,
    /// Threads of the engine of a rank, where it is simulated.
    threads: usize,
    known: Known,
}

impl<'a> Job<'a> {
    /// Loads the kernels. So many ranks share the cores of one process.
    fn load(args: &'a Args, chosen: Chosen, ranks: usize, known: Known) -> Result<Job<'a>, Failure> {
        let Chosen { asked, mut route } = chosen;
        let kernels = match route.native {
            true => None,
            false => Some(Kernels::new(&asked, route.entry, &mut route.options)?),
        };
        let threads = (rayon::current_num_threads() / ranks).max(1);
        Ok(Job { args, asked, route, kernels, threads, known })
    }

    /// The task with so many particles.
    fn task(&self, n: usize) -> Task<'_> {
        let p2p = self.kernels.as_ref().map(|k| &k.p2p);
        Task { job: self, options: self.route.options_for(&self.asked, &self.known, p2p, n), n }
    }

    /// The kernel of P2P, if one runs it.
    fn p2p(&self) -> Option<&Graph> {
        self.kernels.as_ref().map(|k| &k.p2p).or(self.route.on_gpu.as_ref())
    }

    /// Opens the devices that a rank computes on besides its CPU.
    fn open(&self, comm: &dyn Comm) -> Result<(Option<Gpu>, Box<dyn Backend>), RankError> {
        let Route { entry, on_gpu, .. } = &self.route;
        let (turn, of) = on_machine(comm)?;
        let share = Share { turn, of, devices: self.args.gpus.map(|count| count as usize) };
        let gpu = on_gpu.as_ref().map(|kernel| Gpu::open_shared(entry.name, kernel, &share)).transpose();
        let gpu = agree(comm, gpu.map_err(RankError::from))?;
        let place = self.route.place_of_rank(comm.rank(), comm.size());
        let place = agree(comm, place.map_err(|e| RankError::Option(e.to_string())))?;
        let engine = BackendOptions { turn, place, threads: self.threads, ..self.asked.engine_options().clone() };
        let mut backend = (entry.open)(&engine);
        let pairs = expected_pairs(self.args);
        let mut prepare = || {
            let mut graphs = self.kernels.iter().flat_map(Kernels::graphs);
            graphs.try_for_each(|graph| backend.prepare(graph, pairs))
        };
        // What the first rank builds the others find.
        for is_first in [true, false] {
            let done = if (comm.rank() == 0) == is_first { prepare() } else { Ok(()) };
            agree(comm, done.map_err(|e| RankError::from(FmmError::from(e))))?;
        }
        Ok((gpu, backend))
    }
}

/// The input of a rank.
#[derive(Clone, Copy)]
struct Feed<'a> {
    input: &'a Input,
    /// Its part of so many sources or targets of the input.
    slice: &'a dyn Fn(usize) -> Range<usize>,
    /// For a wanted error the first rank has the whole input too.
    whole: Option<&'a Input>,
    /// Writes the particles where that is asked for, once all ranks have what they compute on.
    save: &'a dyn Fn() -> Result<(), Failure>,
}

/// The task for a number of particles.
struct Task<'a> {
    job: &'a Job<'a>,
    options: FmmOptions,
    /// How many sources all ranks have.
    n: usize,
}

impl Task<'_> {
    /// One rank's part; the first one gets the results of all.
    fn on(&self, comm: &dyn Comm, feed: &Feed) -> Ended {
        let (job, Feed { input, slice, whole, save }) = (self.job, *feed);
        let (mut gpu, mut backend) = job.open(comm)?;
        agree(comm, save().map_err(of_rank))?;
        let all = input.geometry();
        let own = slice(input.particles.len());
        let geometry = Geometry {
            sources: all.sources.map(|c| &c[own.clone()]),
            targets: all.targets.map(|t| t.map(|c| &c[slice(c.len())])),
        };
        let sets = input.sources();
        let sets = sets.iter().map(|s| Sources {
            charges: s.charges.map(|q| &q[own.clone()]),
            dipoles: s.dipoles.map(|p| p.map(|c| &c[own.clone()])),
        });
        let (hessian, options, costs) = (job.args.hessian, &self.options, &job.known.costs);
        let problem = problem(input);
        let own = self.whole(&problem);
        agree(comm, own.check_budget().map_err(|e| of_rank(e.into())))?;
        let (kernel, p2p) = (own.expanded(), options.precision);
        let slice = Slice { geometry, sets: sets.collect(), hessian, options, costs, kernel, p2p };
        let on_cards = gpu.as_mut().filter(|_| job.route.whole && self.n > 0);
        let on_cards = on_cards.map(|gpu| run_on_gpus(comm, gpu, &job.asked, &slice)).transpose()?;
        let left_to_cpu = match on_cards {
            Some(Ok(Answer { fields, stats, report })) => {
                let fields = collected(comm, &fields)?;
                return Ok(fields.map(|fields| Done { fields, stats, report, options: options.clone(), split: None }));
            }
            Some(Err(why)) => Some(why),
            None => None,
        };
        let mut pipelines = job.kernels.as_ref().map(|k| Pipelines::new(&mut *backend, &k.p2p, k.m2l.as_ref()));
        let mut executors: Vec<&mut dyn Executor> = pipelines.iter_mut().map(|p| p as &mut dyn Executor).collect();
        executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
        let Some(wanted) = job.args.tol else {
            let Answer { fields, mut stats, report } = solve(comm, &slice, &mut executors)?;
            stats.left_to_cpu = left_to_cpu;
            let fields = collected(comm, &fields)?;
            let split = self.split(comm, &slice, &mut executors)?;
            return Ok(fields.map(|fields| Done { fields, stats, report, options: options.clone(), split }));
        };
        let all = whole.filter(|_| comm.rank() == 0).map(self::problem);
        let first = all.as_ref().map(|problem| self.whole(problem));
        let problem = first.as_ref().map(task::Task::tuned);
        let engine = Engine { p2p: job.p2p().map(of_graph), executors: &mut executors };
        let (options, found) = tune::within(comm, wanted, problem.as_ref(), &slice, engine)?;
        let split = self.split(comm, &slice.with(&options), &mut executors)?;
        Ok(found.map(|Tuned { fields, answer: Answer { stats, report, .. }, errors }| {
            let stats = stats.with_errors(errors);
            Done { fields, stats, report, options, split }
        }))
    }

    /// The runs that split the error, where that is asked for.
    fn split(
        &self,
        comm: &dyn Comm,
        slice: &Slice,
        executors: &mut [&mut dyn Executor],
    ) -> Result<Option<Fields>, RankError> {
        match self.job.args.budget {
            true => budget::fields(comm, slice, self.job.p2p().map(of_graph), executors),
            false => Ok(None),
        }
    }

    /// As one process would have it.
    fn whole<'a>(&'a self, problem: &'a Problem<'a>) -> task::Task<'a> {
        self.with(&self.options, problem)
    }

    /// The same with other options.
    fn with<'a>(&'a self, options: &'a FmmOptions, problem: &'a Problem<'a>) -> task::Task<'a> {
        let Job { asked, route, known, .. } = self.job;
        task::Task { asked, options, problem, known, native: route.native, p2p: self.job.p2p().map(of_graph) }
    }

    fn write(&self, input: &Input, done: Done) -> Result<(), Failure> {
        let Done { fields, mut stats, report, options, split } = done;
        let problem = problem(input);
        let whole = self.with(&options, &problem);
        let plan = whole.plan_of_sums()?;
        let mut shown = Stages::new(None);
        whole.complete(&mut stats, &fields, plan.as_ref(), &mut |stage, done, total| shown.at(stage, done, total))?;
        if let Some(split) = split {
            stats.budget = Some(whole.split(plan.as_ref(), &fields[0], &split)?);
        }
        drop(shown);
        files::write_with(self.job.args, &fields, &stats, Some(&report))
    }
}

/// All of an input.
fn problem(input: &Input) -> Problem<'_> {
    Problem { geometry: input.geometry(), sets: input.sources() }
}

/// All stages on the GPUs of all ranks, each with its slice: all ranks get the same answer.
fn run_on_gpus(
    comm: &dyn Comm,
    gpu: &mut Gpu,
    asked: &Options,
    slice: &Slice,
) -> Result<Result<Answer, String>, RankError> {
    if let Some(why) = gpu.refuses(slice.options).filter(|_| asked.wants_gpu()) {
        return Err(RankError::Option(whole::refused(&why)));
    }
    match gpus::solve(comm, slice, gpu, asked.asked_leaf())? {
        Err(why) if asked.wants_gpu() => Err(RankError::Range(whole::refused(&why))),
        answer => Ok(answer),
    }
}

/// The stages over all ranks, and what travelled.
pub fn table(r: &RanksReport) -> String {
    let mut out = format!("\n{} ranks ({}), seconds\n\n", r.ranks, r.by);
    out += &format!("{:<10} {:>10} {:>10} {:>10}\n", "stage", "slowest", "mean", "imbalance");
    for s in &r.stages {
        let (slowest, mean) = (s.slowest, s.mean);
        out += &format!("{:<10} {slowest:>10.4} {mean:>10.4} {:>9.1}%\n", s.stage, 100.0 * s.imbalance);
    }
    let sum = |of: fn(&ranks::report::RankCount) -> u64| r.counts.iter().map(of).sum::<u64>();
    out += &format!("\nwork by the model of costs: imbalance {:.1}%\n", 100.0 * r.imbalance);
    // Where GPUs run all stages, boxes have no types.
    let has_boxes = r.counts.iter().any(|c| c.domestic + c.root + c.other > 0);
    let boxes = format!(
        "boxes: {} domestic, {} export, {} import, {} root, {} other; partition level {}, critical level {}\n",
        sum(|c| c.domestic),
        sum(|c| c.export),
        sum(|c| c.import),
        sum(|c| c.root),
        sum(|c| c.other),
        r.partition_level,
        r.critical_level
    );
    out += &format!(
        "{}sent: {} messages, {} bytes",
        if has_boxes { &boxes } else { "" },
        sum(|c| c.messages),
        sum(|c| c.bytes)
    );
    if has_boxes {
        out += &format!("; copies of particles: {}", sum(|c| c.copies));
    }
    out + "\n"
}
