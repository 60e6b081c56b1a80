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

/// Runs of each job that a part has at least: each of eight boards then has eight.
const RUNS: usize = 64;

/// The part of jobs that is predicted: the smallest power of an eighth that leaves each of them runs enough.
fn part_of(jobs: &[Job]) -> f64 {
    let least = jobs.iter().map(|job| job.runs.len()).min().unwrap_or(0);
    let mut part = 1.0;
    while least as f64 * part / 8.0 >= RUNS as f64 {
        part /= 8.0;
    }
    part
}

/// The use of a device: seconds of its boards with each kernel, and bytes of all.
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

    /// Adds what was used between two times, so often.
    fn add(&mut self, before: Used, after: Used, times: f64) {
        self.p2p += (after.p2p - before.p2p) * times;
        self.m2l += (after.m2l - before.m2l) * times;
        self.bytes_in += (after.bytes_in - before.bytes_in) * times;
        self.bytes_out += (after.bytes_out - before.bytes_out) * times;
    }
}

/// A device and its use for the whole work.
struct Device {
    fleet: Fleet,
    used: Used,
}

/// The devices.
pub struct Sampled<'a> {
    kernels: &'a Kernels,
    devices: Vec<Device>,
    is_whole: bool,
}

impl Sampled<'_> {
    /// Devices that are given all of the work, or a part where it is much.
    pub fn new(kernels: &Kernels, fleets: Vec<Fleet>, is_whole: bool) -> Sampled<'_> {
        let devices = fleets.into_iter().map(|fleet| Device { fleet, used: Used::default() }).collect();
        Sampled { kernels, devices, is_whole }
    }

    /// The use of each for the whole work.
    pub fn used(&self) -> impl Iterator<Item = Used> {
        self.devices.iter().map(|device| device.used)
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

impl Backend for Sampled<'_> {
    fn name(&self) -> &str {
        "predicted devices"
    }

    fn prepare(&mut self, graph: &Graph, pairs: u64) -> Result<(), BackendError> {
        self.devices.iter_mut().try_for_each(|device| device.fleet.prepare(graph, pairs))
    }

    fn lanes(&mut self, graph: &Graph, pairs: u64) -> Result<Option<u32>, BackendError> {
        self.devices[0].fleet.lanes(graph, pairs)
    }

    fn run(&mut self, job: &Job, progress: &mut dyn FnMut(usize)) -> Result<Outcome, BackendError> {
        let mut outcomes = self.run_all(std::slice::from_ref(job), progress)?;
        Ok(outcomes.pop().expect("an outcome of the job"))
    }

    fn runs_together(&self, graphs: &[&Graph]) -> bool {
        graphs.len() > 1
    }

    fn run_all(&mut self, jobs: &[Job], progress: &mut dyn FnMut(usize)) -> Result<Vec<Outcome>, BackendError> {
        let part = if self.is_whole { 1.0 } else { part_of(jobs) };
        let parts: Vec<Vec<Run>> = jobs.iter().map(|job| first(job, part)).collect();
        let jobs: Vec<Job> = jobs.iter().zip(&parts).map(|(job, runs)| Job { runs, ..*job }).collect();
        let kernels = self.kernels;
        let of_device = |Device { fleet, used }: &mut Device| {
            let (before, mut passed) = (Used::of(fleet, kernels), 0);
            let outcomes = fleet.run_all(&jobs, &mut |more| passed += more)?;
            used.add(before, Used::of(fleet, kernels), 1.0 / part);
            Ok((outcomes, passed))
        };
        let mut all: Vec<(Vec<Outcome>, usize)> =
            self.devices.par_iter_mut().map(of_device).collect::<Result<_, BackendError>>()?;
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
    fn a_part_has_its_share_of_the_pairs_and_runs_enough() {
        let graph = crate::cmd::bench::paper::machines::kernels().ok().expect("they are shipped").p2p;
        let segments = [SourceRange { first: 0, count: 30 }, SourceRange { first: 30, count: 7 }];
        let runs: Vec<Run> =
            (0..40_000).map(|k| Run { first: 9 * k, count: 4 + k % 5, segments: 0..1 + k % 2 }).collect();
        let (targets, sources) = (Table::default(), Table::default());
        let job = |count: usize| Job {
            graph: &graph,
            targets: &targets,
            sources: &sources,
            params: &[],
            runs: &runs[..count],
            segments: &segments,
        };
        for (counts, part) in [([511, 40_000], 1.0), ([512, 40_000], 0.125), ([40_000, 4096], 1.0 / 64.0)] {
            assert_eq!(part_of(&counts.map(job)), part, "{counts:?}");
        }
        let all = job(4096);
        assert_eq!(first(&all, 1.0), all.runs);
        let eighth = first(&all, 0.125);
        assert_eq!(eighth, runs[..eighth.len()]);
        let share = Job { runs: &eighth, ..all }.pairs() as f64 / all.pairs() as f64;
        assert!((share / 0.125 - 1.0).abs() < 0.004, "{share}");
    }
}
