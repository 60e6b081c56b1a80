//! An FMM whose positions, charges and results stay on a GPU: nothing of them goes through the host.

#[cfg(test)]
mod tests;

use super::{Gpu, Ready, Task, factors, prepare};
use crate::cuda::CudaError;
use crate::cuda::caller::{Caller, CallerStream, device_of};
use crate::cuda::columns::{self, Copier, Copy, DeviceSlice, Memory};
use crate::cuda::conserved::{self, DeviceBodies};
use crate::cuda::device::Device;
use crate::cuda::driver::{Outcome, reported};
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::GpuFmm;
use crate::cuda::octree::communicator::Team;
use crate::cuda::octree::resident::{DeviceField, DevicePoints, DeviceSources};
use crate::cuda::p2p::Number;
use fmm::data::problem::{Geometry, Points};
use fmm::direct::conserved::SUMS;
use fmm::octree::options::Wanted;
use fmm::octree::stats::{OnGpu, Stats};
use fmm::octree::{FmmError, FmmOptions};
use pg2::graph::Graph;
use pipelines::job::BackendError;
use pipelines::octree::bind::P2p;
use std::time::Instant;

/// An FMM on the GPU of its caller's data. It has positions from one update to the next.
pub struct Resident {
    gpu: Gpu,
    copier: Copier<Device>,
    options: FmmOptions,
    /// The particles of a leaf at most, if they are given.
    leaf: Option<usize>,
    /// Second derivatives, and dipoles once there were some.
    wanted: Wanted,
    /// The numbers of sources and targets whose positions it has.
    held: Option<Held>,
}

/// The numbers of points: sources, and targets if they are not the sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    pub sources: usize,
    pub targets: Option<usize>,
}

impl Held {
    fn of(points: &DevicePoints) -> Held {
        Held { sources: points.sources[0].len(), targets: points.targets.map(|targets| targets[0].len()) }
    }

    /// The places of results.
    pub fn results(&self) -> usize {
        self.targets.unwrap_or(self.sources)
    }
}

impl Gpu {
    /// The GPU that some numbers are on: the one that is named, or that the first address belongs to.
    pub fn of_slices<'a>(slices: impl Iterator<Item = (&'a str, DeviceSlice)>) -> Result<usize, FmmError> {
        let mut slices = slices.peekable();
        let first = slices.peek().copied();
        if let Some((name, slice)) = slices.find(|(_, slice)| slice.device().is_some() || !slice.is_empty()) {
            let named = slice.device().map(|device| Ok(Ok(device)));
            let found = named.unwrap_or_else(|| device_of(slice.address())).map_err(BackendError::from)?;
            return Ok(found.map_err(|why| BackendError::Unsupported(format!("`{name}` {why}")))?);
        }
        Ok(first.and_then(|(_, slice)| slice.device()).unwrap_or(0))
    }

    /// Opens a GPU by its number for a kernel that is another function than 1/r, values given for parameters of its own.
    pub fn open_function_at(
        name: &'static str,
        kernel: &Graph,
        given: &[(String, f64)],
        device: usize,
    ) -> Result<Gpu, FmmError> {
        let units = P2p::bind(kernel, true, given)?;
        Gpu::open_bound((name, kernel, units), |there| Gpu::numbered(device, there))
    }

    /// Opens a GPU by its number.
    pub fn open_at(name: &'static str, kernel: &Graph, device: usize) -> Result<Gpu, FmmError> {
        Gpu::open_these(name, kernel, |there| Gpu::numbered(device, there))
    }

    fn numbered(device: usize, there: usize) -> Result<Vec<usize>, String> {
        match device < there {
            true => Ok(vec![device]),
            false => Err(format!("there is no GPU {device}: {there} are found, from 0 on")),
        }
    }
}

