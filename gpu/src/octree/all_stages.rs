//! All stages of an FMM on the GPU, tree included, beside which the CPU does nothing.

pub mod resident;
pub mod search;
pub mod softening;
mod split;
mod task;
#[cfg(test)]
mod tests;

use super::Gpu;
use crate::cuda::CudaError;
use crate::cuda::device::Device;
use crate::cuda::driver::{Outcome, reported};
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::communicator::{Communicator, SingleProcess, Team, numbers};
use crate::cuda::octree::{
    Extra, FmmBasis, FmmShape, GpuFmm, MOST_BLACK_BOX, MOST_NEAR2, MOST_ORDER, Prices, Run, TreeKind, Units, best_leaf,
};
use crate::cuda::p2p::Number;
use fmm::data::particles::Field;
use fmm::data::problem::{Geometry, Sources};
use fmm::direct::error::{self, Errors};
use fmm::expansion::basis::Basis;
use fmm::octree::options::Wanted;
use fmm::octree::stats::{OnGpu, Pairs, Stats};
use fmm::octree::{FmmError, FmmOptions, Precision, Solutions, options};
use fmm::stages::{AllStages, Work};
use fmm::tree::lists::near2;
use pg2::backend::cuda::p2p::Real;
use pg2::graph::Graph;
use pipelines::job::BackendError;
use pipelines::octree::bind::P2p;
use std::cell::RefCell;
use std::time::Instant;
pub use task::{Found, Task, Timed};

/// The data on the GPUs for an order and a precision.
pub(super) enum Ready {
    F32(usize, GpuFmm<f32>),
    F64(usize, GpuFmm<f64>),
}

/// Potential and gradient at all targets. Each set has charges alone.
impl AllStages<3> for Gpu {
    type Charges<'a> = &'a [f64];
    type Options = FmmOptions;
    type Results = Solutions;

    fn solve(
        &mut self,
        geometry: Geometry,
        sets: &[&[f64]],
        options: &FmmOptions,
    ) -> Result<Outcome<Solutions>, FmmError> {
        let sets: Vec<Sources> = sets.iter().map(|charges| (*charges).into()).collect();
        self.solve_for(geometry, &sets, options, Wanted::default())
    }
}

impl Gpu {
    /// As [`AllStages::solve`], for other results and sources too, which are all that are `wanted`.
    pub fn solve_for(
        &mut self,
        geometry: Geometry,
        sets: &[Sources],
        options: &FmmOptions,
        wanted: Wanted,
    ) -> Result<Outcome<Solutions>, FmmError> {
        options.check()?;
        options::check_positions(geometry)?;
        if let Some(why) = self.refuses(options).or_else(|| Gpu::refuses_wanted(options, wanted)) {
            return Ok(Err(why));
        }
        let count = self.devices.len();
        let task = Task { name: self.name, geometry, sets, options, wanted, leaf: Some(options.leaf) };
        let found = self.among(&SingleProcess, count, &task).map(|found| found.map(Found::solutions));
        // P2P alone takes less memory.
        reported(found, || self.forget())
    }

    /// Why the GPU does not give results with these options.
    pub fn refuses_wanted(options: &FmmOptions, wanted: Wanted) -> Option<String> {
        let most = FmmShape::most_order(wanted, real(options.precision));
        match () {
            _ if basis(options) == FmmBasis::Chebyshev && wanted != Wanted::default() => {
                Some("the black-box expansion has no dipoles or second derivatives there".into())
            }
            _ if options.order > most => Some(format!("the order of dipoles or second derivatives is above {most}")),
            _ => None,
        }
    }

    /// Why the GPU does not run all stages with these options.
    pub fn refuses(&self, options: &FmmOptions) -> Option<String> {
        let why = match () {
            _ if self.units.gradient.is_none() => "the P2P kernel gives no gradient",
            _ if !self.is_coulomb() && options.basis != Basis::Chebyshev => "the kernel has no such expansion",
            _ if self.is_coulomb() && options.basis != Basis::Solid => {
                "the expansion is not the one in solid harmonics"
            }
            _ if options.basis == Basis::Chebyshev && options.order > MOST_BLACK_BOX => {
                return Some(format!("the order is above {MOST_BLACK_BOX}"));
            }
            _ if near2(options.theta) > MOST_NEAR2 => "theta is below 1/3",
            _ if options.near_only => "there is no far field",
            _ if options.order > MOST_ORDER => return Some(format!("the order is above {MOST_ORDER}")),
            _ => return None,
        };
        Some(why.into())
    }

