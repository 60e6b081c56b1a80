//! The FMM on a GPU for data that stay there: positions, charges and results in the caller's memory on the GPU.
//!
//! ```no_run
//! use pairforge::fmm::device::{CallerStream, DeviceField, DevicePoints, DeviceSlice, GpuPlan};
//! use pairforge::fmm::{Options, Precision};
//!
//! # let (x, y, z, q, p, n) = (0u64, 0u64, 0u64, 0u64, 0u64, 0usize);
//! // SAFETY: the addresses are those of `n` numbers each on the GPU, which stay there while the plan is used.
//! let column = |address| unsafe { DeviceSlice::new(address, n, Precision::F32) };
//! let points = DevicePoints { sources: [x, y, z].map(column), targets: None };
//! let options = Options::default().order(5).precision(Precision::F32);
//! let mut plan = GpuPlan::new(&points, &options, CallerStream::All)?;
//! let field = DeviceField { potential: Some(column(p)), ..DeviceField::default() };
//! plan.run(column(q), &field, CallerStream::All)?;
//! # Ok::<(), pairforge::Error>(())
//! ```

use super::kernels::Kernels;
use super::route::Route;
use super::{Fmm, Options, Plan, Sources, Translations, whole};
use crate::Error;
use fmm::octree::executor::BackendError;
use fmm::octree::stats::Stats;
use gpu::octree::Gpu;
use gpu::octree::all_stages::resident::Resident;

pub use fmm::octree::Precision;
pub use gpu::cuda::caller::CallerStream;
pub use gpu::cuda::columns::DeviceSlice;
pub use gpu::cuda::octree::resident::{DeviceField, DevicePoints, DeviceSources};

/// An FMM for sources and targets on a GPU, of which it has copies there from one [update](GpuPlan::update) to the next.
///
/// Calls wait for all work on the GPU before and after, or order their own within a stream of the caller's. Memory that they are given is
/// not used once they have returned and the stream has come so far.
pub struct GpuPlan {
    resident: Resident,
    options: Options,
    /// The reason why the GPU does not run all stages with the options.
    refused: Option<String>,
    through_host: bool,
    /// For data that go through the host: the solver, once it was needed, and the plan of the last update.
    host: Option<Fmm>,
    on_host: Option<Plan<'static>>,
    counts: [usize; 2],
}

impl GpuPlan {
    /// A plan on the GPU that the points are on. It runs on the backend `cuda`, whatever the options name, and all stages on the GPU: options
    /// with which it does not are refused.
    pub fn new(points: &DevicePoints, options: &Options, stream: CallerStream) -> Result<GpuPlan, Error> {
        GpuPlan::open(points, options, stream, false)
    }

    /// The same, but what the GPU does not run alone goes through the host.
    pub fn new_through_host(points: &DevicePoints, options: &Options, stream: CallerStream) -> Result<GpuPlan, Error> {
        GpuPlan::open(points, options, stream, true)
    }

    fn open(
        points: &DevicePoints,
        options: &Options,
        stream: CallerStream,
        through_host: bool,
    ) -> Result<GpuPlan, Error> {
        let options = options.clone().backend("cuda");
        let refused = refused(&options);
        if let Some(why) = refused.as_ref().filter(|_| !through_host) {
            return Err(Error::Options(sentence(why)));
        }
        if has_several(&options) {
            return Err(Error::Options("--gpus shares out data of the host; data on a GPU are for that one".into()));
        }
        let resident = opened(&options, || {
            points.check().map_err(|e| Error::Input(e.to_string()))?;
            Ok(Gpu::of_slices(points.named())?)
        })?;
        let refused = refused.or_else(|| resident.refuses());
        if let Some(why) = refused.as_ref().filter(|_| !through_host) {
            return Err(Error::Options(sentence(why)));
        }
        let mut plan = GpuPlan { resident, options, refused, through_host, host: None, on_host: None, counts: [0; 2] };
        plan.update(points, stream)?;
        Ok(plan)
    }

    /// The number of the GPU.
    pub fn device(&self) -> usize {
        self.resident.device()
    }

    /// Memory on the GPU, all zeros.
    pub fn allocate(&self, bytes: usize) -> Result<Memory, Error> {
        Ok(Memory(self.resident.allocate(bytes)?))
    }

    /// Waits for all that was asked for, as a run within a stream does not.
    pub fn finish(&self) -> Result<(), Error> {
        Ok(self.resident.finish()?)
    }

    /// The numbers of sources and of targets.
    pub fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// Takes positions as they are now, as many or not.
    pub fn update(&mut self, points: &DevicePoints, stream: CallerStream) -> Result<(), Error> {
        let ([sources, targets], apart) = (points.counts(), points.targets.is_some());
        self.counts = [sources, if apart { targets } else { sources }];
        if self.refused.is_some() {
            return self.update_on_host(points, stream);
        }
        self.on_host = None;
        match self.resident.update(points, stream)? {
            Ok(()) => Ok(()),
            Err(_) if self.through_host => self.update_on_host(points, stream),
            Err(why) => Err(Error::Input(why)),
        }
    }