impl Resident {
    /// Data on a GPU that is open. `leaf` is the most particles of a leaf, if it is given; `hessian` asks for second derivatives.
    pub fn on(gpu: Gpu, options: &FmmOptions, leaf: Option<usize>, hessian: bool) -> Result<Resident, FmmError> {
        options.check()?;
        let copier = Copier::new(&gpu.devices[0]).map_err(BackendError::from)?;
        let wanted = Wanted { hessian, dipoles: false };
        Ok(Resident { gpu, copier, options: options.clone(), leaf, wanted, held: None })
    }

    /// The number of the GPU.
    pub fn device(&self) -> usize {
        self.own().number()
    }

    /// The reason why the GPU does not run all stages with the options, if it does not.
    pub fn refuses(&self) -> Option<String> {
        self.gpu.refuses(&self.options).or_else(|| Gpu::refuses_wanted(&self.options, self.wanted))
    }

    fn own(&self) -> &Device {
        &self.gpu.devices[0]
    }

    fn check<'a>(
        &self,
        slices: impl IntoIterator<Item = (&'a str, DeviceSlice)>,
        is_written: bool,
    ) -> Result<(), FmmError> {
        let mut slices = slices.into_iter();
        let checked = slices.try_for_each(|(name, slice)| columns::check(self.own(), name, &slice, is_written));
        Ok(checked.map_err(BackendError::from)?)
    }

    /// Refuses points that cannot be used.
    fn check_points(&self, points: &DevicePoints) -> Result<(), FmmError> {
        points.check().map_err(BackendError::from)?;
        self.check(points.named(), false)
    }

    /// Refuses charges, moments and results of other numbers than there are sources and targets, or that cannot be used.
    pub fn check_run(
        &self,
        [sources, targets]: [usize; 2],
        given: &DeviceSources,
        field: &DeviceField,
    ) -> Result<(), FmmError> {
        let unsupported = |why: &str| Err(BackendError::Unsupported(why.into()).into());
        if given.named().next().is_none() {
            return unsupported("there are neither charges nor dipole moments; give one of them");
        }
        if field.hessian.is_some() && !self.wanted.hessian {
            return unsupported("the plan has no second derivatives; ask for the Hessian when it is made");
        }
        columns::check_lengths(given.named(), sources, "sources").map_err(BackendError::from)?;
        columns::check_lengths(field.named(), targets, "targets").map_err(BackendError::from)?;
        self.check(given.named(), false)?;
        self.check(field.named(), true)
    }

    /// Takes positions as they are now, behind what the stream has; or says why they do not fit the GPU.
    pub fn update(&mut self, points: &DevicePoints, stream: CallerStream) -> Result<Outcome<()>, FmmError> {
        self.held = None;
        self.check_points(points)?;
        let Resident { gpu, copier, options, wanted, .. } = self;
        let Gpu { devices, kernel, units, whole, .. } = &mut *gpu;
        let mut take = || {
            prepare(whole, devices, kernel, units, (options, *wanted))?;
            let team = Team::alone(devices);
            devices[0].follow(stream)?;
            match whole.as_mut().expect("it was made") {
                Ready::F32(_, whole) => whole.take_points(&team, copier, points),
                Ready::F64(_, whole) => whole.take_points(&team, copier, points),
            }?;
            devices[0].lead(stream)
        };
        let taken = take().map(Ok);
        let outcome = reported(taken, || gpu.forget())?;
        self.held = outcome.is_ok().then(|| Held::of(points));
        Ok(outcome)
    }

