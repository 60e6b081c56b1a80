//! `pairforge fmm2 --predict BOARD`: what an FMM in two dimensions with P2P on a board would take, without the board.

use super::super::fmm::files::save;
use super::super::fmm::predict::{Wanted, write};
use super::{Args, files, sets};
use fmm::octree::FmmError;
use fmm::plane::stats::Stats;
use fmm::plane::{Geometry, Options, Plan, Solution, Strengths};
use pairforge::fmm::kernels::Kernels;
use pairforge::fmm::predict::fill::Work;
use pairforge::fmm::predict::{Machine, Question, Ran};
use pg2::graph::Graph;
use pipelines::plane::offload::Pipelines;
use terminal::failure::Failure;

/// Predicts the leaf size that was asked for and those around the best.
pub fn run(args: &Args, name: &str, options: &Options, p2p: Graph) -> Result<(), Failure> {
    let board = args.predict.board(name)?;
    let points = files::points(args)?;
    let targets = files::targets(args)?;
    if let Some(path) = &args.save_particles {
        save(path, &points.columns(), &[])?;
    }
    let geometry =
        Geometry { sources: [&points.x, &points.y], targets: targets.as_ref().map(|[x, y]| [&x[..], &y[..]]) };
    let sets = sets(args, &points);
    let kernels = Kernels { p2p, m2l: None };
    let plan = |leaf: usize| Plan::new(geometry, &Options { leaf, ..options.clone() }).map_err(Failure::from);
    let ran = |leaf: usize, machine: &Machine| -> Result<Ran, Failure> {
        let plan = plan(leaf)?;
        let mut fleet = machine.fleet(&kernels)?;
        let mut pipelines = Pipelines::new(&mut fleet, &kernels.p2p, &args.params);
        let one = |set: &Strengths| plan.run(set, &mut [&mut pipelines], &mut |_, _, _| {});
        let solutions = sets.iter().map(one).collect::<Result<Vec<Solution>, FmmError>>()?;
        let Stats { seconds, pairs, cycles, utilisation, .. } = Stats::of(&plan, &solutions);
        let (seen, modelled) = (fleet.seen(None), seconds.p2p);
        Ok(Ran { seconds, pairs, cycles, utilisation, seen, modelled, exchange: None })
    };
    let work = || plan(options.leaf).map(|plan| Work { p2p: plan.pairs.p2p, m2l: 0 });
    let question = Question {
        kernels: &kernels,
        what: "points of a plane",
        n: points.len(),
        order: options.order,
        theta: options.theta,
        leaf: options.leaf,
        ranks: None,
        run: &ran,
    };
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    write(&question.report(&wanted.machine(board)?)?, &args.json)
}
