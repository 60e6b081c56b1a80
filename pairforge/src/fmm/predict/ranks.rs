//! A prediction on ranks with a board each: each rank runs its part with the model of its board, and the slowest one counts. The first
//! rank chooses leaf sizes, and tells the others.

use super::fill::Work;
use super::{Machine, Question, Ran, Report};
use crate::fmm::kernels::Kernels;
use fmm::data::particles::Columns;
use fmm::octree::FmmOptions;
use fmm::octree::stats::Stats;
use fmm::octree::tune::cost::Costs;
use pg2::graph::Graph;
use pipelines::job::{Backend, BackendError, Job, Outcome};
use pipelines::octree::offload::Pipelines;
use pipelines::predict::LinkUse;
use pipelines::predict::fleet::Fleet;
use ranks::RankError;
use ranks::bytes::{Reader, Writer};
use ranks::comm::{Comm, agree, broadcast, gather_f64, gather_u64};
use ranks::measured::Clock;
use ranks::prepare::{Slice, prepare};
use ranks::solve::solve;
use std::time::Instant;

/// One rank with its slice of the particles.
pub struct RankProblem<'a> {
    pub comm: &'a dyn Comm,
    pub kernels: &'a Kernels,
    pub positions: Columns<'a>,
    pub charges: &'a [f64],
    /// With the leaf size that was asked for.
    pub options: &'a FmmOptions,
    pub costs: &'a Costs,
}

impl RankProblem<'_> {
    fn slice<'s>(&'s self, options: &'s FmmOptions) -> Slice<'s> {
        Slice {
            geometry: self.positions.into(),
            sets: vec![self.charges.into()],
            hessian: false,
            options,
            costs: self.costs,
            kernel: None,
            p2p: options.precision,
        }
    }

    /// Pairs that the kernels of all ranks have to stream.
    pub fn work(&self) -> Result<Work, RankError> {
        let prepared = prepare(self.comm, &self.slice(self.options), &[], &mut Clock::default())?;
        let all = gather_u64(self.comm, &[prepared.pairs.p2p, prepared.pairs.m2l])?;
        let sum = |k: usize| all.iter().map(|one| one[k]).sum();
        Ok(Work { p2p: sum(0), m2l: sum(1) })
    }

    /// The first rank's report of `n` particles.
    pub fn report(&self, n: usize, machine: &Machine) -> Result<Option<Report>, RankError> {
        if self.comm.rank() > 0 {
            return self.follow(machine).map(|()| None);
        }
        let run = |leaf: usize, machine: &Machine| {
            let mut word = Writer::default();
            word.u64(leaf as u64);
            broadcast(self.comm, word.take())?;
            self.run(leaf, machine)
        };
        let FmmOptions { order, theta, leaf, .. } = *self.options;
        let ranks = Some(self.comm.size());
        let question = Question { kernels: self.kernels, what: "particles", n, order, theta, leaf, ranks, run: &run };
        let report = question.report(machine)?;
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
        let options = FmmOptions { leaf, ..self.options.clone() };
        let backend = agree(self.comm, machine.fleet(self.kernels).map_err(RankError::from))?;
        let mut timed = Timed { backend, spent: 0.0 };
        let answer = {
            let mut pipelines = Pipelines::new(&mut timed, &self.kernels.p2p, self.kernels.m2l.as_ref());
            solve(self.comm, &self.slice(&options), &mut [&mut pipelines])?
        };
        let own = timed.backend.seen(None);
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
    backend: Fleet,
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