    /// Has kernels and memory for dipole moments from here on, with the positions that it has; or says why the GPU does not take them.
    fn take_dipoles(&mut self) -> Result<Outcome<()>, FmmError> {
        let wanted = Wanted { dipoles: true, ..self.wanted };
        if let Some(why) = Gpu::refuses_wanted(&self.options, wanted) {
            return Ok(Err(why));
        }
        let (points, held) = (self.points()?.expect("it has positions"), self.held.take());
        let Resident { gpu, options, .. } = self;
        let Gpu { devices, kernel, units, whole, .. } = &mut *gpu;
        let mut take = || {
            prepare(whole, devices, kernel, units, (options, wanted))?;
            let team = Team::alone(devices);
            match whole.as_mut().expect("it was made") {
                Ready::F32(_, whole) => whole.put_points(&team, &points),
                Ready::F64(_, whole) => whole.put_points(&team, &points),
            }
        };
        let taken = take().map(Ok);
        let outcome = reported(taken, || gpu.forget())?;
        if outcome.is_ok() {
            (self.wanted, self.held) = (wanted, held);
        }
        Ok(outcome)
    }

    /// The parts that are wanted of the field of charges or dipole moments, written behind what the stream has; or why the GPU does not run all
    /// stages. What the stream has later sees the results. The first moments take a copy of the positions to the host and back.
    pub fn run(
        &mut self,
        given: &DeviceSources,
        field: &DeviceField,
        stream: CallerStream,
    ) -> Result<Outcome<Stats>, FmmError> {
        let Some(held) = self.held else { return Ok(Err("it has no positions; update the plan".into())) };
        self.check_run([held.sources, held.results()], given, field)?;
        if given.dipoles.is_some()
            && !self.wanted.dipoles
            && let Err(why) = self.take_dipoles()?
        {
            return Ok(Err(why));
        }
        let Resident { gpu, copier, options, leaf, wanted, .. } = self;
        let none: [&[f64]; 3] = [&[]; 3];
        let geometry = Geometry { sources: none, targets: held.targets.map(|_| none) };
        let task = Task { name: gpu.name, geometry, sets: &[], options, wanted: *wanted, leaf: *leaf };
        let team = Team::alone(&gpu.devices);
        let problem = Given { task, held, given, field, stream };
        let found = match gpu.whole.as_mut().expect("it has positions") {
            Ready::F32(_, whole) => problem.run(&team, whole, copier),
            Ready::F64(_, whole) => problem.run(&team, whole, copier),
        };
        match found {
            Err(CudaError::TooLarge(why)) => Ok(Err(why)),
            found => Ok(found.map_err(BackendError::from)?),
        }
    }

    /// The positions of the last update, for a run on the host.
    pub fn points(&self) -> Result<Option<Points>, FmmError> {
        let Some(held) = self.held else { return Ok(None) };
        let team = Team::alone(&self.gpu.devices);
        let found = match self.gpu.whole.as_ref().expect("it has positions") {
            Ready::F32(_, whole) => whole.points(&team),
            Ready::F64(_, whole) => whole.points(&team),
        };
        let [sources, targets] = found.map_err(BackendError::from)?;
        Ok(Some(Points { sources, targets: held.targets.map(|_| targets) }))
    }

    /// Gives back the memory on the GPU, and with it the positions.
    pub fn forget(&mut self) {
        self.held = None;
        self.gpu.forget();
    }

    /// Numbers of a caller's, copied to the host.
    pub fn fetch(&self, name: &str, slice: DeviceSlice, stream: CallerStream) -> Result<Vec<f64>, FmmError> {
        self.check([(name, slice)], false)?;
        let fetch = || {
            let device = self.own();
            device.follow(stream)?;
            let room = device.allocate::<f64>(slice.len())?;
            let copy = Copy::in_from(&slice, columns::own(device, &room, 0, 1));
            self.copier.copy(device, slice.len(), &[copy])?;
            device.column(&room, 0..slice.len())
        };
        Ok(fetch().map_err(BackendError::from)?)
    }

    /// Copies numbers of the host to a caller's.
    pub fn store(&self, name: &str, from: &[f64], to: DeviceSlice, stream: CallerStream) -> Result<(), FmmError> {
        self.check([(name, to)], true)?;
        let store = || {
            let device = self.own();
            device.follow(stream)?;
            let sent = device.send(from)?;
            self.copier.copy(device, from.len(), &[Copy::out_to(columns::own(device, &sent, 0, 1), &to, 1.0)])?;
            device.lead(stream)?;
            device.finish()
        };
        Ok(store().map_err(BackendError::from)?)
    }

