//! The solver: opens what runs the stages, and runs problems with it.

use super::{Geometry, Options, Solution, Stats, Strengths};
use crate::Error;
#[cfg(feature = "kernels")]
use crate::backends::{self, BackendOptions, Needs};
use crate::fmm::task::{ERRORS, SAMPLES};
#[cfg(feature = "kernels")]
use crate::kernel;
#[cfg(feature = "kernels")]
use fmm::plane::Kernel;
use fmm::plane::direct::Direct;
use fmm::plane::error::{Errors, Reference};
use fmm::plane::{self, Field, Plan, tune};
#[cfg(feature = "cuda")]
use fmm::stages::AllStages;
use fmm::stages::{Executor, FmmError, Progress};
#[cfg(feature = "cuda")]
use gpu::plane::Gpu;
#[cfg(feature = "kernels")]
use pipelines::job::Backend;
#[cfg(feature = "kernels")]
use pipelines::plane::bind::{P2p, shipped};
#[cfg(feature = "kernels")]
use pipelines::plane::offload::Pipelines;
use std::sync::Arc;

/// Everything that runs an FMM in two dimensions: a kernel that was bound, and devices that were opened.
pub struct Solver {
    asked: Options,
    options: plane::Options,
    /// The kernel of P2P on its backend, where native code does not run all stages.
    #[cfg(feature = "kernels")]
    pipelines: Option<(kernel::Kernel, P2p, Box<dyn Backend>)>,
    #[cfg(feature = "cuda")]
    gpu: Option<Gpu>,
}

/// Results: the fields of all sets of strengths, the report, and the plan where there is one on the CPU.
pub struct Solved {
    pub solutions: Vec<Solution>,
    pub stats: Stats,
    /// Why a GPU did not take the problem.
    pub left_to_cpu: Option<String>,
    pub plan: Option<Arc<Plan>>,
}

impl Solver {
    /// Checks the options, binds the kernel that they name, and opens its device.
    pub fn new(asked: Options) -> Result<Solver, Error> {
        let options = asked.of_method();
        options.check()?;
        #[cfg(feature = "kernels")]
        let (pipelines, on_gpu) = {
            let (entry, place) = backends::find(&asked.backend).map_err(|e| Error::Options(e.to_string()))?;
            // A kernel that is named is run, on the CPU by its real-arithmetic semantics.
            let is_native = entry.native && asked.p2p.is_none();
            let open = || -> Result<_, Error> {
                let kernel = match &asked.p2p {
                    Some(kernel) => kernel.clone(),
                    None => kernel::shipped(shipped(options.kernel)).expect("it is shipped"),
                };
                let bound = P2p::bind(kernel.graph(), options.kernel, kernel.params()).map_err(FmmError::from)?;
                Ok((kernel, bound, (entry.open)(&BackendOptions { place: place.into(), ..asked.engine.clone() })))
            };
            let pipelines = if is_native { None } else { Some(open()?) };
            (pipelines, is_native && entry.needs == Needs::Gpu)
        };
        #[cfg(feature = "cuda")]
        if on_gpu && asked.tolerance.is_some() {
            return Err(Error::Options("--tol runs on the CPU; give --order for --backend cuda".into()));
        }
        #[cfg(all(feature = "kernels", not(feature = "cuda")))]
        let _ = on_gpu;
        Ok(Solver {
            #[cfg(feature = "cuda")]
            gpu: if on_gpu { Some(Gpu::open()?) } else { None },
            asked,
            options,
            #[cfg(feature = "kernels")]
            pipelines,
        })
    }

    /// Builds or finds what a kernel runs on, for about so many pairs.
    #[cfg(feature = "kernels")]
    pub fn prepare(&mut self, pairs: u64) -> Result<(), Error> {
        match &mut self.pipelines {
            Some((kernel, _, backend)) => Ok(backend.prepare(kernel.graph(), pairs)?),
            None => Ok(()),
        }
    }

    /// The choices where native code on the CPU runs everything.
    pub(super) fn native(&self) -> Option<Choices> {
        let is_native = true;
        #[cfg(feature = "kernels")]
        let is_native = is_native && self.pipelines.is_none();
        #[cfg(feature = "cuda")]
        let is_native = is_native && self.gpu.is_none();
        is_native.then(|| self.choices())
    }

    fn choices(&self) -> Choices {
        Choices { asked: self.asked.clone(), options: self.options.clone() }
    }

    /// Computes the fields of all sets of strengths, and what errors were asked for.
    pub fn solve(&mut self, geometry: Geometry, sets: &[Strengths], progress: &mut Progress) -> Result<Solved, Error> {
        let left_to_cpu = match self.all_on_gpu(geometry, sets)? {
            Some(Ok(solved)) => return Ok(solved),
            Some(Err(why)) => Some(why),
            None => None,
        };
        self.check(sets)?;
        let choices = self.choices();
        let solved = self.with_executors(|executors| choices.solve(geometry, sets, executors, progress))?;
        Ok(Solved { left_to_cpu, ..solved })
    }

    /// Runs a plan that was made before with other strengths.
    pub fn again(&mut self, plan: Arc<Plan>, sets: &[Strengths], progress: &mut Progress) -> Result<Solved, Error> {
        self.check(sets)?;
        self.with_executors(|executors| again(plan, sets, executors, progress))
    }

