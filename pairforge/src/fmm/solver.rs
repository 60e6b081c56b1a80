//! The solver: opens what runs the stages, and runs problems with it.

use super::costs;
use super::kernels::Kernels;
use super::known::Known;
use super::route::Route;
use super::task::{ERRORS, Task};
#[cfg(feature = "cuda")]
use super::whole;
use super::{Options, Problem, Solved};
use crate::Error;
use crate::backends::BackendOptions;
use fmm::data::problem::Geometry;
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::{FmmOptions, Plan, Solutions};
#[cfg(feature = "cuda")]
use gpu::octree::{Gpu, Share};
use pg2::graph::Graph;
use pipelines::job::Backend;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;

/// Everything that runs an FMM: kernels that were compiled and bound, devices that were opened, and costs.
pub struct Solver {
    pub asked: Options,
    pub route: Route,
    pub kernels: Option<Kernels>,
    #[cfg(feature = "cuda")]
    gpu: Option<Gpu>,
    /// The GPU that runs all stages with a kernel that is not 1/r.
    #[cfg(feature = "cuda")]
    black_box: Option<Gpu>,
    /// Options that keep the tolerance of the first run, where a GPU runs all stages.
    #[cfg(feature = "cuda")]
    found: Option<FmmOptions>,
    backend: Box<dyn Backend>,
    pub known: Known,
}

impl Solver {
    /// Checks the options, compiles and binds what they name, and opens its devices.
    pub fn new(asked: Options) -> Result<Solver, Error> {
        let route = Route::new(&asked)?;
        route.check(&asked)?;
        Solver::on(asked, route)
    }

    /// The same for a route that was checked.
    pub fn on(asked: Options, mut route: Route) -> Result<Solver, Error> {
        let kernels = match route.native {
            true => None,
            false => Some(Kernels::new(&asked, route.entry, &mut route.options)?),
        };
        #[cfg(feature = "cuda")]
        let gpu = {
            let open = |kernel| Gpu::open_gpus(route.entry.name, kernel, asked.gpus.unwrap_or(1));
            route.on_gpu.as_ref().map(open).transpose()?
        };
        #[cfg(feature = "cuda")]
        let black_box = {
            let share = Share::alone(asked.gpus.unwrap_or(1));
            let open = |kernel| Gpu::open_function(route.entry.name, kernel, &route.options.params, &share);
            route.function.as_ref().map(open).transpose()?
        };
        let backend = (route.entry.open)(&BackendOptions { place: route.place.clone(), ..asked.engine.clone() });
        Ok(Solver {
            asked,
            route,
            kernels,
            #[cfg(feature = "cuda")]
            gpu,
            #[cfg(feature = "cuda")]
            black_box,
            #[cfg(feature = "cuda")]
            found: None,
            backend,
            known: costs::known(),
        })
    }

    /// Says which positions the next runs are for: a GPU that has them from a run before is not sent them again.
    pub fn set_positions(&mut self, number: u64) {
        #[cfg(feature = "cuda")]
        [&mut self.gpu, &mut self.black_box].into_iter().flatten().for_each(|gpu| gpu.set_positions(Some(number)));
        #[cfg(not(feature = "cuda"))]
        let _ = number;
    }

    /// Options that keep the tolerance, as a GPU that runs all stages has found them.
    #[cfg(feature = "cuda")]
    pub fn found_on_gpu(&self) -> Option<&FmmOptions> {
        self.found.as_ref()
    }

    /// The choices where native code on the CPU runs everything.
    pub fn native(&self) -> Option<Native> {
        let Solver { asked, route, known, .. } = self;
        route.is_on_cpu().then(|| Native { asked: asked.clone(), route: route.clone(), known: known.clone() })
    }