    /// Memory on the GPU for a caller.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, FmmError> {
        Ok(Memory::new(self.own(), bytes).map_err(BackendError::from)?)
    }

    /// The stream of its own work: calls in it follow each other without a wait.
    pub fn stream(&self) -> CallerStream {
        CallerStream::One(self.own().stream.cu_stream() as u64)
    }

    /// Waits for all that was asked for.
    pub fn finish(&self) -> Result<(), FmmError> {
        Ok(self.own().finish().map_err(BackendError::from)?)
    }

    /// Adds columns times factors to others, behind what was asked for before: the steps of an integrator.
    pub fn add(&self, steps: &[(DeviceSlice, DeviceSlice, f64)]) -> Result<(), FmmError> {
        self.check(steps.iter().map(|(from, _, _)| ("from", *from)), false)?;
        self.check(steps.iter().map(|(_, to, _)| ("to", *to)), true)?;
        let copies: Vec<Copy> = steps.iter().map(|(from, to, factor)| Copy::between(from, to, *factor)).collect();
        let n = steps.iter().flat_map(|(from, to, _)| [from.len(), to.len()]).min().unwrap_or(0);
        Ok(self.copier.add(self.own(), n, &copies).map_err(BackendError::from)?)
    }

    /// Energies, momentum and angular momentum of bodies, behind what was asked for before.
    pub fn conserved(&self, bodies: &DeviceBodies) -> Result<[f64; SUMS], FmmError> {
        columns::check_lengths(bodies.named(), bodies.mass.len(), "bodies").map_err(BackendError::from)?;
        self.check(bodies.named(), false)?;
        Ok(conserved::sums(self.own(), bodies).map_err(BackendError::from)?)
    }
}

/// Arguments of a run.
struct Given<'a> {
    task: Task<'a>,
    held: Held,
    given: &'a DeviceSources,
    field: &'a DeviceField,
    stream: CallerStream,
}

impl Given<'_> {
    fn run<T: Number, C: Caller>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
        copier: &Copier<C>,
    ) -> Result<Outcome<Stats>, CudaError> {
        let (start, device, options) = (Instant::now(), &team.devices[0], self.task.options);
        let Held { sources, targets } = self.held;
        device.follow(self.stream)?;
        if sources == 0 {
            self.give_zeros(device, copier)?;
            return Ok(Ok(Stats { n: 0, targets, ..Stats::default() }));
        }
        whole.take_sources(team, copier, self.given)?;
        let n = sources + targets.unwrap_or(0);
        let leaf = self.task.leaf.unwrap_or_else(|| Gpu::whole_leaf(n, options));
        // Tree and lists are those of the first run since the last update.
        let run = match self.task.settled(team, whole, |whole| whole.run_again(team, leaf, options.eps))? {
            Ok(run) => run,
            Err(why) => return Ok(Err(why)),
        };
        whole.give(team, copier, factors(&run), self.field)?;
        device.lead(self.stream)?;
        let on_gpu = Some(OnGpu { computed: run.times.total, ..OnGpu::default() });
        let mut stats = Stats { n: sources, targets, leaf, on_gpu, ..self.task.stats(&run) };
        stats.seconds.total = start.elapsed().as_secs_f64();
        Ok(Ok(stats))
    }

    /// The results without sources.
    fn give_zeros<C: Caller>(&self, device: &C, copier: &Copier<C>) -> Result<(), CudaError> {
        let zero = device.allocate::<f64>(1)?;
        let from = columns::own(device, &zero, 0, 0);
        let copies: Vec<Copy> = self.field.named().map(|(_, to)| Copy::out_to(from, &to, 1.0)).collect();
        copier.copy(device, self.held.results(), &copies)?;
        device.lead(self.stream)?;
        device.finish()
    }
}