    /// Says that runs of all stages from here on are for the same positions as others of this number were, or for any. What the GPUs have
    /// of these stays there, and so does the tree.
    pub fn set_positions(&mut self, number: Option<u64>) {
        self.positions = number;
    }

    /// Lets runs of all stages take a tree of a kind, in place of the one that suits the particles.
    pub fn set_tree(&mut self, kind: TreeKind) {
        self.tree = kind;
    }

    /// The leaf size that costs least for uniform particles if the GPU runs all stages.
    pub fn whole_leaf(n: usize, options: &FmmOptions) -> usize {
        best_leaf(n, prices(options))
    }

    /// All stages with other processes, each with its part of the task and as many GPUs: results of this one's share of the particles.
    pub fn among(
        &mut self,
        others: &dyn Communicator,
        devices: usize,
        task: &Task,
    ) -> Result<Outcome<Found>, CudaError> {
        let own = [Some(task.geometry.sources), task.geometry.targets].into_iter().flatten();
        let own: u64 = own.map(|columns| columns[0].len() as u64).sum();
        let n = numbers(others, &[own])?.iter().map(|one| one[0] as usize).sum();
        let (found, [kernels, linked]) =
            self.connected(others, devices, n, (task.options, task.wanted), |team, ready| match ready {
                Ready::F32(_, whole) => task.run(team, whole),
                Ready::F64(_, whole) => task.run(team, whole),
            })?;
        Ok(found.map(|found| Found { kernels, linked, ..found }))
    }

    /// Works with so many of the GPUs and those of other processes, for `n` particles in all. Also the seconds until kernels were there,
    /// and then until GPUs of processes could read each other's memory.
    fn connected<R>(
        &mut self,
        others: &dyn Communicator,
        devices: usize,
        n: usize,
        (options, wanted): (&FmmOptions, Wanted),
        work: impl FnOnce(&Team<Device>, &mut Ready) -> Result<R, CudaError>,
    ) -> Result<(R, [f64; 2]), CudaError> {
        let Gpu { devices: all, kernel, units, whole, links, .. } = self;
        let prices = self.prices.unwrap_or_else(|| prices(options));
        // With other processes there may be fewer GPUs than before.
        let team = Team::among(&all[..devices], others, links);
        let start = Instant::now();
        prepare(whole, all, kernel, units, (options, wanted))?;
        let kernels = start.elapsed().as_secs_f64();
        // Not beside that: the driver does one after the other, and both take longer.
        let (start, waited) = (Instant::now(), others.waited());
        let size = if options.precision == Precision::F32 { size_of::<f32>() } else { size_of::<f64>() };
        // A GPU has at most about its share for others.
        team.connect(n.div_ceil(team.all()) * 4 * size)?;
        let linked = start.elapsed().as_secs_f64() - (others.waited() - waited);
        let ready = whole.as_mut().expect("it was made");
        match ready {
            Ready::F32(_, whole) => {
                whole.choose(self.tree, prices);
                (whole.fields, whole.positions) = (self.fields, self.positions);
            }
            Ready::F64(_, whole) => {
                whole.choose(self.tree, prices);
                (whole.fields, whole.positions) = (self.fields, self.positions);
            }
        }
        let done = work(&team, ready)?;
        Ok((done, [kernels, linked]))
    }

    /// Gives back what runs of all stages have on the GPUs.
    pub fn forget(&mut self) {
        self.settle();
        self.whole = None;
    }

    /// Waits for the GPUs. If one fails here, it does nothing more.
    fn settle(&self) {
        self.devices.iter().for_each(|device| device.finish().unwrap_or(()));
    }

    /// Gives back what links the GPUs with those of other processes. `meet` waits until all processes have come there: none reads what
    /// another one gives back.
    pub fn unlink<E>(&mut self, meet: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        self.settle();
        self.links.get_mut().close();
        meet()?;
        self.links = RefCell::default();
        Ok(())
    }