    /// Builds or finds what kernels run on, for about so many pairs.
    pub fn prepare(&mut self, pairs: u64) -> Result<(), Error> {
        let mut graphs = self.kernels.iter().flat_map(Kernels::graphs);
        Ok(graphs.try_for_each(|graph| self.backend.prepare(graph, pairs))?)
    }

    /// The kernel of P2P, if one runs it.
    fn p2p(&self) -> Option<&Graph> {
        self.kernels.as_ref().map(|k| &k.p2p).or(self.route.on_gpu.as_ref())
    }

    /// The options of the method for so many sources.
    pub fn options_for(&self, n: usize) -> FmmOptions {
        let p2p = self.kernels.as_ref().map(|k| &k.p2p);
        self.route.options_for(&self.asked, &self.known, p2p, n)
    }

    /// Finds what cannot be computed of a problem before anything is.
    pub fn check(&mut self, problem: &Problem) -> Result<(), Error> {
        let options = self.options_for(problem.geometry.sources[0].len());
        if let Some(kernels) = &self.kernels {
            // The softening length is a parameter in units of the particles' box.
            let (sources, targets) = (problem.geometry.sources, problem.geometry.targets);
            let map = options.root(&[sources, targets.unwrap_or(sources)]);
            Pipelines::new(&mut *self.backend, &kernels.p2p, kernels.m2l.as_ref()).check(&options, &map)?;
        }
        Ok(())
    }

    /// Computes the fields of all sets of charges, and what errors and budget were asked for.
    pub fn solve(&mut self, problem: &Problem, progress: &mut Progress) -> Result<Solved, Error> {
        let options = self.options_for(problem.geometry.sources[0].len());
        let left_to_cpu = match self.all_on_gpu(problem, &options, progress)? {
            Some(Ok(solutions)) => return Ok(Solved { solutions, plan: None }),
            Some(Err(why)) => Some(why),
            None => None,
        };
        let (asked, known, native) = (self.asked.clone(), self.known.clone(), self.route.native);
        self.with_executors(problem, |p2p, executors| {
            let p2p = p2p.map(of_graph);
            let task = Task { asked: &asked, options: &options, problem, known: &known, native, p2p };
            task.run(left_to_cpu, executors, progress)
        })
    }

    /// Does something with the executors for a problem, and the kernel of P2P, if one runs it.
    fn with_executors<R>(
        &mut self,
        problem: &Problem,
        work: impl FnOnce(Option<&Graph>, &mut [&mut dyn Executor<Plan>]) -> R,
    ) -> R {
        #[cfg(feature = "cuda")]
        let is_for_kernels = whole::is_for_kernels(&self.asked, problem);
        #[cfg(not(feature = "cuda"))]
        let _ = problem;
        let Solver { route, kernels, backend, .. } = self;
        let p2p = kernels.as_ref().map(|k| &k.p2p).or(route.on_gpu.as_ref());
        let mut pipelines = kernels.as_ref().map(|k| Pipelines::new(&mut **backend, &k.p2p, k.m2l.as_ref()));
        #[allow(unused_mut, reason = "GPUs may be left out")]
        let mut executors: Vec<&mut dyn Executor<Plan>> =
            pipelines.iter_mut().map(|p| p as &mut dyn Executor<Plan>).collect();
        #[cfg(feature = "cuda")]
        executors.extend(self.gpu.iter_mut().filter(|_| is_for_kernels).map(|gpu| gpu as &mut dyn Executor<Plan>));
        work(p2p, &mut executors)
    }

