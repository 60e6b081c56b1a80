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

/// The run that keeps a wanted error, on the first rank: the results of all ranks, and the report of the run that gave them.
pub struct Tuned {
    pub fields: Vec<Field>,
    pub answer: Answer,
    pub errors: Vec<Errors>,
}

/// Executors of ranks, and the kernel of P2P, if one runs it.
pub struct Engine<'a, 'e> {
    pub p2p: Option<&'a dyn Kernel>,
    pub executors: &'a mut [&'e mut dyn Executor<Plan>],
}

/// Finds options for a wanted error, which all ranks get, and their results. The first rank alone has the whole problem; its slice has
/// the options to begin with.
pub fn within(
    comm: &dyn Comm,
    wanted: f64,
    problem: Option<&Problem>,
    slice: &Slice,
    mut engine: Engine,
) -> Result<(FmmOptions, Option<Tuned>), RankError> {
    agree(comm, slice.check(engine.executors))?;
    match problem {
        Some(problem) => lead(comm, wanted, problem, slice, engine).map(|(options, tuned)| (options, Some(tuned))),
        None => follow(comm, slice, &mut engine).map(|options| (options, None)),
    }
}

fn lead(
    comm: &dyn Comm,
    wanted: f64,
    problem: &Problem,
    slice: &Slice,
    engine: Engine,
) -> Result<(FmmOptions, Tuned), RankError> {
    let options = slice.options.clone();
    let mut all = Leader { comm, problem, slice, engine, options, plan: None, answers: Vec::new(), failed: None };
    let found = tune::search(wanted, problem, slice.options, &mut all);
    if let Some(failed) = all.failed {
        // All ranks know of it.
        return Err(failed);
    }
    // Those that others end with are of no use to them if nothing was found.
    let last = found.as_ref().map_or(slice.options, |found| &found.options);
    broadcast(comm, Choice::End(Chosen::from(last)).bytes())?;
    let Found { options, solution, errors } = agree(comm, found.map_err(RankError::from))?;
    let at = all.answers.iter().position(|(of, _)| *of == options).expect("what was found was run");
    let answer = all.answers.swap_remove(at).1;
    Ok((options, Tuned { fields: solution.fields, answer, errors }))
}

/// Makes the runs that the first rank asks for; the options that it has found.
fn follow(comm: &dyn Comm, slice: &Slice, engine: &mut Engine) -> Result<FmmOptions, RankError> {
    loop {
        // The first rank sums and judges.
        comm.rest(0, Tag::First)?;
        match Choice::read(&broadcast(comm, Vec::new())?)? {
            Choice::Run(chosen) => run(comm, slice, &chosen.of(slice.options), engine.executors).map(drop)?,
            Choice::Split(chosen, set) => split(comm, slice, &chosen.of(slice.options), set, engine).map(drop)?,
            Choice::End(chosen) => return agree(comm, Ok(chosen.of(slice.options))),
        }
    }
}

/// A run of all ranks; the first one gets the results.
fn run(
    comm: &dyn Comm,
    slice: &Slice,
    options: &FmmOptions,
    executors: &mut [&mut dyn Executor<Plan>],
) -> Result<(Option<Vec<Field>>, Answer), RankError> {
    let mut answer = solve(comm, &slice.with(options), executors)?;
    let fields = collected(comm, &answer.fields)?;
    answer.fields = Vec::new();
    Ok((fields, answer))
}

/// The runs of all ranks that split the error for a set of charges; the first one gets the results.
fn split(
    comm: &dyn Comm,
    slice: &Slice,
    options: &FmmOptions,
    set: usize,
    engine: &mut Engine,
) -> Result<Option<Fields>, RankError> {
    let own = slice.sets.get(set).copied().ok_or_else(cut)?;
    let slice = Slice { sets: vec![own], hessian: false, ..slice.with(options) };
    budget::fields(comm, &slice, engine.p2p, engine.executors)
}

/// The first rank in the search.
struct Leader<'a, 'e> {
    comm: &'a dyn Comm,
    problem: &'a Problem<'a>,
    slice: &'a Slice<'a>,
    engine: Engine<'a, 'e>,
    options: FmmOptions,
    /// For the sums of a kernel.
    plan: Option<Plan>,
    /// The ranks' reports of each run.
    answers: Vec<(FmmOptions, Answer)>,
    /// Why all ranks have failed in a run.
    failed: Option<RankError>,
}

impl Runner for Leader<'_, '_> {
    fn plan(&mut self, options: &FmmOptions) -> Result<(), FmmError> {
        (self.options, self.plan) = (options.clone(), None);
        Ok(())
    }

    fn solve(&mut self, order: usize, lower_beyond: Option<f64>) -> Result<Solutions, FmmError> {
        let options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let told = broadcast(self.comm, Choice::Run(Chosen::from(&options)).bytes());
        let done = told.and_then(|_| run(self.comm, self.slice, &options, self.engine.executors));
        let (fields, answer) = done.map_err(|e| self.failed(e))?;
        let stats = answer.stats.clone();
        self.answers.push((options, answer));
        Ok(Solutions { fields: fields.expect("the first rank gets the fields"), stats })
    }

    fn reference(&mut self, set: usize, targets: &[usize]) -> Result<Vec<[f64; 10]>, FmmError> {
        let (problem, options) = (self.problem, &self.options);
        if problem.p2p.is_some() && self.plan.is_none() {
            self.plan = Some(Plan::for_kernel(problem.geometry, options, problem.p2p)?);
        }
        problem.reference(options, self.plan.as_ref(), (set, targets), &mut |_, _, _| {})
    }

    fn split(&mut self, order: usize, lower_beyond: Option<f64>, set: usize) -> Result<Fields, FmmError> {
        let options = FmmOptions { order, lower_beyond, ..self.options.clone() };
        let told = broadcast(self.comm, Choice::Split(Chosen::from(&options), set).bytes());
        let done = told.and_then(|_| split(self.comm, self.slice, &options, set, &mut self.engine));
        Ok(done.map_err(|e| self.failed(e))?.expect("the first rank gets the fields"))
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::of(self.engine.executors)
    }
}

impl Leader<'_, '_> {
    /// Notes why all ranks have failed.
    fn failed(&mut self, e: RankError) -> FmmError {
        self.failed = Some(e.clone());
        FmmError::from(e)
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

impl Choice {
    fn bytes(&self) -> Vec<u8> {
        let (kind, set, chosen) = match *self {
            Choice::Run(chosen) => (0, 0, chosen),
            Choice::End(chosen) => (1, 0, chosen),
            Choice::Split(chosen, set) => (2, set, chosen),
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
        let (kind, set) = (bytes.u64()?, bytes.u64()? as usize);
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
                for other in [Choice::End(Chosen::from(&chosen)), Choice::Split(Chosen::from(&chosen), 3)] {
                    assert_eq!(Choice::read(&other.bytes()), Ok(other));
                }
            }
        }
    }
}