    /// The same where a process has failed: others may still read here, and a GPU may wait for a mark that never comes. The driver gives
    /// all of it back when the process ends.
    pub fn abandon_links(&mut self) {
        std::mem::forget(self.links.take());
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The same for `n` particles that are made on the GPUs (uniform in the unit cube, charges in [0, 1)), each its share: errors against
    /// direct sums there at `samples` targets, for each of `repeat` runs what it did.
    pub fn made(
        &mut self,
        n: usize,
        options: &FmmOptions,
        samples: usize,
        repeat: u32,
    ) -> Result<Outcome<Made>, FmmError> {
        options.check()?;
        if let Some(why) = self.refuses(options) {
            return Ok(Err(why));
        }
        if options.periodic.is_some() {
            return Ok(Err("direct sums on the GPU have no images".into()));
        }
        if !self.is_coulomb() {
            return Ok(Err("direct sums on the GPU are those of 1/r".into()));
        }
        let leaf = Gpu::whole_leaf(n, options);
        let none = Geometry { sources: [&[]; 3], targets: None };
        let wanted = Wanted::default();
        let task = Task { name: self.name, geometry: none, sets: &[], options, wanted, leaf: Some(leaf) };
        let Gpu { devices, kernel, units, whole, .. } = self;
        prepare(whole, devices, kernel, units, (options, wanted)).map_err(BackendError::from)?;
        let team = Team::alone(&self.devices);
        let found = match self.whole.as_mut().expect("it was made") {
            Ready::F32(_, whole) => task.made(&team, whole, n, samples, repeat),
            Ready::F64(_, whole) => task.made(&team, whole, n, samples, repeat),
        };
        reported(found, || {})
    }

    /// Runs of `n` such particles that the GPUs of all processes share, each process with so many GPUs; a first one, which allocates
    /// memory, is left out.
    pub fn timed(
        &mut self,
        others: &dyn Communicator,
        devices: usize,
        n: usize,
        options: &FmmOptions,
        repeat: u32,
    ) -> Result<Timed, CudaError> {
        let none = Geometry { sources: [&[]; 3], targets: None };
        let wanted = Wanted::default();
        let task = Task { name: self.name, geometry: none, sets: &[], options, wanted, leaf: None };
        let timed = self.connected(others, devices, n, (options, wanted), |team, ready| match ready {
            Ready::F32(_, whole) => task.timed(team, whole, n, repeat),
            Ready::F64(_, whole) => task.timed(team, whole, n, repeat),
        });
        Ok(timed?.0)
    }

    /// Frees the memory on the GPUs, which is free once the GPUs have done what was asked for before.
    pub fn clear(&mut self) -> Result<(), FmmError> {
        self.forget();
        self.bound = None;
        Ok(self.devices.iter().try_for_each(GpuDevice::finish).map_err(BackendError::from)?)
    }
}

/// Compiles the kernels and sends tables, unless they are there.
fn prepare(
    there: &mut Option<Ready>,
    devices: &[Device],
    kernel: &Graph,
    units: &P2p,
    (options, wanted): (&FmmOptions, Wanted),
) -> Result<(), CudaError> {
    let (order, precision) = (options.order, options.precision);
    let (periodic, lower_beyond) = (options.periodic, options.lower_beyond);
    let extra = Extra { periodic, lower_beyond, near2: near2(options.theta), wanted };
    let is_black_box = basis(options) == FmmBasis::Chebyshev;
    let is_there = match there {
        Some(Ready::F32(..)) if precision == Precision::F64 => false,
        Some(Ready::F64(..)) if precision == Precision::F32 => false,
        Some(Ready::F32(_, whole)) if is_black_box => whole.takes_black_box(options),
        Some(Ready::F64(_, whole)) if is_black_box => whole.takes_black_box(options),
        Some(Ready::F32(o, whole)) => *o == order && whole.takes(&extra),
        Some(Ready::F64(o, whole)) => *o == order && whole.takes(&extra),
        None => false,
    };
    if is_there {
        return Ok(());
    }
    *there = None;
    let P2p { units, length, .. } = units;
    let units = Units { potential: units.potential, gradient: units.gradient, length: *length };
    *there = Some(match precision {
        Precision::F32 if is_black_box => Ready::F32(order, GpuFmm::black_box(devices, kernel, options)?),
        Precision::F64 if is_black_box => Ready::F64(order, GpuFmm::black_box(devices, kernel, options)?),
        Precision::F32 => Ready::F32(order, GpuFmm::with_options(devices, kernel, order, units, &extra)?),
        Precision::F64 => Ready::F64(order, GpuFmm::with_options(devices, kernel, order, units, &extra)?),
    });
    Ok(())
}

fn basis(options: &FmmOptions) -> FmmBasis {
    if options.basis == Basis::Chebyshev { FmmBasis::Chebyshev } else { FmmBasis::Harmonics }
}

/// The costs of the method with these options.
fn prices(options: &FmmOptions) -> Prices {
    Prices::new(basis(options), options.order, real(options.precision)).with_near2(near2(options.theta))
}

fn real(precision: Precision) -> Real {
    if precision == Precision::F32 { Real::F32 } else { Real::F64 }
}

/// Runs with particles made on the GPUs, all with the same bits.
pub struct Made {
    pub runs: Vec<Stats>,
    pub errors: Errors,
    /// The field at the targets that errors are from.
    pub field: Field,
}

impl Task<'_> {
    fn made<T: Number, C: GpuDevice>(
        &self,
        team: &Team<C>,
        whole: &mut GpuFmm<T, C>,
        n: usize,
        samples: usize,
        repeat: u32,
    ) -> Result<Outcome<Made>, CudaError> {
        let leaf = self.leaf.unwrap_or_else(|| Gpu::whole_leaf(n, self.options));
        let targets: Vec<usize> = (0..samples.min(n)).map(|k| (2 * k + 1) * n / (2 * samples.min(n))).collect();
        let fetch = |run: &Run, whole: &GpuFmm<T, C>| Ok(field(run, &whole.fetch_some(team, &targets)?));
        let (runs, field) = match self.repeated(team, whole, (n, leaf, repeat), fetch)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let stats = |(run, _): &(Run, f64)| {
            let on_gpu = Some(OnGpu { computed: run.times.total, ..OnGpu::default() });
            Stats { n, leaf, on_gpu, ..self.stats(run) }
        };
        let runs = runs.iter().map(stats).collect();
        let right = whole.direct(team, &targets)?;
        let places: Vec<usize> = (0..targets.len()).collect();
        // GPUs make their particles in the unit cube.
        Ok(Ok(Made { runs, errors: error::compare(&field, &places, &right, 1.0), field }))
    }

