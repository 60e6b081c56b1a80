//! An FMM on ranks for a wanted error: the first rank searches as one process does, and tells the others which runs to make.

use super::RankError;
use super::budget;
use super::bytes::{Reader, Writer, cut};
use super::comm::{Comm, Tag, agree, broadcast};
use super::prepare::Slice;
use super::solve::{Answer, collected, solve};
use fmm::data::particles::Field;
use fmm::direct::error::Errors;
use fmm::expansion::basis::Basis;
use fmm::octree::budget::Fields;
use fmm::octree::executor::Executor;
use fmm::octree::kernel::Kernel;
use fmm::octree::tune::{self, Arithmetic, Found, Problem, Runner};
use fmm::octree::{FmmError, FmmOptions, Plan, Precision, Solutions};
use gpu::octree::all_stages::search::NOTHING_FOUND;

/// The run that keeps a wanted error, on the first rank: the results of all ranks, and the report of the run that gave them.
pub struct Tuned {
    pub fields: Vec<Field>,
    pub answer: Answer,
    pub errors: Vec<Errors>,
}

/// The runs of all ranks, on each of them.
pub trait Engine {
    /// A run of all ranks; or why they leave the problem to another engine, which is the same on all.
    fn solve(&mut self, comm: &dyn Comm, slice: &Slice) -> Result<Result<Answer, String>, RankError>;

    /// The runs that split the error for the only set of charges; the first rank, which has what was `found`, gets the results.
    fn split(
        &mut self,
        comm: &dyn Comm,
        slice: &Slice,
        found: Option<&Tuned>,
    ) -> Result<Result<Option<Fields>, String>, RankError>;

    /// Refuses what no rank can compute.
    fn check(&self, slice: &Slice) -> Result<(), RankError>;

    /// Looks for options that keep a wanted error, on the first rank; none if there are none.
    fn search(&self) -> Search;

    /// Reference at some targets for a set of charges, where that is not the CPU's, on the first rank.
    fn reference(
        &mut self,
        _: &Problem,
        _: &FmmOptions,
        _: (usize, &[usize]),
    ) -> Option<Result<Vec<[f64; 10]>, FmmError>> {
        None
    }

    /// Arithmetic of P2P.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::Native
    }
}

/// The way in which a search goes through orders.
pub type Search = fn(f64, &Problem, &FmmOptions, &mut dyn Runner) -> Result<Option<Found>, FmmError>;

/// Executors of ranks, and the kernel of P2P, if one runs it.
pub struct OnCpus<'a, 'e> {
    pub p2p: Option<&'a dyn Kernel>,
    pub executors: &'a mut [&'e mut dyn Executor<Plan>],
}

impl Engine for OnCpus<'_, '_> {
    fn solve(&mut self, comm: &dyn Comm, slice: &Slice) -> Result<Result<Answer, String>, RankError> {
        solve(comm, slice, self.executors).map(Ok)
    }

    fn split(
        &mut self,
        comm: &dyn Comm,
        slice: &Slice,
        _: Option<&Tuned>,
    ) -> Result<Result<Option<Fields>, String>, RankError> {
        budget::fields(comm, slice, self.p2p, self.executors).map(Ok)
    }

    fn check(&self, slice: &Slice) -> Result<(), RankError> {
        slice.check(self.executors)
    }

    fn search(&self) -> Search {
        |wanted, problem, options, runner| tune::search(wanted, problem, options, runner).map(Some)
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::of(self.executors)
    }
}

/// Finds options for a wanted error, which all ranks get, and their results; or why the ranks leave the problem to another engine. The first
/// rank alone has the whole problem; its slice has the options to begin with.
pub fn within(
    comm: &dyn Comm,
    wanted: f64,
    problem: Option<&Problem>,
    slice: &Slice,
    engine: &mut dyn Engine,
) -> Result<Result<(FmmOptions, Option<Tuned>), String>, RankError> {
    agree(comm, engine.check(slice))?;
    match problem {
        Some(problem) => {
            let led = lead(comm, wanted, problem, slice, engine)?;
            Ok(led.map(|(options, tuned)| (options, Some(tuned))))
        }
        None => Ok(follow(comm, slice, engine)?.map(|options| (options, None))),
    }
}

