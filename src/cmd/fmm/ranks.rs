//! `pairforge fmm` on many ranks: processes of MPI, or threads of this one.

use super::{Args, check, costs, failure, files};
use crate::failure::Failure;
use crate::output;
use host::data::input::Input;
use host::data::particles::Field;
use host::data::problem::{Geometry, Sources};
use host::direct::error;
use host::direct::summation::Direct;
use host::fmm::stats::{LeafBy, Reference};
use host::fmm::{FmmError, FmmOptions};
use host::ranks::comm::{Comm, agree};
use host::ranks::mpi::{self, Mpi};
use host::ranks::prepare::Slice;
use host::ranks::report::RanksReport;
use host::ranks::solve::{Answer, collected, solve};
use host::ranks::{RankError, threads};
use std::ops::Range;

/// How ranks are connected.
pub enum World {
    Threads(usize),
    Mpi,
}

/// Whether ranks are asked for, by an option or by a launcher of MPI. `on_cpu` says that native code computes all on the CPU.
pub fn asked(args: &Args, on_cpu: bool) -> Result<Option<World>, Failure> {
    let world = match (args.ranks, mpi::launched()) {
        (Some(_), Some(count)) if count != 1 => {
            return Err(Failure::Usage("mpirun says how many ranks there are; leave --ranks out".into()));
        }
        (Some(ranks), _) => World::Threads(ranks as usize),
        (None, None | Some(1)) => return Ok(None),
        (None, Some(_)) => World::Mpi,
    };
    let refused = [
        (!on_cpu, "ranks run native code on the CPU; take --backend cpu and no kernel"),
        (args.tol.is_some(), "ranks do not find the order of --tol; give an --order"),
        (args.tune, "--tune measures one process; leave ranks out"),
        (args.budget, "--budget is for a run without ranks"),
        (args.predict.predict.is_some(), "--predict is for a run without ranks"),
        (args.save_particles.is_some(), "--save-particles is for a run without ranks"),
    ];
    match refused.into_iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, why)) => Err(Failure::Usage(why.into())),
        None => Ok(Some(world)),
    }
}

/// Runs on all ranks. The first one writes and speaks.
pub fn run(args: &Args, options: FmmOptions, world: World) -> Result<(), Failure> {
    check(args, &options, true, true)?;
    match world {
        World::Threads(ranks) => {
            files::check_outputs(args)?;
            let input = files::input(args)?;
            let task = Task::new(args, options, input.particles.len());
            let found = threads::run(ranks, |comm| task.on(comm, &input, &|n| slice(n, comm)));
            let (fields, mut answer) = first(found)?;
            answer.report.by = "threads".into();
            task.write(&input, &fields, answer)
        }
        World::Mpi => {
            let mpi = Mpi::begin().map_err(told)?;
            match on_mpi(args, options, &mpi) {
                // All have failed alike, and the first one tells of it. A launcher ends the others as soon as one has another
                // status than 0.
                Err(_) if mpi.rank() > 0 => Ok(()),
                done => done,
            }
        }
    }
}

/// The rank's part of `n` things in a row.
fn slice(n: usize, comm: &dyn Comm) -> Range<usize> {
    let start = |rank: usize| (n as u128 * rank as u128 / comm.size() as u128) as usize;
    start(comm.rank())..start(comm.rank() + 1)
}

/// What a rank ends with: the fields, which the first one alone has, and what it did.
type Ended = Result<(Option<Vec<Field>>, Answer), RankError>;

/// What the first rank has, or why it has nothing.
fn first(found: Vec<Ended>) -> Result<(Vec<Field>, Answer), Failure> {
    let mut found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(told)?;
    let (fields, answer) = found.swap_remove(0);
    Ok((fields.unwrap_or_default(), answer))
}

fn told(e: RankError) -> Failure {
    match e {
        RankError::Option(text) => failure(FmmError::Option(text)),
        RankError::Range(text) => Failure::Input(text),
        RankError::Lost(text) => Failure::Tool(text),
    }
}

