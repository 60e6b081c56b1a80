//! The benchmark on ranks of MPI, which have their GPUs each: seconds of particles that are made on them.

use super::super::Args;
use super::failure;
use crate::cmd::fmm::{agreed, failure_of, of_rank};
use fmm::expansion::basis::Basis;
use fmm::octree::{FmmOptions, Precision};
use gpu::octree::{Gpu, Share};
use ranks::RankError;
use ranks::comm::{Comm, agree, on_machine};
use ranks::gpus::{self, TimedRun};
use ranks::mpi::Mpi;
use serde::Serialize;
use terminal::bench::spread;
use terminal::failure::Failure;
use terminal::source;
use terminal::{output, say};

#[derive(Serialize)]
struct Figures<'a> {
    ranks: usize,
    gpus_of_rank: usize,
    n: u32,
    order: u32,
    precision: &'static str,
    runs: &'a [TimedRun],
}

/// The first rank speaks.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mpi = Mpi::begin().map_err(failure_of)?;
    let is_first = mpi.rank() == 0;
    match agreed(&mpi, measured(args, &mpi)) {
        // All have failed alike.
        Err(_) if !is_first => Ok(()),
        Ok((gpus, runs)) if is_first => write(args, &mpi, gpus, &runs),
        done => done.map(drop),
    }
}

/// The runs, and how many GPUs a rank has.
fn measured(args: &Args, mpi: &Mpi) -> Result<(usize, Vec<TimedRun>), Failure> {
    let n = args.n.ok_or_else(|| {
        Failure::Usage("on ranks, the benchmark `card` makes particles on the GPUs; give their number with --n".into())
    })?;
    let kernel = source::load("p2p")?.1;
    let (turn, of) = on_machine(mpi).map_err(failure_of)?;
    let cards = (args.gpus > 1).then_some(args.gpus as usize);
    let gpu = Gpu::open_shared("cuda", &kernel, &Share { turn, of, devices: cards }).map_err(|e| of_rank(failure(e)));
    let mut gpu = agree(mpi, gpu).map_err(failure_of)?;
    let options = FmmOptions {
        order: args.order as usize,
        precision: Precision::F32,
        basis: Basis::Solid,
        ..FmmOptions::default()
    };
    let runs = gpus::timed(mpi, &mut gpu, n as usize, &options, args.repeat);
    if let Err(RankError::Lost(text)) = &runs {
        // The other ranks know nothing of it.
        output::tell(&(Failure::Tool(text.clone()).text() + "\n"));
        mpi.abort_with(3);
    }
    Ok((gpu.devices(), runs.map_err(failure_of)?.map_err(Failure::Tool)?))
}

fn write(args: &Args, mpi: &Mpi, gpus: usize, runs: &[TimedRun]) -> Result<(), Failure> {
    let (n, order, ranks) = (args.n.unwrap_or(0), args.order, mpi.size());
    let mut sorted: Vec<&TimedRun> = runs.iter().collect();
    sorted.sort_by(|a, b| a.total.total_cmp(&b.total));
    let totals: Vec<f64> = sorted.iter().map(|run| run.total).collect();
    let middle = sorted[sorted.len() / 2];
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    let all = spread(&totals, |x| format!("{:.2}", x * 1e3));
    say!(
        "  {n} particles made on the GPUs of {ranks} ranks, order {order}, f32: {all} ms, exchanges and waiting included"
    )?;
    let stages: Vec<String> =
        middle.stages.iter().map(|(stage, seconds)| format!("{stage} {}", ms(*seconds))).collect();
    say!("    {}", stages.join(", "))?;
    say!("    exchange {}, waiting {}", ms(middle.exchange), ms(middle.waiting))?;
    let of_stage = |name: &str| middle.stages.iter().filter(|s| s.0 == name).map(|s| s.1).sum::<f64>();
    let partition = of_stage("box") + of_stage("sort");
    let share = |seconds: f64| 100.0 * seconds / middle.total;
    let (least, most) = (partition + middle.exchange, partition + middle.exchange + middle.waiting);
    say!("    box, sort and exchange: {:.1}%; with waiting {:.1}%", share(least), share(most))?;
    say!("  of the slowest rank each; {} runs after a first", args.repeat)?;
    if let Some(path) = args.json.as_ref().filter(|_| args.names.iter().all(|name| name == "card")) {
        output::write_json(path, &Figures { ranks, gpus_of_rank: gpus, n, order, precision: "f32", runs })?;
    }
    Ok(())
}
