//! One run on ranks: in a process that the benchmark has started, or in each of those that a launcher of MPI has.

use super::launch::CHECK;
use fmm::data::random::{self, Charge, Distribution};
use pairforge::fmm::ranks::{Job, RankSlice, Solved, costs_of_first, slice};
use pairforge::fmm::route::Route;
use pairforge::fmm::{Basis, Options, Precision, Problem, Stats};
use ranks::RankError;
use ranks::comm::{Comm, Tag, agree};
use ranks::measured::RanksReport;
use ranks::mpi::Mpi;
use ranks::threads;
use serde::{Deserialize, Serialize};
use terminal::failure::Failure;
use terminal::{program, say};

/// The first word of the command line of such a process; its work is the second.
pub const WORD: &str = "run-on-ranks";

/// The work of such a process.
#[derive(Serialize, Deserialize)]
pub struct Work {
    pub distribution: String,
    pub n: usize,
    /// 0 where a launcher of MPI says how many.
    pub ranks: usize,
    pub order: usize,
    pub precision: String,
    pub on_gpus: bool,
    /// 0 for one a core.
    pub threads: usize,
}

/// The statistics, with what ranks report.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    stats: &'a Stats,
    ranks: &'a RanksReport,
}

/// Computes, and prints the statistics as JSON.
pub fn run(work: &str) -> Result<(), Failure> {
    let work: Work = serde_json::from_str(work).map_err(|e| Failure::Usage(format!("{WORD}: {e}")))?;
    program::start_threads(work.threads)?;
    let options = Options::default().expansion(Basis::Solid).order(work.order).samples(CHECK);
    let options = options.backend(if work.on_gpus { "cuda" } else { "cpu" });
    let options = options.precision(if work.precision == "f32" { Precision::F32 } else { Precision::F64 });
    if work.ranks > 0 {
        return on_threads(&work, &options);
    }
    let mpi = Mpi::begin().map_err(pairforge::Error::from)?;
    match on_mpi(&work, &options, &mpi) {
        // The first one tells of it; a launcher ends the others as soon as one has another status than 0.
        Err(_) if mpi.rank() > 0 => Ok(()),
        done => Ok(done.map_err(pairforge::Error::from)?),
    }
}

fn distribution(work: &Work) -> Distribution {
    if work.distribution == "sphere" { Distribution::Sphere } else { Distribution::Uniform }
}

fn on_threads(work: &Work, options: &Options) -> Result<(), Failure> {
    let job = Job::new(options, work.ranks)?;
    let particles = random::generate(work.n, distribution(work), Charge::Positive, 1);
    let found = threads::run(work.ranks, |comm| {
        let own = slice(work.n, comm);
        let geometry = particles.columns().map(|column| &column[own.clone()]).into();
        let own = Problem { geometry, sets: vec![particles.q[own].into()] };
        job.open(comm, 0)?.solve(comm, &RankSlice { own, n: work.n, whole: None })
    });
    let found = found.into_iter().collect::<Result<Vec<_>, _>>().map_err(pairforge::Error::from)?;
    let solved = found.into_iter().flatten().next().expect("the first rank has it if none failed");
    let whole = Problem { geometry: particles.columns().into(), sets: vec![particles.q[..].into()] };
    Ok(show(&job, &whole, solved)?)
}

fn on_mpi(work: &Work, options: &Options, mpi: &Mpi) -> Result<(), RankError> {
    let known = costs_of_first(mpi)?;
    let job = || Job::on(options.clone(), Route::new(options)?, known, 1);
    let job = agree(mpi, job().map_err(RankError::from))?;
    let particles = random::generate_part(work.n, slice(work.n, mpi), distribution(work), Charge::Positive, 1);
    let own = Problem { geometry: particles.columns().into(), sets: vec![particles.q[..].into()] };
    let solved = job.open(mpi, 0)?.solve(mpi, &RankSlice { own, n: work.n, whole: None })?;
    let Some(solved) = solved else {
        // The first rank sums with all cores of its machine.
        mpi.rest(0, Tag::Gather)?;
        return agree(mpi, Ok(()));
    };
    let particles = random::generate(work.n, distribution(work), Charge::Positive, 1);
    let whole = Problem { geometry: particles.columns().into(), sets: vec![particles.q[..].into()] };
    agree(mpi, show(&job, &whole, solved).map_err(RankError::from))
}

fn show(job: &Job, whole: &Problem, mut solved: Solved) -> Result<(), pairforge::Error> {
    job.complete(whole, &mut solved, &mut |_, _, _| {})?;
    let report = Report { stats: &solved.stats, ranks: &solved.report };
    let text = serde_json::to_string(&report).expect("statistics are plain numbers, names and lists");
    say!("{text}").map_err(|e| pairforge::Error::Tool(e.text()))
}