/// What is known on every rank, if no rank failed; else the failure of the first one.
fn agreed<T>(comm: &dyn Comm, own: Result<T, Failure>) -> Result<T, Failure> {
    let own = own.map_err(|e| {
        let text = e.text();
        let text = text.strip_prefix("error: ").unwrap_or(&text).to_string();
        match e.code() {
            1 => RankError::Range(text),
            2 => RankError::Option(text),
            _ => RankError::Lost(text),
        }
    });
    agree(comm, own).map_err(told)
}

fn on_mpi(args: &Args, options: FmmOptions, mpi: &Mpi) -> Result<(), Failure> {
    same_options(mpi)?;
    let is_first = mpi.rank() == 0;
    agreed(mpi, if is_first { files::check_outputs(args) } else { Ok(()) })?;
    let (input, n) = agreed(mpi, files::part(args, &|n| slice(n, mpi)))?;
    let task = Task::new(args, options, n);
    let found = task.on(mpi, &input, &|n| 0..n);
    if let Err(RankError::Lost(text)) = &found {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    let (fields, mut answer) = found.map_err(told)?;
    answer.report.by = "MPI".into();
    drop(input);
    let write = |fields: Vec<Field>| {
        // Errors are sums over all particles.
        let input = if args.check.is_some() { files::input(args)? } else { Input::default() };
        task.write(&input, &fields, answer)
    };
    // The others end with the status of the one that writes.
    agreed(mpi, fields.map_or(Ok(()), write))
}

/// Whether all ranks were started with one command line.
fn same_options(comm: &dyn Comm) -> Result<(), Failure> {
    let own: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let all = comm.all_gather(own.join("\n").into_bytes()).map_err(told)?;
    match all.iter().position(|other| *other != all[0]) {
        Some(rank) => Err(Failure::Usage(format!(
            "rank {rank} has other options than rank 0; start all ranks with one command line"
        ))),
        None => Ok(()),
    }
}

/// What is to be computed.
struct Task<'a> {
    args: &'a Args,
    options: FmmOptions,
    known: costs::Known,
}

impl<'a> Task<'a> {
    fn new(args: &'a Args, mut options: FmmOptions, n: usize) -> Task<'a> {
        let known = costs::known();
        if args.leaf.is_none() {
            options.leaf = costs::leaf(&known.costs, args, &options, None, n);
        }
        Task { args, options, known }
    }

    /// One rank's part; the first one gets the results of all.
    fn on(
        &self,
        comm: &dyn Comm,
        input: &Input,
        slice: &dyn Fn(usize) -> Range<usize>,
    ) -> Result<(Option<Vec<Field>>, Answer), RankError> {
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
        let (hessian, options) = (self.args.hessian, &self.options);
        let answer =
            solve(comm, &Slice { geometry, sets: sets.collect(), hessian, options, costs: &self.known.costs })?;
        Ok((collected(comm, &answer.fields)?, answer))
    }

    fn write(&self, input: &Input, fields: &[Field], answer: Answer) -> Result<(), Failure> {
        let Answer { mut stats, report, .. } = answer;
        let args = self.args;
        stats.leaf_by = match args.leaf {
            Some(_) => LeafBy::Given,
            None if args.near_only => LeafBy::BuiltInCosts,
            None => self.known.by,
        };
        let periodic = self.options.periodic.as_ref();
        stats.reference = if periodic.is_some() { Reference::EwaldSums } else { Reference::DirectSummation };
        if let Some(count) = args.check {
            let sources = input.sources();
            let errors = sources.iter().zip(fields).map(|(sources, field)| {
                let geometry = input.geometry();
                let direct = Direct { geometry, sources: *sources, eps: args.eps, hessian: args.hessian };
                error::measure_all(&direct, periodic, field, count, args.seed)
            });
            let mut errors = errors.collect::<Vec<_>>().into_iter();
            stats.error = errors.next();
            stats.more_errors = errors.collect();
        }
        files::write_with(args, fields, &stats, Some(&report))
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
    let sum = |of: fn(&host::ranks::report::RankCount) -> u64| r.counts.iter().map(of).sum::<u64>();
    out += &format!("\nwork by the model of costs: imbalance {:.1}%\n", 100.0 * r.imbalance);
    out += &format!(
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
        "sent: {} messages, {} bytes; copies of particles: {}\n",
        sum(|c| c.messages),
        sum(|c| c.bytes),
        sum(|c| c.copies)
    );
    out
}
