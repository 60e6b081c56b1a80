//! The search for the order that keeps a wanted error, with all runs and the sums that they are judged by on the GPUs.

use super::{Gpu, Ready, prepare};
use crate::cuda::CudaError;
use crate::cuda::driver::Outcome;
use crate::cuda::gpu_device::GpuDevice;
use crate::cuda::octree::communicator::Team;
use crate::cuda::octree::{Amounts, GpuFmm};
use crate::cuda::p2p::Number;
use fmm::data::problem::Geometry;
use fmm::octree::budget::Fields;
use fmm::octree::options::Wanted;
use fmm::octree::tune::{self, Arithmetic, Found, Problem, Runner};
use fmm::octree::{FmmError, FmmOptions, Plan, Precision, Solutions};
use fmm::tree::boxmap::BoxMap;
use pipelines::job::BackendError;

/// Targets that the GPUs sum directly at a time.
const TOGETHER: usize = 8192;

/// The runs of a search.
struct OnGpu<'a> {
    gpu: &'a mut Gpu,
    problem: &'a Problem<'a>,
    options: FmmOptions,
    /// The leaf size that was asked for.
    leaf: Option<usize>,
    /// The reason for which the GPUs leave the problem to the caller, once they do.
    refused: Option<String>,
}

/// The reason for which a search leaves a problem to the CPU.
pub const NOTHING_FOUND: &str = "no order there keeps the error";

/// Looks for the lowest order that keeps a wanted error, as on the CPU ([`tune::search`]), with whole orders alone: each has kernels
/// and tables of its own. f64 is tried where f32 does not do, if that is free.
pub fn search(
    wanted: f64,
    problem: &Problem,
    options: &FmmOptions,
    runner: &mut dyn Runner,
) -> Result<Option<Found>, FmmError> {
    let found = tune::search_whole_orders(wanted, problem, options, runner)?;
    if found.is_some() || options.precision == Precision::F64 || !problem.free.precision {
        return Ok(found);
    }
    let options = FmmOptions { precision: Precision::F64, ..options.clone() };
    runner.plan(&options)?;
    tune::search_whole_orders(wanted, problem, &options, runner)
}

impl Gpu {
    /// Looks for the lowest order that keeps a wanted error, by [`search`].
    pub fn within(
        &mut self,
        wanted: f64,
        problem: &Problem,
        options: &FmmOptions,
        leaf: Option<usize>,
    ) -> Result<Outcome<Found>, FmmError> {
        let mut runs = OnGpu { gpu: self, problem, options: options.clone(), leaf, refused: None };
        match search(wanted, problem, options, &mut runs) {
            Ok(found) => Ok(found.ok_or_else(|| NOTHING_FOUND.into())),
            Err(e) => runs.refused.map_or(Err(e), |why| Ok(Err(why))),
        }
    }

    /// Reference at some targets by direct sums of the GPUs, and of the CPU where they give none.
    pub fn reference(
        &mut self,
        (problem, set): (&Problem, usize),
        options: &FmmOptions,
        targets: &[usize],
    ) -> Result<Vec<[f64; 10]>, FmmError> {
        let on_cpu = |targets: &[usize]| {
            // The sums of a kernel are those of a plan.
            let plan = |kernel| Plan::for_kernel(problem.geometry, options, Some(kernel));
            let plan = problem.p2p.map(plan).transpose()?;
            problem.reference(options, plan.as_ref(), (set, targets), &mut |_, _, _| {})
        };
        let plain = problem.sets[set].charges.filter(|_| problem.sets[set].dipoles.is_none() && !problem.hessian);
        let Some(charges) = plain.filter(|_| options.periodic.is_none()) else {
            // Those of the GPU have no images, and no dipoles or second derivatives.
            return on_cpu(targets);
        };
        let Gpu { devices, kernel, units, whole, .. } = self;
        prepare(whole, devices, kernel, units, (options, Wanted::default())).map_err(BackendError::from)?;
        let columns = problem.geometry.targets.unwrap_or(problem.geometry.sources);
        let places: Vec<[f64; 3]> = targets.iter().map(|k| columns.map(|column| column[*k])).collect();
        let (team, geometry) = (Team::alone(&self.devices), problem.geometry);
        let sums = match self.whole.as_mut().expect("it was made") {
            Ready::F32(_, whole) => direct(&team, whole, geometry, charges, &places, options.eps),
            Ready::F64(_, whole) => direct(&team, whole, geometry, charges, &places, options.eps),
        };
        let sums = match sums {
            // Those of all ranks may not fit the GPUs of one.
            Err(CudaError::TooLarge(_)) => return on_cpu(targets),
            sums => sums.map_err(BackendError::from)?,
        };
        let unknown: Vec<usize> = targets.iter().zip(&sums).filter(|(_, sum)| sum.is_none()).map(|(k, _)| *k).collect();
        let mut rest = match unknown.is_empty() {
            true => Vec::new(),
            false => on_cpu(&unknown)?,
        }
        .into_iter();
        let with_zeros = |sum: Option<[f64; 4]>| match sum {
            Some([a, b, c, d]) => [a, b, c, d, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            None => rest.next().expect("the CPU has the rest"),
        };
        Ok(sums.into_iter().map(with_zeros).collect())
    }
}

/// Direct sums over all sources at some places.
pub(super) fn direct<T: Number, C: GpuDevice>(
    team: &Team<C>,
    whole: &mut GpuFmm<T, C>,
    Geometry { sources, targets }: Geometry,
    charges: &[f64],
    places: &[[f64; 3]],
    eps: f64,
) -> Result<Vec<Option<[f64; 4]>>, CudaError> {
    let own = [sources[0].len(), targets.map_or(0, |targets| targets[0].len())];
    let map = BoxMap::over(&[sources, targets.unwrap_or(sources)]);
    whole.reserve(team, &Amounts { all: own[0] + own[1], sources: own[0], targets: targets.map(|_| own[1]) })?;
    for (axis, column) in sources.into_iter().chain([charges]).enumerate() {
        whole.send(team, axis, &[column])?;
    }
    team.devices.iter().try_for_each(C::finish)?;
    let mut sums = Vec::with_capacity(places.len());
    for some in places.chunks(TOGETHER) {
        sums.extend(whole.reference(team, some, eps, &map)?);
    }
    Ok(sums)
}

impl Runner for OnGpu<'_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        self.options = options.clone();
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solutions, FmmError> {
        let mut options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let Geometry { sources, targets } = self.problem.geometry;
        let count = sources[0].len() + targets.map_or(0, |targets| targets[0].len());
        options.leaf = self.leaf.unwrap_or_else(|| Gpu::whole_leaf(count, &options));
        let dipoles = self.problem.sets.iter().any(|s| s.dipoles.is_some());
        let wanted = Wanted { hessian: self.problem.hessian, dipoles };
        match self.gpu.solve_for(self.problem.geometry, &self.problem.sets, &options, wanted)? {
            Ok(found) => Ok(found),
            Err(why) => {
                self.refused = Some(why.clone());
                Err(FmmError::Range(why))
            }
        }
    }

    fn reference(&mut self, set: usize, targets: &[usize]) -> Result<Vec<[f64; 10]>, FmmError> {
        self.gpu.reference((self.problem, set), &self.options, targets)
    }

    fn split(&mut self, _: usize, _: Option<f64>, _: usize) -> Result<Fields, FmmError> {
        Err(FmmError::Range("a GPU does not split errors".into()))
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::Native
    }
}
