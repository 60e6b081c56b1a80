//! `pairforge fmm` on many ranks: processes of MPI, or threads of this one.

use super::{Args, Chosen, costs, expected_pairs, files, predict};
use fmm::data::input::Input;
use fmm::data::problem::{Geometry, Sources};
use fmm::octree::FmmError;
use pairforge::fmm::Problem;
use pairforge::fmm::ranks::same::{self, Content};
use pairforge::fmm::ranks::{Job, RankSlice, Solved, slice};
use ranks::comm::{Comm, Tag, agree, gather_u64};
use ranks::measured::RanksReport;
use ranks::mpi::{self, Mpi};
use ranks::{RankError, threads};
use std::ops::Range;
use std::path::PathBuf;
use terminal::failure::Failure;
use terminal::progress::Stages;
use terminal::{output, program};

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
        program::words().nth(1).is_some_and(|word| word == "fmm") && mpi::launched().is_some_and(|count| count != 1);
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
            let job = Job::on(chosen.asked, chosen.route, costs::known(), ranks)?;
            let input = files::input(args)?;
            let (n, all) = (input.particles.len(), problem(&input));
            let found = threads::run(ranks, |comm| {
                let is_first = comm.rank() == 0;
                let part =
                    RankSlice { own: part(&input, &|n| slice(n, comm)), n, whole: Some(&all).filter(|_| is_first) };
                let save = || if is_first { files::save_particles(args, &input) } else { Ok(()) };
                solve(args, &job, comm, &part, save)
            });
            let mut solved = first(found)?;
            solved.report.by = "threads".into();
            write(args, &job, &all, solved)
        }
        World::Mpi => {
            let mpi = Mpi::begin().map_err(failure_of)?;
            let on_all = || {
                same_options(&mpi)?;
                same::program(&mpi).map_err(failure_of)?;
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

/// The end of a rank: the first one alone has the results of all.
type Ended = Result<Option<Solved>, RankError>;

/// The results on the first rank, or the failure.
fn first(found: Vec<Ended>) -> Result<Solved, Failure> {
    let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(failure_of)?;
    Ok(found.into_iter().flatten().next().expect("the first rank has it if none failed"))
}

/// All of an input.
fn problem(input: &Input) -> Problem<'_> {
    Problem { geometry: input.geometry(), sets: input.sources() }
}

/// The part of an input that `slice` takes of so many sources or targets.
fn part<'a>(input: &'a Input, slice: &dyn Fn(usize) -> Range<usize>) -> Problem<'a> {
    let all = input.geometry();
    let own = slice(input.particles.len());
    let geometry = Geometry {
        sources: all.sources.map(|c| &c[own.clone()]),
        targets: all.targets.map(|t| t.map(|c| &c[slice(c.len())])),
    };
    let sets = input.sources().into_iter().map(|s| Sources {
        charges: s.charges.map(|q| &q[own.clone()]),
        dipoles: s.dipoles.map(|p| p.map(|c| &c[own.clone()])),
    });
    Problem { geometry, sets: sets.collect() }
}

/// One rank's part. The particles are saved, where that is asked for, once all ranks have what they compute on.
fn solve(
    args: &Args,
    job: &Job,
    comm: &dyn Comm,
    part: &RankSlice,
    save: impl FnOnce() -> Result<(), Failure>,
) -> Ended {
    let mut opened = job.open(comm, expected_pairs(args))?;
    agree(comm, save().map_err(of_rank))?;
    opened.solve(comm, part)
}

/// Writes what was asked for of the results.
fn write(args: &Args, job: &Job, problem: &Problem, mut solved: Solved) -> Result<(), Failure> {
    let mut shown = Stages::new(None);
    job.complete(problem, &mut solved, &mut |stage, done, total| shown.at(stage, done, total))?;
    drop(shown);
    let Solved { fields, stats, report, .. } = &solved;
    files::write(args, &problem.geometry, &files::Results { fields, stats, ranks: Some(report), plan: None })
}

pub(in crate::cmd) fn failure_of(e: RankError) -> Failure {
    match e {
        RankError::Option(text) => FmmError::Option(text).into(),
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
    let known = costs::known_on(mpi)?;
    let job = agreed(mpi, Job::on(chosen.asked, chosen.route, known, 1).map_err(Failure::from))?;
    same::kernels(mpi, job.graphs()).map_err(failure_of)?;
    let files::RankInput { input, counts, read } = agreed(mpi, files::part(args, &|n| slice(n, mpi)))?;
    same_input(mpi, counts, &read)?;
    // What is right at some targets are sums over all particles.
    let needs_points = [&args.output, &args.at_sources].into_iter().flatten().any(|path| files::is_vtk(path));
    let is_whole = mpi.rank() == 0 && (args.check.is_some() || args.tol.is_some() || args.budget || needs_points);
    let read = || is_whole.then(|| files::input(args)).transpose();
    let mut whole = agreed(mpi, if args.tol.is_some() { read() } else { Ok(None) })?;
    let found = {
        let all = whole.as_ref().map(problem);
        let part = RankSlice { own: problem(&input), n: counts[0], whole: all.as_ref() };
        solve(args, &job, mpi, &part, || files::save_particles_of_ranks(args, &input, counts[0], mpi))
    };
    if let Err(RankError::Lost(text)) = &found {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    let found = found.map_err(failure_of)?;
    drop(input);
    let write = |mut solved: Solved| {
        if whole.is_none() {
            whole = read()?;
        }
        solved.report.by = "MPI".into();
        write(args, &job, &problem(whole.as_ref().unwrap_or(&Input::default())), solved)
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
    let own: Vec<String> = program::words().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
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
        None => same::files(comm, read).map_err(failure_of),
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
    let sum = |of: fn(&ranks::measured::RankCount) -> u64| r.counts.iter().map(of).sum::<u64>();
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