    fn update_on_host(&mut self, points: &DevicePoints, stream: CallerStream) -> Result<(), Error> {
        points.check().map_err(|e| Error::Input(e.to_string()))?;
        let fetch = |name: &'static str, columns: &[DeviceSlice; 3]| -> Result<[Vec<f64>; 3], Error> {
            let mut found = [(); 3].map(|()| Vec::new());
            for (to, slice) in found.iter_mut().zip(columns) {
                *to = self.resident.fetch(name, *slice, stream)?;
            }
            Ok(found)
        };
        let sources = fetch("x", &points.sources)?;
        let targets = points.targets.as_ref().map(|columns| fetch("targets", columns)).transpose()?;
        self.go_to_host(super::Points { sources, targets })
    }

    /// Goes on with the positions on the host, with what was found there before.
    fn go_to_host(&mut self, points: super::Points) -> Result<(), Error> {
        if self.host.is_none() {
            self.host = Some(Fmm::new(&self.options)?);
        }
        self.on_host = self.host.as_ref().map(|fmm| fmm.plan_owned(points));
        Ok(())
    }

    /// Writes what is wanted of potential, gradient and second derivatives at the targets, for charges of the sources, dipole moments, or
    /// both. Memory for results may be that of positions or charges. The report has the times of the GPU.
    pub fn run(
        &mut self,
        sources: impl Into<DeviceSources>,
        field: &DeviceField,
        stream: CallerStream,
    ) -> Result<Stats, Error> {
        let sources = &sources.into();
        if self.on_host.is_none() {
            match self.resident.run(sources, field, stream)? {
                Ok(stats) => return Ok(stats),
                Err(why) if !self.through_host => return Err(Error::Input(sentence(&why))),
                Err(_) => {
                    let points = self.resident.points()?;
                    self.resident.forget();
                    let points = points.ok_or_else(|| Error::Input("the plan has no positions; update it".into()))?;
                    self.go_to_host(points)?;
                }
            }
        }
        self.run_on_host(sources, field, stream)
    }

    fn run_on_host(&self, given: &DeviceSources, field: &DeviceField, stream: CallerStream) -> Result<Stats, Error> {
        let plan = self.on_host.as_ref().expect("positions are on the host");
        self.resident.check_run(self.counts, given, field)?;
        let columns = given.named().map(|(name, slice)| {
            let column = self.resident.fetch(name, slice, stream)?;
            match column.iter().position(|x| !x.is_finite()) {
                Some(k) => Err(Error::Input(format!("`{name}` has {} at {k}; give finite numbers", column[k]))),
                None => Ok(column),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, Error>>()?;
        let (charges, moments) = columns.split_at(given.charges.is_some() as usize);
        let sources = Sources {
            charges: charges.first().map(|column| &column[..]),
            dipoles: moments.first_chunk().map(|all: &[Vec<f64>; 3]| all.each_ref().map(|column| &column[..])),
        };
        let solved = plan.run_all(&[sources])?;
        let found = &solved.fields[0];
        let zeros = vec![0.0; if found.gradient.is_some() { 0 } else { self.counts[1] }];
        let gradient = found.gradient.as_ref().map_or([&zeros; 3], |all| all.each_ref());
        let all = std::iter::once(&found.potential).chain(gradient).chain(found.hessian.iter().flatten());
        for (values, (name, to)) in all.zip(field.columns()) {
            to.map_or(Ok(()), |to| self.resident.store(name, values, to, stream))?;
        }
        Ok(solved.stats)
    }
}

/// Memory on a GPU, which is given back once all work there is done.
pub struct Memory(gpu::cuda::columns::Memory);

impl Memory {
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// A copy of its bytes on the host, after all work on the GPU.
    pub fn fetch(&self) -> Result<Vec<u8>, Error> {
        Ok(self.0.fetch().map_err(BackendError::from)?)
    }
}

/// The first GPU, opened for data there, if it runs all stages with the options; or why it does not.
pub(crate) fn resident(options: &Options) -> Result<Result<Resident, String>, Error> {
    if let Some(why) = refused(options) {
        return Ok(Err(why));
    }
    if has_several(options) {
        return Ok(Err("--gpus shares out data of the host".into()));
    }
    let resident = opened(options, || Ok(0))?;
    Ok(match resident.refuses() {
        Some(why) => Err(why),
        None => Ok(resident),
    })
}

/// A GPU for data there with the options.
fn opened(options: &Options, device: impl FnOnce() -> Result<usize, Error>) -> Result<Resident, Error> {
    let mut route = Route::new(options)?;
    route.check(options)?;
    if route.function.is_some() {
        // The options of an expansion of the kernel.
        Kernels::new(options, route.entry, &mut route.options)?;
    }
    let device = device()?;
    let (name, kernel) = (route.entry.name, super::route::p2p(options));
    let gpu = match &route.function {
        Some(function) => Gpu::open_function_at(name, function, &route.options.params, device)?,
        None => Gpu::open_at(name, &kernel, device)?,
    };
    Ok(Resident::on(gpu, &route.options, options.leaf, options.hessian)?)
}

fn has_several(options: &Options) -> bool {
    options.gpus.is_some_and(|count| count > 1)
}

/// The reason why options alone leave stages to the CPU, if they do.
fn refused(options: &Options) -> Option<String> {
    if let Some(option) = whole::on_cpu_alone(options) {
        return Some(format!("{option} runs with translations on the CPU"));
    }
    let kernel = super::route::p2p(options);
    match () {
        _ if options.tolerance.is_some() => Some("--tol is for data of the host".into()),
        _ if options.budget => Some("--budget compares with sums on the CPU".into()),
        _ if options.samples.is_some() => Some("--check compares with sums on the CPU".into()),
        _ if options.translations == Some(Translations::Cpu) => Some("--translations cpu asks for the CPU".into()),
        _ if Gpu::takes_kernel(&kernel) || Gpu::takes_function(&kernel, &options.kernel_params()) => None,
        _ => Some("the P2P kernel has no native form with a gradient there".into()),
    }
}

fn sentence(why: &str) -> String {
    format!(
        "data stay on the GPU only where it runs all stages, and {why}; change that, or allow data to go through the host"
    )
}
