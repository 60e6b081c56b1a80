//! All stages of an FMM on a GPU, where it takes the problem.

use super::task::Task;
use super::{Args, PlaceArg, failure};
use crate::failure::Failure;
use gpu::octree::Gpu;
use gpu::octree::whole::Answer;
use ranks::comm::Comm;
use ranks::prepare::Slice;
use ranks::{RankError, cards, solve};

/// Whether the GPU is to run all stages. `on_gpu` says that it runs P2P natively.
pub fn asked(args: &Args, on_gpu: bool) -> Result<bool, Failure> {
    let is_wanted = args.translations == Some(PlaceArg::Gpu);
    if !on_gpu || args.translations == Some(PlaceArg::Cpu) {
        return match is_wanted {
            true => Err(Failure::Usage(
                "--translations gpu is for backend cuda with a P2P kernel that is 1/r and no M2L kernel".into(),
            )),
            false => Ok(false),
        };
    }
    let unfit = [
        ("--tol", args.tol.is_some()),
        ("--budget", args.budget),
        ("--hessian", args.hessian),
        ("--near-only", args.near_only),
        ("--m2l native", args.m2l.is_some()),
    ];
    match unfit.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if is_wanted => Err(Failure::Usage(format!(
            "{option} runs with translations on the CPU alone; leave --translations gpu out"
        ))),
        Some(_) => Ok(false),
        None => Ok(true),
    }
}

/// Runs all stages, or says why the GPU leaves some to the CPU. That is an error if it was asked to run them.
pub fn run(gpu: &mut Gpu, task: &Task) -> Result<Answer, Failure> {
    let (args, input) = (task.args, task.input);
    let is_wanted = args.translations == Some(PlaceArg::Gpu);
    if let Some(why) = gpu.refuses(task.options).filter(|_| is_wanted) {
        return Err(Failure::Usage(refused(&why)));
    }
    let sources = input.sources();
    let charges: Option<Vec<&[f64]>> = sources.iter().map(|s| s.charges.filter(|_| s.dipoles.is_none())).collect();
    let geometry = input.geometry();
    let answer = match charges {
        Some(charges) => {
            let count = geometry.sources[0].len() + geometry.targets.map_or(0, |targets| targets[0].len());
            let leaf = args.leaf.unwrap_or_else(|| Gpu::whole_leaf(count, task.options));
            gpu.whole(geometry, &charges, task.options, leaf).map_err(failure)?
        }
        None => Err("the particles have dipole moments".into()),
    };
    match answer {
        Err(why) if is_wanted => Err(Failure::Input(refused(&why))),
        answer => Ok(answer),
    }
}

/// The same on the GPUs of all ranks, each with its slice: all ranks are told the same.
pub fn run_on_ranks(
    comm: &dyn Comm,
    gpu: &mut Gpu,
    args: &Args,
    slice: &Slice,
) -> Result<Result<solve::Answer, String>, RankError> {
    let is_wanted = args.translations == Some(PlaceArg::Gpu);
    if let Some(why) = gpu.refuses(slice.options).filter(|_| is_wanted) {
        return Err(RankError::Option(refused(&why)));
    }
    match cards::solve(comm, slice, gpu, args.leaf)? {
        Err(why) if is_wanted => Err(RankError::Range(refused(&why))),
        answer => Ok(answer),
    }
}

fn refused(why: &str) -> String {
    format!("the GPU does not run the translations, since {why}; leave --translations gpu out")
}