fn lead(
    comm: &dyn Comm,
    wanted: f64,
    problem: &Problem,
    slice: &Slice,
    engine: &mut dyn Engine,
) -> Result<Result<(FmmOptions, Tuned), String>, RankError> {
    let (options, search) = (slice.options.clone(), engine.search());
    let mut all = Leader { comm, problem, slice, engine, options, plan: None, answers: Vec::new(), ended: None };
    let found = search(wanted, problem, slice.options, &mut all);
    match all.ended {
        // All ranks know of it.
        Some(Ended::Failed(failed)) => return Err(failed),
        Some(Ended::Refused(why)) => return Ok(Err(why)),
        None => {}
    }
    let last = match &found {
        Ok(Some(found)) => Choice::End(Chosen::from(&found.options)),
        Ok(None) => Choice::Nothing,
        // What others end with is of no use to them.
        Err(_) => Choice::End(Chosen::from(slice.options)),
    };
    broadcast(comm, last.bytes())?;
    if matches!(last, Choice::Nothing) {
        return Ok(Err(NOTHING_FOUND.into()));
    }
    let found = agree(comm, found.map_err(RankError::from))?;
    let Found { options, solution, errors } = found.expect("there is one");
    let at = all.answers.iter().position(|(of, _)| *of == options).expect("what was found was run");
    let answer = all.answers.swap_remove(at).1;
    Ok(Ok((options, Tuned { fields: solution.fields, answer, errors })))
}

/// Makes the runs that the first rank asks for; the options that it has found.
fn follow(comm: &dyn Comm, slice: &Slice, engine: &mut dyn Engine) -> Result<Result<FmmOptions, String>, RankError> {
    loop {
        // The first rank sums and judges.
        comm.rest(0, Tag::First)?;
        let refused = match Choice::read(&broadcast(comm, Vec::new())?)? {
            Choice::Run(chosen) => run(comm, slice, &chosen.of(slice.options), engine)?.err(),
            Choice::Split(chosen, set) => split(comm, slice, &chosen.of(slice.options), set, engine)?.err(),
            Choice::End(chosen) => return agree(comm, Ok(Ok(chosen.of(slice.options)))),
            Choice::Nothing => return Ok(Err(NOTHING_FOUND.into())),
        };
        if let Some(why) = refused {
            return Ok(Err(why));
        }
    }
}

/// The fields of all ranks, which the first one gets, and a rank's report.
pub type Collected = (Option<Vec<Field>>, Answer);

/// A run of all ranks.
pub fn run(
    comm: &dyn Comm,
    slice: &Slice,
    options: &FmmOptions,
    engine: &mut dyn Engine,
) -> Result<Result<Collected, String>, RankError> {
    let mut answer = match engine.solve(comm, &slice.with(options))? {
        Ok(answer) => answer,
        Err(why) => return Ok(Err(why)),
    };
    let fields = collected(comm, &answer.fields)?;
    answer.fields = Vec::new();
    Ok(Ok((fields, answer)))
}

/// The runs of all ranks that split the error for a set of charges; the first one gets the results.
fn split(
    comm: &dyn Comm,
    slice: &Slice,
    options: &FmmOptions,
    set: usize,
    engine: &mut dyn Engine,
) -> Result<Result<Option<Fields>, String>, RankError> {
    let own = slice.sets.get(set).copied().ok_or_else(cut)?;
    let slice = Slice { sets: vec![own], hessian: false, ..slice.with(options) };
    engine.split(comm, &slice, None)
}

/// The first rank in the search.
struct Leader<'a, 'e> {
    comm: &'a dyn Comm,
    problem: &'a Problem<'a>,
    slice: &'a Slice<'a>,
    engine: &'e mut dyn Engine,
    options: FmmOptions,
    /// For the sums of a kernel.
    plan: Option<Plan>,
    /// The ranks' reports of each run.
    answers: Vec<(FmmOptions, Answer)>,
    ended: Option<Ended>,
}

/// The reason for which all ranks make no further run.
enum Ended {
    Failed(RankError),
    Refused(String),
}

impl Runner for Leader<'_, '_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        (self.options, self.plan) = (options.clone(), None);
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solutions, FmmError> {
        let options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let told = broadcast(self.comm, Choice::Run(Chosen::from(&options)).bytes());
        let done = told.and_then(|_| run(self.comm, self.slice, &options, self.engine));
        let (fields, answer) = self.done(done)?;
        let stats = answer.stats.clone();
        self.answers.push((options, answer));
        Ok(Solutions { fields: fields.expect("the first rank gets the fields"), stats })
    }

    fn reference(&mut self, set: usize, targets: &[usize]) -> Result<Vec<[f64; 10]>, FmmError> {
        let (problem, options) = (self.problem, &self.options);
        if let Some(found) = self.engine.reference(problem, options, (set, targets)) {
            return found;
        }
        if problem.p2p.is_some() && self.plan.is_none() {
            self.plan = Some(Plan::for_kernel(problem.geometry, options, problem.p2p)?);
        }
        problem.reference(options, self.plan.as_ref(), (set, targets), &mut |_, _, _| {})
    }

    fn split(&mut self, order: usize, lower_beyond: Option<f64>, set: usize) -> Result<Fields, FmmError> {
        let options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let told = broadcast(self.comm, Choice::Split(Chosen::from(&options), set).bytes());
        let done = told.and_then(|_| split(self.comm, self.slice, &options, set, self.engine));
        Ok(self.done(done)?.expect("the first rank gets the fields"))
    }

    fn arithmetic(&self) -> Arithmetic {
        self.engine.arithmetic()
    }
}

