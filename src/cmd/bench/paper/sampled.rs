//! Devices that all have the same work, each predicted for itself, from a part of the work where that is much.
//!
//! A model goes through every packet, so that 1.6e7 particles would take hours. Uniform particles look the same in every octant, and runs
//! come in the order of the octree: the first eighth of them is an octant, with as many pairs, and sources that are sent again as often,
//! as each of the others.

use pairforge::fmm::kernels::Kernels;
use pg2::graph::Graph;
use pipelines::job::{Backend, BackendError, Job, Outcome, Run};
use pipelines::predict::LinkUse;
use pipelines::predict::fleet::Fleet;
use rayon::prelude::*;

/// Targets that a part has at least.
pub const TARGETS: usize = 100_000;

/// The part of the work of so many particles that is predicted: a power of an eighth.
pub fn part_of(targets: usize) -> f64 {
    let mut part = 1.0;
    while targets as f64 * part / 8.0 >= TARGETS as f64 {
        part /= 8.0;
    }
    part
}

/// The use of a device: of its boards with each kernel, and of all.
#[derive(Clone, Copy, Default)]
pub struct Used {
    pub p2p: f64,
    pub m2l: f64,
    pub bytes_in: f64,
    pub bytes_out: f64,
}

impl Used {
    fn of(fleet: &Fleet, kernels: &Kernels) -> Used {
        let seconds = |kernel: Option<&Graph>| fleet.seen(kernel).seconds;
        let LinkUse { bytes_in, bytes_out, .. } = fleet.seen(None);
        Used {
            p2p: seconds(Some(&kernels.p2p)),
            m2l: seconds(kernels.m2l.as_ref()),
            bytes_in: bytes_in as f64,
            bytes_out: bytes_out as f64,
        }
    }
}

/// The devices.
pub struct Sampled {
    fleets: Vec<Fleet>,
    /// The part of each job that they are given.
    part: f64,
}

impl Sampled {
    /// Devices that are given a part of the work.
    pub fn new(fleets: Vec<Fleet>, part: f64) -> Sampled {
        Sampled { fleets, part }
    }

    /// The use of each for the whole work.
    pub fn used(&self, kernels: &Kernels) -> Vec<Used> {
        let whole = |fleet: &Fleet| {
            let Used { p2p, m2l, bytes_in, bytes_out } = Used::of(fleet, kernels);
            let [p2p, m2l, bytes_in, bytes_out] = [p2p, m2l, bytes_in, bytes_out].map(|x| x / self.part);
            Used { p2p, m2l, bytes_in, bytes_out }
        };
        self.fleets.iter().map(whole).collect()
    }
}

/// The first runs of a job, with so large a part of its pairs.
fn first(job: &Job, part: f64) -> Vec<Run> {
    let sources = |run: &Run| job.segments[run.segments.clone()].iter().map(|s| s.count as u64).sum::<u64>();
    let enough = part * job.pairs() as f64;
    let before = job.runs.iter().scan(0, |before, run| {
        let own = *before;
        *before += run.count as u64 * sources(run);
        Some(own)
    });
    job.runs
        .iter()
        .zip(before)
        .take_while(|(_, before)| (*before as f64) < enough)
        .map(|(run, _)| run.clone())
        .collect()
}

impl Backend for Sampled {
    fn name(&self) -> &str {
        "predicted devices"
    }

    fn prepare(&mut self, graph: &Graph, pairs: u64) -> Result<(), BackendError> {
        self.fleets.iter_mut().try_for_each(|fleet| fleet.prepare(graph, pairs))
    }

    fn lanes(&mut self, graph: &Graph, pairs: u64) -> Result<Option<u32>, BackendError> {
        self.fleets[0].lanes(graph, pairs)
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let mut outcomes = self.run_all(std::slice::from_ref(job), progress)?;
        Ok(outcomes.pop().expect("an outcome of the job"))
    }

    fn runs_together(&self, graphs: &[&Graph]) -> bool {
        graphs.len() > 1
    }

    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        let parts: Vec<Vec<Run>> = jobs.iter().map(|job| first(job, self.part)).collect();
        let jobs: Vec<Job> = jobs.iter().zip(&parts).map(|(job, runs)| Job { runs, ..*job }).collect();
        let of_fleet = |fleet: &mut Fleet| {
            let mut passed = 0;
            Ok((fleet.run_all(&jobs, &mut |more| passed += more)?, passed))
        };
        let mut all: Vec<(Vec<Outcome>, usize)> =
            self.fleets.par_iter_mut().map(of_fleet).collect::<Result<_, BackendError>>()?;
        // Their results are zeros, all alike.
        let (outcomes, passed) = all.pop().expect("there is a fleet");
        progress(passed);
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipelines::job::{SourceRange, Table};

    #[test]
    fn a_part_has_its_share_of_the_pairs_and_targets_enough() {
        for (targets, part) in [(1_000, 1.0), (799_999, 1.0), (800_000, 0.125), (16_000_000, 1.0 / 64.0)] {
            assert_eq!(part_of(targets), part, "{targets}");
        }
        let graph = crate::cmd::bench::paper::machines::kernels().ok().expect("they are shipped").p2p;
        let segments = [SourceRange { first: 0, count: 30 }, SourceRange { first: 30, count: 7 }];
        let runs: Vec<Run> = (0..512).map(|k| Run { first: 9 * k, count: 4 + k % 5, segments: 0..1 + k % 2 }).collect();
        let (targets, sources) = (Table::default(), Table::default());
        let job =
            Job { graph: &graph, targets: &targets, sources: &sources, params: &[], runs: &runs, segments: &segments };
        assert_eq!(first(&job, 1.0), runs);
        let eighth = first(&job, 0.125);
        assert_eq!(eighth, runs[..eighth.len()]);
        let share = Job { runs: &eighth, ..job }.pairs() as f64 / job.pairs() as f64;
        assert!((share / 0.125 - 1.0).abs() < 0.03, "{share}");
    }
}