    /// Refuses strengths that the kernel does not take.
    #[cfg(feature = "kernels")]
    fn check(&self, sets: &[Strengths]) -> Result<(), Error> {
        let is_complex = self.options.kernel == Kernel::Harmonic && sets.iter().any(|set| set.im.is_some());
        match &self.pipelines {
            Some((kernel, bound, _)) if is_complex && !bound.is_complex => {
                Err(Error::Options(format!("{} takes real strengths, but these are complex", kernel.graph().name)))
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(feature = "kernels"))]
    fn check(&self, _: &[Strengths]) -> Result<(), Error> {
        Ok(())
    }

    /// Does something with the executors.
    #[cfg(feature = "kernels")]
    fn with_executors<R>(&mut self, work: impl FnOnce(&mut [&mut dyn Executor<Plan>]) -> R) -> R {
        match &mut self.pipelines {
            None => work(&mut []),
            Some((kernel, _, backend)) => {
                work(&mut [&mut Pipelines::new(&mut **backend, kernel.graph(), kernel.params())])
            }
        }
    }

    #[cfg(not(feature = "kernels"))]
    fn with_executors<R>(&mut self, work: impl FnOnce(&mut [&mut dyn Executor<Plan>]) -> R) -> R {
        work(&mut [])
    }

    /// The results of a GPU that runs all stages, or why it does not; none where it is not to.
    #[cfg(feature = "cuda")]
    fn all_on_gpu(&mut self, geometry: Geometry, sets: &[Strengths]) -> Result<Option<Result<Solved, String>>, Error> {
        let Solver { asked, options, gpu: Some(gpu), .. } = self else { return Ok(None) };
        let (solutions, stats) = match gpu.solve(geometry, sets, options)? {
            Ok(found) => found,
            Err(why) => return Ok(Some(Err(why))),
        };
        let error = asked.samples.map(|count| errors((count, asked.seed), geometry, sets, options, &solutions));
        Ok(Some(Ok(Solved { solutions, stats: Stats { error, ..stats }, left_to_cpu: None, plan: None })))
    }

    #[cfg(not(feature = "cuda"))]
    fn all_on_gpu(&mut self, _: Geometry, _: &[Strengths]) -> Result<Option<Result<Solved, String>>, Error> {
        Ok(None)
    }
}

/// The options that were asked for, and those of the method that follow.
#[derive(Clone)]
pub(super) struct Choices {
    asked: Options,
    options: plane::Options,
}

impl Choices {
    /// The fields of all sets of strengths by the CPU and some executors.
    pub fn solve(
        &self,
        geometry: Geometry,
        sets: &[Strengths],
        executors: &mut [&mut dyn Executor<Plan>],
        progress: &mut Progress,
    ) -> Result<Solved, Error> {
        let Choices { asked, options } = self;
        progress("mesh and lists", 0, 0);
        let (plan, solutions, errors) = match asked.tolerance {
            Some(wanted) => {
                let problem = tune::Problem {
                    geometry,
                    sets,
                    seed: asked.seed,
                    samples: asked.samples.unwrap_or(SAMPLES),
                    is_leaf_free: asked.leaf.is_none(),
                };
                let tuned = tune::within(wanted, &problem, options, executors, progress)?;
                (tuned.plan, tuned.solutions, Some(tuned.errors))
            }
            None => {
                let plan = Plan::new(geometry, options)?;
                let solutions = run(&plan, sets, executors, progress)?;
                let errors = asked.samples.map(|count| {
                    progress(ERRORS, 0, 0);
                    errors((count, asked.seed), geometry, sets, options, &solutions)
                });
                (plan, solutions, errors)
            }
        };
        // Nothing is shown any longer.
        progress("", 0, 0);
        let stats = Stats { error: errors, ..report(&plan, &solutions, executors) };
        Ok(Solved { solutions, stats, left_to_cpu: None, plan: Some(Arc::new(plan)) })
    }
}

/// The fields of all sets of strengths by a plan that was made before.
pub(super) fn again(
    plan: Arc<Plan>,
    sets: &[Strengths],
    executors: &mut [&mut dyn Executor<Plan>],
    progress: &mut Progress,
) -> Result<Solved, Error> {
    let solutions = run(&plan, sets, executors, progress)?;
    let stats = report(&plan, &solutions, executors);
    Ok(Solved { solutions, stats, left_to_cpu: None, plan: Some(plan) })
}

/// Runs a plan for each set of strengths.
fn run(
    plan: &Plan,
    sets: &[Strengths],
    executors: &mut [&mut dyn Executor<Plan>],
    progress: &mut Progress,
) -> Result<Vec<Solution>, FmmError> {
    sets.iter().map(|set| plan.run(set, executors, progress)).collect()
}

/// The report, without errors.
fn report(plan: &Plan, solutions: &[Solution], executors: &[&mut dyn Executor<Plan>]) -> Stats {
    let backend = executors.first().map_or(Stats::NATIVE, |e| e.name());
    Stats { backend: backend.into(), ..Stats::of(plan, solutions) }
}

/// Compares `count` targets with direct summation.
fn errors(
    (count, seed): (usize, u64),
    geometry: Geometry,
    sets: &[Strengths],
    options: &plane::Options,
    solutions: &[Solution],
) -> Errors {
    let direct: Vec<Direct> =
        sets.iter().map(|set| Direct { kernel: options.kernel, geometry, strengths: *set }).collect();
    let fields: Vec<&Field> = solutions.iter().map(|s| &s.field).collect();
    Reference::new(&direct, count, seed).errors(&fields)
}
