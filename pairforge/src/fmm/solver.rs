//! The solver: opens what runs the stages, and runs problems with it.

use super::costs::{self, Known};
use super::kernels::Kernels;
use super::route::Route;
use super::task::Task;
use super::{Options, Problem, whole};
use crate::Error;
use crate::backends::BackendOptions;
use fmm::data::problem::Geometry;
use fmm::octree::executor::{Executor, Progress};
use fmm::octree::{FmmOptions, Plan, Solutions};
use gpu::octree::Gpu;
use pg2::graph::Graph;
use pipelines::job::Backend;
use pipelines::octree::kernel::of_graph;
use pipelines::octree::offload::Pipelines;

/// Everything that runs an FMM: kernels that were compiled and bound, devices that were opened, and costs.
pub struct Solver {
    pub asked: Options,
    pub route: Route,
    pub kernels: Option<Kernels>,
    gpu: Option<Gpu>,
    backend: Box<dyn Backend>,
    pub known: Known,
}

/// The results of a solver: the fields of all sets of charges with the report, and the plan where there is one on the CPU.
pub struct Solved {
    pub solutions: Solutions,
    pub plan: Option<Plan>,
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
        let open = |kernel| Gpu::open_gpus(route.entry.name, kernel, asked.gpus.unwrap_or(1));
        let gpu = route.on_gpu.as_ref().map(open).transpose()?;
        let backend = (route.entry.open)(&BackendOptions { place: route.place.clone(), ..asked.engine.clone() });
        Ok(Solver { asked, route, kernels, gpu, backend, known: costs::known() })
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
        let left_to_cpu = match self.on_gpu(problem, &options, progress)? {
            Some(Ok(solutions)) => return Ok(Solved { solutions, plan: None }),
            Some(Err(why)) => Some(why),
            None => None,
        };
        let Solver { asked, route, kernels, gpu, backend, known } = self;
        let p2p = kernels.as_ref().map(|k| &k.p2p).or(route.on_gpu.as_ref());
        let task = Task { asked, options: &options, problem, known, native: route.native, p2p };
        task.check_budget()?;
        let mut pipelines = kernels.as_ref().map(|k| Pipelines::new(&mut **backend, &k.p2p, k.m2l.as_ref()));
        let mut executors: Vec<&mut dyn Executor> = pipelines.iter_mut().map(|p| p as &mut dyn Executor).collect();
        executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
        let (plan, Solutions { fields, mut stats }) = task.solve(&mut executors, progress)?;
        stats.left_to_cpu = left_to_cpu;
        task.complete(&mut stats, &fields, Some(&plan), progress)?;
        if task.asked.budget {
            stats.budget = Some(task.budget(&plan, &fields[0], &mut executors, progress)?);
        }
        // Nothing is shown any longer.
        progress("", 0, 0);
        Ok(Solved { solutions: Solutions { fields, stats }, plan: Some(plan) })
    }

    /// The results of a GPU that runs all stages, or why it does not; none where it is not to.
    fn on_gpu(
        &mut self,
        problem: &Problem,
        options: &FmmOptions,
        progress: &mut Progress,
    ) -> Result<Option<Result<Solutions, String>>, Error> {
        let Solver { asked, route, gpu, known, .. } = self;
        let Some(gpu) = gpu.as_mut().filter(|_| route.whole && !problem.is_empty()) else { return Ok(None) };
        let found = whole::run(gpu, problem, options, asked)?;
        let Ok(Solutions { fields, mut stats }) = found else { return Ok(Some(found)) };
        let p2p = route.on_gpu.as_ref();
        let task = Task { asked, options, problem, known, native: route.native, p2p };
        task.complete(&mut stats, &fields, None, progress)?;
        Ok(Some(Ok(Solutions { fields, stats })))
    }

    /// A plan for other positions with options that were found for a problem like it.
    pub fn plan(&self, geometry: Geometry, options: &FmmOptions) -> Result<Plan, Error> {
        // Costs choose leaves for the number of particles.
        let of_number = self.options_for(geometry.sources[0].len());
        let FmmOptions { leaf, enlarge, .. } = if self.asked.leaf.is_none() { of_number } else { options.clone() };
        let options = FmmOptions { leaf, enlarge, ..options.clone() };
        let problem = Problem { geometry, sets: Vec::new() };
        let task = self.task(&options, &problem);
        Ok(Plan::for_kernel(geometry, &options, task.expanded().map(of_graph))?)
    }

    /// Runs a plan that was made before with other charges.
    pub fn again(&mut self, plan: &Plan, problem: &Problem, progress: &mut Progress) -> Result<Solutions, Error> {
        let Solver { asked, kernels, gpu, backend, .. } = self;
        let mut pipelines = kernels.as_ref().map(|k| Pipelines::new(&mut **backend, &k.p2p, k.m2l.as_ref()));
        let mut executors: Vec<&mut dyn Executor> = pipelines.iter_mut().map(|p| p as &mut dyn Executor).collect();
        executors.extend(gpu.iter_mut().map(|gpu| gpu as &mut dyn Executor));
        Ok(plan.solve_all(&problem.sets, asked.hessian, &mut executors, progress)?)
    }

    /// The data that the parts of a problem on ranks have in common.
    pub fn task<'a>(&'a self, options: &'a FmmOptions, problem: &'a Problem<'a>) -> Task<'a> {
        let Solver { asked, route, known, .. } = self;
        Task { asked, options, problem, known, native: route.native, p2p: self.p2p() }
    }
}
