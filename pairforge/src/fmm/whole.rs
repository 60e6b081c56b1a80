//! All stages of an FMM on a GPU, where it takes the problem.

use super::task::Task;
use super::{M2l, Options, Problem, Translations};
use crate::Error;
use fmm::data::problem::Geometry;
use fmm::octree::budget::Fields;
use fmm::octree::options::Wanted;
use fmm::octree::{FmmOptions, Solutions};
use gpu::octree::Gpu;

/// Whether translations may run on a GPU by the options.
pub(super) fn is_free(asked: &Options) -> bool {
    asked.translations != Some(Translations::Cpu) && on_cpu_alone(asked).is_none()
}

/// Whether the GPU is to run all stages. `on_gpu` says that it runs P2P natively.
pub(super) fn asked(asked: &Options, on_gpu: bool) -> Result<bool, Error> {
    let is_wanted = asked.wants_gpu();
    if !on_gpu || asked.translations == Some(Translations::Cpu) {
        return match is_wanted {
            true => Err(Error::Options(
                "--translations gpu is for backend cuda with a P2P kernel that has a native form there and a gradient, and no M2L kernel".into(),
            )),
            false => Ok(false),
        };
    }
    match on_cpu_alone(asked) {
        Some(option) if is_wanted => Err(Error::Options(format!(
            "{option} runs with translations on the CPU alone; leave --translations gpu out"
        ))),
        Some(_) => Ok(false),
        None => Ok(true),
    }
}

/// An option with which the CPU runs the translations.
pub(super) fn on_cpu_alone(asked: &Options) -> Option<&'static str> {
    let unfit = [
        ("--enlarge", asked.tolerance.is_some() && asked.enlarge != 1.0),
        ("--near-only", asked.near_only),
        ("--m2l native", !matches!(asked.m2l, M2l::Usual)),
    ];
    unfit.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
}

/// Whether a GPU may run P2P beside the CPU's far field: kernels have no dipoles or second derivatives, which the CPU then computes alone.
pub(super) fn is_for_kernels(asked: &Options, problem: &Problem) -> bool {
    !asked.hessian && problem.sets.iter().all(|sources| sources.dipoles.is_none())
}

/// The same with the order that keeps a wanted error: that of `kept`, or one that is searched and kept there.
pub(super) fn within(
    gpu: &mut Gpu,
    wanted: f64,
    task: &Task,
    kept: &mut Option<FmmOptions>,
) -> Result<Result<Solutions, String>, Error> {
    let Task { asked, options, problem, .. } = *task;
    if let Some(found) = kept {
        return run(gpu, problem, found, asked);
    }
    if let Some(why) = gpu.refuses(options).filter(|_| asked.wants_gpu()) {
        return Err(Error::Options(refused(&why)));
    }
    match gpu.within(wanted, &task.tuned(), options, asked.leaf)? {
        Ok(found) => {
            *kept = Some(found.options);
            let Solutions { fields, stats } = found.solution;
            Ok(Ok(Solutions { fields, stats: stats.with_errors(found.errors) }))
        }
        Err(why) if asked.wants_gpu() => Err(Error::Input(refused(&why))),
        Err(why) => Ok(Err(why)),
    }
}

/// Runs all stages, or says why the GPU leaves some to the CPU. That is an error if it was asked to run them.
pub(super) fn run(
    gpu: &mut Gpu,
    problem: &Problem,
    options: &FmmOptions,
    asked: &Options,
) -> Result<Result<Solutions, String>, Error> {
    let is_wanted = asked.wants_gpu();
    if let Some(why) = gpu.refuses(options).filter(|_| is_wanted) {
        return Err(Error::Options(refused(&why)));
    }
    let Problem { geometry, sets } = problem;
    let leaf = leaf(problem, options, asked);
    let wanted = Wanted { hessian: asked.hessian, dipoles: sets.iter().any(|s| s.dipoles.is_some()) };
    let answer = gpu.solve_for(*geometry, sets, &FmmOptions { leaf, ..options.clone() }, wanted)?;
    match answer {
        Err(why) if is_wanted => Err(Error::Input(refused(&why))),
        answer => Ok(answer),
    }
}

/// The runs that split the error of what a run of all stages has given with these options, or why the GPU does not make them.
pub(super) fn split(
    gpu: &mut Gpu,
    task: &Task,
    options: &FmmOptions,
    found: &Solutions,
) -> Result<Result<Fields, String>, Error> {
    let (Problem { geometry, sets }, asked) = (task.problem, task.asked);
    let options = FmmOptions { leaf: leaf(task.problem, options, asked), ..options.clone() };
    match gpu.split(*geometry, sets[0], &options, found)? {
        Err(why) if asked.wants_gpu() => Err(Error::Input(refused(&why))),
        answer => Ok(answer),
    }
}

/// The leaf size of a problem.
fn leaf(problem: &Problem, options: &FmmOptions, asked: &Options) -> usize {
    let Geometry { sources, targets } = problem.geometry;
    let count = sources[0].len() + targets.map_or(0, |targets| targets[0].len());
    asked.leaf.unwrap_or_else(|| Gpu::whole_leaf(count, options))
}

pub fn refused(why: &str) -> String {
    format!("the GPU does not run the translations, since {why}; leave --translations gpu out")
}