    /// Adds what one set of charges took.
    fn add(&self, run: &Run, stats: &mut Stats) {
        let mut one = self.stats(run);
        one.seconds.add_whole(&stats.seconds);
        one.pairs.p2p += stats.pairs.p2p;
        one.pairs.m2l += stats.pairs.m2l;
        one.pairs.m2p += stats.pairs.m2p;
        one.pairs.p2l += stats.pairs.p2l;
        one.streamed.p2p += stats.streamed.p2p;
        one.recomputed += stats.recomputed;
        one.close_pairs += stats.close_pairs;
        *stats = one;
    }

    fn stats(&self, run: &Run) -> Stats {
        let (close, is_apart) = (run.status.close, self.geometry.targets.is_some());
        let [m2l, m2p, p2l] = run.far;
        let p2p = Work {
            streamed: run.pairs,
            recomputed: run.status.again,
            close: if is_apart { close } else { close.div_ceil(2) },
            has_gradient: true,
            ..Work::default()
        };
        Stats {
            order: self.options.order,
            theta: self.options.theta,
            levels: run.depth as usize + 1,
            softened: self
                .softened(run, real(self.options.precision))
                .ok()
                .filter(|softened| softened.is_softened)
                .map(|softened| softened.order),
            seconds: run.times.seconds(),
            pairs: Pairs { p2p: run.pairs, m2l, m2p, p2l },
            ..Stats::of_work(Some(self.name), &p2p, &Work::default())
        }
    }
}

/// The factors of the potential, its gradient and second derivatives from boxes to the user's units.
fn factors<const N: usize>(run: &Run) -> [f64; N] {
    std::array::from_fn(|a| {
        let (unit, power) = run.map.wide(a, 1.0);
        unit * 2f64.powi(power + run.exponent)
    })
}

/// Results in the user's units.
fn field<T: Number>(run: &Run, values: &[T]) -> Field {
    let factors: [f64; 4] = factors(run);
    let column = |a: usize| values.chunks_exact(4).map(|v| v[a].f64() * factors[a]).collect::<Vec<f64>>();
    Field { potential: column(0), gradient: Some([1, 2, 3].map(column)), hessian: None }
}