    /// The results of a GPU that runs all stages, or why it does not; none where it is not to.
    #[cfg(feature = "cuda")]
    fn all_on_gpu(
        &mut self,
        problem: &Problem,
        options: &FmmOptions,
        progress: &mut Progress,
    ) -> Result<Option<Result<Solutions, String>>, Error> {
        let Solver { asked, route, gpu, black_box, known, found: kept, .. } = self;
        let Some(gpu) = gpu.as_mut().filter(|_| route.whole).or(black_box.as_mut()).filter(|_| !problem.is_empty())
        else {
            return Ok(None);
        };
        let p2p = route.on_gpu.as_ref().or(route.function.as_ref()).map(of_graph);
        let task = Task { asked, options, problem, known, native: route.native, p2p };
        task.check_budget()?;
        let found = match asked.tolerance {
            Some(wanted) => whole::within(gpu, wanted, &task, kept)?,
            None => whole::run(gpu, problem, options, asked)?,
        };
        let Ok(mut found) = found else { return Ok(Some(found)) };
        let plan = task.plan_of_sums()?;
        if asked.budget {
            let runs = match whole::split(gpu, &task, kept.as_ref().unwrap_or(options), &found)? {
                Ok(runs) => runs,
                Err(why) => return Ok(Some(Err(why))),
            };
            progress(ERRORS, 0, 0);
            found.stats.budget = Some(task.split(plan.as_ref(), &found.fields[0], &runs)?);
        }
        task.complete(&mut found.stats, &found.fields, plan.as_ref(), progress)?;
        Ok(Some(Ok(found)))
    }

    #[cfg(not(feature = "cuda"))]
    fn all_on_gpu(
        &mut self,
        _: &Problem,
        _: &FmmOptions,
        _: &mut Progress,
    ) -> Result<Option<Result<Solutions, String>>, Error> {
        Ok(None)
    }

    /// Options that were found for a problem like one of so many sources.
    pub fn sized(&self, found: &FmmOptions, n: usize) -> FmmOptions {
        sized(&self.asked, found, self.options_for(n))
    }

    /// A plan for other positions with such options.
    pub fn plan(&self, geometry: Geometry, options: &FmmOptions) -> Result<Plan, Error> {
        let Solver { asked, route, known, .. } = self;
        let problem = Problem { geometry, sets: Vec::new() };
        let p2p = self.p2p().map(of_graph);
        let task = Task { asked, options, problem: &problem, known, native: route.native, p2p };
        Ok(Plan::for_kernel(geometry, options, task.expanded())?)
    }

    /// Runs a plan that was made before with other charges.
    pub fn again(&mut self, plan: &Plan, problem: &Problem, progress: &mut Progress) -> Result<Solutions, Error> {
        let hessian = self.asked.hessian;
        self.with_executors(problem, |_, executors| Ok(plan.solve_all(&problem.sets, hessian, executors, progress)?))
    }
}

/// The choices where native code on the CPU runs everything: there are no executors, so that any number of runs can use them at once.
#[derive(Clone)]
pub struct Native {
    asked: Options,
    route: Route,
    known: Known,
}

impl Native {
    pub fn options_for(&self, n: usize) -> FmmOptions {
        self.route.options_for(&self.asked, &self.known, None, n)
    }

    /// As [`Solver::solve`].
    pub fn solve(&self, problem: &Problem, progress: &mut Progress) -> Result<Solved, Error> {
        let Native { asked, known, .. } = self;
        let options = self.options_for(problem.geometry.sources[0].len());
        Task { asked, options: &options, problem, known, native: true, p2p: None }.run(None, &mut [], progress)
    }

    /// As [`Solver::sized`].
    pub fn sized(&self, found: &FmmOptions, n: usize) -> FmmOptions {
        sized(&self.asked, found, self.options_for(n))
    }

    /// As [`Solver::plan`].
    pub fn plan(&self, geometry: Geometry, options: &FmmOptions) -> Result<Plan, Error> {
        Ok(Plan::new(geometry, options)?)
    }
}

/// Options that were found for other particles, with the leaves that costs choose for the number of these.
fn sized(asked: &Options, found: &FmmOptions, of_number: FmmOptions) -> FmmOptions {
    let FmmOptions { leaf, enlarge, .. } = if asked.leaf.is_none() { of_number } else { found.clone() };
    FmmOptions { leaf, enlarge, ..found.clone() }
}
