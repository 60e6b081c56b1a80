//! A run of all stages on GPUs, of one process or of several: the input to the GPUs of all, and the results of the own ones.

use super::factors;
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::communicator::{Team, numbers};
use crate::cuda::octree::{Amounts, GpuFmm, Run};
use crate::cuda::p2p::Number;
use crate::octree::Gpu;
use fmm::data::particles::Field;
use fmm::data::problem::{Geometry, Sources};
use fmm::octree::options::Wanted;
use fmm::octree::stats::{OnGpu, Stats};
use fmm::octree::{FmmOptions, Solutions};
use fmm::stages::Timeline;
use std::time::Instant;

/// The task of a run: of several processes each has its slices of the sources, of their charges and of the targets.
pub struct Task<'a> {
    pub name: &'a str,
    pub geometry: Geometry<'a>,
    pub sets: &'a [Sources<'a>],
    pub options: &'a FmmOptions,
    /// Results and inputs besides charges, potential and gradient.
    pub wanted: Wanted,
    /// The particles that a leaf has in the mean at most; if it is not given, what costs least.
    pub leaf: Option<usize>,
}

/// The results of a process's GPUs: the fields at its targets, and the work.
pub struct Found {
    pub fields: Vec<Field>,
    pub stats: Stats,
    /// The run of each set, and the seconds in which they waited for slower processes.
    pub runs: Vec<Run>,
    pub waited: f64,
    /// Seconds until kernels were there, and then until GPUs of processes could read each other's memory.
    pub kernels: f64,
    pub linked: f64,
}

/// The outcomes of several runs of the same particles, and the seconds that each waited for slower processes; or why there are none.
pub type Timed = Outcome<Vec<(Run, f64)>>;

/// The same with what all of them gave.
type Repeated<R> = Outcome<(Vec<(Run, f64)>, R)>;

impl Found {
    pub fn solutions(self) -> Solutions {
        Solutions { fields: self.fields, stats: self.stats }
    }
}

