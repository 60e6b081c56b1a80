//! `pairforge fmm --predict BOARD` on ranks with a board each: each rank runs its part with the model of its board, and the slowest one
//! counts. The first rank chooses leaf sizes, and tells the others.

use super::super::ranks::{agreed, failure_of, same_input};
use super::super::{Args, costs, files, options_of_kernels};
use super::{Place, Wanted, kernels, write};
use fmm::data::input::Input;
use fmm::octree::{FmmOptions, Plan};
use hdl::board::Board;
use pairforge::fmm::kernels::Kernels;
use pairforge::fmm::predict::fill::Work;
use pairforge::fmm::predict::ranks::RankProblem;
use pairforge::fmm::ranks::{same, slice};
use ranks::mpi::Mpi;
use ranks::{RankError, threads};
use terminal::failure::Failure;
use terminal::output;

/// On ranks that are threads of this process, which share its cores.
pub fn on_threads(args: &Args, name: &str, ranks: usize) -> Result<(), Failure> {
    let board = args.predict.board(name)?;
    let (kernels, known) = (kernels(args, Place::Board(board))?, costs::known());
    let input = plain(files::input(args)?)?;
    files::save_particles(args, &input)?;
    let n = input.particles.len();
    let options = options(args);
    let plan = || Plan::new(input.geometry(), &options).map_err(Failure::from);
    let work = || plan().map(|plan| Work { p2p: plan.pairs.p2p, m2l: plan.pairs.m2l });
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = wanted.machine(board)?;
    let found = threads::run(ranks, |comm| {
        let own = slice(n, comm);
        let positions = input.particles.columns().map(|column| &column[own.clone()]);
        let (charges, costs) = (&input.particles.q[own], &known.costs);
        let part = RankProblem { comm, kernels: &kernels, positions, charges, options: &options, costs };
        part.report(n, &machine)
    });
    let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(failure_of)?;
    let report = found.into_iter().flatten().next().expect("the first rank has it if none failed");
    write(&report, &args.json)
}

/// On processes of MPI.
pub fn on_mpi(args: &Args, name: &str, mpi: &Mpi) -> Result<(), Failure> {
    let known = costs::known_on(mpi)?;
    let found = || -> Result<(&'static Board, Kernels), Failure> {
        let board = args.predict.board(name)?;
        Ok((board, kernels(args, Place::Board(board))?))
    };
    let (board, kernels) = agreed(mpi, found())?;
    same::kernels(mpi, kernels.graphs()).map_err(failure_of)?;
    let part =
        || files::part(args, &|n| slice(n, mpi)).and_then(|part| Ok((plain(part.input)?, part.counts, part.read)));
    let (input, counts, read) = agreed(mpi, part())?;
    same_input(mpi, counts, &read)?;
    agreed(mpi, files::save_particles_of_ranks(args, &input, counts[0], mpi))?;
    let n = counts[0];
    let (options, costs) = (options(args), &known.costs);
    let (positions, charges) = (input.particles.columns(), &input.particles.q[..]);
    let part = RankProblem { comm: mpi, kernels: &kernels, positions, charges, options: &options, costs };
    let work = || part.work().map_err(failure_of);
    let wanted = Wanted { predict: &args.predict, engine: &args.engine, kernels: &kernels, work: &work };
    let machine = agreed(mpi, wanted.machine(board))?;
    let found = part.report(n, &machine);
    if let Err(RankError::Lost(text)) = &found {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    agreed(mpi, found.map_err(failure_of)?.map_or(Ok(()), |report| write(&report, &args.json)))
}

fn plain(input: Input) -> Result<Input, Failure> {
    match input.is_plain() {
        true => Ok(input),
        false => Err(Failure::Usage("a prediction is for particles with one charge each".into())),
    }
}

/// With the leaf size that was asked for.
fn options(args: &Args) -> FmmOptions {
    FmmOptions { leaf: args.leaf.unwrap_or(super::LEAF), ..options_of_kernels(args) }
}
