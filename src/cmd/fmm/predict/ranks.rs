//! `pairforge fmm --predict BOARD` on ranks with a board each: each rank runs its part with the model of its board, and the slowest one
//! counts. The first rank chooses leaf sizes, and tells the others.

use super::super::ranks::{agreed, failure_of, of_rank, same_input, slice};
use super::super::{Args, costs, failure, files, options_of_kernels, same};
use super::fill::Work;
use super::{Asked, Machine, Ran, Report, Wanted, asked, kernels};
use fmm::data::input::Input;
use fmm::octree::stats::Stats;
use fmm::octree::{FmmOptions, Plan};
use hdl::board::Board;
use pairforge::fmm::costs::Known;
use pairforge::fmm::kernels::Kernels;
use pg2::graph::Graph;
use pipelines::driver::StreamBackend;
use pipelines::job::{Backend, BackendError, Job, Outcome};
use pipelines::octree::offload::Pipelines;
use pipelines::predict::LinkUse;
use ranks::bytes::{Reader, Writer};
use ranks::comm::{Comm, agree, broadcast, gather_f64, gather_u64};
use ranks::mpi::Mpi;
use ranks::prepare::{Slice, prepare};
use ranks::report::Clock;
use ranks::solve::solve;
use ranks::{RankError, threads};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::PoisonError;
use std::time::Instant;
use terminal::failure::Failure;
use terminal::output;

/// On ranks that are threads of this process, which share its cores.
pub fn on_threads(args: &Args, name: &str, ranks: usize) -> Result<(), Failure> {
    let board = args.predict.board(name)?;
    let (kernels, known) = (kernels(args, board)?, costs::known());
    let input = plain(files::input(args)?)?;
    files::save_particles(args, &input)?;
    let n = input.particles.len();
    let plan = || Plan::new(input.geometry(), &options_of(args, asked_leaf(args))).map_err(failure);
    let work = || plan().map(|plan| Work { p2p: plan.pairs.p2p, m2l: plan.pairs.m2l });
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = wanted.machine(board)?;
    let found = threads::run(ranks, |comm| {
        let part = Part { comm, args, kernels: &kernels, input: &input, own: slice(n, comm), known: &known };
        part.report(n, &machine)
    });
    let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(failure_of)?;
    let report = found.into_iter().flatten().next().expect("the first rank has it if none failed");
    report.write(&args.json)
}

/// On processes of MPI.
pub fn on_mpi(args: &Args, name: &str, mpi: &Mpi) -> Result<(), Failure> {
    let known = costs::known_on(mpi).map_err(failure_of)?;
    let found = || -> Result<(&'static Board, Kernels), Failure> {
        let board = args.predict.board(name)?;
        Ok((board, kernels(args, board)?))
    };
    let (board, kernels) = agreed(mpi, found())?;
    same::kernels(mpi, kernels.graphs())?;
    let part =
        || files::part(args, &|n| slice(n, mpi)).and_then(|part| Ok((plain(part.input)?, part.counts, part.read)));
    let (input, counts, read) = agreed(mpi, part())?;
    same_input(mpi, counts, &read)?;
    agreed(mpi, files::save_particles_of_ranks(args, &input, counts[0], mpi))?;
    let n = counts[0];
    let part = Part { comm: mpi, args, kernels: &kernels, input: &input, own: 0..input.particles.len(), known: &known };
    let work = || part.work().map_err(failure_of);
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = agreed(mpi, wanted.machine(board))?;
    let found = part.report(n, &machine);
    if let Err(RankError::Lost(text)) = &found {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    let write = |report: Report| report.write(&args.json);
    agreed(mpi, found.map_err(failure_of)?.map_or(Ok(()), write))
}

fn plain(input: Input) -> Result<Input, Failure> {
    match input.is_plain() {
        true => Ok(input),
        false => Err(Failure::Usage("a prediction is for particles with one charge each".into())),
    }
}

fn asked_leaf(args: &Args) -> usize {
    args.leaf.unwrap_or(super::LEAF)
}

fn options_of(args: &Args, leaf: usize) -> FmmOptions {
    FmmOptions { leaf, ..options_of_kernels(args) }
}

/// One rank.
struct Part<'a> {
    comm: &'a dyn Comm,
    args: &'a Args,
    kernels: &'a Kernels,
    input: &'a Input,
    /// Its slice of the input.
    own: Range<usize>,
    known: &'a Known,
}