impl Leader<'_, '_> {
    /// The outcome of runs of all ranks; notes why there are no further ones.
    fn done<R>(&mut self, done: Result<Result<R, String>, RankError>) -> Result<R, FmmError> {
        match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(why)) => {
                self.ended = Some(Ended::Refused(why.clone()));
                Err(FmmError::Range(why))
            }
            Err(e) => {
                self.ended = Some(Ended::Failed(e.clone()));
                Err(FmmError::from(e))
            }
        }
    }
}

/// Expansions, by number.
const BASES: [Basis; 4] = [Basis::Cartesian, Basis::Solid, Basis::Chebyshev, Basis::Softened];

/// The options that a search changes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Chosen {
    order: usize,
    lower_beyond: Option<f64>,
    theta: f64,
    leaf: usize,
    enlarge: f64,
    precision: Precision,
    basis: Basis,
}

/// The decision that the first rank sends to the others.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Choice {
    Run(Chosen),
    /// The runs that split the error of such a run for a set of charges.
    Split(Chosen, usize),
    /// The options that were found.
    End(Chosen),
    /// There are none.
    Nothing,
}

impl From<&FmmOptions> for Chosen {
    fn from(options: &FmmOptions) -> Chosen {
        let FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, basis, .. } = *options;
        Chosen { order, lower_beyond, theta, leaf, enlarge, precision, basis }
    }
}

impl Chosen {
    fn of(self, options: &FmmOptions) -> FmmOptions {
        let Chosen { order, lower_beyond, theta, leaf, enlarge, precision, basis } = self;
        FmmOptions { order, lower_beyond, theta, leaf, enlarge, precision, basis, ..options.clone() }
    }
}

/// The number of a decision that names no options.
const NOTHING: u64 = 3;

impl Choice {
    fn bytes(&self) -> Vec<u8> {
        let (kind, set, chosen) = match *self {
            Choice::Run(chosen) => (0, 0, chosen),
            Choice::End(chosen) => (1, 0, chosen),
            Choice::Split(chosen, set) => (2, set, chosen),
            Choice::Nothing => return NOTHING.to_le_bytes().to_vec(),
        };
        let Chosen { order, lower_beyond, theta, leaf, enlarge, precision, basis } = chosen;
        let basis = BASES.iter().position(|one| *one == basis).expect("all of them") as u64;
        let mut bytes = Writer::default();
        bytes.u64(kind);
        bytes.u64(set as u64);
        bytes.u64s(&[order as u64, leaf as u64, (precision == Precision::F32) as u64, basis]);
        bytes.f64s(&[theta, enlarge]);
        bytes.f64s(lower_beyond.as_slice());
        bytes.take()
    }

    fn read(bytes: &[u8]) -> Result<Choice, RankError> {
        let mut bytes = Reader::new(bytes);
        let kind = bytes.u64()?;
        if kind == NOTHING {
            return Ok(Choice::Nothing);
        }
        let set = bytes.u64()? as usize;
        let ([order, leaf, is_f32, basis], [theta, enlarge], lower) =
            (&bytes.u64s()?[..], &bytes.f64s()?[..], bytes.f64s()?)
        else {
            return Err(cut());
        };
        let precision = if *is_f32 == 1 { Precision::F32 } else { Precision::F64 };
        let (order, leaf, lower_beyond) = (*order as usize, *leaf as usize, lower.first().copied());
        let basis = *BASES.get(*basis as usize).ok_or_else(cut)?;
        let chosen = Chosen { order, lower_beyond, theta: *theta, leaf, enlarge: *enlarge, precision, basis };
        Ok(match kind {
            1 => Choice::End(chosen),
            2 => Choice::Split(chosen, set),
            _ => Choice::Run(chosen),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_rank_chooses_is_read_by_the_others() {
        let options = FmmOptions { order: 7, theta: 1.0 / 3.0, leaf: 91, enlarge: 1.25, ..FmmOptions::default() };
        for lower_beyond in [None, Some(4.25)] {
            for precision in [Precision::F32, Precision::F64] {
                let basis = if lower_beyond.is_some() { Basis::Solid } else { Basis::Softened };
                let chosen = FmmOptions { lower_beyond, precision, basis, ..options.clone() };
                let choice = Choice::Run(Chosen::from(&chosen));
                assert_eq!(Choice::read(&choice.bytes()), Ok(choice));
                let Choice::Run(read) = Choice::read(&choice.bytes()).unwrap() else { panic!("it is a run") };
                assert_eq!(read.of(&FmmOptions::default()), chosen);
                assert!(Choice::read(&choice.bytes()[..9]).is_err());
                let chosen = Chosen::from(&chosen);
                for other in [Choice::End(chosen), Choice::Split(chosen, 3), Choice::Nothing] {
                    assert_eq!(Choice::read(&other.bytes()), Ok(other));
                }
            }
        }
    }
}
