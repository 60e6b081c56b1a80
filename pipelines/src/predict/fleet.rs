//! Several predicted boards that share each job: every board takes an equal part of the pairs, in the order of the runs.

use super::{LinkUse, Setup, backend};
use crate::driver::StreamBackend;
use crate::job::{Backend, BackendError, Job, Outcome, Run};
use hdl::engine::Config;
use hdl::serial::kernel_hash;
use pg2::graph::Graph;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A board of a fleet.
struct Member {
    /// Hashes of the kernels that it has engines for.
    kernels: Vec<u64>,
    backend: StreamBackend,
    seen: Arc<Mutex<LinkUse>>,
}

/// Boards with the same engines, each behind a link of its own.
#[derive(Clone, Debug)]
pub struct Boards {
    pub count: u32,
    pub setup: Setup,
    /// Each with the hash of its kernel.
    pub engines: Vec<(Config, u64)>,
}

/// Boards that work at the same time. The host sends to all of them at once.
pub struct Fleet {
    members: Vec<Member>,
}

impl Fleet {
    pub fn new(boards: &[Boards]) -> Fleet {
        let each = boards.iter().flat_map(|boards| std::iter::repeat_n(boards, boards.count as usize));
        let member = |boards: &Boards| {
            let seen = Arc::default();
            let kernels = boards.engines.iter().map(|e| e.1).collect();
            Member { kernels, backend: backend(boards.setup, boards.engines.clone(), Arc::clone(&seen)), seen }
        };
        Fleet { members: each.map(member).collect() }
    }

    /// The use of all links to boards with a kernel, or to all: the seconds are those of the slowest.
    pub fn seen(&self, kernel: Option<&Graph>) -> LinkUse {
        let hash = kernel.map(|graph| kernel_hash(&graph.canonical()));
        let is_asked = |m: &&Member| hash.is_none_or(|hash| m.kernels.contains(&hash));
        self.members.iter().filter(is_asked).fold(LinkUse::default(), |all, member| {
            let one = *member.seen.lock().unwrap_or_else(PoisonError::into_inner);
            LinkUse {
                seconds: all.seconds.max(one.seconds),
                bytes_in: all.bytes_in + one.bytes_in,
                bytes_out: all.bytes_out + one.bytes_out,
            }
        })
    }

    /// The boards with an engine for a kernel.
    fn with(&self, graph: &Graph) -> Result<Vec<usize>, BackendError> {
        let hash = kernel_hash(&graph.canonical());
        let found: Vec<usize> = (0..self.members.len()).filter(|k| self.members[*k].kernels.contains(&hash)).collect();
        match found.is_empty() {
            true => Err(BackendError::Unsupported(format!("no predicted board has an engine for {}", graph.name))),
            false => Ok(found),
        }
    }
}

impl Backend for Fleet {
    fn name(&self) -> &str {
        "predicted board"
    }

    fn prepare(&mut self, graph: &Graph, pairs: u64) -> Result<(), BackendError> {
        self.with(graph)?.into_iter().try_for_each(|k| self.members[k].backend.prepare(graph, pairs))
    }

    fn lanes(&mut self, graph: &Graph, pairs: u64) -> Result<Option<u32>, BackendError> {
        let first = self.with(graph)?[0];
        self.members[first].backend.lanes(graph, pairs)
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let mut outcomes = self.run_all(std::slice::from_ref(job), progress)?;
        Ok(outcomes.pop().expect("an outcome of the job"))
    }

    fn runs_together(&self, graphs: &[&Graph]) -> bool {
        graphs.len() > 1
    }

    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        let mut outcomes: Vec<Option<Outcome>> = jobs.iter().map(|_| None).collect();
        let mut parts: Vec<Vec<Vec<Run>>> = Vec::new();
        let mut with = Vec::new();
        for job in jobs {
            let members = self.with(job.graph)?;
            parts.push(shared(job, members.len()));
            with.push(members);
        }
        // Each board keeps its own time, so that all of them are predicted at once. Progress comes from each when it is done.
        let of_member = |(k, member): (usize, &mut Member)| {
            // The jobs that this board has a part of, and its runs of them.
            let own = |j: usize| Some((j, &parts[j][with[j].iter().position(|m| *m == k)?]));
            let mine: Vec<(usize, &Vec<Run>)> = (0..jobs.len()).filter_map(own).collect();
            let sub: Vec<Job> = mine.iter().map(|(j, runs)| Job { runs, ..jobs[*j] }).collect();
            let mut passed = 0;
            let done = member.backend.run_all(&sub, &mut |more| passed += more)?;
            Ok((passed, mine.into_iter().map(|(j, _)| j).zip(done).collect()))
        };
        let of_members: Result<Vec<(usize, Vec<(usize, Outcome)>)>, BackendError> =
            self.members.par_iter_mut().enumerate().map(of_member).collect();
        for (passed, done) in of_members? {
            progress(passed);
            for (j, one) in done {
                match &mut outcomes[j] {
                    Some(all) => merge(all, one),
                    empty => *empty = Some(one),
                }
            }
        }
        Ok(outcomes.into_iter().map(|o| o.expect("a board has a part of each job")).collect())
    }
}

/// The runs of a job in so many parts with about as many pairs each.
fn shared(job: &Job, count: usize) -> Vec<Vec<Run>> {
    let sources = |run: &Run| job.segments[run.segments.clone()].iter().map(|s| s.count as u64).sum::<u64>();
    let all = job.pairs().max(1);
    let (mut parts, mut before) = (vec![Vec::new(); count], 0u64);
    for run in job.runs {
        let part = (before as u128 * count as u128 / all as u128) as usize;
        parts[part.min(count - 1)].push(run.clone());
        before += run.count as u64 * sources(run);
    }
    parts
}

/// Adds what another board did with its part of a job. Its results are zeros, as all are.
fn merge(all: &mut Outcome, one: Outcome) {
    all.cycles = all.cycles.max(one.cycles);
    all.pairs += one.pairs;
    all.lanes += one.lanes;
    all.words.j += one.words.j;
    all.words.i += one.words.i;
    all.words.result += one.words.result;
    all.flags.iter_mut().zip(one.flags).for_each(|(a, b)| *a |= b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{SourceRange, Table};

    #[test]
    fn parts_of_a_job_have_all_runs_in_their_order_and_about_as_many_pairs() {
        let program = pg2::compile("p2p_paper", pg2::kernels::find("p2p_paper").expect("it is shipped").text);
        let graph = program.expect("it compiles").graph;
        let segments = [SourceRange { first: 0, count: 27 }, SourceRange { first: 27, count: 100 }];
        let runs: Vec<Run> =
            (0..300).map(|k| Run { first: 10 * k, count: 3 + k % 7, segments: 0..1 + k % 2 }).collect();
        let job = Job {
            graph: &graph,
            targets: &Table::default(),
            sources: &Table::default(),
            params: &[],
            runs: &runs,
            segments: &segments,
        };
        let parts = shared(&job, 8);
        assert_eq!(parts.concat(), runs);
        let pairs: Vec<u64> = parts.iter().map(|part| Job { runs: part, ..job }.pairs()).collect();
        let mean = job.pairs() as f64 / 8.0;
        assert!(pairs.iter().all(|p| (*p as f64 / mean - 1.0).abs() < 0.1), "{pairs:?}");
    }
}