impl Part<'_> {
    fn slice<'s>(&'s self, options: &'s FmmOptions) -> Slice<'s> {
        let all = self.input.particles.columns();
        let geometry = all.map(|column| &column[self.own.clone()]).into();
        let sets = vec![self.input.particles.q[self.own.clone()].into()];
        Slice {
            geometry,
            sets,
            hessian: false,
            options,
            costs: &self.known.costs,
            kernel: None,
            p2p: options.precision,
        }
    }

    /// Pairs that the kernels of all ranks have to stream.
    fn work(&self) -> Result<Work, RankError> {
        let options = options_of(self.args, asked_leaf(self.args));
        let prepared = prepare(self.comm, &self.slice(&options), &[], &mut Clock::default())?;
        let all = gather_u64(self.comm, &[prepared.pairs.p2p, prepared.pairs.m2l])?;
        let sum = |k: usize| all.iter().map(|one| one[k]).sum();
        Ok(Work { p2p: sum(0), m2l: sum(1) })
    }

    /// The first rank's report of `n` particles.
    fn report(&self, n: usize, machine: &Machine) -> Result<Option<Report>, RankError> {
        if self.comm.rank() > 0 {
            return self.follow(machine).map(|()| None);
        }
        let failed = RefCell::new(None);
        let run = |leaf: usize, machine: &Machine| {
            let mut word = Writer::default();
            word.u64(leaf as u64);
            let ran = broadcast(self.comm, word.take()).and_then(|_| self.run(leaf, machine));
            ran.map_err(|e| {
                *failed.borrow_mut() = Some(e.clone());
                failure_of(e)
            })
        };
        let asked = Asked { ranks: Some(self.comm.size()), ..asked(self.args, self.kernels, n, &run) };
        let report = asked.report(machine).map_err(|e| failed.take().unwrap_or_else(|| of_rank(e)))?;
        broadcast(self.comm, Vec::new())?;
        Ok(Some(report))
    }

    /// Runs what the first rank asks for.
    fn follow(&self, machine: &Machine) -> Result<(), RankError> {
        loop {
            let word = broadcast(self.comm, Vec::new())?;
            if word.is_empty() {
                return Ok(());
            }
            self.run(Reader::new(&word).u64()? as usize, machine)?;
        }
    }

    /// A run of all ranks with a leaf size.
    fn run(&self, leaf: usize, machine: &Machine) -> Result<Ran, RankError> {
        let options = options_of(self.args, leaf);
        let (backend, seen) = agree(self.comm, machine.backend(self.kernels).map_err(RankError::from))?;
        let mut timed = Timed { backend, spent: 0.0 };
        let answer = {
            let mut pipelines = Pipelines::new(&mut timed, &self.kernels.p2p, self.kernels.m2l.as_ref());
            solve(self.comm, &self.slice(&options), &mut [&mut pipelines])?
        };
        let own = *seen.lock().unwrap_or_else(PoisonError::into_inner);
        let all = gather_f64(self.comm, &[own.seconds, own.bytes_in as f64, own.bytes_out as f64, timed.spent])?;
        let most = |k: usize| all.iter().map(|one| one[k]).fold(0.0, f64::max);
        let sum = |k: usize| all.iter().map(|one| one[k]).sum::<f64>() as u64;
        let Stats { seconds, cycles, utilisation, pairs, .. } = answer.stats;
        let of = |stage: &str| answer.report.stages.iter().find(|s| s.stage == stage).map_or(0.0, |s| s.slowest);
        Ok(Ran {
            seconds,
            pairs,
            cycles,
            utilisation,
            seen: LinkUse { seconds: most(0), bytes_in: sum(1), bytes_out: sum(2) },
            // Ranks wait for each other behind P2P, so that the slowest model counts.
            modelled: most(3),
            exchange: Some(of("exchange") + of("results")),
        })
    }
}

/// A backend, and the seconds that it took.
struct Timed {
    backend: StreamBackend,
    spent: f64,
}

impl Backend for Timed {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn prepare(&mut self, graph: &Graph, pairs: u64) -> Result<(), BackendError> {
        self.backend.prepare(graph, pairs)
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let start = Instant::now();
        let done = self.backend.run(job, progress);
        self.spent += start.elapsed().as_secs_f64();
        done
    }

    fn lanes(&mut self, graph: &Graph, pairs: u64) -> Result<Option<u32>, BackendError> {
        self.backend.lanes(graph, pairs)
    }

    fn runs_together(&self, graphs: &[&Graph]) -> bool {
        self.backend.runs_together(graphs)
    }

    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        let start = Instant::now();
        let done = self.backend.run_all(jobs, progress);
        self.spent += start.elapsed().as_secs_f64();
        done
    }
}