impl Task<'_> {
    /// Some runs of particles that are made on the GPUs, after a first one, which allocates memory: each with the seconds in which it
    /// waited for slower processes, and what `fetch` has of their results, which are all the same.
    pub(super) fn repeated<T: Number, C: GpuDevice, R: PartialEq>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
        (n, leaf, repeat): (usize, usize, u32),
        fetch: impl Fn(&Run, &GpuFmm<T, C>) -> Result<R, CudaError>,
    ) -> Result<Repeated<R>, CudaError> {
        whole.make(team, n, 1)?;
        let mut one = || {
            // Some may have fetched results sooner than others.
            team.others.meet()?;
            let before = team.others.waited();
            let run = match self.settled(team, whole, |whole| whole.run(team, leaf, self.options.eps))? {
                Ok(run) => run,
                Err(why) => return Ok(Err(why)),
            };
            let waited = team.others.waited() - before;
            let found = fetch(&run, whole)?;
            Ok(Ok(((run, waited), found)))
        };
        let first = match one()? {
            Ok((_, found)) => found,
            Err(why) => return Ok(Err(why)),
        };
        let mut runs = Vec::new();
        for _ in 0..repeat {
            match one()? {
                Ok((run, found)) if found == first => runs.push(run),
                Ok(_) => return Err(CudaError::Failed("two runs gave different bits".into())),
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok((runs, first)))
    }

    /// Such runs, of which all results are compared.
    pub fn timed<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
        n: usize,
        repeat: u32,
    ) -> Result<Timed, CudaError> {
        let leaf = self.leaf.unwrap_or_else(|| Gpu::whole_leaf(n, self.options));
        let found = self.repeated(team, whole, (n, leaf, repeat), |_, whole| whole.fetch(team, [1.0; 4]))?;
        Ok(found.map(|(runs, _)| runs))
    }

    /// Sends charges, and moments where some set has them.
    fn send<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &GpuFmm<T, C>,
        sources: &Sources,
    ) -> Result<(), CudaError> {
        let is_whole = sources.charges.is_some() && (sources.dipoles.is_some() || !self.wanted.dipoles);
        let zeros = vec![0.0; if is_whole { 0 } else { self.geometry.sources[0].len() }];
        whole.send(team, 3, &[sources.charges.unwrap_or(&zeros)])?;
        if self.wanted.dipoles {
            let columns = sources.dipoles.unwrap_or([&zeros; 3]);
            (4..).zip(columns).try_for_each(|(column, moments)| whole.send(team, column, &[moments]))?;
        }
        // The zeros are here until they are there.
        team.devices.iter().try_for_each(C::finish)
    }

    /// The field of a run at this process's targets.
    fn fetch<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &GpuFmm<T, C>,
        run: &Run,
    ) -> Result<Field, CudaError> {
        if !self.wanted.hessian {
            let [potential, x, y, z] = whole.fetch(team, factors(run))?;
            return Ok(Field { potential, gradient: Some([x, y, z]), hessian: None });
        }
        let [potential, x, y, z, hessian @ ..] = whole.fetch::<10>(team, factors(run))?;
        Ok(Field { potential, gradient: Some([x, y, z]), hessian: Some(hessian) })
    }

    pub fn run<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
    ) -> Result<Outcome<Found>, CudaError> {
        let (start, before) = (Instant::now(), team.others.waited());
        let mut timeline = Timeline::begun();
        let Geometry { sources, targets } = self.geometry;
        let own = [sources[0].len(), targets.map_or(0, |targets| targets[0].len())];
        let all = numbers(team.others, &own.map(|n| n as u64))?;
        let counts = [0, 1].map(|k| all.iter().map(|one| one[k] as usize).sum::<usize>());
        let n = counts[0] + counts[1];
        let leaf = self.leaf.unwrap_or_else(|| Gpu::whole_leaf(n, self.options));
        if !whole.has_positions() {
            whole.reserve(team, &Amounts { all: n, sources: own[0], targets: targets.map(|_| own[1]) })?;
            for axis in 0..3 {
                // Targets that are no sources are particles without a charge, behind the sources.
                let slices: Vec<&[f64]> = std::iter::once(sources[axis]).chain(targets.map(|t| t[axis])).collect();
                whole.send(team, axis, &slices)?;
            }
            team.devices.iter().try_for_each(C::finish)?;
            whole.hold_positions();
        }
        timeline.note("send particles", self.name, start);
        let (mut fields, mut stats, mut runs) = (Vec::new(), Stats::default(), Vec::new());
        let waited = || team.others.waited() - before;
        let mut times = OnGpu { sent: start.elapsed().as_secs_f64() - waited(), ..OnGpu::default() };
        let mut in_runs = 0.0;
        for sources in self.sets {
            let (sending, so_far) = (Instant::now(), waited());
            self.send(team, whole, sources)?;
            times.sent += sending.elapsed().as_secs_f64() - (waited() - so_far);
            timeline.note("send charges", self.name, sending);
            let (so_far, running) = (waited(), Instant::now());
            // Tree and lists are those of the first set, or of an earlier run in the same places.
            let run = match self.settled(team, whole, |whole| whole.run_again(team, leaf, self.options.eps))? {
                Ok(run) => run,
                Err(why) => return Ok(Err(why)),
            };
            times.computed += run.times.total;
            in_runs += waited() - so_far;
            timeline.note("all stages", self.name, running);
            let back = Instant::now();
            fields.push(self.fetch(team, whole, &run)?);
            times.fetched += timeline.note("fetch results", self.name, back);
            self.add(&run, &mut stats);
            runs.push(run);
        }
        (stats.n, stats.leaf) = (counts[0], leaf);
        stats.targets = targets.map(|_| counts[1]);
        stats.on_gpu = Some(times);
        stats.timeline = timeline.spans;
        stats.seconds.total = start.elapsed().as_secs_f64();
        Ok(Ok(Found { fields, stats, runs, waited: in_runs, kernels: 0.0, linked: 0.0 }))
    }
}
